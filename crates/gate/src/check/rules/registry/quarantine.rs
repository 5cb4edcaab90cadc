use serde_json::Value;

use super::check_file;
use crate::check::rules::prelude::*;
use acp_registry_client::registry::Quarantine;
use acp_registry_plan::manifest::escape_segment;
use acp_registry_plan::text::nearest;
use acp_registry_plan::timestamp::date;

pub(crate) static RULE: Rule = Rule {
    name: "registry/quarantine",
    level: Level::Warning,
    summary: "quarantine.json names no agent, or cannot be read",
    why: "The list keeps broken agents from being started and updated; an unknown id has no effect. A list that cannot \
          be read is an error: without it, every quarantined agent would be started. A malformed entry is an error \
          too: it keeps its agent in quarantine indefinitely, whatever was intended.",
    fix: "The file is one JSON object: `{ \"<id>\": \"<reason>\" }`, or, with the last day of the quarantine, `{ \
          \"<id>\": { \"reason\": \"<reason>\", \"until\": \"YYYY-MM-DD\" } }`. Remove the ids of agents that are no \
          longer in the registry.",
    fails: Example::Files(&[("quarantine.json", "{ \"unknown\": \"crashes at start\" }\n")]),
    marks: "\"unknown\"",
    passes: Example::Files(&[("quarantine.json", "{}\n")]),
    check: CheckFn::Registry(check),
};

const FORM: &str = "the file is one object: { \"<id>\": \"<reason>\" }";

const ENTRY: &str = "write \"<reason>\", or { \"reason\": \"<reason>\", \"until\": \"YYYY-MM-DD\" }";

const REASON: &str = "write why the agent is neither started nor updated";

const MEMBERS: [&str; 2] = ["reason", "until"];

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let look = |quarantine: &Quarantine, report: &mut Reporter<'_>| check_members(registry, quarantine, report);
    check_file("quarantine.json", &registry.quarantine, |quarantine| &quarantine.document, FORM, look, report);
}

fn check_members(registry: &Registry, quarantine: &Quarantine, report: &mut Reporter<'_>) {
    let Value::Object(members) = quarantine.document.value() else {
        report.value("", "not a JSON object").grave().help(FORM);
        return;
    };
    for (pointer, range) in quarantine.document.places().repeated_keys(50) {
        report.member(pointer, range, "the list has this id twice").help("keep one of the two members");
    }
    for (id, entry) in &members {
        let pointer = format!("/{}", escape_segment(id));
        check_entry(id, entry, &pointer, report);
        if registry.entry(id).is_none() {
            let near = nearest(id, registry.entries.iter().map(|entry| entry.id.as_str()));
            report.key(pointer, format!("there is no agent {}", quote(id))).suggest(near, "remove the id");
        }
    }
}

fn check_entry(id: &str, entry: &Value, pointer: &str, report: &mut Reporter<'_>) {
    let id = quote(id);
    let (reason, place) = match entry {
        Value::String(_) => (Some(entry), pointer.to_owned()),
        Value::Object(members) => (members.get("reason"), format!("{pointer}/reason")),
        _ => {
            report.value(pointer, format!("the entry of {id} is neither a string nor an object")).grave().help(ENTRY);
            return;
        }
    };
    match reason {
        Some(Value::String(reason)) if reason.trim().is_empty() => {
            report.value(place, format!("the reason for {id} is empty")).help(REASON);
        }
        Some(Value::String(_)) => {}
        Some(_) => {
            report.value(place, format!("the reason for {id} is not a string")).grave().help(ENTRY);
        }
        None => {
            report.value(pointer, format!("the entry of {id} has no reason")).grave().help(ENTRY);
        }
    }
    let Some(members) = entry.as_object() else { return };
    if let Some(until) = members.get("until")
        && until.as_str().and_then(date).is_none()
    {
        let shown = until.as_str().map_or_else(|| "the value of `until`".to_owned(), quote);
        report
            .value(format!("{pointer}/until"), format!("{shown} is not a valid last day for the quarantine of {id}"))
            .grave()
            .help("write the last day as \"YYYY-MM-DD\", or remove `until` if the quarantine has no end");
    }
    for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
        let member = format!("{pointer}/{}", escape_segment(name));
        let message = format!("the entry of {id} has the unknown member {}", quote(name));
        report.key(member, message).suggest(nearest(name, MEMBERS), "remove it");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::check::{CheckOptions, Levels, Selection, check, schema};
    use crate::config::Config;
    use crate::finding::Level;
    use acp_registry_client::registry::Registry;
    use acp_registry_http::AllowedHosts;

    /// Returns the errors, then the warnings, each with the text that it underlines.
    fn findings(entry: &str) -> Vec<(Level, String, String)> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("held")).unwrap();
        fs::write(folder.path().join("held/agent.json"), "{}").unwrap();
        fs::write(folder.path().join("quarantine.json"), format!("{{ \"held\": {entry} }}")).unwrap();
        let registry = Registry::load(folder.path()).unwrap();
        let (levels, allowed_hosts, config) = (Levels::default(), AllowedHosts::default(), Config::default());
        let options = CheckOptions {
            levels: &levels,
            allowed_hosts: &allowed_hosts,
            config: &config,
            survey: None,
            advisories: None,
        };
        let found = check(&registry, &options, &Selection::All).findings;
        let own = found.into_iter().filter(|finding| finding.rule == super::RULE.name);
        own.map(|finding| {
            let text = registry.text("quarantine.json").unwrap();
            (finding.level, text[finding.span.unwrap().bytes(text)].to_owned(), finding.message)
        })
        .collect()
    }

    #[test]
    fn entries_of_both_forms_are_in_order_and_the_schema_thinks_the_same() {
        let schema: serde_json::Value = serde_json::from_str(schema::QUARANTINE).unwrap();
        let validator = jsonschema::draft7::options().should_validate_formats(true).build(&schema).unwrap();
        let obeys = |entry: &str| validator.is_valid(&serde_json::from_str(&format!("{{\"held\":{entry}}}")).unwrap());
        let fine = [r#""x""#, r#"{ "reason": "x" }"#, r#"{ "reason": "x", "until": "2026-12-31" }"#];
        for entry in fine {
            assert_eq!(findings(entry), [], "{entry}");
            assert!(obeys(entry), "{entry}");
        }
        for (entry, level, marks, message) in [
            ("7", Level::Error, "7", "the entry of `held` is neither a string nor an object"),
            ("{}", Level::Error, "{}", "the entry of `held` has no reason"),
            ("\"\"", Level::Warning, "\"\"", "the reason for `held` is empty"),
            (r#"{ "reason": " " }"#, Level::Warning, r#"" ""#, "the reason for `held` is empty"),
            (r#"{ "reason": 7 }"#, Level::Error, "7", "the reason for `held` is not a string"),
            (
                r#"{ "reason": "x", "until": "2026-02-30" }"#,
                Level::Error,
                "\"2026-02-30\"",
                "`2026-02-30` is not a valid last day for the quarantine of `held`",
            ),
            (
                r#"{ "reason": "x", "until": 20261231 }"#,
                Level::Error,
                "20261231",
                "the value of `until` is not a valid last day for the quarantine of `held`",
            ),
            (
                r#"{ "reason": "x", "untill": "2026-12-31" }"#,
                Level::Warning,
                "\"untill\"",
                "the entry of `held` has the unknown member `untill`",
            ),
        ] {
            assert_eq!(findings(entry), [(level, marks.to_owned(), message.to_owned())], "{entry}");
            assert!(!obeys(entry), "{entry}");
        }
    }
}
