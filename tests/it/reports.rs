//! Snapshots of the report formats, and SARIF checked with its schema.

use serde_json::Value;

use crate::support::{Env, ICON, manifest};

/// A registry with texts that try to break out of every format.
fn hostile() -> Env {
    let text = manifest("a").replace("An agent a", "x\\u001b[31m|@all `c` <b> %0A::error::y\\n\\u202e").replace(
        "\"license\": \"MIT\"",
        "\"license\": \"::warning::|<!-- @everyone [a](https://h.example) ##[error]e\"",
    );
    Env::with(&["b"])
        .file("r/a/agent.json", text)
        .file("r/a/icon.svg", ICON.replace("currentColor", "red"))
        .file("r/c,d:e/x", "")
}

fn render(env: &Env, format: &str) -> String {
    let run = env.run(&["validate", "--format", format]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.stdout.contains("##["), "{}", run.stdout);
    run.stdout
}

#[test]
fn for_people() {
    insta::assert_snapshot!(render(&hostile(), "human"));
}

#[test]
fn for_github() {
    let text = render(&hostile(), "github");
    assert!(text.lines().all(|line| line.starts_with("::error file=") || line.starts_with("::warning file=")));
    insta::assert_snapshot!(text);
}

#[test]
fn for_a_comment() {
    insta::assert_snapshot!(render(&hostile(), "markdown"));
}

#[test]
fn a_comment_is_never_too_long() {
    let broken = manifest("a").replace("[\"--acp\"]", &format!("[{}1]", "1,".repeat(40)));
    let env = (0..60).fold(Env::empty(), |env, number| env.file(&format!("r/agent-{number}/agent.json"), &broken));
    let text = render(&env, "markdown");
    assert!(text.len() < 65_536 && text.contains("more did not fit into this comment"), "{}", text.len());
}

#[test]
fn for_code_scanning() {
    let text = render(&hostile(), "sarif");
    let log: Value = serde_json::from_str(&text).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let results = run["results"].as_array().unwrap();
    let (_, report) = hostile().json(&["validate"]);
    render(&hostile(), "json");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    for (result, finding) in results.iter().zip(findings) {
        let rule = &run["tool"]["driver"]["rules"][usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(
            (&rule["id"], &result["ruleId"], &result["level"]),
            (&finding["rule"], &finding["rule"], &finding["level"])
        );
        let place = &result["locations"][0]["physicalLocation"];
        let region = &place["region"];
        for (key, of) in
            [("startLine", "line"), ("startColumn", "column"), ("endLine", "end_line"), ("endColumn", "end_column")]
        {
            assert_eq!(region.get(key).unwrap_or(&Value::Null), &finding[of]);
        }
        assert!(
            finding["line"].as_u64().is_none_or(|line| line >= 1)
                && finding["column"].as_u64().is_none_or(|column| column >= 1)
        );
    }
    let uris: Vec<_> = results
        .iter()
        .map(|result| result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap())
        .collect();
    assert!(uris.contains(&"r/c%2Cd%3Ae") && uris.contains(&"r/a/agent.json"), "{uris:?}");
}

/// Downloads the schema from the npm registry with npm, since it may not be copied here.
#[cfg(feature = "world")]
#[test]
fn sarif_obeys_its_schema() {
    use std::{fs, process::Command};

    let env = hostile();
    let pack = Command::new("npm")
        .args(["pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0"])
        .current_dir(env.path("."))
        .output();
    if !pack.is_ok_and(|output| output.status.success()) {
        return crate::support::missing("sarif_obeys_its_schema", "npm cannot fetch the schema of SARIF");
    }
    let archive = fs::read_dir(env.path("."))
        .unwrap()
        .map(|item| item.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "tgz"));
    let unpack = Command::new("tar").arg("-xzf").arg(archive.unwrap()).current_dir(env.path(".")).status().unwrap();
    assert!(unpack.success());
    // The published schema has an invalid regular expression, for a member that is not written here.
    let schema = env.read("package/lib/schemas/sarif-2.1.0-rtm.5.json").replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}?$");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::draft7::options().should_validate_formats(true).build(&schema).unwrap();
    let log: Value = serde_json::from_str(&render(&env, "sarif")).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [] as [String; 0]);
    assert!(!validator.is_valid(&serde_json::json!({ "version": "2.1.0" })));
}

#[test]
fn people_see_equal_findings_once_and_programs_all() {
    let broken = |id: &str| manifest(id).replace("\"MIT\"", "\"Nonsense\"");
    let with = |count: usize| {
        let ids = (10..10 + count).map(|number| format!("agent-{number}"));
        ids.fold(Env::empty(), |env, id| env.file(&format!("r/{id}/agent.json"), broken(&id)))
    };
    let env = with(14);
    let findings = |text: &str| text.matches("[manifest/license]").count();
    let text = env.run(&["validate"]).stdout;
    assert_eq!(findings(&text), 1, "{text}");
    assert!(text.contains("note: and 13 more: agent-11/agent.json:") && text.contains(", …\n"), "{text}");
    let (_, report) = env.json(&["validate"]);
    let all = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "manifest/license");
    assert_eq!(all.count(), 14);
    assert_eq!(findings(&with(3).run(&["validate"]).stdout), 3);
}
