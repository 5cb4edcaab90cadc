//! `--level` and `--require` of `probe` and `verify`, `rules --examination`, and `explain` for checks.
#![cfg(unix)]

use acp_registry::examination::{CHECKS, Level};
use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::support::{Env, Run};
use crate::verify::Verify;

/// Number of checks of the level `protocol`.
fn protocol() -> usize {
    CHECKS.iter().filter(|check| check.level() == Level::Protocol).count()
}

/// An exchange in which the agent returns the protocol version of the client.
const ECHO: &str = "client {\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":65535}}\n\
                    agent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":65535}}";

fn probe(flags: &[&str], exchange: &str) -> (i32, Value) {
    let agent = fake_agent();
    let arguments = [&["probe", "--json"], flags, &["--", agent.to_str().unwrap(), "played", exchange]].concat();
    document(&arguments)
}

/// The document of a command whose last arguments are the command line of an agent.
fn document(arguments: &[&str]) -> (i32, Value) {
    let run = Env::empty().run(arguments);
    (run.code, serde_json::from_str(&run.stdout).unwrap())
}

fn result<'a>(examination: &'a Value, id: &str) -> &'a Value {
    examination["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap()
}

#[test]
fn the_document_of_probe_has_an_examination_where_one_is_asked_for() {
    assert_eq!(probe(&[], "").1["examination"], Value::Null);
    assert_eq!(probe(&["--level", "handshake"], "").1["examination"], Value::Null);
    let (code, document) = probe(&["--level", "protocol"], "");
    let examination = &document["examination"];
    assert_eq!((code, &document["verdict"]), (0, &json!("pass")));
    let head = ["level", "reached", "model", "network"].map(|name| examination[name].clone());
    assert_eq!(head, [json!("protocol"), json!("protocol"), json!(null), json!("none")]);
    let all = protocol();
    assert_eq!(examination["summary"], json!({ "passed": all, "failed": 0, "warnings": 0, "not_exercised": 0 }));
    let mut check = result(examination, "protocol/version").clone();
    assert!(check["duration_seconds"].is_f64());
    check["duration_seconds"] = 0.into();
    let expected = json!({
        "id": "protocol/version", "result": "pass", "force": "must", "spec": "protocol/v1/initialization",
        "message": null, "duration_seconds": 0,
    });
    assert_eq!(check, expected);
}

#[test]
fn a_failed_check_changes_the_verdict_only_where_it_is_required() {
    let (code, document) = probe(&["--level", "protocol"], ECHO);
    assert_eq!((code, &document["verdict"], &document["reason"]), (0, &json!("pass"), &json!(null)));
    let check = result(&document["examination"], "protocol/version");
    assert_eq!(check["message"], "the agent claims to support version 65535 of the protocol");
    let (code, document) = probe(&["--require", "protocol"], ECHO);
    assert_eq!((code, &document["verdict"], &document["reason"]), (1, &json!("fail"), &json!("examination")));
    assert_eq!(document["message"], "the agent fails a check of the level `protocol`: protocol/version");
    let (code, _) = probe(&["--require", "protocol"], "");
    assert_eq!(code, 0);
}

#[test]
fn an_agent_that_fails_the_handshake_keeps_that_reason() {
    let agent = fake_agent();
    let arguments = ["probe", "--json", "--require", "protocol", "--", agent.to_str().unwrap(), "exit", "3"];
    let (code, document) = document(&arguments);
    assert_eq!((code, &document["reason"]), (1, &json!("exited")));
    assert_eq!(document["examination"]["reached"], Value::Null);
    assert_eq!(document["examination"]["summary"]["not_exercised"], protocol());
}

#[test]
fn people_see_what_failed_and_how_many_passed() {
    let agent = fake_agent();
    let agent = agent.to_str().unwrap();
    let env = Env::empty();
    let run = env.run(&["probe", "--level", "protocol", "--", agent, "played", ECHO]);
    let passed = protocol() - 1;
    assert!(run.stdout.contains(&format!("up to `protocol`: {passed} passed, 1 failed, 0 warnings")), "{}", run.stdout);
    assert!(run.stdout.contains("fail      protocol/version (must, protocol/v1/initialization)"), "{}", run.stdout);
    // A failed requirement is not introduced as a success, although it changes no exit code.
    let found = "answers; 1 requirement of `protocol` failed, which `--require protocol` would refuse: ";
    assert!(run.code == 0 && run.stdout.starts_with(found), "{}", run.stdout);
    let run = env.run(&["probe", "--require", "protocol", "--", agent, "played", ECHO]);
    assert!(run.code == 1 && run.stdout.starts_with("fail: "), "{}", run.stdout);
    let run = env.run(&["probe", "--level", "protocol", "--", agent, "played", ""]);
    assert!(run.code == 0 && run.stdout.starts_with("pass: "), "{}", run.stdout);
    let escape = "client {\"id\":2,\"method\":\"acp-registry/unknown\",\"params\":{}}\nagent {\"jsonrpc\":\"2.0\",\"id\":2,\
                  \"error\":{\"code\":1,\"message\":\"\\u001b[2J\\u202e\"}}";
    let run = env.run(&["probe", "--level", "protocol", "--", agent, "played", escape]);
    assert!(run.stdout.contains("error 1: `\\u{1b}[2J\\u{202e}`"), "{}", run.stdout);
    let run = env.run(&["probe", "--level", "protocol", "--", agent, "exit", "3"]);
    assert!(run.stdout.contains("no check was run, because the agent did not answer `initialize`"), "{}", run.stdout);
}

#[test]
fn wrong_levels_are_told() {
    let env = Env::empty();
    let run = env.run(&["probe", "--level", "models", "--", "true"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("handshake, transport, protocol, sessions, turns, drafts"), "{}", run.stderr);
    let run = env.run(&["probe", "--level", "protocol", "--no-probe", "--", "true"]);
    assert!(run.code == 2 && run.stderr.contains("--no-probe"), "{}", run.stderr);
}

#[test]
fn verify_examines_and_the_registry_may_require_it() {
    let verify = Verify::new();
    verify.npx("good", &["played", ""]).npx("echo", &["played", ECHO]);
    let (code, document) = verify.json(&["--level", "protocol"]);
    assert_eq!(code, 0, "{document}");
    let failed: Vec<&Value> =
        document["results"].as_array().unwrap().iter().map(|row| &row["examination"]["summary"]["failed"]).collect();
    assert_eq!(failed, [&json!(1), &json!(0)]);
    let networks = document["results"].as_array().unwrap().iter().map(|row| &row["examination"]["network"]);
    assert!(networks.eq([&json!("none"), &json!("none")]), "{document}");
    let run = verify.run(&["--level", "protocol"]);
    let (all, counts) =
        (protocol(), |passed, failed| format!("`protocol`: {passed} passed, {failed} failed, 0 warnings"));
    for part in [
        &counts(all, 0),
        &counts(all - 1, 1),
        "pass: good 1.0.0 (npx)\n  examined",
        "\nanswers; 1 requirement of `protocol` failed, which `--require protocol` would refuse: echo 1.0.0 (npx)\n",
        "fail      protocol/version (must,",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    verify.env.write("r/registry.toml", "[examine]\nrequire = \"protocol\"\n");
    let (code, document) = verify.json(&[]);
    let found: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|row| (&row["id"], &row["reason"])).collect();
    assert_eq!(code, 1);
    assert_eq!(found, [(&json!("echo"), &json!("examination")), (&json!("good"), &json!(null))]);
    let (code, _) = verify.json(&["--require", "handshake"]);
    assert_eq!(code, 0);
    // `validate` has the same verdict, by a rule that the registry can change.
    let validate = |flags: &[&str]| {
        let run = Run::of(&mut verify.program(&[&["validate", "--handshake", "--json"], flags].concat()));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = document["findings"].as_array().unwrap().iter();
        let of_handshake = findings.filter(|finding| finding["rule"].as_str().unwrap().starts_with("handshake/"));
        of_handshake.map(|finding| format!("{} {} {}", finding["level"], finding["rule"], finding["agent"])).collect()
    };
    let found: Vec<String> = validate(&[]);
    assert_eq!(found, [r#""error" "handshake/broken-requirement" "echo""#]);
    let found: Vec<String> = validate(&["--warning", "handshake/broken-requirement"]);
    assert_eq!(found, [r#""warning" "handshake/broken-requirement" "echo""#]);
}

/// A recipe of which the fake agent needs every part.
pub(crate) fn recipe(id: &str) -> String {
    format!(
        "[examine.{id}]\nargs = [\"--led\"]\nauth = \"of-recipe\"\nenv.FAKE_AGENT_URL = \"$MODEL/v1\"\n\
         files.\".fake-agent/url\" = \"$MODEL/v1\"\n"
    )
}

/// The arguments, variables, files and sign-in of a recipe all reach the agent; without it, no session is opened.
#[test]
fn a_recipe_leads_an_agent_to_the_model() {
    let verify = Verify::new();
    verify.npx("led", &["recipe"]);
    let summary = |verify: &Verify| {
        let (code, document) = verify.json(&["--level", "sessions"]);
        assert_eq!(code, 0, "{document}");
        let examination = &document["results"][0]["examination"];
        (examination["reached"].clone(), examination["model"].clone(), document.to_string())
    };
    let (reached, model, document) = summary(&verify);
    assert_eq!((reached, model), (json!("protocol"), json!("scripted")), "{document}");
    assert!(document.contains("needs sign-in"), "{document}");
    verify.env.write("r/registry.toml", recipe("led"));
    let (reached, _, document) = summary(&verify);
    assert_eq!(reached, json!("sessions"), "{document}");
    assert!(!document.contains("needs sign-in"), "{document}");
}

#[test]
fn probe_uses_the_recipe_of_an_agent_of_the_registry() {
    let env = Env::empty();
    env.write("r/registry.toml", recipe("led"));
    let agent = fake_agent();
    let probe = |recipe: &[&str]| {
        let command = ["--", agent.to_str().unwrap(), "recipe"];
        env.run(&[&["probe", "--registry-dir", "r", "--json", "--level", "sessions"], recipe, &command[..]].concat())
    };
    let reached = |run: &Run| {
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        document["examination"]["reached"].clone()
    };
    assert_eq!(reached(&probe(&[])), json!("protocol"));
    assert_eq!(reached(&probe(&["--recipe", "led"])), json!("sessions"));
    let run = probe(&["--recipe", "other"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is no `[examine.other]` in the registry's `registry.toml`"), "{}", run.stderr);
    let run = probe(&["--recipe", "let"]);
    assert!(run.code == 2 && run.stderr.contains("help: did you mean `led`?"), "{}", run.stderr);
}

/// Some agents start only when a provider is configured.
#[test]
fn an_agent_that_needs_its_recipe_to_start_gets_it_in_the_handshake() {
    let env = Env::empty();
    let script = "[ -n \"$FAKE_AGENT_URL\" ] && [ -f \"$HOME/.fake-agent/url\" ] || exit 3; exec \"$0\" recipe --led";
    let agent = fake_agent();
    let examined = |more: &str| {
        env.write("r/registry.toml", recipe("led").replace("args = [\"--led\"]\n", more));
        let probe = ["probe", "--registry-dir", "r", "--json", "--recipe", "led", "--level", "protocol", "--"];
        let run = env.run(&[&probe[..], &["sh", "-c", script, agent.to_str().unwrap()]].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        (document["reason"].clone(), document["examination"]["reached"].clone())
    };
    assert_eq!(examined(""), (json!("exited"), json!(null)));
    assert_eq!(examined("handshake = true\n"), (json!(null), json!("protocol")));
}

/// What is left out for want of time is said wherever the result is.
#[test]
fn an_examination_that_is_cut_short_says_so_everywhere() {
    let total = protocol();
    // A check may end at once.
    let is_said = |text: &str, before: &str| {
        let (_, rest) = text.split_once(before).unwrap_or_default();
        let (number, rest) = rest.split_once(' ').unwrap_or_default();
        number.parse::<usize>().is_ok() && rest.starts_with(&format!("of {total} checks did not run for want of time"))
    };
    let agent = fake_agent();
    let probe = |flags: &[&str]| {
        let limit = ["probe", "--level", "protocol", "--examination-timeout", "0.001"];
        Env::empty().run(&[&limit[..], flags, &["--", agent.to_str().unwrap(), "played", ""]].concat())
    };
    let run = probe(&[]);
    assert!(run.code == 0 && run.stdout.starts_with("answers; incomplete: "), "{}", run.stdout);
    assert!(is_said(&run.stdout, "answers; incomplete: "), "{}", run.stdout);
    let document: Value = serde_json::from_str(&probe(&["--json"]).stdout).unwrap();
    assert_eq!((&document["verdict"], &document["examination"]["complete"]), (&json!("pass"), &json!(false)));
    let junit = probe(&["--format", "junit"]).stdout;
    assert!(junit.contains("examination/complete") && is_said(&junit, "message=\"incomplete: "), "{junit}");
    let run = probe(&["--require", "protocol", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1);
    assert_eq!((&document["verdict"], &document["reason"]), (&json!("error"), &json!("examination")));
    let message = document["message"].as_str().unwrap();
    assert!(message.starts_with("incomplete: ") && message.contains("--examination-timeout"), "{message}");
    let whole = self::probe(&["--level", "protocol"], "").1;
    assert_eq!(whole["examination"]["complete"], json!(true));
}

/// What was written in a failed check is sent again, with the ids of the new run.
#[test]
fn the_messages_of_a_failure_are_sent_again() {
    let env = Env::empty();
    let agent = fake_agent();
    let deviation = "makes-up-results";
    let command = ["--", agent.to_str().unwrap(), "turns", deviation, ""];
    let run = env.run(&[&["probe", "--level", "turns", "--failures", "failures"], &command[..]].concat());
    assert!(
        run.stdout.contains("turns/mcp-tools") && run.stderr.contains("in failures"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let file = "failures/turns-mcp-tools.exchange";
    let text = env.read(file);
    assert!(text.starts_with("# turns/mcp-tools: the agent does not call a tool of an MCP server"), "{text}");
    assert!(text.contains("$SANDBOX/work") && text.contains("$PROGRAM") && text.contains("\nmodel "), "{text}");
    let replay =
        format!("# acp-registry probe --replay {file} --registry-dir r -- {} turns {deviation} ''\n", agent.display());
    assert!(text.contains(&replay), "{text}");
    // The tool is called in the second run as well, and the permission is answered under the id of that run.
    let run = env.run(&[&["probe", "--replay", file], &command[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = |text: &str, who: &str| text.lines().filter(|line| line.starts_with(who)).count();
    assert_eq!(said(&run.stdout, "client {"), said(&text, "client {"), "{}", run.stdout);
    assert!(said(&run.stdout, "agent {") >= said(&text, "agent {"), "{}", run.stdout);
    assert!(run.stdout.contains("\"toolCallId\"") && !run.stdout.contains("$SANDBOX"), "{}", run.stdout);

    env.write("bad.exchange", "client {}\nhello");
    let run = env.run(&[&["probe", "--replay", "bad.exchange"], &command[..]].concat());
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("bad.exchange: line 2: it begins with none of client"), "{}", run.stderr);
    let run = env.run(&[&["probe", "--replay", "none.exchange"], &command[..]].concat());
    assert!(run.code == 2 && run.stderr.contains("--failures DIR"), "{}", run.stderr);
}

#[test]
fn the_configuration_sets_the_time_limit_of_examinations() {
    let verify = Verify::new();
    verify.npx("good", &["played", ""]);
    for (timeout, complete) in [("0.001", false), ("\"5m\"", true)] {
        verify.env.write("r/registry.toml", format!("[examine]\ntimeout = {timeout}\n"));
        let (code, document) = verify.json(&["--level", "protocol"]);
        assert_eq!((code, &document["results"][0]["examination"]["complete"]), (0, &json!(complete)), "{document}");
    }
    verify.env.write("r/registry.toml", "[examine]\ntimeout = \"soon\"\n");
    let run = verify.run(&["--level", "protocol"]);
    assert!(run.code == 2 && run.stderr.contains("write a number with s, m, h, d or w"), "{}", run.stderr);
}

/// A recipe must not cause what the catalog would publish as a fault of the agent: a model that takes no images, where the
/// agent passes them on, or a provider that a variable locks, where the agent offers to change it.
#[test]
fn the_recipes_of_the_bundled_registry_cause_no_warnings() {
    /// Agents whose configuration cannot say that a model takes images, and one whose own model takes them.
    const NOTHING_TO_SAY: [&str; 5] = ["cline", "crow-cli", "minion-code", "nanocoder", "openhands"];
    let text = std::fs::read_to_string("registry/registry.toml").unwrap();
    let config: toml::Table = text.parse().unwrap();
    let recipes = config["examine"].as_table().unwrap();
    assert!(recipes.len() > 15);
    for (id, recipe) in recipes {
        let Some(files) = recipe.get("files").and_then(toml::Value::as_table) else { continue };
        let texts: String = files.values().filter_map(toml::Value::as_str).collect();
        let has_model = texts.contains("$MODEL");
        let takes_images = ["image", "vision"].iter().any(|word| texts.to_lowercase().contains(word));
        assert!(!has_model || takes_images || NOTHING_TO_SAY.contains(&id.as_str()), "{id}");
        let variables = recipe.get("env").and_then(toml::Value::as_table).into_iter().flatten();
        for (name, _) in variables.filter(|_| has_model) {
            assert!(!name.ends_with("_PROVIDER") && !name.ends_with("_MODEL"), "{id}: {name} locks what files say");
        }
    }
}

#[test]
fn checks_are_listed_and_explained() {
    let env = Env::empty();
    let (_, document) = env.json(&["rules", "--examination"]);
    let ids: Vec<&str> =
        document["checks"].as_array().unwrap().iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(ids, CHECKS.iter().map(|check| check.id).collect::<Vec<_>>());
    let run = env.run(&["rules", "--examination"]);
    assert!(run.stdout.contains("protocol/unknown-method") && run.stdout.contains("must"), "{}", run.stdout);
    for check in CHECKS.iter() {
        let run = env.run(&["explain", check.id]);
        assert!(run.code == 0 && run.stdout.contains(check.spec), "{}", run.stdout);
        let (_, document) = env.json(&["explain", check.id]);
        assert_eq!(
            (&document["check"], &document["fails"][0]["text"]),
            (&json!(check.id), &json!(check.failing_exchange()))
        );
    }
    let (code, document) = env.json(&["explain", "protocol/unknown-methd"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unknown_rule")));
    assert_eq!(document["error"]["suggestions"][0], "protocol/unknown-method");
}
