//! `doctor`: which problems it finds in runtimes and installed agents, and what it reports.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use acp_registry::resolve::{NODE, UV};
use serde_json::{Value, json};

use crate::agent::left_with;
use crate::people::People;
use crate::support::Run;

/// A store with agent `a`, which is the fake agent in some case, and a `PATH` with fake runtimes.
struct Doctor {
    people: People,
    tag: String,
}

impl Doctor {
    fn new(case: &[&str]) -> Self {
        let people = People::new();
        let tag = people.install_fake(case);
        Self::with(people, tag)
    }

    fn with(people: People, tag: String) -> Self {
        let doctor = Self { people, tag };
        fs::create_dir(doctor.path()).unwrap();
        for name in ["node", "npm", "uv"] {
            doctor.runtime(name, &format!("echo {name} 1.2.3"));
        }
        doctor
    }

    fn path(&self) -> PathBuf {
        self.people.env.path("runtimes")
    }

    fn runtime(&self, name: &str, script: &str) {
        self.people.env.write_program(&format!("runtimes/{name}"), &format!("#!/bin/sh\n{script}\n"));
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.people.command(&[&["doctor"], arguments].concat());
        let run = Run::of(command.env("PATH", self.path()));
        assert_eq!(left_with("environ", &self.tag), [] as [u32; 0]);
        assert_eq!(fs::read_dir(self.people.env.path("tmp")).unwrap().count(), 0);
        run
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert!(run.stdout.is_ascii());
        (run.code, serde_json::from_str(&run.stdout).unwrap())
    }

    /// The directory of the installed version.
    fn version(&self) -> PathBuf {
        let directory = self.people.root().join("agents/a");
        let mut folders = fs::read_dir(directory).unwrap().map(|item| item.unwrap().path());
        folders.find(|path| path.is_dir()).unwrap()
    }

    fn program(&self) -> PathBuf {
        self.version().join("files/bin/agent")
    }
}

/// The checks as pairs of name and status.
fn names(checks: &Value) -> Vec<(&str, &str)> {
    let checks = checks.as_array().unwrap().iter();
    checks.map(|check| (check["name"].as_str().unwrap(), check["status"].as_str().unwrap())).collect()
}

#[test]
fn what_is_well_is_told_as_well() {
    let doctor = Doctor::new(&["ok"]);
    let (code, document) = doctor.json(&[]);
    assert_eq!((code, &document["schema"], &document["command"]), (0, &json!(1), &json!("doctor")));
    assert_eq!(names(&document["checks"]), ["node", "npm", "uv", "root", "index"].map(|name| (name, "ok")));
    let index = document["checks"][4]["message"].as_str().unwrap();
    assert_eq!(index, format!("1 agent, {}", doctor.people.server.url("/registry.json")));
    let node = document["checks"][0]["message"].as_str().unwrap();
    assert_eq!(node, format!("node 1.2.3, {}", doctor.path().join("node").display()));
    let agent = &document["agents"][0];
    assert_eq!((&agent["id"], &agent["version"], &agent["status"]), (&json!("a"), &json!("1.0.0"), &json!("ok")));
    assert_eq!(names(&agent["checks"]), [("files", "ok")]);
    assert!(agent["checks"][0]["message"].as_str().unwrap().ends_with("no digest of its archive was known"));
    assert_eq!(agent["handshake"], Value::Null);

    let (code, document) = doctor.json(&["a", "a"]);
    assert_eq!((code, document["agents"].as_array().unwrap().len()), (0, 1));
    let agent = &document["agents"][0];
    assert_eq!(names(&agent["checks"]), [("files", "ok"), ("handshake", "ok")]);
    assert_eq!(agent["handshake"]["verdict"], "pass");
    let run = doctor.run(&["a"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("it answers as `fake-agent`; it wants you to sign in first"), "{}", run.stdout);
}

#[test]
fn an_index_that_is_out_of_reach_is_a_problem_unless_nothing_may_be_sent() {
    let doctor = Doctor::new(&["ok"]);
    let index = |arguments: &[&str]| {
        let (code, document) = doctor.json(arguments);
        let check = document["checks"].as_array().unwrap().iter().find(|check| check["name"] == "index").unwrap();
        let [status, message, help] =
            ["status", "message", "help"].map(|name| check[name].as_str().unwrap_or_default());
        (code, status.to_owned(), message.to_owned(), help.to_owned())
    };
    // Other commands would use the copy, which is fresh.
    doctor.people.answer("/registry.json", crate::server::not_found());
    let (code, status, message, help) = index(&[]);
    assert_eq!((code, status.as_str()), (0, "warning"));
    assert!(message.starts_with("the registry index is a copy of ") && message.contains("404"), "{message}");
    assert!(help.contains("--index"), "{help}");
    let asked = doctor.people.server.asked().len();
    let (code, status, message, _) = index(&["--offline"]);
    assert_eq!((code, status.as_str()), (0, "ok"));
    assert!(message.contains("; nothing was sent, because of --offline, and this index is "), "{message}");

    fs::remove_dir_all(doctor.people.env.path("home/.cache/acp-registry/indexes")).unwrap();
    let (code, status, message, help) = index(&["--offline"]);
    assert_eq!((code, status.as_str(), help.as_str()), (0, "warning", "leave out --offline once"));
    assert!(message.starts_with("nothing was sent, because of --offline: there is no copy of "), "{message}");
    assert_eq!(doctor.people.server.asked().len(), asked);
    let (code, status, message, help) = index(&[]);
    assert_eq!((code, status.as_str(), help.is_empty()), (1, "error", false));
    assert!(message.contains("404"), "{message}");
    let run = doctor.run(&[]);
    assert!(
        run.code == 1 && run.stdout.contains("error    index      the registry index was not fetched"),
        "{}",
        run.stdout
    );
    let (code, status, message, help) = index(&["--index", "ftp://h.example/"]);
    assert_eq!((code, status.as_str(), help.is_empty()), (1, "error", false), "{message}");
    doctor.people.env.write("here.json", "{\"agents\":[7]}");
    let (code, status, message, help) = index(&["--index", "here.json"]);
    assert_eq!(
        (code, status.as_str(), help.as_str()),
        (0, "warning", "`acp-registry list --index here.json` says which and why"),
        "{message}"
    );
}

#[test]
fn a_missing_runtime_is_named_with_the_way_to_get_it() {
    let doctor = Doctor::new(&["ok"]);
    fs::remove_file(doctor.path().join("uv")).unwrap();
    let (code, document) = doctor.json(&[]);
    assert_eq!((code, &document["checks"][2]["status"]), (0, &json!("warning")));
    assert_eq!(document["checks"][2]["help"], UV);
    doctor.runtime("node", "echo no >&2; exit 1");
    let (code, document) = doctor.json(&[]);
    assert_eq!((code, &document["checks"][0]["status"]), (1, &json!("error")));
    let message = document["checks"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("node --version fails: exit status: 1"), "{message}");

    // An agent that needs a runtime fails without it.
    let receipt = doctor.version().join("receipt.json");
    let mut content: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    let node = doctor.people.env.path("missing/node");
    content["interpreter"] = json!({ "name": "node", "program": node, "flags": [] });
    fs::write(&receipt, content.to_string()).unwrap();
    fs::remove_file(doctor.path().join("node")).unwrap();
    let (code, document) = doctor.json(&["a"]);
    let checks = &document["agents"][0]["checks"];
    assert_eq!((code, names(checks)), (1, vec![("runtime", "error"), ("handshake", "error")]));
    let expected = format!("`1.0.0`: it needs `node`, which is not in PATH any more: it was {}", node.display());
    assert_eq!(checks[0]["message"], expected);
    assert_eq!(checks[0]["help"], NODE);
    assert_eq!(document["agents"][0]["handshake"], Value::Null);
}

#[test]
fn what_is_damaged_is_named_with_what_helps() {
    type Damage = fn(&Doctor);
    let cases: [(&str, &str, Damage); 9] = [
        ("program", "is not there", |doctor| fs::remove_file(doctor.program()).unwrap()),
        ("program", "and was installed with", |doctor| fs::write(doctor.program(), "short").unwrap()),
        ("program", "is not executable", |doctor| {
            fs::set_permissions(doctor.program(), fs::Permissions::from_mode(0o644)).unwrap();
        }),
        ("files", "`files/bin/agent` has other content than was installed", |doctor| {
            let text = fs::read_to_string(doctor.program()).unwrap().replace("exec", "echo");
            fs::write(doctor.program(), text).unwrap();
        }),
        ("files", "files.json is damaged", |doctor| fs::remove_file(doctor.version().join("files.json")).unwrap()),
        ("receipt", "receipt.json is damaged", |doctor| fs::write(doctor.version().join("receipt.json"), "{").unwrap()),
        ("receipt", "has no receipt", |doctor| fs::remove_file(doctor.version().join("receipt.json")).unwrap()),
        ("current", "current is damaged", |doctor| {
            fs::write(doctor.version().with_file_name("current"), "\u{1b}[31m").unwrap();
        }),
        ("current", "is gone", |doctor| fs::remove_dir_all(doctor.version()).unwrap()),
    ];
    let mut doctor = Doctor::new(&["ok"]);
    for (name, part, damage) in cases {
        damage(&doctor);
        let (code, document) = doctor.json(&["a"]);
        let agent = &document["agents"][0];
        let check = &agent["checks"][0];
        assert_eq!(
            (code, &agent["status"], &check["name"], &check["status"]),
            (1, &json!("error"), &json!(name), &json!("error")),
            "{document}"
        );
        assert!(check["message"].as_str().unwrap().contains(part), "{part}: {check}");
        assert!(!check["message"].as_str().unwrap().contains("`acp-registry"), "{check}");
        assert!(check["help"].as_str().unwrap().ends_with("`acp-registry doctor --fix a` repairs it"), "{check}");
        // A damaged agent is neither started nor changed.
        assert_eq!(
            (names(&agent["checks"]).last(), &agent["handshake"]),
            (Some(&("handshake", "error")), &Value::Null)
        );
        assert!(!doctor.run(&["a"]).stdout.contains('\u{1b}'));
        assert_eq!(doctor.people.run(&["install", "a", "--no-check"]).code, 0);
        assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("files", "ok")]);
        doctor = Doctor::new(&["ok"]);
    }
}

#[test]
fn leftovers_are_no_error() {
    let doctor = Doctor::new(&["ok"]);
    let agent = doctor.people.root().join("agents/a");
    fs::create_dir(agent.join(".new-x")).unwrap();
    fs::create_dir(agent.join("0.9.0-0123456789ab")).unwrap();
    let (code, document) = doctor.json(&[]);
    assert_eq!(code, 0, "{document}");
    let found = [("leftovers", "warning"), ("receipt", "warning"), ("files", "ok")];
    assert_eq!(names(&document["agents"][0]["checks"]), found);
    let help = &document["agents"][0]["checks"][0]["help"];
    assert_eq!(help, "`acp-registry gc` removes them");
    let planned = doctor.people.run(&["gc", "--dry-run"]);
    assert!(planned.code == 0 && planned.stdout.starts_with("would remove files of interrupted runs, 0 B\n"));
    let done = doctor.people.run(&["gc"]);
    assert!(done.code == 0 && done.stdout.starts_with("removed files of interrupted runs, 0 B\n"));
    assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("files", "ok")]);
    // A receipt that was to replace the one of the version.
    let mut versions = fs::read_dir(&agent).unwrap().map(|item| item.unwrap().path()).filter(|path| path.is_dir());
    let receipt = versions.next().unwrap().join(".tmp-receipt.json-Ab12Cd");
    fs::write(&receipt, "{").unwrap();
    assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("leftovers", "warning"), ("files", "ok")]);
    let done = doctor.people.run(&["gc"]);
    assert!(done.stdout.starts_with("removed files of interrupted runs") && !receipt.exists(), "{}", done.stdout);
    assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("files", "ok")]);
}

#[test]
fn a_directory_that_is_missing_is_named_instead_of_the_runtimes() {
    let doctor = Doctor::new(&["ok"]);
    let command = |arguments: &[&str], temporary: &str| {
        let mut command = doctor.people.command(arguments);
        Run::of(command.env("PATH", doctor.path()).env("TMPDIR", temporary).current_dir(doctor.people.env.path("")))
    };
    let missing = doctor.people.env.path("missing");
    let missing = missing.to_str().unwrap();
    let run = command(&["doctor"], missing);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains(&format!("temporary files cannot be made in {missing}: No such file or directory")),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("help: name a directory that can be written with the variable TMPDIR")
            && !run.stdout.contains("node"),
        "{}",
        run.stdout
    );
    // Without such a directory no agent is started, and all other checks are made.
    let run = command(&["doctor", "a"], missing);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains("it was not started, because of the errors above") && !run.stderr.contains(missing),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let run = command(&["probe", "--", "/bin/true"], missing);
    assert!(run.code == 3 && run.stderr.matches(missing).count() == 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("help: name a directory that can be written with the variable TMPDIR"),
        "{}",
        run.stderr
    );
    // An empty variable is none, and not the working directory.
    assert_eq!(command(&["doctor"], "").code, 0);
}

#[test]
fn a_version_is_put_back_if_its_repair_was_killed() {
    let doctor = Doctor::new(&["ok"]);
    let agent = doctor.people.root().join("agents/a");
    let folders = fs::read_dir(&agent).unwrap().map(|item| item.unwrap()).filter(|item| item.path().is_dir());
    let [folder] = folders.map(|item| item.file_name()).collect::<Vec<_>>().try_into().unwrap();
    for next in [&["gc"][..], &["install", "a", "--no-check"]] {
        let aside = agent.join(".new-x/aside");
        fs::create_dir_all(&aside).unwrap();
        fs::rename(agent.join(&folder), aside.join(&folder)).unwrap();
        // The new version is not finished: it has no receipt.
        fs::create_dir_all(agent.join(&folder).join("files/half")).unwrap();
        assert_eq!(doctor.people.run(&["which", "a"]).code, 3);
        assert_eq!(doctor.people.run(next).code, 0);
        assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("files", "ok")], "{next:?}");
        assert!(!agent.join(&folder).join("files/half").exists() && !agent.join(".new-x").exists(), "{next:?}");
    }
    // The new version was finished: it stays, and the old files go.
    fs::create_dir_all(agent.join(".new-x/aside").join(&folder)).unwrap();
    assert_eq!(doctor.people.run(&["gc"]).code, 0);
    assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [("files", "ok")]);
    assert!(!agent.join(".new-x").exists());
}

#[test]
fn only_what_this_program_has_made_is_to_be_removed() {
    let doctor = Doctor::new(&["ok"]);
    let agent = doctor.people.root().join("agents/a");
    for name in ["mine/file", "0.8.0-0123456789ab/thesis.txt", "0.9.0-0123456789ab/receipt.json", "notes.txt"] {
        let path = agent.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    let (code, document) = doctor.json(&[]);
    let checks = &document["agents"][0]["checks"];
    let foreign = ("foreign", "warning");
    assert_eq!(names(checks), [foreign, foreign, foreign, ("receipt", "error"), ("files", "ok")]);
    for (at, name) in ["0.8.0-0123456789ab", "mine", "notes.txt"].into_iter().enumerate() {
        let message = format!("{} was not made by this program", agent.join(name).display());
        assert_eq!(checks[at]["message"], message);
        assert_eq!(checks[at]["help"], "nothing needs to be done: it is never started, and stays");
    }
    // `gc` removes unused versions that this program installed, and no foreign files.
    assert_eq!((code, &checks[3]["help"]), (1, &json!("`acp-registry gc` removes it: another version is started")));
    assert_eq!(doctor.people.run(&["gc"]).code, 0);
    assert_eq!(names(&doctor.json(&[]).1["agents"][0]["checks"]), [foreign, foreign, foreign, ("files", "ok")]);
    assert!(agent.join("mine/file").exists() && agent.join("0.8.0-0123456789ab/thesis.txt").exists());
    // If the receipt is damaged as well, the directory is kept.
    fs::write(agent.join("0.8.0-0123456789ab/receipt.json"), "{").unwrap();
    let (_, document) = doctor.json(&[]);
    let check = &document["agents"][0]["checks"][2];
    assert_eq!(
        (&check["name"], &check["help"]),
        (&json!("receipt"), &json!("nothing needs to be done: another version is started"))
    );
}

/// A directory of a version that was replaced by a link, as when it was moved to another disk.
#[test]
fn a_link_in_place_of_a_version_is_named_and_not_followed() {
    let doctor = Doctor::new(&["ok"]);
    let (version, outside) = (doctor.version(), doctor.people.env.path("outside"));
    fs::rename(&version, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &version).unwrap();
    let folder = version.file_name().unwrap().to_str().unwrap();
    let (code, document) = doctor.json(&["a"]);
    let checks = &document["agents"][0]["checks"];
    assert_eq!((code, names(checks)), (1, vec![("foreign", "warning"), ("current", "error"), ("handshake", "error")]));
    assert_eq!(checks[0]["message"], format!("{} is a link, which is not followed", version.display()));
    let message = format!("the version that is started, `{folder}`, is a link, which is not followed");
    assert_eq!(checks[1]["message"], message);
    assert_eq!(checks[1]["help"], "`acp-registry doctor --fix a` repairs it");
    let run = doctor.people.run(&["run", "a"]);
    assert!(run.code == 3 && run.stderr.contains("is a link, which is not followed"), "{}", run.stderr);

    assert_eq!(doctor.run(&["--fix"]).code, 0);
    assert!(!version.is_symlink() && version.join("receipt.json").is_file());
    assert!(outside.join("files/bin/agent").is_file() && outside.join("receipt.json").is_file());
}

#[test]
fn a_failed_handshake_is_explained_with_the_agents_own_words() {
    for (case, timeout, reason, part) in [
        (&["exit", "3", "$ESC[31mno key"][..], "20", "exited", "it was started, but ended at once"),
        (&["silent"], "0.5", "timeout", "did not answer in time"),
        (&["reply", "hello\n"], "0.5", "timeout", "did not answer in time"),
    ] {
        let doctor = Doctor::new(case);
        let (code, document) = doctor.json(&["a", "--timeout", timeout]);
        let agent = &document["agents"][0];
        assert_eq!((code, &agent["status"], &agent["handshake"]["reason"]), (1, &json!("error"), &json!(reason)));
        let check = &agent["checks"][1];
        assert!(check["message"].as_str().unwrap().contains(part) && check["help"].is_string(), "{check}");
        let is_asked_twice = check["message"].as_str().unwrap().contains(" within 0.5 s, in each of two starts");
        assert_eq!(is_asked_twice, reason == "timeout", "{check}");
        let run = doctor.run(&["a", "--timeout", timeout]);
        assert_eq!(run.code, 1);
        assert!(run.stdout.contains(part) && run.stdout.contains("help: "), "{}", run.stdout);
        assert!(run.stdout.contains("  stderr    "), "{}", run.stdout);
        assert_eq!(run.stdout.contains("    | \\u{1b}[31mno key"), reason == "exited", "{}", run.stdout);
        assert!(!run.stdout.contains('\u{1b}'));
    }
    let people = People::new();
    let tag = people.install_script("#!/no/such/interpreter\n", &[]);
    let doctor = Doctor::with(people, tag);
    let (code, document) = doctor.json(&["a"]);
    assert_eq!((code, &document["agents"][0]["handshake"]["reason"]), (1, &json!("spawn_failed")));
    let gone = "needs /no/such/interpreter, which its first line names, and which is not there";
    let message = document["agents"][0]["checks"][1]["message"].as_str().unwrap();
    assert!(message.contains(gone), "{message}");
    let run = doctor.people.run(&["run", "a"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(gone), "{}", run.stderr);
    let help = "help: if its directory was moved, `acp-registry doctor --fix a` repairs it\n";
    assert!(run.stderr.contains(help), "{}", run.stderr);
}

#[test]
fn an_agent_that_opens_no_session_is_told_with_its_own_words() {
    let methods = json!([{ "id": "login", "name": "Log in" }]);
    let result = |sessions: &str| json!({ "protocolVersion": 1, "authMethods": methods, "sessions": sessions });
    for (case, result, part) in [
        (
            &["account", "no-session"][..],
            result("closed"),
            "it answers, but opens no session before it is set up: no network",
        ),
        (
            &["result"],
            result("exit"),
            "it answers, but opens no session: the agent ended before it answered (exit code 7)",
        ),
    ] {
        let doctor = Doctor::new(&[case, &[&result.to_string()]].concat());
        let (code, document) = doctor.json(&["a"]);
        let agent = &document["agents"][0];
        assert_eq!((code, &agent["status"]), (0, &json!("warning")), "{agent}");
        assert_eq!(names(&agent["checks"]), [("files", "ok"), ("handshake", "warning")]);
        let check = &agent["checks"][1];
        assert_eq!(check["message"], part);
        assert!(check["help"].as_str().unwrap().contains("`acp-registry login a`"), "{check}");
        let probes = &agent["handshake"]["handshake"]["probes"];
        assert_eq!((&agent["handshake"]["verdict"], &probes["session/new"]), (&json!("pass"), &json!("error")));
        let run = doctor.run(&["a"]);
        assert!(run.code == 0 && run.stdout.contains(&format!("warning  handshake  {part}\n")), "{}", run.stdout);
        assert!(run.stdout.contains("  stderr    nothing\n") && !run.stdout.contains('\u{1b}'), "{}", run.stdout);
    }
}

#[test]
fn no_way_to_sign_in_is_no_error_where_none_is_needed() {
    for (sessions, expected) in [("open", (0, "warning")), ("closed", (1, "error"))] {
        let result = json!({ "protocolVersion": 1, "authMethods": [], "sessions": sessions }).to_string();
        let (code, document) = Doctor::new(&["result", &result]).json(&["a"]);
        let agent = &document["agents"][0];
        assert_eq!((code, agent["status"].as_str().unwrap()), expected, "{agent}");
        assert_eq!(agent["handshake"]["reason"], "no_auth_methods");
    }
}

#[test]
fn an_agent_that_is_not_there_is_wrong_usage_and_a_store_that_cannot_be_read_is_not() {
    let doctor = Doctor::new(&["ok"]);
    let run = doctor.run(&["b"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("`b` is not installed in "), "{}", run.stderr);
    let (code, document) = doctor.json(&["../a"]);
    assert_eq!((code, &document["error"]["exit_code"]), (2, &json!(2)));

    let file = doctor.people.env.path("file");
    fs::write(&file, "").unwrap();
    // In the second one, the directory of agents is a file.
    doctor.people.env.write("root/agents", "");
    for (root, place) in [("file", "file"), ("root", "root/agents")] {
        let [root, place] = [root, place].map(|path| doctor.people.env.path(path).display().to_string());
        for arguments in [&["--root", &root][..], &["a", "--root", &root]] {
            let (code, document) = doctor.json(arguments);
            let expected = [("node", "ok"), ("npm", "ok"), ("uv", "ok"), ("root", "error"), ("index", "ok")];
            assert_eq!((code, names(&document["checks"])), (1, expected.to_vec()), "{document}");
            let check = &document["checks"][3];
            let message = check["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("agents cannot be read in {root}: ")), "{message}");
            assert!(message.contains(&place) && message.contains("ot a directory"), "{message}");
            assert_eq!(check["help"], "remove the file, or name another directory with --root or ACP_REGISTRY_ROOT");
        }
    }
    // Not even root can write there.
    #[cfg(target_os = "linux")]
    {
        let (code, document) = doctor.json(&["--root", "/proc/acp-registry"]);
        let root = &document["checks"][3];
        assert_eq!((code, &root["name"], &root["status"]), (1, &json!("root"), &json!("error")));
        assert!(root["message"].as_str().unwrap().starts_with("agents cannot be installed in /proc/acp-registry: "));
        assert!(root["help"].as_str().unwrap().contains("ACP_REGISTRY_ROOT"), "{root}");
    }
    let nothing = doctor.people.env.path("nothing");
    let run = doctor.run(&["--root", nothing.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("does not exist yet") && !nothing.exists(), "{}", run.stdout);
}
