//! Repeated runs of `acp-registry verify`: the rows that one run leaves for the next, and agents that are started again.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::people::host;
use crate::server::{Server, not_found, write};
use crate::support::{Run, wait_until};
use crate::verify::{Verify, row, rows};

fn snapshot(verify: &Verify, path: &str) -> Value {
    serde_json::from_str(&verify.env.read(path)).unwrap()
}

fn ids(snapshot: &Value) -> Vec<&str> {
    snapshot["agents"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn only_what_rests_on_the_same_distribution_and_is_recent_is_reused() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]);
    verify.json(&["--out", "c.json"]);
    let reused = |arguments: &[&str]| {
        let (_, document) = verify.json(&[&["--reuse", "c.json"], arguments].concat());
        document["summary"]["reused"].as_u64().unwrap()
    };
    assert_eq!(reused(&[]), 1);
    assert_eq!(reused(&["--reuse-max-age", "0s"]), 0);
    let whole = snapshot(&verify, "c.json");
    for (member, value) in [
        ("basis", Value::Null),
        ("basis", "x".into()),
        ("checked_at", "2001-01-01T00:00:00Z".into()),
        ("checked_at", "9001-01-01T00:00:00Z".into()),
        ("checked_at", Value::Null),
        ("verdict", "fail".into()),
        ("protocol_version", Value::Null),
    ] {
        let mut changed = whole.clone();
        changed["agents"][0][member] = value;
        verify.env.write("c.json", changed.to_string());
        assert_eq!(reused(&[]), 0, "{member}");
    }
    let bare = json!({ "schema": 1, "agents": [{
        "id": "good", "version": "1.0.0", "channel": "stable", "distribution": "npx", "verdict": "pass",
    }] });
    verify.env.write("c.json", bare.to_string());
    assert_eq!(reused(&[]), 0);
    verify.env.write("c.json", whole.to_string());
    assert_eq!(reused(&[]), 1);
    // The version is the same, but the agent differs.
    for (case, tag) in [(&["exit", "1", ""][..], verify.tag.as_str()), (&["ok"], "other")] {
        let distribution = json!({ "package": "good@1.0.0", "args": case, "env": { "FAKE_AGENT_TAG": tag } });
        verify.agent("good", &json!({ "npx": distribution }));
        assert_eq!(reused(&[]), 0, "{case:?} {tag}");
    }
    assert_eq!(verify.run(&["--reuse-max-age", "1d"]).code, 2);
}

#[test]
fn rows_of_others_stay_and_an_error_takes_nothing_away() {
    let verify = Verify::new();
    verify.npx("a", &["ok"]).npx("b", &["ok"]).npx("c", &["ok"]);
    verify.json(&["--out", "c.json"]);
    let before = snapshot(&verify, "c.json");
    assert_eq!(ids(&before), ["a", "b", "c"]);
    verify.npx("b", &["exit", "1", ""]);
    let (code, _) = verify.json(&["b", "--out", "c.json"]);
    let after = snapshot(&verify, "c.json");
    assert_eq!((code, ids(&after)), (1, vec!["a", "b", "c"]));
    assert_eq!((&after["agents"][0], &after["agents"][2]), (&before["agents"][0], &before["agents"][2]));
    assert_eq!(after["agents"][1]["verdict"], "fail");
    // The error is found before any agent is started.
    let run = verify.run(&["--out", "no/such/c.json"]);
    let message = "error: no/such/c.json: No such file or directory (os error 2)\nhelp: create the directory";
    assert!(run.code == 3 && run.stderr.contains(message) && !run.stderr.contains("of 3"), "{}", run.stderr);
    // With ids, `--reuse F --out F` keeps the other rows.
    verify.json(&["a", "--reuse", "c.json", "--out", "c.json"]);
    assert_eq!(snapshot(&verify, "c.json"), after);
    // If an agent cannot be installed here, its row is kept.
    let full = json!({ "npx": verify.package("full@1.0.0", &["ok"]) });
    verify.agent("a", &full).agent("d", &full);
    let (code, document) = verify.json(&["a", "d", "--out", "c.json"]);
    assert_eq!((code, rows(&document)[0]), (1, ("a", "error", "install_failed")));
    let later = snapshot(&verify, "c.json");
    assert_eq!((ids(&later), &later["agents"][0]), (vec!["a", "b", "c", "d"], &after["agents"][0]));
    assert_eq!(later["agents"][3]["verdict"], "error");
    // Rows of removed agents are dropped.
    fs::remove_dir_all(verify.env.path("r/b")).unwrap();
    verify.json(&["c", "--out", "c.json"]);
    assert_eq!(ids(&snapshot(&verify, "c.json")), ["a", "c", "d"]);
    verify.env.write("c.json", "{}");
    assert_eq!(verify.run(&["c", "--out", "c.json"]).code, 2);
    assert_eq!(verify.env.read("c.json"), "{}");
}

#[test]
fn processes_that_were_left_are_told_and_not_kept() {
    let verify = Verify::new();
    verify.npx("a", &["crowd", "3"]);
    let (code, document) = verify.json(&["--out", "c.json"]);
    let warnings = |row: &Value| {
        row["warnings"].as_array().unwrap().iter().any(|one| one == "left 3 processes behind when it ended")
    };
    assert!(code == 0 && warnings(&row(&document, "a")["handshake"]), "{document}");
    assert_eq!(snapshot(&verify, "c.json")["agents"][0]["warnings"], json!([]));
}

#[test]
fn a_source_that_is_down_fails_once() {
    let verify = Verify::new();
    verify.npx("down-a", &["ok"]).npx("down-b", &["ok"]).npx("good", &["ok"]);
    verify.agent("python", &json!({ "uvx": verify.package("python==1.0.0", &["ok"]) }));
    let run = verify.run(&["--jobs", "1", "--json", "--out", "c.json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(
        rows(&document),
        [
            ("down-a", "error", "install_failed"),
            ("down-b", "error", "install_failed"),
            ("good", "error", "install_failed"),
            ("python", "pass", ""),
        ]
    );
    assert_eq!(verify.env.read("calls"), "down-a\n");
    let message = row(&document, "good")["message"].as_str().unwrap();
    assert!(
        message.starts_with("not tried: the package source could not be reached for `down-a`: npm failed"),
        "{message}"
    );
    assert!(run.stderr.contains("the npm registry could not be reached"), "{}", run.stderr);
}

#[test]
fn a_host_of_archives_that_is_down_fails_once() {
    let verify = Verify::new();
    let server = Server::answering(|_| (429, vec![("Retry-After", "86400".to_owned())], Vec::new()));
    for id in ["a", "b", "c"] {
        let archive = server.url(&format!("/{id}-1.0.0.tar.gz"));
        verify.agent(id, &json!({ "binary": { host(): { "archive": archive, "cmd": "./agent" } } }));
    }
    verify.npx("good", &["ok"]);
    let run = verify.run(&["--allow-host", &server.host, "--jobs", "1", "--json"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let failed = |id: &'static str| (id, "error", "install_failed");
    assert_eq!(rows(&document), [failed("a"), failed("b"), failed("c"), ("good", "pass", "")]);
    assert!(server.asked().iter().all(|path| path == "/a-1.0.0.tar.gz"), "{:?}", server.asked());
    let message = row(&document, "c")["message"].as_str().unwrap();
    let expected =
        format!("not tried: the archive host `{}` could not be reached for `a`: the archive was", server.host);
    assert!(message.starts_with(&expected), "{message}");
    let expected = format!("the archive host `{}` could not be reached: its agents were not checked", server.host);
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

#[test]
fn a_file_that_breaks_off_is_that_of_its_agent_only() {
    let verify = Verify::new();
    let server = Server::raw(|asked, stream| match asked.path.as_str() {
        "/a-1.0.0.tar.gz" => stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\nshort"),
        "/c-1.0.0.tar.gz" => {
            let location = vec![("Location", "http://127.0.0.1:1/c.tar.gz".to_owned())];
            write(stream, asked, &(302, location, Vec::new()))
        }
        _ => write(stream, asked, &not_found()),
    });
    for id in ["a", "b", "c", "d"] {
        let archive = server.url(&format!("/{id}-1.0.0.tar.gz"));
        verify.agent(id, &json!({ "binary": { host(): { "archive": archive, "cmd": "./agent" } } }));
    }
    let run = verify.run(&["--allow-host", "127.0.0.1", "--jobs", "1", "--json", "--no-cache"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(rows(&document), ["a", "b", "c", "d"].map(|id| (id, "error", "install_failed")), "{document}");
    assert!(!run.stdout.contains("not tried") && !run.stderr.contains("could not be reached: its"), "{}", run.stderr);
    assert!(row(&document, "d")["message"].as_str().unwrap().contains("404"), "{document}");
}

#[test]
fn an_agent_that_is_withdrawn_is_not_started() {
    let verify = Verify::new();
    verify.npx("a", &["ok"]).npx("down-b", &["ok"]);
    verify.env.write("r/registry.toml", "[withdrawn]\ndown-b = \"its publisher asked for it\"\n");
    let (code, document) = verify.json(&["--out", "c.json"]);
    assert_eq!((code, rows(&document)), (0, vec![("a", "pass", "")]));
    assert_eq!(ids(&snapshot(&verify, "c.json")), ["a"]);
    let run = verify.run(&["down-b"]);
    assert!(run.code == 2 && run.stderr.contains("the agent `down-b` is withdrawn"), "{}", run.stderr);
    verify.npx("silent", &["exit", "3", "why"]);
    let run = Run::of(&mut verify.program(&["validate", "--handshake", "--json", "down-b"]));
    assert!(run.stderr.contains("not started because they are withdrawn: 1 (`down-b`)"), "{}", run.stderr);
    let run = Run::of(&mut verify.program(&["validate", "--handshake", "--json"]));
    assert!(run.code == 1 && run.stdout.contains("handshake/"), "{}{}", run.stdout, run.stderr);
    assert!(!verify.env.path("calls").exists(), "a withdrawn agent was installed");
}

#[test]
fn a_signal_leaves_what_was_found() {
    let verify = Verify::new();
    verify.npx("a", &["ok"]).npx("endless", &[]);
    let mut command = verify.command(&["--jobs", "1", "--out", "c.json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let found = || fs::read_to_string(verify.env.path("c.json")).is_ok_and(|text| text.contains("\"pass\""));
    wait_until("the first agent is written", found);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    verify.assert_clean();
    assert_eq!(ids(&snapshot(&verify, "c.json")), ["a"]);
}

#[test]
fn the_next_run_removes_the_places_of_one_that_was_killed() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]);
    let place = verify.env.path("tmp/acp-registry-abcdef");
    fs::create_dir_all(place.join("install/node_modules/x")).unwrap();
    fs::create_dir_all(place.join("acp-registry-ghijkl/home")).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
    File::open(&place).unwrap().set_modified(SystemTime::now() - Duration::from_mins(5)).unwrap();
    assert_eq!(verify.run(&[]).code, 0);
    assert!(!place.exists());
}

#[test]
fn an_agent_that_must_be_set_up_has_a_class_of_its_own() {
    let verify = Verify::new();
    let answer = r#"{"protocolVersion":1,"authMethods":[{"id":"l","name":"L"}],"sessions":"setup"}"#;
    verify.npx("good", &["ok"]).npx("setup", &["result", answer]);
    let run = verify.run(&["--color", "never", "--out", "c.json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let words = "Internal error: The program pi was not found. Install it via `npm install -g pi`";
    // No line begins with them, behind spaces neither: they could be a command of a CI runner.
    let shown = format!("| {words}");
    assert!(run.stdout.contains("pass     setup_required") && run.stdout.contains(&shown), "{}", run.stdout);
    let agents = snapshot(&verify, "c.json");
    assert_eq!(
        (&agents["agents"][0]["setup_required"], &agents["agents"][1]["setup_required"]),
        (&Value::Null, &words.into())
    );
    verify.env.write("v.json", verify.run(&["--json", "--reuse", "c.json"]).stdout);
    let report = verify.env.run(&["report", "v.json"]);
    assert!(report.stdout.contains("| pass | `setup_required` |"), "{} {}", report.stdout, report.stderr);
    let build = verify.program(&["build", "--out", "dist", "--capabilities", "c.json"]).output().unwrap();
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let page = verify.env.read("dist/agents/setup/index.html");
    assert!(page.contains("Setup required") && page.contains("The program pi was not found."), "{page}");
    assert!(!verify.env.read("dist/agents/good/index.html").contains("Setup required"));
}

#[test]
fn the_snapshot_obeys_its_schema_and_saves_work() {
    let verify = Verify::new();
    let answer = r#"{"protocolVersion":1,"agentInfo":{"name":"n"},"authMethods":[{"id":"l","name":"L"}],
                     "agentCapabilities":{"loadSession":true,"brandNew":{"x":1}}}"#;
    verify.npx("good", &["result", answer]).npx("absent", &[]).npx("exits", &["exit", "1", ""]);
    let (_, first) = verify.json(&["--out", "c.json"]);
    let text = verify.env.read("c.json");
    let snapshot: Value = serde_json::from_str(&text).unwrap();
    let schema: Value = serde_json::from_str(acp_registry::verify::SCHEMA).unwrap();
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&snapshot).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0]);
    let agents = snapshot["agents"].as_array().unwrap();
    let ids: Vec<&str> = agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["absent", "exits", "good"]);
    let good = &agents[2];
    assert_eq!(good["capabilities"]["brandNew"]["x"], 1);
    assert_eq!((&good["features"]["session/load"], &good["features"]["nes"]), (&true.into(), &false.into()));
    assert_eq!(good["auth_methods"][0]["type"], "agent");
    assert_eq!(good["probes"]["session/new"], "auth_required");

    // Only passed rows are reused; other failures may have been temporary.
    let (code, second) = verify.json(&["--reuse", "c.json", "--out", "d.json"]);
    assert_eq!((code, &second["summary"]["reused"], &second["summary"]["passed"]), (1, &1.into(), &0.into()));
    let reused = row(&second, "good");
    assert_eq!((&reused["verdict"], &reused["reused"]), (&"pass".into(), &true.into()));
    assert_eq!(reused["handshake"]["features"], row(&first, "good")["handshake"]["features"]);
    let again: Value = serde_json::from_str(&verify.env.read("d.json")).unwrap();
    assert_eq!(again["agents"][2], *good);

    // Another version is checked.
    let changed = verify.env.read("r/good/agent.json").replace("1.0.0", "1.0.1");
    verify.env.write("r/good/agent.json", changed);
    assert_eq!(verify.json(&["good", "--reuse", "c.json"]).1["summary"]["passed"], 1);

    // Equal answers give the same text, except for times.
    verify.run(&["good", "--out", "e.json"]);
    verify.run(&["good", "--out", "f.json"]);
    let timeless = |path: &str| {
        let mut document: Value = serde_json::from_str(&verify.env.read(path)).unwrap();
        document["agents"][0].as_object_mut().unwrap().retain(|name, _| name != "timing" && name != "checked_at");
        document.to_string()
    };
    assert_eq!(timeless("e.json"), timeless("f.json"));

    verify.env.write("wrong.json", "{}");
    assert_eq!(verify.run(&["--reuse", "wrong.json"]).code, 2);
    let run = verify.run(&["good", "--reuse", "none.json"]);
    assert!(run.code == 0 && run.stderr.contains("nothing is reused"), "{}", run.stderr);
}

#[test]
fn an_agent_that_fails_by_chance_is_started_again_and_called_flaky() {
    let verify = Verify::new();
    // If the caller is root, agents run as other users.
    verify.env.write("flags/c", "");
    fs::set_permissions(verify.env.path("flags"), fs::Permissions::from_mode(0o777)).unwrap();
    let once = |name: &str| verify.env.path("flags").join(name).to_str().unwrap().to_owned();
    verify.npx("crashes-once", &["crash-once", &once("a")]).npx("hangs-once", &["deaf-once", &once("b")]);
    verify.npx("crashes", &["crash"]).npx("good", &["ok"]);
    let (code, document) = verify.json(&["--timeout", "5", "--out", "c.json"]);
    let expected =
        [("crashes", "fail", "exited"), ("crashes-once", "pass", ""), ("good", "pass", ""), ("hangs-once", "pass", "")];
    assert_eq!((code, rows(&document)), (1, expected.to_vec()), "{document:#}");
    let flaky = ["crashes", "crashes-once", "good", "hangs-once"].map(|id| row(&document, id)["flaky"].clone());
    assert_eq!(flaky, [false, true, false, true].map(Value::from));
    // The snapshot does not depend on chance.
    assert!(!verify.env.read("c.json").contains("flaky"));
    // The comment of a job has it as well.
    verify.env.write("d.json", document.to_string());
    let run = Run::of(&mut verify.program(&["report", "d.json"]));
    assert!(run.stdout.contains("| crashes-once | 1.0.0 | npx | pass | flaky |"), "{}", run.stdout);
    for format in ["human", "markdown"] {
        fs::remove_file(verify.env.path("flags/a")).unwrap();
        let run = verify.run(&["crashes-once", "good", "--format", format]);
        assert!(run.code == 0 && run.stdout.contains("flaky: passed only when"), "{}", run.stdout);
        let line = run.stdout.lines().find(|line| line.contains("crashes-once")).unwrap();
        assert!(line.contains("pass") && line.contains("flaky"), "{line}");
    }
}

#[test]
fn a_request_without_an_answer_is_made_once_more() {
    let verify = Verify::new();
    verify.env.write("flags/c", "");
    fs::set_permissions(verify.env.path("flags"), fs::Permissions::from_mode(0o777)).unwrap();
    verify.npx("slow", &["slow-once", verify.env.path("flags/a").to_str().unwrap()]);
    let (code, document) = verify.json(&["--out", "c.json"]);
    let row = row(&document, "slow");
    assert_eq!((code, &row["handshake"]["probes"]), (0, &json!({ "session/new": "ok" })), "{document:#}");
    // The agent passed both times.
    assert_eq!(row["flaky"], false);
    assert!(verify.env.read("c.json").contains("\"ask\""));
}
