//! The command-line contract: exit codes, streams and the form of documents.

use std::process::Stdio;

use serde_json::Value;

use crate::docs::COMMANDS;
use crate::support::{Env, Run, scrub};

#[test]
fn the_report_has_the_shape_of_the_contract() {
    let env = Env::with(&["a"]).file("r/a/icon.svg", crate::support::ICON.replace("currentColor", "#f50"));
    let (_, mut report) = env.json(&["validate"]);
    assert!(report["summary"]["duration_seconds"].is_f64());
    report["summary"]["duration_seconds"] = 0.into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn manifest_findings_have_pointers() {
    let env = Env::with(&["a"])
        .file("r/a/agent.json", crate::support::manifest("a").replace("[\"--acp\"]", "[\"--acp\", 7]"));
    let (_, report) = env.json(&["validate"]);
    let finding = &report["findings"][0];
    assert_eq!(finding["pointer"], "/distribution/npx/args/1");
    let place = ["line", "column", "end_line", "end_column"].map(|key| finding[key].as_u64().unwrap());
    assert_eq!(place, [10, 25, 10, 26]);
}

#[test]
fn the_same_fault_has_the_same_code_in_each_command() {
    let env = Env::empty();
    std::fs::create_dir(env.path("empty")).unwrap();
    let code = |arguments: &[&str]| env.json(arguments).1["error"]["code"].as_str().unwrap_or_default().to_owned();
    for command in [&["validate"][..], &["verify"], &["bump"], &["build", "--out", "o"]] {
        assert_eq!(code(&[&["--registry-dir", "empty"], command].concat()), "invalid_registry", "{command:?}");
    }
    let env = Env::with(&["a"]).file("r/registry.toml", "[rules]\n\"no/rule\" = \"error\"\n").file("x.json", "[]");
    let code = |arguments: &[&str]| env.json(arguments).1["error"]["code"].as_str().unwrap_or_default().to_owned();
    for command in [&["validate"][..], &["verify"], &["bump"], &["build", "--out", "o"]] {
        assert_eq!(code(command), "invalid_configuration", "{command:?}");
    }
    for (place, expected) in [("missing.json", "index_unavailable"), ("x.json", "invalid_index")] {
        assert_eq!(code(&["diff", place, "x.json"]), expected);
        assert_eq!(code(&["list", "--index", place]), expected);
    }
}

#[test]
fn a_failure_is_one_json_document_too() {
    let env = Env::empty();
    for (arguments, code, command) in [
        (&["validate", "nobody", "--json"][..], 2, "validate"),
        (&["--registry-dir", "nowhere", "validate", "--format", "json"], 3, "validate"),
        (&["explain", "no/rule", "--json"], 2, "explain"),
        (&["build", "--json"], 2, "build"),
        (&["build", "--out", "o", "--json"], 2, "build"),
        (&["validate", "--no-such-flag", "--format=json"], 2, "validate"),
    ] {
        let run = env.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        let document: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", run.stdout));
        assert_eq!(
            (&document["schema"], &document["command"], &document["error"]["exit_code"]),
            (&1.into(), &command.into(), &code.into())
        );
        assert!(!document["error"]["message"].as_str().unwrap().is_empty());
        assert!(!run.stderr.is_empty());
    }
}

#[test]
fn the_document_of_every_failed_command_has_an_error() {
    let env = Env::with(&["a"]).file("file", "x");
    for command in COMMANDS {
        let arguments: &[&str] = match *command {
            "init" => &["file/below"],
            "new" => &["../x", "--npm", "p"],
            "validate" | "verify" | "bump" => &["nobody"],
            "build" => &["--out", "file/below"],
            "publish" => &["--from", "nothing", "--to", "place"],
            "publish prune" | "publish list" => &["--to", "nothing"],
            "publish rollback" => &["v2020-01-01-x", "--to", "nothing"],
            "diff" => &["nothing", "r"],
            "list" => &["--index", "nothing"],
            "search" | "info" | "resolve" | "install" => &["x", "--index", "nothing", "--root", "data"],
            "which" | "update" | "uninstall" | "doctor" | "login" | "logout" => &["nobody", "--root", "data"],
            // To Windows, what is below a file is not there.
            "gc" if cfg!(unix) => &["--root", "file"],
            "config" => &["zed", "x", "--index", "nothing", "--root", "data"],
            "explain" => &["no/rule"],
            // Wrong usage, with `--json` as the mistake if nothing else is.
            _ => &["--no-such-flag"],
        };
        let words: Vec<&str> = command.split(' ').chain(arguments.iter().copied()).collect();
        let (code, document) = env.json(&words);
        let error = &document["error"];
        assert_eq!(document["command"].as_str(), command.split(' ').next(), "{words:?}: {document}");
        assert!(code > 0 && error["exit_code"] == code, "{words:?}: {code}: {document}");
        for member in ["code", "message", "help"] {
            let text = error[member].as_str().unwrap_or_default();
            let suggests = member == "help" && !error["suggestions"].as_array().unwrap().is_empty();
            assert!(!text.is_empty() || suggests, "{words:?}: {member}: {document}");
        }
    }
}

#[test]
fn wrong_usage_is_told_on_stderr() {
    let env = Env::with(&["a"]);
    for arguments in [
        &[][..],
        &["nosuch"],
        &["validate", "--format", "xml"],
        &["validate", "a", "--changed-since", "HEAD"],
        &["--allow-host", "a/b", "validate"],
        &["-q", "-v", "validate"],
    ] {
        let run = env.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(!run.stderr.is_empty());
    }
}

#[test]
fn help_and_version_are_results() {
    let env = Env::empty();
    for flag in ["--help", "--version"] {
        let run = env.run(&[flag]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert!(run.stdout.contains("acp-registry"));
    }
}

#[test]
fn a_value_that_is_the_name_of_a_command_is_none() {
    let env = Env::empty();
    for value in ["help", "list", "validate"] {
        let run = env.run(&["--config", value, "validate", "--json", "--nope"]);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, document["command"].as_str()), (2, Some("validate")), "{}", run.stdout);
    }
}

#[test]
fn colours_appear_only_when_asked_for() {
    let env = Env::with(&["a"]).file("r/a/icon.svg", "<svg");
    assert!(!env.run(&["validate"]).stdout.contains('\u{1b}'));
    assert!(env.run(&["validate", "--color", "always"]).stdout.contains('\u{1b}'));
    let mut command = env.command(&["validate", "--color", "auto"]);
    assert!(!Run::of(command.env("NO_COLOR", "1")).stdout.contains('\u{1b}'));
}

#[test]
fn help_and_mistakes_have_colours_on_a_terminal_only() {
    let env = Env::with(&["a"]);
    for (arguments, is_coloured) in
        [(&["--help"][..], false), (&["list", "--nosuch"], false), (&["--help", "--color", "always"], true)]
    {
        let run = Run::of(env.command(arguments).env("CLICOLOR_FORCE", "1"));
        assert_eq!((run.stdout + &run.stderr).contains('\u{1b}'), is_coloured, "{arguments:?}");
    }
}

#[test]
fn the_log_is_events_beside_events() {
    let env = Env::with(&["a"]);
    let mut command = env.command(&["verify", "--progress", "json"]);
    let run = Run::of(command.env("ACP_REGISTRY_LOG", "trace").env("PATH", env.path("nowhere")));
    let events: Vec<Value> = run.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_log =
        |event: &Value| event["event"] == "text" && event["message"].as_str().unwrap().contains(" acp_registry");
    assert!(events.iter().any(is_log), "{}", run.stderr);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let env = Env::with(&["a"]);
    let mut command = env.command(&["rules"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stderr, b"");
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let env = Env::with(&["a"]);
    for arguments in [&["validate"][..], &["--help"], &["list", "-h"], &["help", "list"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = Run::of(env.command(arguments).stdout(full));
        assert_eq!(run.code, 3, "{arguments:?}");
        assert!(run.stderr.contains("error: cannot write the result"), "{}", run.stderr);
    }
}

/// The file is checked before the work, but its disk may be full afterwards.
#[cfg(target_os = "linux")]
#[test]
fn the_result_is_printed_although_its_file_cannot_be_written() {
    let env = Env::with(&["a"]);
    for (command, flag, shown) in
        [("validate", "--output", "1 agent checked"), ("verify", "--out", "0 passed, 0 failed, 1 error,")]
    {
        // Without npm, nothing is installed.
        let run = Run::of(env.command(&[command, flag, "/dev/full"]).env("PATH", env.path("nowhere")));
        assert!(run.code == 3 && run.stdout.contains(shown), "{} {} {}", run.code, run.stdout, run.stderr);
        assert!(
            run.stderr.contains("error: /dev/full: No space left on device")
                && run.stderr.contains(&format!("with {flag}")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn allowed_hosts_lift_the_address_rule() {
    let binary = |host: &str| {
        let target = |os: &str| {
            format!("\"{os}-x86_64\": {{ \"archive\": \"http://{host}/a-1.0.0-{os}.zip\", \"cmd\": \"./a\" }}")
        };
        let targets = ["darwin", "linux", "windows"].map(target).join(", ");
        format!(
            r#"{{ "id": "a", "name": "A", "version": "1.0.0", "description": "D", "authors": ["A"], "license": "MIT", "distribution": {{ "binary": {{ {targets} }} }} }}"#
        )
    };
    let env = Env::with(&["a"]).file("r/a/agent.json", binary("127.0.0.1:8080"));
    assert_eq!(env.run(&["validate"]).code, 1);
    assert_eq!(env.run(&["--allow-host", "127.0.0.1:8081", "validate"]).code, 1);
    assert_eq!(env.run(&["--allow-host", "127.0.0.1:8080", "validate"]).code, 0);
}

#[test]
fn rules_and_explain_know_every_rule() {
    let env = Env::empty();
    let (code, list) = env.json(&["rules"]);
    assert_eq!(code, 0);
    let rules: Vec<_> = list["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(rules.len(), acp_registry::check::RULES.len());
    let table = env.run(&["rules"]).stdout;
    for rule in rules {
        assert!(table.contains(&format!("{rule} ")));
        let run = env.run(&["explain", rule]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.starts_with(&format!("{rule}\n\n")), "{}", run.stdout);
        assert_eq!(env.json(&["explain", rule]).1["rule"], rule);
    }
}

#[test]
fn the_environment_of_the_caller_is_not_needed() {
    let env = Env::with(&["a"]);
    let mut command = env.command(&["validate"]);
    scrub(&mut command);
    assert_eq!(Run::of(command.env_clear()).code, 0);
}
