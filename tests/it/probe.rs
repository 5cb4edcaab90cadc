//! `acp-registry probe` from outside.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::agent::{bwrap_works, fake_agent, left_with, tag};
use crate::support::{Env, Run, wait_until};

/// Runs `probe` with the fake agent in a case. The temporary directory must be empty afterwards.
struct Probe {
    env: Env,
    tag: String,
}

impl Probe {
    fn new() -> Self {
        let env = Env::empty();
        fs::create_dir(env.path("tmp")).unwrap();
        Self { env, tag: tag() }
    }

    fn command(&self, flags: &[&str], case: &[&str]) -> Command {
        let (agent, variable) = (fake_agent(), format!("FAKE_AGENT_TAG={}", self.tag));
        let arguments = [&["probe"], flags, &["--env", &variable, "--", agent.to_str().unwrap()], case].concat();
        let mut command = self.env.command(&arguments);
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, self.env.path("tmp"));
        }
        command
    }

    fn run(&self, flags: &[&str], case: &[&str]) -> Run {
        let run = Run::of(&mut self.command(flags, case));
        self.assert_clean();
        run
    }

    fn json(&self, flags: &[&str], case: &[&str]) -> (i32, Value) {
        let run = self.run(&[flags, &["--json"]].concat(), case);
        assert!(run.stdout.is_ascii());
        (run.code, serde_json::from_str(&run.stdout).unwrap())
    }

    fn assert_clean(&self) {
        assert_eq!(left_with("environ", &self.tag), [] as [u32; 0]);
        assert_eq!(fs::read_dir(self.env.path("tmp")).unwrap().count(), 0);
    }
}

/// The deadline counts as long as stdout is open.
#[cfg(unix)]
#[test]
fn a_launcher_may_end_before_its_agent_answers() {
    let (env, agent) = (Env::empty(), fake_agent());
    let script = "exec 3<&0; (sleep 1; exec \"$0\" ok <&3) & exit 0";
    let run = env.run(&["probe", "--no-probe", "--", "sh", "-c", script, agent.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let script = "exec 3<&0; (sleep 600 <&3) & echo 'no licence' >&2; exit 7";
    let run = env.run(&["probe", "--", "sh", "-c", script]);
    assert!(run.code == 1 && run.stdout.contains("(exit code 7): `no licence`"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn the_document_has_the_shape_of_the_contract() {
    let (code, mut document) = Probe::new().json(&[], &["ok"]);
    assert_eq!(code, 0);
    for key in ["start_to_response_seconds", "total_seconds"] {
        assert!(document["timing"][key].is_f64());
        document["timing"][key] = 0.into();
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn a_failure_is_a_result() {
    let (code, document) = Probe::new().json(&["--timeout", "20"], &["exit", "3", "\u{1b}[31mwhy"]);
    assert_eq!(code, 1);
    assert_eq!((&document["verdict"], &document["reason"]), (&"fail".into(), &"exited".into()));
    let message = "the agent ended before it answered (exit code 3): `why`";
    assert_eq!(document["message"], message);
    assert_eq!(document["handshake"]["protocol_version"], Value::Null);
    assert_eq!(document["timing"]["start_to_response_seconds"], Value::Null);
    assert_eq!(document["exit"], serde_json::json!({ "how": "exited", "code": 3, "signal": null }));
    assert_eq!(document["stderr_tail"], "\u{1b}[31mwhy\n");
}

#[test]
fn a_program_that_is_not_there_is_a_result_too() {
    let env = Env::empty().file("text", "hello");
    for (program, hint) in [
        ("no-such-program", "there is no such program in PATH"),
        ("./no-such-file", "there is no such file"),
        ("./r", if cfg!(unix) { "it is a directory" } else { "" }),
        ("./text", if cfg!(unix) { "it is not executable; `chmod +x` makes it so" } else { "" }),
    ] {
        let (code, document) = env.json(&["probe", "--json", "--", program]);
        assert_eq!((code, &document["verdict"], &document["reason"]), (1, &"error".into(), &"spawn_failed".into()));
        assert!(document["message"].as_str().unwrap().contains(hint), "{}", document["message"]);
        assert_eq!(document["exit"], Value::Null);
    }
    let quoted = env.run(&["probe", "--", "./text --acp"]);
    assert!(quoted.code == 1 && quoted.stderr.contains("write it without quotes"), "{}", quoted.stderr);
}

#[test]
fn people_see_what_passed_and_how() {
    let run = Probe::new().run(&[], &["ok"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.starts_with("pass: "), "{}", run.stdout);
    for part in [
        "`fake-agent` 1.0.0, protocol version 1",
        "`login` (agent, as it names no type): Log in",
        "session/new auth_required",
        "s to the response",
        "isolation own environment",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert_eq!(run.stderr, "");
}

#[test]
fn people_see_what_failed_and_nothing_reaches_their_terminal_unescaped() {
    let result = r#"{"protocolVersion":1,"agentInfo":{"name":"\u001b]0;owned\u0007"},"authMethods":[{"id":"\u202ek","name":"K\nK","type":"env_var"}]}"#;
    let run = Probe::new().run(&["--color", "never"], &["result", result]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("no_supported_auth_type") && run.stdout.contains("does not count"), "{}", run.stdout);
    let run_2 = Probe::new().run(&["--color", "never"], &["exit", "1", "\u{1b}[2J\u{9b}31m\r\u{202e}"]);
    assert!(run_2.stdout.contains("    | \\u{1b}[2J\\u{9b}31m\\u{d}\\u{202e}"), "{}", run_2.stdout);
    for text in [run.stdout, run.stderr, run_2.stdout, run_2.stderr] {
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    }
}

#[test]
fn an_agent_sees_nothing_of_the_caller() {
    let probe = Probe::new();
    let mut command = probe.command(&["--json", "--env", "EXAMPLE_KEY=given"], &["environment"]);
    for name in ["GITHUB_TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "SOME_SECRET", "XDG_CONFIG_HOME"] {
        command.env(name, "secret");
    }
    command.env("HOME", probe.env.path("r")).env("LANG", "C.UTF-8");
    let run = Run::of(&mut command);
    assert!(!run.stdout.contains("secret"), "{}", run.stdout);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let info = &document["handshake"]["agent_info"];
    let variables = &info["environment"];
    assert_eq!((&variables["EXAMPLE_KEY"], &variables["LANG"]), (&"given".into(), &"C.UTF-8".into()));
    assert_eq!(variables["TERM"], "dumb");
    let sandbox = variables["ACP_REGISTRY_SANDBOX"].as_str().unwrap();
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
        assert!(Path::new(variables[name].as_str().unwrap()).starts_with(sandbox), "{name}: {}", variables[name]);
    }
    assert!(Path::new(info["directory"].as_str().unwrap()).starts_with(sandbox), "{info}");
    probe.assert_clean();
}

#[test]
fn a_variable_has_a_name_and_a_value() {
    for variable in ["A", "=x", ""] {
        let run = Env::empty().run(&["probe", "--env", variable, "--", "true"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{variable}");
        assert!(run.stderr.contains("is not of the form NAME=VALUE"), "{}", run.stderr);
    }
}

#[test]
fn wrong_usage_is_told() {
    let env = Env::empty();
    for arguments in [
        &["probe"][..],
        &["probe", "--"],
        &["probe", "true"],
        &["probe", "--timeout", "0", "--", "true"],
        &["probe", "--timeout", "NaN", "--", "true"],
        &["probe", "--timeout", "1e9", "--", "true"],
        &["probe", "--protocol-version", "0", "--", "true"],
        &["probe", "--readable", "/x", "--", "true"],
    ] {
        assert_eq!(env.run(arguments).code, 2, "{arguments:?}");
    }
    // The flags of the agent are not flags of the program.
    let run = env.run(&["probe", "--timeout", "0", "--", "agent", "--json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

#[test]
fn version_2_can_be_asked_for() {
    let result = r#"{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{"session":{}},"authMethods":[{"methodId":"a","name":"A","type":"terminal"}]}"#;
    let (code, document) = Probe::new().json(&["--protocol-version", "2", "--no-probe"], &["result", result]);
    assert_eq!((code, &document["handshake"]["protocol_version"]), (0, &2.into()));
    assert_eq!(document["handshake"]["warnings"], serde_json::json!([]));
    assert_eq!(document["handshake"]["probes"], serde_json::json!({}));
}

#[test]
fn a_temporary_directory_that_is_not_there_is_the_caller_s_concern() {
    let env = Env::empty();
    let mut command = env.command(&["probe", "--json", "--", "true"]);
    for name in ["TMPDIR", "TMP", "TEMP"] {
        command.env(name, env.path("nowhere"));
    }
    let run = Run::of(&mut command);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("cannot make a temporary directory"), "{}", run.stdout);
}

#[test]
fn bwrap_that_is_not_installed_is_said() {
    let env = Env::empty();
    let mut command = env.command(&["probe", "--sandbox", "bwrap", "--", "true"]);
    let run = Run::of(command.env("PATH", env.path("r")));
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("install bubblewrap"), "{}", run.stderr);
}

#[test]
fn bwrap_hides_the_files_of_the_host() {
    if !bwrap_works() {
        crate::support::skipped("bwrap_hides_the_files_of_the_host", "bwrap is not installed, or does not work here");
        return;
    }
    let probe = Probe::new();
    let secret = probe.env.path("r/secret");
    fs::write(&secret, "x").unwrap();
    let (code, document) = probe.json(&["--sandbox", "bwrap"], &["ok"]);
    assert_eq!((code, &document["isolation"]), (0, &"bwrap".into()), "{document}");
    // The directory of the agent and the working directory are readable; the rest of the host is not.
    let (_, document) =
        probe.json(&["--sandbox", "bwrap", "--timeout", "20"], &["exit-if-there", secret.to_str().unwrap()]);
    assert_eq!(document["exit"]["code"], 5, "{document}");
    let hidden = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let (_, document) =
        probe.json(&["--sandbox", "bwrap", "--timeout", "20"], &["exit-if-there", hidden.to_str().unwrap()]);
    assert_eq!(document["exit"]["code"], 6, "{document}");
}

/// A descendant that can only be found through its parent.
#[cfg(target_os = "linux")]
#[test]
fn a_descendant_that_hides_is_found() {
    let probe = Probe::new();
    let run = probe.run(&[], &["parent-of-dead", "hide", &probe.tag]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("hidden processes, which were ended as well: 1"), "{}", run.stdout);
    assert_eq!(left_with("cmdline", &probe.tag), [] as [u32; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn processes_that_follow_each_other_are_ended() {
    let probe = Probe::new();
    // There is always a next process.
    let run = Run::of(&mut probe.command(&[], &["parent", "hop"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    // One that is left is only in the table between two others.
    for _ in 0..50 {
        probe.assert_clean();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_everything() {
    use std::process::Stdio;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use crate::support::undo_nohup;

    undo_nohup();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let probe = Probe::new();
        let mut command = probe.command(&["--json"], &["ignores-term"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Bit 14 stands for SIGTERM.
        let blocks_term = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or("0");
            u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << 14) != 0
        };
        wait_until("the agent blocks SIGTERM", || left_with("environ", &probe.tag).iter().any(blocks_term));
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["exit_code"], code);
        probe.assert_clean();
    }
}

/// An agent must not write into the directory of its caller, who did not ask for that.
#[cfg(unix)]
#[test]
fn an_agent_is_started_in_an_empty_directory_unless_one_is_named() {
    let probe = Probe::new();
    let place = probe.env.path("r/place");
    fs::create_dir_all(&place).unwrap();
    let script = format!("ls > seen\nexec '{}' ok\n", fake_agent().display());
    fs::write(place.join("agent.sh"), script).unwrap();
    fs::write(place.join("ends.sh"), "exit 3").unwrap();
    let run = |words: &[&str]| {
        let mut command = probe.env.command(&[&["probe"], words].concat());
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, probe.env.path("tmp"));
        }
        let run = Run::of(command.current_dir(&place));
        probe.assert_clean();
        run
    };
    // The script is found although the agent is started elsewhere.
    assert_eq!(run(&["--", "sh", "agent.sh"]).code, 0);
    assert!(!place.join("seen").exists());
    let ends = run(&["--", "sh", "ends.sh"]);
    assert!(ends.code == 1 && ends.stderr.contains("--directory ."), "{}", ends.stderr);
    assert_eq!(run(&["--directory", ".", "--", "sh", "agent.sh"]).code, 0);
    assert!(fs::read_to_string(place.join("seen")).unwrap().contains("agent.sh"));
    for other in ["missing", "agent.sh"] {
        let refused = run(&["--directory", other, "--level", "protocol", "--", "sh", "agent.sh"]);
        let (shown, is_named) = (&refused.stderr, refused.stderr.contains(&format!("{other}` is not a directory")));
        assert!(refused.code == 2 && is_named && shown.contains("place"), "{shown}");
    }
    let failed = run(&["--directory", ".", "--", "sh", "ends.sh"]);
    assert!(failed.code == 1 && !failed.stderr.contains("--directory"), "{}", failed.stderr);
}
