//! The published tree as a whole: its files, which of them change, and that no link is broken.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use acp_registry::contents::CONTENTS;
use acp_registry::digest::Sha256;
use acp_registry::registry::DEFAULT_BASE_URL;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::support::{Env, Run, manifest, skipped, tree};

fn told() -> String {
    let event = |id: &str, event: &str, day: &str| {
        format!(
            r#"{{ "time": "2026-01-{day}T00:00:00Z", "event": "{event}", "id": "{id}", "name": "An agent", "version": "1.0.0", "from": "0.9.0" }}"#
        )
    };
    let events = [
        event("a", "updated", "05"),
        event("gone", "withdrawn", "04"),
        event("a", "added", "03"),
        event("gone", "added", "02"),
    ];
    format!(r#"{{ "schema": 1, "events": [{}] }}"#, events.join(","))
}

fn names(env: &Env) -> BTreeSet<String> {
    tree(&env.path("out")).into_iter().map(|(name, _)| name).collect()
}

/// Whether a name matches a path of the table.
fn is_of(pattern: &str, name: &str) -> bool {
    let (patterns, parts): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), name.split('/').collect());
    patterns.len() == parts.len() && patterns.iter().zip(parts).all(|(pattern, part)| is_part(pattern, part))
}

fn is_part(pattern: &str, part: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('{') else { return pattern == part };
    let Some(part) = part.strip_prefix(before) else { return false };
    let (kind, after) = rest.split_once('}').unwrap();
    let is_allowed = |text: &str| match kind {
        "N" => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()),
        "digest" => text.len() == 12 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        _ => !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
    };
    (1..=part.len()).any(|end| is_allowed(&part[..end]) && is_part(after, &part[end..]))
}

#[test]
fn the_table_of_files_and_the_tree_agree() {
    // 101 agents need more than one page of each list.
    let ids: Vec<String> = (0..100).map(|number| format!("x{number}")).chain(["a".to_owned()]).collect();
    let env = Env::with(&ids.iter().map(String::as_str).collect::<Vec<_>>()).file("r/history.json", told());
    let past = r#"[{ "version": "1", "day": null, "platform": null, "judgements": {}, "failed": [] }]"#;
    let passed = r#"{ "level": "protocol", "reached": "protocol", "network": "none", "checks": [] }"#;
    let rows = ids.iter().map(|id| {
        format!(
            r#"{{ "id": "{id}", "version": "1", "protocol_version": 1, "history": {past}, "examination": {passed} }}"#
        )
    });
    let rows: Vec<String> = rows.collect();
    env.write("r/capabilities.json", format!(r#"{{ "agents": [{}] }}"#, rows.join(",")));
    let events: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(r#"{{ "time": "2026-01-01T00:00:00Z", "event": "added", "id": "{id}", "version": "1.0.0" }}"#)
        })
        .collect();
    env.write("r/history.json", told().replace("] }", &format!(", {}] }}", events.join(","))));
    env.write("r/registry.toml", "[site]\nagent-files = [\"json\", \"markdown\", \"feed\", \"badge\", \"card\"]\n");
    env.write("r/revoked.json", r#"{ "schema": 1, "revoked": [] }"#);
    let run = env.run(&["build", "--out", "out", "--base-url", DEFAULT_BASE_URL]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let names = names(&env);
    for name in &names {
        assert!(CONTENTS.iter().any(|row| is_of(row.path, name)), "{name} is in the tree, but not in the table");
    }
    for row in CONTENTS {
        // The sitemap is only split above 50,000 pages.
        let is_there = names.iter().any(|name| is_of(row.path, name)) || row.path == "sitemap-{N}.xml";
        assert!(is_there, "{} is in the table, but not in the tree", row.path);
    }
    let page = env.read("out/api/index.html");
    for row in CONTENTS {
        assert!(page.contains(&format!("<code>{}</code>", row.path)), "{}", row.path);
    }
    assert!(env.read("out/matrix/2/index.html").contains("Page 2 of 2"));
}

/// The texts of a page's code blocks.
fn blocks(page: &str) -> Vec<String> {
    let blocks = page.split("<pre").skip(1).filter_map(|rest| rest.split_once("<code>")?.1.split_once("</code>"));
    let characters = [("&#34;", "\""), ("&#39;", "'"), ("&#62;", ">"), ("&#60;", "<"), ("&#38;", "&")];
    blocks.map(|(text, _)| characters.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))).collect()
}

#[test]
fn the_queries_of_the_page_for_programs_are_answered() {
    let env = Env::with(&["a"]).file("r/history.json", told());
    let snapshot = serde_json::json!({ "agents": [{
        "id": "a", "version": "1.0.0", "distribution": "npx", "verdict": "pass", "checked_at": "2026-01-06T00:00:00Z",
        "protocol_version": 1, "features": { "session/resume": true, "prompt/image": true }, "examination": {
            "examined_at": "2026-01-06T00:00:00Z", "version": "1.0.0", "platform": "linux-x86_64", "level": "protocol",
            "reached": "protocol", "model": null, "network": "none",
            "checks": [{ "id": "protocol/ids", "result": "fail", "force": "must" }],
        },
    }] });
    env.write("r/capabilities.json", snapshot.to_string());
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    let commands = blocks(&env.read("out/api/index.html"));
    let [base, queries @ ..] = &commands[..] else { panic!("{commands:?}") };
    assert!(base.starts_with("base=\"http"), "{base}");
    let has = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    if !has("jq") || !has("curl") {
        return skipped("the queries of the page for programs", "curl or jq is not installed");
    }
    let answers: Vec<String> = queries
        .iter()
        .map(|query| {
            let script = format!("base='file://{}'\n{query}", env.path("out").display());
            let run = Run::of(std::process::Command::new("sh").args(["-c", &script]));
            assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{query}");
            run.stdout
        })
        .collect();
    let expected = [
        "a 1.0.0\n",
        "a a@1.0.0\n",
        "",
        "a\n",
        "2026-01-05T00:00:00Z updated a 1.0.0\n2026-01-04T00:00:00Z withdrawn gone 1.0.0\n\
         2026-01-03T00:00:00Z added a 1.0.0\n2026-01-02T00:00:00Z added gone 1.0.0\n",
        "a 1.0.0 protocol/ids\n",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn an_agent_is_a_card_to_embed_where_the_configuration_asks_for_it() {
    let env = Env::with(&["a"]);
    env.write("r/a/agent.json", manifest("a").replace("An agent a", "An <b>agent</b>"));
    env.write("r/registry.toml", "[site]\nagent-files = [\"card\"]\n");
    assert_eq!(env.run(&["build", "--out", "out", "--base-url", "https://example.com/r"]).code, 0);
    let card = env.read("out/agents/a/card.html");
    assert!(
        card.contains("href=\"https://example.com/r/agents/a/\"") && card.contains("src=\"data:image/svg+xml;base64,"),
        "{card}"
    );
    assert!(card.contains("An &#60;b&#62;agent&#60;/b&#62;") && !card.contains("<script"), "{card}");
    // The policy allows the style that is there, and nothing else.
    let style = card.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let digest = BASE64_STANDARD.encode(Sha256::of(style).bytes());
    assert!(card.contains(&format!("default-src 'none'; img-src data:; style-src 'sha256-{digest}'")), "{card}");
    assert!(env.read("out/_headers").contains("/agents/*/card.html\n  ! Content-Security-Policy\n"));
    env.write("r/registry.toml", "");
    assert_eq!(env.run(&["build", "--out", "plain"]).code, 0);
    assert!(!env.path("plain/agents/a/card.html").exists() && !env.read("plain/_headers").contains("card.html"));
}

#[test]
fn the_configuration_chooses_the_files_of_agents() {
    let env = Env::with(&["a"]).file("r/history.json", told());
    let config = "[site]\nrepository = \"https://example.com/r\"\nagent-files = [\"json\"]\n";
    env.write("r/registry.toml", config);
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    let agent_files = |env: &Env| names(env).into_iter().filter(|name| name.starts_with("agents/")).collect::<Vec<_>>();
    assert_eq!(agent_files(&env), ["agents/a/agent.json", "agents/a/index.html", "agents/a/preview.png"]);
    let page = env.read("out/agents/a/index.html");
    assert!(
        page.contains("href=\"https://example.com/r\"") && !page.contains("badge.svg") && !page.contains("index.md")
    );
    assert!(!env.read("out/api/index.html").contains("badge.svg"));
    assert!(env.read("out/llms.txt").contains("agents/a/agent.json"));
    env.write(
        "r/registry.toml",
        "[site]\nagent-files = []\npreviews = false\nedit = \"https://example.com/edit/{id}\"\n",
    );
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert_eq!(agent_files(&env), ["agents/a/index.html"]);
    assert!(
        env.read("out/agents/a/index.html")
            .contains("<a href=\"https://example.com/edit/a\" rel=\"noopener noreferrer\">Edit")
    );
    for (site, message) in [
        ("repository = \"http://x.example\"", "not an https address"),
        ("files = 1", "unknown field"),
        ("previews = -1", "`previews` is `true`, `false` or a number of agents"),
    ] {
        env.write("r/registry.toml", format!("[site]\n{site}\n"));
        let run = env.run(&["build", "--out", "out"]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn what_is_the_same_is_not_written_again() {
    let env = Env::with(&["a", "b"]);
    assert_eq!(env.json(&["build", "--out", "out"]).1["changed_files"], names(&env).len());
    let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in names(&env) {
        fs::File::options().write(true).open(env.path("out").join(name)).unwrap().set_modified(old).unwrap();
    }
    let is_old = |name: &str| fs::metadata(env.path("out").join(name)).unwrap().modified().unwrap() == old;
    let (_, report) = env.json(&["build", "--out", "out"]);
    assert_eq!(report["changed_files"], 0);
    assert!(names(&env).iter().all(|name| is_old(name)));

    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    env.write("out/robots.txt", "changed by hand");
    let run = env.run(&["build", "--out", "out"]);
    assert!(run.stdout.contains(" of them new or changed"), "{}", run.stdout);
    for (name, expected) in [
        ("agents/a/index.html", false),
        ("registry.json", false),
        ("robots.txt", false),
        ("SHA256SUMS", false),
        ("agents/b/index.html", true),
        ("a.svg", true),
        ("404.html", true),
    ] {
        // The page of `b` does not contain the catalog's URL, and so is unchanged.
        assert_eq!(is_old(name), expected, "{name}");
    }
    assert!(env.read("out/robots.txt").starts_with("User-agent"));
    assert_eq!(env.run(&["build", "--out", "out", "--check"]).code, 0);
    assert_eq!(fs::read_dir(env.path(".")).unwrap().count(), 2, "nothing is left beside the tree");

    // A removed file is deleted even if nothing else changes; a link is not a file of the tree.
    #[cfg(unix)]
    {
        fs::rename(env.path("out/a.svg"), env.path("a.svg")).unwrap();
        std::os::unix::fs::symlink(env.path("a.svg"), env.path("out/a.svg")).unwrap();
        assert_eq!(env.json(&["build", "--out", "out"]).1["changed_files"], 1);
        assert!(!env.path("out/a.svg").is_symlink());
    }
    assert_eq!(env.run(&["build", "--out", "out", "--no-site"]).code, 0);
    assert!(!env.path("out/index.html").exists());
}

#[test]
fn commands_name_the_index_that_is_not_the_usual_one() {
    let env = Env::with(&["a"]);
    env.run(&["build", "--out", "out"]);
    assert!(env.read("out/agents/a/index.html").contains("<code>acp-registry run a</code>"));
    env.run(&["build", "--out", "out", "--base-url", "https://example.com/x/"]);
    let page = env.read("out/agents/a/index.html");
    assert!(page.contains("<code>acp-registry run --index https://example.com/x/registry.json a</code>"), "{page}");
    let guide = env.read("out/docs/user/index.html");
    assert!(guide.contains("export ACP_REGISTRY_INDEX=https://example.com/x/registry.json\n"), "{guide}");
    for name in names(&env).iter().filter(|name| name.starts_with("docs/")) {
        assert!(!env.read(&format!("out/{name}")).contains(DEFAULT_BASE_URL), "{name}");
    }
}

/// A preview of a new registry leads to no other one.
#[test]
fn without_an_address_all_links_are_relative_and_nothing_is_published() {
    let env = Env::with(&["a"]).file("r/registry.toml", "").file("r/history.json", told());
    let run = env.run(&["build", "--out", "out"]);
    assert!(run.code == 0 && run.stderr.contains("warning: `base-url` is not set"), "{}", run.stderr);
    let files = tree(&env.path("out"));
    for (name, content) in &files {
        assert!(!String::from_utf8_lossy(content).contains(DEFAULT_BASE_URL), "{name}");
    }
    // Commands name an address that says what is missing.
    for name in ["agents/a/index.html", "api/index.html"] {
        let page = env.read(&format!("out/{name}"));
        assert!(page.contains("https://base-url-is-not-set.invalid") && !page.contains("127.0.0.1"), "{name}");
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for absolute in ["sitemap.xml", "opensearch.xml", "new.atom", "updated.atom"] {
        assert!(!names.contains(&absolute), "{absolute}");
    }
    assert!(env.read("out/registry.json").contains("\"icon\": \"./a.svg\""), "{}", env.read("out/registry.json"));
    // Hosts serve this page at any path, so that it has no links.
    let missing = env.read("out/404.html");
    assert!(missing.contains("no page at this address") && !missing.contains("href") && !missing.contains("src"));
    crate::site::check_pages(&files.into_iter().filter(|(name, _)| name != "404.html").collect());
    let run = env.run(&["publish", "--from", "out", "--to", "published"]);
    assert!(run.code == 2 && run.stderr.contains("help: set `base-url` in registry.toml"), "{}", run.stderr);
    assert!(!env.path("published").exists());
    // Clients can try it.
    assert_eq!(env.run(&["list", "--index", "out/registry.json"]).code, 0);
    let again = env.run(&["build", "--out", "again", "--previous", "out"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(env.run(&["build", "--out", "out", "--base-url", "https://h.example/latest"]).code, 0);
    assert_eq!(env.run(&["publish", "--from", "out", "--to", "published"]).code, 0);
}

#[test]
fn the_bundled_registry_has_no_dead_link() {
    let env = Env::empty();
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("registry");
    let registry = registry.to_str().unwrap();
    let run = env.run(&["--registry-dir", registry, "build", "--out", "out", "--base-url", crate::site::BASE]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    crate::site::check_pages(&tree(&env.path("out")).into_iter().collect());
}
