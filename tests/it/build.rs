//! `build`: the published tree, views, earlier forms, and the swap.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::{thread, time::Duration};

#[cfg(unix)]
use nix::sys::signal::{Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::publish_reader::ending;
use crate::support::{Env, ICON, Run, manifest, tree};

const VIEWS: &str = r#"
base-url = "https://registry.example/v1/"

[[view]]
file = "registry.json"
exclude = ["b"]
extra = { extensions = [] }

[[view]]
file = "preview.json"
format-version = "2.0.0"
channel = "preview"
base-url = "https://other.example"

[view.agents.a]
set = { bundled = true }
append-args = { npx = ["--extra"] }
"#;

fn index(env: &Env, file: &str) -> Value {
    serde_json::from_str(&env.read(file)).unwrap()
}

fn ids(index: &Value) -> Vec<&str> {
    index["agents"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect()
}

#[test]
fn without_a_configuration_there_is_one_index() {
    let env = Env::with(&["b", "a", "a-b"]);
    let run = env.run(&["build", "--out", "new/out", "--no-site"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.stdout, "wrote new/out (3 agents, 7 files)\n");
    let index = index(&env, "new/out/registry.json");
    assert_eq!(index["version"], "1.0.0");
    assert_eq!(ids(&index), ["a", "a-b", "b"]);
    assert_eq!(index["agents"][0]["icon"], "https://cdn.agentclientprotocol.com/registry/v1/latest/a.svg");
    assert_eq!(env.read("new/out/a.svg"), ICON);
}

#[test]
fn views_follow_the_configuration() {
    let preview = r#","preview": { "version": "1.1.0-preview.1", "distribution": { "npx": { "package": "a@1.1.0-preview.1" } } } }"#;
    let text = manifest("a").trim_end().trim_end_matches('}').to_owned() + preview;
    let env = Env::with(&["b"]).file("r/a/agent.json", text).file("r/a/icon.svg", ICON).file("r/registry.toml", VIEWS);
    let run = env.run(&["build", "--out", "out", "--no-site"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let stable = index(&env, "out/registry.json");
    assert_eq!(ids(&stable), ["a"]);
    assert_eq!(stable["extensions"], json!([]));
    assert_eq!(stable["agents"][0]["icon"], "https://registry.example/v1/a.svg");
    assert_eq!(stable["agents"][0].get("preview"), None);
    let preview = index(&env, "out/preview.json");
    assert_eq!(preview["version"], "2.0.0");
    assert_eq!(ids(&preview), ["a", "b"]);
    assert_eq!(preview["agents"][0]["version"], "1.1.0-preview.1");
    assert_eq!(
        preview["agents"][0]["distribution"]["npx"],
        json!({ "package": "a@1.1.0-preview.1", "args": ["--extra"] })
    );
    assert_eq!(preview["agents"][0]["bundled"], true);
    assert_eq!(preview["agents"][1]["icon"], "https://other.example/b.svg");

    env.run(&["build", "--out", "out", "--no-site", "--base-url", "https://mirror.example/x/"]);
    assert_eq!(index(&env, "out/preview.json")["agents"][1]["icon"], "https://mirror.example/x/b.svg");
    assert!(env.read("out/agent.schema.json").contains("\"$id\": \"https://mirror.example/x/agent.schema.json\""));
    assert_eq!(env.run(&["build", "--out", "out", "--base-url", "not a url"]).code, 2);
}

#[test]
fn the_schemas_of_a_registry_are_published_byte_for_byte() {
    let env = Env::with(&["a"])
        .file("r/.own/agent.json", "{ \"$id\": \"x\" }")
        .file("r/registry.toml", "schemas.agent = \".own/agent.json\"");
    let run = env.run(&["build", "--out", "out", "--no-site"]);
    assert_eq!((run.code, env.read("out/agent.schema.json").as_str()), (0, "{ \"$id\": \"x\" }"), "{}", run.stderr);
    // Below the public registry's address, which is the default, this program's schema has an id of its own.
    assert!(!env.read("out/registry.schema.json").contains("cdn."));
    for (content, part) in [("[]", "not a JSON object"), ("{", "not JSON"), ("", "not JSON")] {
        env.write("r/.own/agent.json", content);
        let run = env.run(&["build", "--out", "out", "--no-site"]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(part) && run.stderr.contains(".own/agent.json"), "{}", run.stderr);
        assert_eq!(env.run(&["validate"]).code, 1, "what the build refuses is an error");
    }
    fs::remove_file(env.path("r/.own/agent.json")).unwrap();
    let run = env.run(&["build", "--out", "out", "--no-site"]);
    assert!(run.code == 2 && run.stderr.contains("schema `.own/agent.json` does not exist"), "{}", run.stderr);
    let (code, report) = env.json(&["validate"]);
    let finding = &report["findings"][0];
    let expected = (&json!("registry/config"), &json!("the schema `.own/agent.json` does not exist"));
    assert_eq!((code, (&finding["rule"], &finding["message"])), (1, expected), "{report}");
    assert_eq!(env.read("out/agent.schema.json"), "{ \"$id\": \"x\" }", "the earlier tree stays");
}

#[test]
fn levels_of_one_agent_hold_in_validate_and_in_build() {
    let config = "rules.\"manifest/missing-license-url\" = \"deny\"\nagents.a.rules.\"manifest/*\" = \"allow\"\n";
    let env = Env::with(&["a", "b"]).file("r/registry.toml", config);
    let (code, report) = env.json(&["validate"]);
    assert_eq!(code, 1);
    let findings: Vec<_> = report["findings"].as_array().unwrap().iter().map(|finding| &finding["agent"]).collect();
    assert_eq!(findings, ["b"]);
    assert_eq!(env.run(&["build", "--out", "out", "--no-site"]).code, 1);
    env.write("r/registry.toml", format!("{config}agents.b.rules.\"manifest/missing-license-url\" = \"warn\""));
    assert_eq!(env.run(&["build", "--out", "out", "--no-site"]).code, 0);
    // Flags count for more.
    assert_eq!(env.run(&["validate", "--deny", "manifest/missing-license-url"]).code, 1);
    env.write("r/registry.toml", "agents.c.rules.\"icon/size\" = \"warn\"");
    let (_, report) = env.json(&["validate"]);
    assert_eq!(report["findings"][0]["rule"], "registry/config");
    env.write("r/registry.toml", "agents.a.rules.\"icon/sise\" = \"warn\"");
    assert_eq!(env.run(&["validate"]).code, 2);
}

#[test]
fn what_is_published_obeys_what_is_published() {
    let env = Env::with(&["a", "b"]).file("r/registry.toml", VIEWS);
    env.run(&["build", "--out", "out", "--no-site"]);
    for file in ["out/registry.json", "out/preview.json"] {
        assert_eq!(acp_registry::check::schema::index_errors(&index(&env, file)), [] as [String; 0]);
    }
}

#[test]
fn checksums_cover_every_other_file() {
    let env = Env::with(&["a"]);
    env.run(&["build", "--out", "out", "--no-site"]);
    let names: Vec<_> =
        tree(&env.path("out")).into_iter().map(|(name, _)| name).filter(|name| name != "SHA256SUMS").collect();
    let listed: Vec<_> =
        env.read("out/SHA256SUMS").lines().map(|line| line.split_once("  ").unwrap().1.to_owned()).collect();
    assert_eq!(listed, names);
    let check =
        Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(env.path("out")).output();
    match check {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => crate::support::skipped("checksums_cover_every_other_file", "there is no sha256sum"),
    }
}

#[test]
fn the_tree_is_replaced_as_a_whole() {
    let env = Env::with(&["a", "b"]);
    env.run(&["build", "--out", "out", "--no-site"]);
    assert!(env.path("out/b.svg").exists());
    fs::remove_dir_all(env.path("r/b")).unwrap();
    env.run(&["build", "--out", "out", "--no-site"]);
    assert!(!env.path("out/b.svg").exists());
    assert_eq!(fs::read_dir(env.path(".")).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn published_files_can_be_read_by_everybody() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = Env::with(&["a"]);
    env.run(&["build", "--out", "out", "--no-site"]);
    assert_eq!(fs::metadata(env.path("out")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::metadata(env.path("out/a.svg")).unwrap().permissions().mode() & 0o444, 0o444);
}

#[test]
fn nothing_but_a_published_tree_is_ever_replaced() {
    let env = Env::with(&["a"]).file("home/letter.txt", "dear").file("web/registry.json", "{}");
    for out in ["home", "web"] {
        let run = env.run(&["build", "--out", out]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("which was not written by an earlier build"), "{}", run.stderr);
    }
    assert_eq!((env.read("home/letter.txt"), env.read("web/registry.json")), ("dear".to_owned(), "{}".to_owned()));
    // Something that was put into a published tree stays too.
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    env.write("out/more/letter.txt", "dear");
    assert_eq!(env.run(&["build", "--out", "out"]).code, 2);
    assert_eq!(env.read("out/more/letter.txt"), "dear");
    for out in [
        "r", ".", "r/..", "r/a", "r/new", "r/a/dist", "r/new/dist", "new/..", "new/../r", "new/../r/x", "new/../home",
        "/",
    ] {
        assert_eq!(env.run(&["build", "--out", out]).code, 2, "{out}");
        assert!(env.path("r/a/agent.json").exists() && !env.path("new").exists() && !env.path("r/new").exists());
    }
    let mut inside = env.command(&["build", "--registry-dir", ".", "--out", "new"]);
    let run = Run::of(inside.current_dir(env.path("r")));
    assert!(run.code == 2 && !env.path("r/new").exists(), "{}", run.stderr);
    assert_eq!(env.run(&["build", "--out", "r/dist"]).code, 0);
    env.write("file", "x");
    let run = env.run(&["build", "--out", "file"]);
    assert!(run.code == 3 && run.stderr.contains("help: remove the file, or name another"), "{}", run.stderr);
    assert_eq!(env.read("file"), "x");
}

#[cfg(unix)]
#[test]
fn a_link_to_the_tree_stays_a_link() {
    let env = Env::with(&["a"]);
    fs::create_dir(env.path("real")).unwrap();
    std::os::unix::fs::symlink("real", env.path("out")).unwrap();
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert!(env.path("out").is_symlink() && env.path("real/registry.json").exists());
    std::os::unix::fs::symlink("nowhere", env.path("dangling")).unwrap();
    assert_eq!(env.run(&["build", "--out", "dangling"]).code, 3);
    assert!(env.path("dangling").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_of_a_tree_that_is_not_complete() {
    let env = Env::with(&["a"]);
    // Other signals are ignored where the tests run in the background.
    let is_interrupted = || {
        let code = signalled(&env, &mut env.command(&SLOW), Signal::SIGTERM);
        let is_complete = env.path("site/out").exists();
        assert!(code == Some(143) || (code == Some(0) && is_complete), "{code:?}");
        assert_eq!(fs::read_dir(env.path("site")).unwrap().count(), usize::from(is_complete));
        !is_complete
    };
    assert!((0..20).any(|_| is_interrupted()), "the signal came too late twenty times");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_stays_so() {
    let env = Env::with(&["a"]);
    let build = env.command(&SLOW);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(build.get_program()).args(build.get_args());
    command.current_dir(env.path(""));
    assert_eq!(signalled(&env, &mut command, Signal::SIGHUP), Some(0));
    assert!(env.path("site/out/SHA256SUMS").exists());
}

#[cfg(unix)]
const SLOW: [&str; 4] = ["build", "--quiet", "--out", "site/out"];

/// Sends a signal to a build of many agents once it has begun to write, and returns its exit code. It may have ended before.
#[cfg(unix)]
fn signalled(env: &Env, build: &mut Command, signal: Signal) -> Option<i32> {
    for id in (0..150).map(|number| format!("agent-{number}")) {
        env.write(&format!("r/{id}/agent.json"), manifest(&id));
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let site = env.path("site");
    let _ = fs::remove_dir_all(&site);
    fs::create_dir(&site).unwrap();
    let mut child = build.stdout(Stdio::null()).spawn().unwrap();
    while fs::read_dir(&site).unwrap().next().is_none() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    let _ = kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal);
    child.wait().unwrap().code()
}

#[test]
fn a_failing_agent_stops_the_build_and_the_old_tree_stays() {
    let env = Env::with(&["a", "b"]);
    env.run(&["build", "--out", "out", "--no-site"]);
    let old = tree(&env.path("out"));
    env.write("r/b/icon.svg", "<svg");
    let run = env.run(&["build", "--out", "out", "--no-site"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.contains("error[icon/syntax]")
            && run.stderr.contains("error: errors in b, and no earlier form to keep"),
        "{}",
        run.stderr
    );
    assert_eq!(tree(&env.path("out")), old);
    let (code, report) = env.json(&["build", "--out", "out", "--no-site"]);
    assert_eq!((code, &report["written"], &report["error"]["exit_code"]), (1, &json!(false), &json!(1)));
}

#[test]
fn a_failing_agent_keeps_its_last_published_form() {
    let env = Env::with(&["a", "b"]).file("r/registry.toml", VIEWS);
    env.run(&["build", "--out", "old", "--no-site"]);
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "not a version"));
    env.write("r/a/icon.svg", "<svg");
    env.write("r/b/agent.json", manifest("b").replace("1.0.0", "2.0.0"));
    let run =
        env.run(&["build", "--out", "new", "--previous", "old", "--no-site", "--base-url", "https://new.example"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("wrote new"), "{}", run.stdout);
    assert!(run.stderr.contains("warning: a keeps its last published form: it has errors\n"), "{}", run.stderr);
    assert!(run.stderr.contains("error[manifest/version-format]"), "{}", run.stderr);
    let preview = index(&env, "new/preview.json");
    assert_eq!(ids(&preview), ["a", "b"]);
    assert_eq!((&preview["agents"][0]["version"], &preview["agents"][0]["bundled"]), (&json!("1.0.0"), &json!(true)));
    assert_eq!(preview["agents"][0]["icon"], "https://new.example/a.svg");
    assert_eq!(preview["agents"][1]["version"], "2.0.0");
    assert_eq!(env.read("new/a.svg"), ICON);
    let (_, report) = env.json(&["build", "--out", "new", "--previous", "old", "--no-site"]);
    assert_eq!(report["agents"], json!([{ "id": "a", "status": "kept" }, { "id": "b", "status": "published" }]));
    assert_eq!(report["summary"]["kept"], 1);
}

#[test]
fn an_earlier_form_must_be_there_and_in_order() {
    let env = Env::with(&["a"]).file("r/a/icon.svg", "<svg");
    for (file, content, code) in [
        ("old/other.json", "", 1),
        ("old/registry.json", r#"{ "version": "1.0.0", "agents": [{ "id": "b" }] }"#, 1),
        ("old/registry.json", r#"{ "version": "1.0.0", "agents": [{ "id": "a" }] }"#, 1),
        ("old/registry.json", "not json", 3),
        ("old/registry.json", "[]", 3),
    ] {
        env.write(file, content);
        let run = env.run(&["build", "--out", "out", "--previous", "old"]);
        assert_eq!(run.code, code, "{content}: {}", run.stderr);
        assert!(!env.path("out").exists());
    }
    let run = env.run(&["build", "--out", "out", "--previous", "nowhere"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("nowhere"), "{}", run.stderr);
}

#[test]
fn an_earlier_form_may_do_no_harm() {
    let env = Env::with(&["a"]);
    env.run(&["build", "--out", "old", "--no-site"]);
    let good = env.read("old/registry.json");
    env.write("r/a/icon.svg", "<svg");
    for (from, to) in [
        ("a@1.0.0", "--registry=https://evil.example a"),
        ("\"args\": [", "\"env\": { \"LD_PRELOAD\": \"x\" }, \"args\": ["),
        ("Made for a test", "\\u202eMade for a test"),
        ("\"license\": \"MIT\"", "\"website\": \"javascript:x\""),
    ] {
        assert!(good.contains(from));
        env.write("old/registry.json", good.replace(from, to));
        let run = env.run(&["build", "--out", "out", "--previous", "old"]);
        assert_eq!(run.code, 1, "{to}: {}", run.stdout);
    }
    env.write("old/registry.json", &good);
    env.write("old/a.svg", ICON.replace("<path", "<script/><path"));
    assert_eq!(env.run(&["build", "--out", "out", "--previous", "old"]).code, 0);
    assert!(!env.path("out/a.svg").exists());
    assert_eq!(index(&env, "out/registry.json")["agents"][0].get("icon"), None);
}

#[test]
fn a_kept_agent_that_a_view_lacks_is_named() {
    let env = Env::with(&["a", "b"]);
    env.run(&["build", "--out", "old", "--no-site"]);
    env.write("r/a/icon.svg", "<svg");
    env.write("r/registry.toml", "[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"second.json\"\n");
    let run = env.run(&["build", "--out", "new", "--previous", "old"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: a is missing from second.json"), "{}", run.stderr);
    assert_eq!(
        env.json(&["build", "--out", "new", "--previous", "old"]).1["missing"],
        json!([{ "id": "a", "file": "second.json" }])
    );
}

#[test]
fn a_configuration_cannot_make_an_index_that_clients_do_not_read() {
    let env = Env::with(&["a"]);
    for change in ["agents.a.set.name = 1", "agents.a.set.authors = \"x\"", "extra.extensions = \"x\""] {
        env.write("r/registry.toml", format!("[[view]]\nfile = \"registry.json\"\n{change}\n"));
        let run = env.run(&["build", "--out", "out"]);
        assert_eq!(run.code, 2, "{change}: {}", run.stdout);
        assert!(run.stderr.contains("the view registry.json cannot be published"), "{}", run.stderr);
        assert!(!env.path("out").exists());
    }
}

#[cfg(unix)]
#[test]
fn no_view_has_the_name_of_something_else_in_the_tree() {
    let env = Env::empty();
    crate::closures::registry(&env, Some(&crate::closures::list("1.0.0", &json!({}))));
    env.write("r/revoked.json", r#"{ "schema": 1, "revoked": [] }"#);
    let examined = json!({ "version": "1.0.0", "day": "2026-10-01", "platform": "linux-x86_64",
                           "judgements": { "turns": "failed" }, "failed": ["turns/cancel"] });
    let agent =
        json!({ "id": "own", "version": "1.0.0", "protocol_version": 1, "features": {}, "history": [examined] });
    env.write("r/capabilities.json", json!({ "agents": [agent] }).to_string());
    let build = |more: &[&str]| env.run(&[&["build", "--base-url", "https://h.example/latest"], more].concat());
    let run = build(&["--out", "first"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The next version has no list of packages.
    env.write("r/own/agent.json", env.read("r/own/agent.json").replace("1.0.0", "1.1.0"));
    fs::remove_file(env.path("r/own/package-lock.json")).unwrap();
    let run = build(&["--out", "second", "--previous", "first"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut publish = env.command(&["publish", "--from", "second", "--to", "site"]);
    let run = Run::of(publish.env("ACP_REGISTRY_SIGNING_KEY", crate::signed::KEYS[0]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut names = BTreeSet::new();
    for folder in ["first", "site/latest"] {
        let files = tree(&env.path(folder)).into_iter().map(|(name, _)| name);
        names.extend(files.filter(|name| ending(name) == "json" && !name.contains('/')));
        let document: Value = serde_json::from_str(&env.read(&format!("{folder}/entries.json"))).unwrap();
        let views = document["views"].as_object().unwrap().keys();
        names.extend(views.filter(|view| ending(view) != "json").map(|view| format!("{view}.json")));
    }
    assert!(names.remove("registry.json"));
    let expected = [
        "agent.schema.json", "closures.json", "earlier-closures.json", "entries.json", "examinations.json",
        "facets.json", "history.json", "registry.schema.json", "revoked.json", "statement.json", "versions.json",
    ];
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    for name in names {
        for file in [name.to_ascii_uppercase().replace(".JSON", ".json"), name] {
            env.write("r/registry.toml", format!("[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"{file}\"\n"));
            let run = build(&["--out", "third"]);
            assert!(run.code == 2 && run.stderr.contains("other than agent.schema.json, "), "{file}: {}", run.stderr);
        }
    }
}

#[test]
fn an_id_too_long_for_a_file_name_is_an_error() {
    let id = "a".repeat(101);
    let env = Env::with(&[&id]);
    assert_eq!(env.findings().1[0].0, "manifest/reserved-id");
    assert_eq!(env.run(&["build", "--out", "out"]).code, 1);
}

#[cfg(unix)]
#[test]
fn check_writes_nothing_and_lists_differences() {
    let env = Env::with(&["a", "b"]);
    let run = env.run(&["build", "--out", "out", "--check"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.starts_with("out does not exist\ndiffers: out (") && !env.path("out").exists(),
        "{}",
        run.stdout
    );
    env.run(&["build", "--out", "out"]);
    assert_eq!(env.run(&["build", "--out", "out", "--check"]).code, 0);
    env.write("out/extra\u{1b}.txt", "");
    env.write("out/a.svg", "other");
    fs::remove_file(env.path("out/b.svg")).unwrap();
    let run = env.run(&["build", "--out", "out", "--check"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.starts_with("changed a.svg\nmissing b.svg\nextra extra\\u{1b}.txt\n"), "{}", run.stdout);
    #[cfg(unix)]
    {
        fs::remove_file(env.path("out/registry.json")).unwrap();
        assert!(Command::new("mkfifo").arg(env.path("out/registry.json")).status().unwrap().success());
        assert!(env.run(&["build", "--out", "out", "--check"]).stdout.contains("changed registry.json\n"));
    }
    let (_, report) = env.json(&["build", "--out", "out", "--check"]);
    assert_eq!(report["differences"][0], json!({ "kind": "changed", "file": "a.svg" }));
}

#[test]
fn an_agent_without_an_icon_has_no_link_to_one() {
    let env = Env::with(&["a"]);
    fs::remove_file(env.path("r/a/icon.svg")).unwrap();
    env.write("r/a/agent.json", manifest("a").replace("\"name\"", "\"icon\": \"./icon.svg\",\n  \"name\""));
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert_eq!(index(&env, "out/registry.json")["agents"][0].get("icon"), None);
    assert!(!env.path("out/a.svg").exists());
}

#[test]
fn a_registry_with_an_unreadable_quarantine_list_is_not_published() {
    let env = Env::with(&["a"]).file("r/quarantine.json", "{");
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("error[registry/quarantine]") && !env.path("out").exists(), "{}", run.stderr);
}
