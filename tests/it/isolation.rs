//! Hostile agents: what they can do to the host, to other agents, and to the program that started them.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use acp_registry::manifest::Platform;
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::agent::{bwrap_works, fake_agent, tag};
use crate::archives::{gz, sha256, tar};
use crate::people::People;
use crate::server::{Server, ok};
use crate::support::{Env, Run, skipped};
use crate::verify::{Verify, row, rows};

/// The first of the user ids that agents get; no account has them.
const FIRST_OWN_USER: u64 = 61_184;

/// A user id without an account. It is below the range that the attacker may kill, so that the program under test
/// survives.
const USER: u32 = 54_321;

/// A registry with archives that every user can read: one agent attacks, the others are its targets.
struct Attack {
    verify: Verify,
    server: Server,
    /// The value of a variable that no agent may learn.
    secret: String,
}

impl Attack {
    fn new() -> Self {
        let verify = Verify::new();
        open(&verify.env.path(""), 0o711);
        open(&verify.env.path("tmp"), 0o1777);
        let archive = gz(&tar(&[("agent", &fs::read(fake_agent()).unwrap())]));
        let digest = sha256(&archive);
        let server = Server::answering(move |_| ok(archive.clone()));
        let secret = tag();
        let target = |case: &[&str]| {
            let env = json!({ "FAKE_AGENT_TAG": verify.tag });
            json!({ "archive": server.url("/agent.tgz"), "sha256": digest, "cmd": "./agent", "args": case, "env": env })
        };
        let host = Platform::host().unwrap().as_str();
        for (id, case) in [("attack", &["attack", &secret][..]), ("a", &["ok"]), ("b", &["litter"]), ("c", &["ok"])] {
            verify.agent(id, &json!({ "binary": { host: target(case) } }));
        }
        Self { verify, server, secret }
    }

    /// Returns the document of `verify` with these flags, and the attacker's report. Asserts that all agents pass.
    fn run(&self, flags: &[&str]) -> (Value, Value) {
        let arguments = [&["--allow-host", &self.server.host, "--jobs", "4", "--timeout", "120", "--json"], flags];
        let run = Run::of(self.verify.command(&arguments.concat()).env("NPM_TOKEN", &self.secret));
        self.verify.assert_clean();
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        let passed = ["a", "attack", "b", "c"].map(|id| (id, "pass", ""));
        assert_eq!(rows(&document), passed, "{document:#}");
        let told = row(&document, "attack")["handshake"]["agent_info"].clone();
        (document, told)
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn assert_powerless(told: &Value) {
    for name in ["remounts", "makes_devices", "reads_shadow"] {
        assert_eq!(told[name], false, "{name}: {told:#}");
    }
    for name in ["learned", "killed"] {
        assert_eq!(told[name], json!([]), "{name}: {told:#}");
    }
    assert_eq!(told["capabilities"], "0000000000000000", "{told:#}");
}

#[test]
fn agents_of_root_are_users_of_their_own_and_cannot_touch_each_other() {
    const TEST: &str = "agents_of_root_are_users_of_their_own_and_cannot_touch_each_other";
    if !geteuid().is_root() || Platform::host().is_none() {
        return skipped(TEST, "only root can give each agent a user");
    }
    let attack = Attack::new();
    let (document, told) = attack.run(&[]);
    for id in ["a", "attack", "b", "c"] {
        assert_eq!(row(&document, id)["isolation"], "user", "{id}");
    }
    assert_powerless(&told);
    // The group of its installation's directory is the only further one, and no account is in it.
    let groups = told["groups"].as_str().unwrap();
    assert!(groups.parse::<u64>().unwrap() >= FIRST_OWN_USER, "{told:#}");
    // It has seen at least this test and the program.
    assert!(told["user"].as_u64().unwrap() >= FIRST_OWN_USER && told["seen"].as_u64().unwrap() > 2, "{told:#}");
    let run = attack.verify.run(&["--allow-host", &attack.server.host]);
    assert!(run.stdout.contains("isolation: own user, environment, home and session"), "{}", run.stdout);
}

#[test]
fn an_agent_that_its_user_cannot_reach_runs_as_before_and_reports_say_so() {
    let attack = Attack::new();
    open(&attack.verify.env.path(""), 0o700);
    let run = attack.verify.run(&["--allow-host", &attack.server.host, "a", "b"]);
    assert!(run.stdout.contains("isolation: own environment, home and session"), "{}", run.stdout);
}

#[test]
fn what_an_agent_of_root_does_not_find_in_path_is_missing_and_not_forbidden() {
    const TEST: &str = "what_an_agent_of_root_does_not_find_in_path_is_missing_and_not_forbidden";
    let Some(host) = Platform::host().filter(|_| geteuid().is_root()) else {
        return skipped(TEST, "only root can give each agent a user");
    };
    let verify = Verify::new();
    open(&verify.env.path(""), 0o711);
    open(&verify.env.path("tmp"), 0o1777);
    verify.env.write("closed/bin/file", "");
    open(&verify.env.path("closed"), 0o700);
    let archive = gz(&tar(&[("agent", b"#!/bin/sh\nexec no-such-program-here\n".as_slice())]));
    let digest = sha256(&archive);
    let server = Server::answering(move |_| ok(archive.clone()));
    let target = json!({ "archive": server.url("/agent.tgz"), "sha256": digest, "cmd": "./agent" });
    verify.agent("a", &json!({ "binary": { host.as_str(): target } }));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", verify.env.path("closed/bin").display());
    let run = Run::of(verify.command(&["--allow-host", &server.host, "--json"]).env("PATH", path));
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let row = row(&document, "a");
    assert_eq!(row["isolation"], "user", "{row:#}");
    let message = row["message"].as_str().unwrap();
    assert!(message.contains("not found") && !message.contains("ermission"), "{row:#}");
}

#[test]
fn in_bubblewrap_an_agent_has_no_rights_even_where_root_starts_it() {
    const TEST: &str = "in_bubblewrap_an_agent_has_no_rights_even_where_root_starts_it";
    if !bwrap_works() || Platform::host().is_none() {
        return skipped(TEST, "bwrap is not installed, or does not work here");
    }
    let attack = Attack::new();
    // The sandbox must work even if its user cannot read the directories above.
    open(&attack.verify.env.path(""), 0o700);
    let (document, told) = attack.run(&["--sandbox", "bwrap"]);
    assert_eq!(row(&document, "attack")["isolation"], "bwrap");
    assert_powerless(&told);
    if geteuid().is_root() {
        assert!(told["user"].as_u64().unwrap() >= FIRST_OWN_USER, "{told:#}");
    }
    let (document, told) = attack.run(&["--sandbox", "bwrap", "--network", "none"]);
    assert_eq!(row(&document, "attack")["isolation"], "bwrap-no-network");
    assert_powerless(&told);
    assert_eq!(told["network"], 1, "only the loopback device is there: {told:#}");
}

#[test]
fn the_network_can_be_left_out_only_in_a_sandbox() {
    let env = Env::empty();
    for command in [&["verify"][..], &["validate", "--handshake"], &["bump", "--verify"]] {
        assert_eq!(env.run(&[command, &["--network", "none"]].concat()).code, 2, "{command:?}");
    }
    assert_eq!(env.run(&["probe", "--network", "none", "--", "true"]).code, 2);
    // Without a sandbox, agents share the network anyway.
    let run = env.run(&["probe", "--network", "shared", "--", "true"]);
    assert_eq!((run.code, run.stdout.contains("ended")), (1, true), "{}{}", run.stdout, run.stderr);
}

#[test]
fn an_agent_of_the_same_user_cannot_read_the_environment_of_the_program() {
    const TEST: &str = "an_agent_of_the_same_user_cannot_read_the_environment_of_the_program";
    let env = Env::empty();
    open(&env.path(""), 0o711);
    fs::create_dir(env.path("tmp")).unwrap();
    open(&env.path("tmp"), 0o1777);
    let (agent, secret) = (fake_agent(), tag());
    let mut command = env.command(&["probe", "--json", "--", agent.to_str().unwrap(), "attack", &secret]);
    command.env("TMPDIR", env.path("tmp")).env("NPM_TOKEN", &secret);
    let Some(run) = run_as_user(USER, &mut command, TEST) else { return };
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    assert_eq!(document["verdict"], "pass", "{document:#}");
    assert_eq!(document["handshake"]["agent_info"]["learned"], json!([]), "{document:#}");
}

/// Runs a command as this user if the caller is root, since root can read everything. `None`, with a message, if that user
/// cannot execute the program.
pub(crate) fn run_as_user(user: u32, command: &mut Command, test: &str) -> Option<Run> {
    if geteuid().is_root() {
        command.uid(user).gid(user);
    }
    match Run::try_of(command) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            skipped(test, "other users cannot reach the program under test");
            None
        }
        run => Some(run.unwrap()),
    }
}

#[test]
fn an_agent_that_was_just_installed_cannot_read_it_either() {
    const TEST: &str = "an_agent_that_was_just_installed_cannot_read_it_either";
    let people = People::new();
    open(&people.env.path(""), 0o711);
    let (secret, learned) = (tag(), people.env.path("learned"));
    let script = format!("#!/bin/sh\ncat /proc/$PPID/environ >> {0}; echo ended >> {0}\n", learned.display());
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None)]);
    let mut command = people.command(&["install", "a"]);
    command.env("NPM_TOKEN", &secret);
    fs::write(&learned, "").unwrap();
    for path in ["data", "home", "tmp", "learned"].map(|name| people.env.path(name)) {
        if path != learned {
            fs::create_dir_all(&path).unwrap();
        }
        if geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(USER), Some(USER)).unwrap();
        }
    }
    let Some(run) = run_as_user(USER, &mut command, TEST) else { return };
    assert!(run.code == 0 && run.stderr.contains("does not answer"), "{}", run.stderr);
    let learned = fs::read_to_string(&learned).unwrap();
    assert!(learned.ends_with("ended\n") && !learned.contains(&secret), "{learned}");
}

#[test]
fn with_a_token_the_bot_starts_agents_in_a_sandbox_only() {
    let env = Env::with(&["a"]);
    for name in ["GITHUB_TOKEN", "GH_TOKEN"] {
        let run = Run::of(env.command(&["bump", "--verify"]).env(name, "x"));
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(name) && run.stderr.contains("--sandbox bwrap"), "{}", run.stderr);
    }
}

/// The session is made by the launcher, and begins without a terminal. An agent in the session of its examiner could write to the
/// terminal of the person.
#[test]
fn an_agent_leads_a_session_without_a_terminal() {
    let env = Env::empty();
    // Process group, session and terminal, as `proc_pid_stat` numbers them.
    env.write("agent", "#!/bin/sh\nset -- $(cat /proc/$$/stat)\n[ \"$5 $6 $7\" = \"$$ $$ 0\" ] && exit 41\nexit 42\n");
    let agent = env.path("agent");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let run = env.run(&["probe", "--json", "--", agent.to_str().unwrap()]);
    assert!(run.code == 1 && run.stdout.contains("exit code 41"), "{}", run.stdout);
}
