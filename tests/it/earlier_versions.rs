//! Versions that a registry has had: published from git and from earlier trees, listed and installed.

use serde_json::{Value, json};

use crate::archives::sha256;
use crate::people::{People, archive, host};
use crate::server::ok;
use crate::support::{ICON, Run, manifest, tree};

/// Writes agent `a` in this version into the registry: an archive on the server, and an argument of its own.
fn write(people: &People, version: &str) {
    let entry = people.agent_of("a", version, &archive(&format!("a-{version}")), None);
    let mut agent: Value = serde_json::from_str(&manifest("a")).unwrap();
    agent["version"] = version.into();
    agent["distribution"] = entry["distribution"].clone();
    let target = &mut agent["distribution"]["binary"][host()];
    target["args"] = json!([format!("acp-{version}")]);
    target["sha256"] = sha256(&archive(&format!("a-{version}"))).into();
    people.env.write("r/a/agent.json", serde_json::to_string_pretty(&agent).unwrap());
    people.env.write("r/a/icon.svg", ICON);
}

/// Builds the registry, and serves the tree.
fn build(people: &People, more: &[&str]) {
    configure(people, "");
    build_as_configured(people, more);
}

const RULES: &str = "[rules]\n\"distribution/missing-os\" = \"off\"\n";

fn configure(people: &People, more: &str) {
    people.env.write("r/registry.toml", format!("{RULES}{more}"));
}

fn try_build(people: &People, more: &[&str]) -> Run {
    let base = people.server.url("");
    let all = ["--registry-dir", "r", "build", "--base-url", base.trim_end_matches('/'), "--out", "dist"];
    people.env.run(&[&all, &["--allow-host", "127.0.0.1"][..], more].concat())
}

/// Builds the registry with its configuration, and serves the tree.
fn build_as_configured(people: &People, more: &[&str]) {
    let run = try_build(people, more);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    for (name, bytes) in tree(&people.env.path("dist")) {
        people.answer(&format!("/{name}"), ok(bytes));
    }
}

fn commit(people: &People, version: &str) {
    write(people, version);
    people.env.git(&["add", "."]);
    people.env.git(&["commit", "--quiet", "--message", version]);
}

/// A registry in git with 1.0.0, 1.1.0 and 2.0.0.
pub(crate) fn in_git() -> People {
    let people = People::new();
    people.env.git(&["init", "--quiet"]);
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        commit(&people, version);
    }
    build(&people, &[]);
    people
}

fn listed(people: &People) -> Vec<String> {
    let (code, document) = people.json(&["info", "a", "--versions", "--refresh"]);
    assert_eq!(code, 0, "{document}");
    let versions = document["versions"].as_array().unwrap();
    versions.iter().map(|one| one["version"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_version_that_git_knows_is_installed_with_the_arguments_of_then() {
    let people = in_git();
    assert_eq!(listed(&people), ["2.0.0", "1.1.0", "1.0.0"]);
    let run = people.run(&["install", "a@1.0.0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp-1.0.0\n");
    let (_, resolved) = people.json(&["resolve", "a@1.1.0"]);
    assert_eq!((&resolved["version"], &resolved["args"]), (&json!("1.1.0"), &json!(["acp-1.1.0"])));
    let (_, info) = people.json(&["info", "a@1.1.0"]);
    assert_eq!(info["known_from"], "history");
    let text = people.run(&["info", "a", "--versions"]).stdout;
    assert!(text.contains("version      1.0.0, since 20") && text.contains(", installed"), "{text}");
    // What the registry never had is said with what it had.
    let run = people.run(&["install", "a@1.2.0"]);
    assert!(run.code == 2 && run.stderr.contains("1.1.0") && run.stderr.contains("1.2.0"), "{}", run.stderr);
    // Without the network, from copies.
    assert_eq!(people.json(&["resolve", "a@1.1.0", "--offline"]).0, 0);
}

#[test]
fn nothing_more_is_asked_for_while_no_old_version_is_named() {
    let people = in_git();
    let before = people.server.asked().len();
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    let asked = people.server.asked().split_off(before);
    assert!(!asked.iter().any(|path| path.contains("versions")), "{asked:?}");
    // A published tree in a directory has them, too.
    let dist = people.env.path("dist");
    let run = people.env.run(&["resolve", "a@1.0.0", "--index", dist.to_str().unwrap(), "--json"]);
    assert!(run.stdout.contains("acp-1.0.0"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn an_installed_agent_is_brought_to_a_version_and_stays_at_it() {
    let people = in_git();
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    // Down, with the arguments of then; a dry run changes nothing.
    let (code, report) = people.json(&["update", "a", "--to", "1.0.0", "--dry-run"]);
    let update = json!({ "id": "a", "from": "2.0.0", "to": "1.0.0", "distribution": "binary", "applied": false, "launch": null });
    assert_eq!((code, &report["updates"]), (1, &json!([update])), "{report}");
    assert_eq!(people.run(&["run", "a"]).stdout, "a-2.0.0 acp-2.0.0\n");
    let run = people.run(&["update", "a", "--to", "1.0.0", "--no-check"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "updated a 2.0.0 -> 1.0.0\n"), "{}", run.stderr);
    assert!(
        run.stderr.contains("a stays at 1.0.0 from now on, until `acp-registry update --unpin a`"),
        "{}",
        run.stderr
    );
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp-1.0.0\n");
    let (code, report) = people.json(&["update"]);
    assert_eq!((code, &report["pinned"][0]["available"]), (0, &json!("2.0.0")), "{report}");
    // Up, from one pinned version to another.
    let (code, report) = people.json(&["update", "a", "--to", "1.1.0", "--no-check"]);
    assert_eq!((code, &report["updates"][0]["launch"]["version"]), (0, &json!("1.1.0")), "{report}");
    let run = people.run(&["update", "--unpin", "a", "--no-check"]);
    assert_eq!(run.stdout, "updated a 1.1.0 -> 2.0.0\n", "{}", run.stderr);
    // The version that it has is kept from then on, and nothing is fetched.
    let run = people.run(&["update", "a", "--to", "2.0.0"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "a 2.0.0 is installed\n"), "{}", run.stderr);
    assert_eq!(people.json(&["which", "a"]).1["pinned"], true);
}

#[test]
fn a_version_that_cannot_be_had_is_refused_and_changes_nothing() {
    let people = in_git();
    let run = people.run(&["update", "a", "--to", "1.0.0"]);
    assert!(run.code == 2 && run.stderr.contains("is not installed"), "{}", run.stderr);
    for version in ["a@1.0.0", "a@2.0.0"] {
        assert_eq!(people.run(&["install", version, "--no-check"]).code, 0);
    }
    for (arguments, code, message) in [
        (&["update", "--to", "1.0.0"][..], 2, "`--to` names the version of one agent"),
        (&["update", "a", "b", "--to", "1.0.0"], 2, "`--to` names the version of one agent"),
        (&["update", "a", "--to", "1.0.0", "--unpin"], 2, "`--to` keeps the agent at the version"),
        (&["update", "a", "--to", "latest"], 2, "run `acp-registry update --unpin a`"),
        (&["update", "a", "--to", ""], 2, "`--to` has no version"),
        (&["update", "a", "--to", "1.2.0"], 2, "version `1.2.0` of `a` is not known"),
        (&["update", "a", "--to", "1.0.0", "--min-age", "3d"], 0, ""),
    ] {
        let run = people.run(arguments);
        assert!(run.code == code && run.stderr.contains(message), "{arguments:?} {} {}", run.code, run.stderr);
    }
    let (_, report) = people.json(&["update", "a", "--to", "1.2.0"]);
    assert_eq!(report["error"]["suggestions"], json!(["1.0.0", "1.1.0", "2.0.0"]));
    let item = json!({ "id": "a", "versions": "1.0.0", "level": "revoked", "reason": "r", "since": "2026-01-31" });
    people.env.write("r/revoked.json", json!({ "schema": 1, "revoked": [item] }).to_string());
    build(&people, &[]);
    for more in [&[][..], &["--dry-run"]] {
        let (code, report) = people.json(&[&["update", "a", "--to", "1.0.0", "--refresh"], more].concat());
        assert_eq!((code, &report["errors"][0]["code"]), (4, &json!("revoked")), "{report}");
    }
    assert_eq!(people.run(&["run", "a"]).stdout, "a-2.0.0 acp-2.0.0\n");
    let run = people.run(&["update", "a", "--to", "1.0.0", "--allow-revoked", "a@1.0.0", "--no-check"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // An agent that the index has no more stays as it is.
    people.publish(&[]);
    people.answer("/entries.json", crate::server::not_found());
    let run = people.run(&["update", "a", "--to", "1.1.0", "--refresh"]);
    assert!(run.code == 2 && run.stderr.contains("`a`"), "{}", run.stderr);
}

#[test]
fn a_changed_list_is_not_used() {
    let people = in_git();
    let name = "/entries/versions/a.json";
    let text = String::from_utf8(std::fs::read(people.env.path("dist/entries/versions/a.json")).unwrap()).unwrap();
    people.serve(name, text.replace("acp-1.0.0", "evil"));
    let run = people.run(&["install", "a@1.0.0"]);
    assert!(run.code == 2 && run.stderr.contains("is not known"), "{}", run.stderr);
    people.serve(name, text);
    assert_eq!(people.run(&["install", "a@1.0.0"]).code, 0);
}

#[test]
fn an_earlier_tree_hands_its_versions_on_without_git() {
    let people = People::new();
    write(&people, "1.0.0");
    build(&people, &[]);
    for version in ["1.1.0", "2.0.0"] {
        std::fs::rename(people.env.path("dist"), people.env.path(&format!("before-{version}"))).unwrap();
        write(&people, version);
        build(&people, &["--previous", &format!("before-{version}")]);
    }
    assert_eq!(listed(&people), ["2.0.0", "1.1.0", "1.0.0"]);
    // With the day that its history has.
    let history: Value = serde_json::from_str(&people.env.read("before-2.0.0/history.json")).unwrap();
    let (_, document) = people.json(&["info", "a", "--versions"]);
    assert!(history["events"][0]["version"] == "1.1.0" && history["events"][0]["time"].is_string(), "{history}");
    assert_eq!(document["versions"][1]["since"], history["events"][0]["time"], "{document}");
    let run = people.run(&["install", "a@1.0.0", "--no-check"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // A version that was revoked since is not published any more, and one that comes back is the current one.
    let item = json!({ "id": "a", "versions": "1.0.0", "level": "revoked", "reason": "r", "since": "2026-01-31" });
    people.env.write("r/revoked.json", json!({ "schema": 1, "revoked": [item] }).to_string());
    std::fs::rename(people.env.path("dist"), people.env.path("before")).unwrap();
    write(&people, "1.1.0");
    build(&people, &["--previous", "before"]);
    assert_eq!(listed(&people), ["1.1.0", "2.0.0"]);
    for command in ["install", "resolve"] {
        let (code, report) = people.json(&[command, "a@1.0.0", "--refresh"]);
        let error = if command == "install" { &report["errors"][0] } else { &report["error"] };
        assert_eq!((code, &error["code"]), (4, &json!("revoked")), "{report}");
    }
}

#[test]
fn what_breaks_rules_of_safety_is_not_handed_on() {
    let people = in_git();
    // A list that an attacker has written.
    let file = people.env.path("dist/entries/versions/a.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"./bin/agent", "\"../../bin/agent");
    let (old, new) = (sha256(&std::fs::read(&file).unwrap()), sha256(text.as_bytes()));
    std::fs::write(&file, text).unwrap();
    // Its digest is in a list, whose digest is in a group, whose digest is in the discovery document.
    let (mut old, mut new) = (old, new);
    for _ in 0..3 {
        let folder = people.env.path("dist/entry-lists");
        let lists = std::fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path());
        let named = lists.chain([people.env.path("dist/entries.json")]);
        let found = named.into_iter().find(|path| std::fs::read_to_string(path).unwrap().contains(&old)).unwrap();
        let changed = std::fs::read_to_string(&found).unwrap().replace(&old, &new);
        (old, new) = (sha256(&std::fs::read(&found).unwrap()), sha256(changed.as_bytes()));
        let place = if found.ends_with("entries.json") { found } else { folder.join(format!("{new}.json")) };
        std::fs::write(place, changed).unwrap();
    }
    std::fs::rename(people.env.path("dist"), people.env.path("before")).unwrap();
    std::fs::remove_dir_all(people.env.path("r/.git")).unwrap_or_default();
    std::fs::remove_dir_all(people.env.path(".git")).unwrap_or_default();
    build(&people, &["--previous", "before"]);
    assert_eq!(listed(&people), ["2.0.0"]);
}

#[test]
fn a_held_version_stays_in_one_index_while_the_others_go_on() {
    let people = in_git();
    let config = |hold: &str| {
        let views = "[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"stable.json\"\n";
        configure(&people, &format!("[hold.a]\n{hold}\n{views}"));
        // Git is asked for a tree without a site, too.
        let plain = try_build(&people, &["--no-site"]);
        let indexes = || ["registry.json", "stable.json"].map(|view| people.env.read(&format!("dist/{view}")));
        let before = indexes();
        let run = try_build(&people, &[]);
        assert_eq!((plain.code, plain.code == 2 || before == indexes()), (run.code, true), "{}", plain.stderr);
        run
    };
    let version = |view: &str| {
        let index: Value = serde_json::from_str(&people.env.read(&format!("dist/{view}"))).unwrap();
        let agent = index["agents"][0].clone();
        (agent["version"].clone(), agent["distribution"]["binary"][host()]["args"][0].clone())
    };
    let run = config("version = \"1.1.0\"\nreason = \"2.0.0 loses sessions\"\nviews = [\"stable.json\"]");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(version("stable.json"), (json!("1.1.0"), json!("acp-1.1.0")));
    assert!(
        people.env.read("dist/stable.json").contains("held") && !people.env.read("dist/registry.json").contains("held")
    );
    assert_eq!(version("registry.json"), (json!("2.0.0"), json!("acp-2.0.0")));
    // Entries of single agents and their icons are those of the index.
    let entry: Value = serde_json::from_str(&people.env.read("dist/entries/stable/a.json")).unwrap();
    assert!(entry["version"] == "1.1.0" && entry["icon"].as_str().unwrap().ends_with("/a.svg"), "{entry}");
    // In all of them, until a day that is over.
    assert_eq!(config("version = \"1.0.0\"\nreason = \"r\"\nuntil = \"2999-01-01\"").code, 0);
    assert_eq!((version("stable.json").0, version("registry.json").0), (json!("1.0.0"), json!("1.0.0")));
    assert_eq!(config("version = \"1.0.0\"\nreason = \"r\"\nuntil = \"2020-01-01\"").code, 0);
    assert_eq!(version("registry.json").0, json!("2.0.0"));
    // `validate` says in the pull request what would stop the build.
    let validate = || people.env.run(&["--registry-dir", "r", "--allow-host", "127.0.0.1", "validate"]);
    let unknown = "version = \"3.0.0\"\nreason = \"r\"";
    for (hold, code, message) in [
        (unknown, 1, "`[hold]` names `3.0.0` of `a`, which is not known to git"),
        ("version = \"1.0.0\"\nreason = \"r\"\nviews = [\"other.json\"]", 2, "there is no view of this name"),
        ("version = \"1.0.0\"", 2, "missing field `reason`"),
        ("version = \"1.0.0\"\nreason = \"r\"\nuntil = \"soon\"", 2, "is not a day"),
    ] {
        for run in [config(hold), validate()] {
            let text = run.stderr + &run.stdout;
            assert!(run.code == code && text.contains(message), "{hold}: {} {text}", run.code);
        }
    }
    for fine in ["1.0.0\"", "2.0.0\"", "3.0.0\"\nuntil = \"2020-01-01\""] {
        assert_eq!(config(&format!("version = \"{fine}\nreason = \"r\"")).code, 0, "{fine}");
        assert_eq!(validate().code, 0, "{fine}");
    }
    configure(&people, "[hold.aa]\nversion = \"1.0.0\"\nreason = \"r\"\n");
    let run = validate();
    assert!(run.code == 0 && run.stdout.contains("`[hold]` names `aa`, but there is no such agent"), "{}", run.stdout);
    // What only the earlier tree may know is left to `build`.
    config(unknown);
    for is_in_git in [true, false] {
        if is_in_git {
            people.env.write("r/history.json", "{ \"schema\": 1, \"events\": [] }");
        } else {
            std::fs::remove_file(people.env.path("r/history.json")).unwrap();
            std::fs::remove_dir_all(people.env.path("r/.git")).unwrap();
        }
        assert_eq!(validate().code, 0, "{is_in_git}");
        let run = config(unknown);
        let told = "a is held at 3.0.0, which is known neither to git nor";
        assert!(run.code == 2 && run.stderr.contains(told), "{is_in_git}: {}", run.stderr);
    }
}

#[test]
fn readers_see_what_an_index_holds_and_send_no_request_for_it() {
    let people = in_git();
    let shown = |people: &People| {
        let (code, list) = people.json(&["list", "--refresh"]);
        let (also, info) = people.json(&["info", "a"]);
        assert_eq!((code, also), (0, 0), "{list} {info}");
        assert_eq!(list["agents"][0].get("held"), info.get("held"));
        list["agents"][0].get("held").cloned()
    };
    // Without a hold, nothing is published of it, even if a manifest says so.
    let plain = people.env.read("dist/registry.json");
    let text = people.env.read("r/a/agent.json");
    people
        .env
        .write("r/a/agent.json", text.replacen('{', "{ \"held\": { \"version\": \"2.0.0\", \"reason\": \"r\" },", 1));
    build(&people, &[]);
    assert_eq!((people.env.read("dist/registry.json"), shown(&people)), (plain.clone(), None));
    people.env.write("r/a/agent.json", text);
    let requests = |people: &People| {
        let before = people.server.asked().len();
        assert_eq!(people.run(&["list", "--refresh"]).code, 0);
        people.server.asked().split_off(before)
    };
    let usual = requests(&people);
    // A hold that changes nothing is not shown.
    configure(&people, "[hold.a]\nversion = \"2.0.0\"\nreason = \"r\"\n");
    build_as_configured(&people, &[]);
    assert_eq!(people.env.read("dist/registry.json"), plain);
    let config =
        "[hold.a]\nversion = \"1.1.0\"\nreason = \"2.0.0 loses \\u001b[31msessions\"\nuntil = \"2999-12-31\"\n";
    configure(&people, config);
    build_as_configured(&people, &[]);
    let held = json!({ "version": "1.1.0", "until": "2999-12-31", "reason": "2.0.0 loses [31msessions" });
    assert_eq!((shown(&people), requests(&people)), (Some(held), usual));
    let run = people.run(&["list"]);
    let words = "a is held at 1.1.0 until 2999-12-31: 2.0.0 loses [31msessions";
    assert!(run.stderr.contains(words) && run.stdout.contains("1.1.0"), "{}{}", run.stdout, run.stderr);
    assert!(people.run(&["search", "a"]).stderr.contains(words));
    assert!(people.run(&["info", "a"]).stdout.contains("index        held at 1.1.0 until 2999-12-31: "));
    // A tree after that without the hold, or with an error in the agent's folder, says what holds then.
    std::fs::rename(people.env.path("dist"), people.env.path("before")).unwrap();
    people.env.write("r/a/agent.json", "{");
    build_as_configured(&people, &["--previous", "before"]);
    assert_eq!(shown(&people).unwrap()["until"], "2999-12-31");
    build(&people, &["--previous", "before"]);
    assert_eq!(shown(&people), None);
    assert_eq!(people.json(&["resolve", "a"]).1["version"], "1.1.0");
}

#[test]
fn an_agents_page_tells_what_is_held_recalled_and_can_be_had_again() {
    let people = in_git();
    let read = |name: &str| people.env.read(&format!("dist/agents/a/{name}"));
    let page = read("index.html");
    let command = format!("acp-registry install --index {} a@1.1.0", people.server.url("/registry.json"));
    assert!(page.contains(&format!("installed: 2, such as by <code>{command}</code>")), "{page}");
    assert!(!page.contains("Held") && !page.contains("Recalled"), "{page}");
    assert!(!people.env.read("dist/index.html").contains("Held at this version"));
    assert!(read("index.md").contains(&format!("\n{command}\n")));

    let item = |versions: &str, level: &str| json!({ "id": "a", "versions": versions, "level": level, "reason": "<script>\"&'", "since": "2026-01-31" });
    let items = [item("<1.1.0", "revoked"), item("1.1.0", "deprecated")];
    people.env.write("r/revoked.json", json!({ "schema": 1, "revoked": items }).to_string());
    let reason = serde_json::to_string("<script>\u{1b}\"&'\u{202e}").unwrap();
    configure(&people, &format!("[hold.a]\nversion = \"1.1.0\"\nreason = {reason}\nuntil = \"2999-12-31\"\n"));
    build_as_configured(&people, &[]);
    let page = read("index.html");
    let escaped = "&#60;script&#62;&#34;&#38;&#39;";
    for words in [
        format!(
            "<dt>Held</dt><dd>At this version until <time datetime=\"2999-12-31\">2999-12-31</time>: <bdi>{escaped}</bdi>"
        ),
        format!("<dt>Recalled</dt><dd>This version <bdi>has been deprecated since 2026-01-31: {escaped}</bdi>"),
        format!("<li><bdi>&#60;1.1.0</bdi> <bdi>has been revoked since 2026-01-31: {escaped}</bdi></li>"),
        "<bdi>1.0.0</bdi> <span class=\"version\">New</span> <span class=\"version\">revoked</span>".to_owned(),
    ] {
        assert!(page.contains(&words), "{words}: {page}");
    }
    // A card says it as well, written by the program and, from the catalog, by the script.
    let chip = "<li class=\"chip auth\">Held at this version</li>";
    for name in ["index.html", "all/1/index.html"] {
        let cards = people.env.read(&format!("dist/{name}"));
        assert!(cards.contains(chip), "{name}: {cards}");
    }
    let files = tree(&people.env.path("dist"));
    let catalog = files.iter().find(|(name, _)| name.starts_with("assets/catalog.")).unwrap();
    assert!(String::from_utf8_lossy(&catalog.1).contains("[\"auth\",\"Held at this version\"]"));
    assert!(!page.contains("<script>\u{1b}") && !page.contains('\u{1b}') && !page.contains('\u{202e}'));
    let text = read("index.md");
    assert!(text.contains("held at 1.1.0 until 2999-12-31") && text.contains("1.0.0 (revoked)"), "{text}");
    // Without the dates of a history, the days are those of the list.
    configure(&people, "");
    people.env.write("r/history.json", "{ \"schema\": 1, \"events\": [] }");
    std::fs::rename(people.env.path("dist"), people.env.path("before")).unwrap();
    build_as_configured(&people, &["--previous", "before"]);
    assert!(read("index.html").contains("<ul class=\"changes\"><li>"), "{}", read("index.html"));
}

/// A link needs an archive of a release: the page of a version without one has none.
#[test]
fn a_version_leads_to_the_release_of_its_archives_whatever_tells_of_it() {
    let people = People::new();
    people.env.git(&["init", "--quiet"]);
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        write(&people, version);
        if version != "1.0.0" {
            let mut agent: Value = serde_json::from_str(&people.env.read("r/a/agent.json")).unwrap();
            let address = format!("https://github.com/o/r/releases/download/v{version}/a.tar.gz");
            agent["distribution"]["binary"][host()]["archive"] = address.into();
            people.env.write("r/a/agent.json", agent.to_string());
        }
        people.env.git(&["add", "."]);
        people.env.git(&["commit", "--quiet", "--message", version]);
    }
    build(&people, &[]);
    let event = |version: &str, day: &str| json!({ "time": format!("2026-01-{day}T00:00:00Z"), "event": "updated", "id": "a", "name": "A", "version": version, "from": "0.9.0" });
    let all = json!([event("2.0.0", "03"), event("1.1.0", "02"), event("1.0.0", "01")]);
    // By the list of versions, and by a history that names no releases.
    for (events, linked) in [(json!([]), &["1.1.0"][..]), (all, &["1.1.0", "2.0.0"])] {
        people.env.write("r/history.json", json!({ "schema": 1, "events": events }).to_string());
        std::fs::rename(people.env.path("dist"), people.env.path("before")).unwrap();
        build(&people, &["--previous", "before"]);
        std::fs::remove_dir_all(people.env.path("before")).unwrap();
        let page = people.env.read("dist/agents/a/index.html");
        let (_, list) = page.split_once("<ul class=\"changes\">").unwrap();
        let (list, _) = list.split_once("</ul>").unwrap();
        for version in linked {
            let link = format!("<a href=\"https://github.com/o/r/releases/tag/v{version}\"");
            assert!(list.contains(&link), "{version}: {list}");
        }
        assert_eq!(list.matches("<a ").count(), linked.len(), "{list}");
        assert!(list.contains("<bdi>1.0.0</bdi>"), "{list}");
    }
}
