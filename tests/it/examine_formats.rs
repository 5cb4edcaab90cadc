//! JUnit and SARIF of `probe` and `verify`.
#![cfg(unix)]

use acp_registry::examination::{CHECKS, Check, Level};
use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::support::{Env, Run};
use crate::verify::Verify;

/// An exchange in which the agent returns the protocol version of the client.
const ECHO: &str = "client {\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":65535}}\n\
                    agent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":65535}}";

/// An exchange in which the agent writes text that tries to leave an XML attribute, a JSON string and a log line.
const HOSTILE: &str = "client {\"id\":2,\"method\":\"acp-registry/unknown\",\"params\":{}}\nagent {\"jsonrpc\":\"2.0\",\"id\":2,\
                       \"error\":{\"code\":1,\"message\":\"]]><!--\\\"/><script>&amp;\\u001b[2J\\u0000\\uffff\\ufffe##[error]x\\n::error::y\"}}";

/// The checks of the level `protocol`.
fn checks() -> Vec<&'static Check> {
    CHECKS.iter().copied().filter(|check| check.level() == Level::Protocol).collect()
}

fn probe(env: &Env, flags: &[&str], case: &[&str]) -> Run {
    let agent = fake_agent();
    env.run(&[&["probe"], flags, &["--", agent.to_str().unwrap()], case].concat())
}

/// The attributes of each element with this name.
fn elements(text: &str, name: &str) -> Vec<Vec<(String, String)>> {
    let document = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let found = document.descendants().filter(|node| node.has_tag_name(name));
    found.map(|node| node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())).collect()).collect()
}

fn attribute<'a>(element: &'a [(String, String)], name: &str) -> &'a str {
    &element.iter().find(|(of, _)| of == name).unwrap().1
}

fn log(text: &str) -> Value {
    let log: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(log["version"], "2.1.0");
    log["runs"][0].clone()
}

#[test]
fn hostile_text_stays_text() {
    let env = Env::empty();
    let run = probe(&env, &["--level", "protocol", "--format", "junit"], &["played", HOSTILE]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let failures = elements(&run.stdout, "failure");
    assert_eq!(failures.len(), 1, "{}", run.stdout);
    let message = attribute(&failures[0], "message");
    assert!(message.contains("]]><!--\"/><script>&amp;\\u{1b}[2J\\u{0}"), "{message}");
    assert!(elements(&run.stdout, "script").is_empty());
    for text in [run.stdout, probe(&env, &["--level", "protocol", "--format", "sarif"], &["played", HOSTILE]).stdout] {
        assert!(!text.contains("##[") && !text.contains('\u{1b}') && !text.contains('\0'), "{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
    }
    // The end of stderr is in the details of a failed handshake.
    let case = ["exit", "3", "]]></failure>&\u{1b}[2J::error::z"];
    let run = probe(&env, &["--format", "junit"], &case);
    assert_eq!(run.code, 1);
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains("\n::"), "{}", run.stdout);
    let document = roxmltree::Document::parse(&run.stdout).unwrap();
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failure.attribute("type"), Some("exited"));
    assert!(failure.text().unwrap().contains("]]></failure>&\\u{1b}[2J"), "{:?}", failure.text());
}

#[test]
fn an_agent_that_does_not_answer_fails_the_handshake_and_skips_all_checks() {
    let env = Env::empty();
    let run = probe(&env, &["--level", "protocol", "--format", "junit"], &["exit", "3"]);
    let suites = elements(&run.stdout, "testsuite");
    let counts: Vec<_> = suites
        .iter()
        .map(|suite| ["name", "tests", "failures", "skipped"].map(|name| attribute(suite, name)))
        .collect();
    let all = checks().len().to_string();
    assert_eq!(counts, [["handshake", "1", "1", "0"], ["protocol", &all, "0", &all]]);
    let reasons = elements(&run.stdout, "skipped");
    assert!(reasons.iter().all(|skipped| attribute(skipped, "message").contains("did not answer `initialize`")));

    let run = log(&probe(&env, &["--level", "protocol", "--format", "sarif"], &["exit", "3"]).stdout);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("handshake/no-answer"), &json!("error")));
}

#[test]
fn each_level_is_a_suite_and_each_check_a_case() {
    let env = Env::empty();
    let run = probe(&env, &["--level", "protocol", "--format", "junit"], &["played", ECHO]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let all = &elements(&run.stdout, "testsuites")[0];
    let numbers = ["tests", "failures", "errors", "skipped"].map(|name| attribute(all, name).parse::<usize>().unwrap());
    assert_eq!(numbers, [checks().len() + 1, 1, 0, 0]);
    let cases = elements(&run.stdout, "testcase");
    let names: Vec<&str> = cases.iter().map(|case| attribute(case, "name")).collect();
    assert_eq!(names[0], "handshake/initialize");
    assert_eq!(names[1..], checks().iter().map(|check| check.id).collect::<Vec<_>>());
    assert!(cases[1..].iter().all(|case| attribute(case, "classname") == "protocol"));
    let failure = &elements(&run.stdout, "failure")[0];
    assert_eq!(attribute(failure, "type"), "must");
    assert_eq!(attribute(failure, "message"), "the agent claims to support version 65535 of the protocol");
    // The handshake itself does not fail because of a required level.
    let required = probe(&env, &["--require", "protocol", "--format", "junit"], &["played", ECHO]);
    assert_eq!((required.code, elements(&required.stdout, "failure").len()), (1, 1));
}

#[test]
fn a_warning_is_a_passed_case_with_a_note() {
    let check = CHECKS.iter().find(|check| check.id == "protocol/agent-info").unwrap();
    let env = Env::empty();
    let run = probe(&env, &["--level", "protocol", "--format", "junit"], &["played", &check.failing_exchange()]);
    assert_eq!(attribute(&elements(&run.stdout, "testsuites")[0], "failures"), "0");
    let document = roxmltree::Document::parse(&run.stdout).unwrap();
    let note = document.descendants().find(|node| node.has_tag_name("system-out")).unwrap();
    assert_eq!(note.parent().unwrap().attribute("name"), Some(check.id));
    assert!(note.text().unwrap().starts_with("warning ("), "{:?}", note.text());
    let run =
        log(&probe(&env, &["--level", "protocol", "--format", "sarif"], &["played", &check.failing_exchange()]).stdout);
    assert_eq!((&run["results"][0]["ruleId"], &run["results"][0]["level"]), (&json!(check.id), &json!("warning")));
}

#[test]
fn sarif_has_a_rule_with_help_for_each_check() {
    let env = Env::empty();
    let run = log(&probe(&env, &["--level", "protocol", "--format", "sarif"], &["played", ECHO]).stdout);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for check in CHECKS.iter() {
        let rule = rules.iter().find(|rule| rule["id"] == check.id).unwrap();
        assert_eq!((&rule["help"]["text"], &rule["fullDescription"]["text"]), (&json!(check.fix), &json!(check.why)));
        assert!(rule["help"]["markdown"].as_str().unwrap().contains(check.spec));
    }
    let [result] = &run["results"].as_array().unwrap()[..] else { panic!("{run}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("protocol/version"), &json!("error")));
    assert_eq!(rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()]["id"], "protocol/version");
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "fake-agent");
    let good = log(&probe(&env, &["--level", "protocol", "--format", "sarif"], &["played", ""]).stdout);
    assert_eq!(good["results"], json!([]));
}

#[test]
fn verify_has_a_suite_for_each_agent() {
    let verify = Verify::new();
    verify.npx("good", &["played", ""]).npx("echo", &["played", ECHO]).npx("absent", &[]);
    let run = verify.run(&["--level", "protocol", "--format", "junit"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let suites = elements(&run.stdout, "testsuite");
    let counts: Vec<_> =
        suites.iter().map(|suite| ["name", "failures", "errors"].map(|name| attribute(suite, name))).collect();
    assert_eq!(counts, [["absent (npx)", "1", "0"], ["echo (npx)", "1", "0"], ["good (npx)", "0", "0"]]);
    verify.env.write("r/broken/agent.json", "{");
    let run = log(&verify.run(&["--level", "protocol", "--format", "sarif"]).stdout);
    let found: Vec<_> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let rules = &run["tool"]["driver"]["rules"];
            let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
            assert_eq!(rule["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            (result["ruleId"].as_str().unwrap(), place.as_str().unwrap())
        })
        .collect();
    let expected = [
        ("handshake/install-failed", "r/absent/agent.json"),
        ("manifest/syntax", "r/broken/agent.json"),
        ("protocol/version", "r/echo/agent.json"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn annotations_and_comments_hold_hostile_text() {
    let env = Env::empty();
    let run = probe(&env, &["--level", "protocol", "--format", "github"], &["played", HOSTILE]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let [line] = lines[..] else { panic!("{}", run.stdout) };
    assert!(line.starts_with("::error file=fake-agent,title=protocol/unknown-method::"), "{line}");
    assert!(line.contains("\\u{1b}[2J"), "{line}");
    let run = probe(&env, &["--level", "protocol", "--format", "markdown"], &["played", HOSTILE]);
    let mut lines = run.stdout.lines();
    assert!(
        lines.next().unwrap().starts_with("### Agent: answers; 1 requirement of `protocol` failed"),
        "{}",
        run.stdout
    );
    assert!(lines.all(|line| line.is_empty() || line.starts_with("    ")), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}') && run.stdout.contains("protocol/unknown-method"), "{}", run.stdout);

    let verify = Verify::new();
    verify.npx("good", &["played", ""]).npx("echo", &["played", ECHO]);
    let run = verify.run(&["--level", "protocol", "--format", "github"]);
    let expected = "::error file=r/echo/agent.json,title=protocol/version::echo (npx): the agent claims to support";
    assert!(run.stdout.starts_with(expected) && run.stdout.lines().count() == 1, "{}", run.stdout);
}

/// Findings of rules are test cases too.
#[test]
fn validate_has_a_suite_for_each_agent() {
    let env = Env::with(&["good", "bad"]);
    env.write("r/bad/agent.json", "{ \"id\": \"bad\", \"version\": \"]]><b>\" }");
    let run = env.run(&["validate", "--format", "junit"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let suites = elements(&run.stdout, "testsuite");
    let names: Vec<&str> = suites.iter().map(|suite| attribute(suite, "name")).collect();
    assert_eq!(names, ["bad", "good", "registry"]);
    assert_eq!(attribute(&suites[1], "failures"), "0");
    let failures = elements(&run.stdout, "failure");
    assert!(!failures.is_empty() && elements(&run.stdout, "b").is_empty(), "{}", run.stdout);
    let document = env.json(&["validate"]).1;
    let errors = document["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == "error");
    assert_eq!(failures.len(), errors.count());
    assert!(run.stdout.contains("r/bad/agent.json:1:"), "{}", run.stdout);
}
