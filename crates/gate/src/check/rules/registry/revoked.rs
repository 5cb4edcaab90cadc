use serde_json::Value;

use super::check_file;
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{AgentId, Manifest, escape_segment};
use acp_registry_plan::revocations::{REVOKED, VersionSet};
use acp_registry_plan::text::{is_hidden, nearest};
use acp_registry_plan::timestamp::date;

pub(crate) static RULE: Rule = Rule {
    name: "registry/revoked",
    level: Level::Error,
    summary: "revoked.json cannot be read, or one of its items is invalid",
    why: "The list keeps people from installing and starting versions that do harm. Clients take an item that they cannot \
          understand for a recall of all versions of its agent, so that a typing error stops an agent for all users.",
    fix: "Each item has `id`, `versions` (`1.0.0`, a list, or a range such as `>=1.0.0 <1.2.0`), `level` (`revoked` or \
          `deprecated`), `reason` and `since` (YYYY-MM-DD); the form is described by `schemas/revoked.schema.json`.",
    fails: Example::Files(&[(
        REVOKED,
        "{\n  \"schema\": 1,\n  \"revoked\": [\n    { \"id\": \"example\", \"versions\": \"the newest\", \"level\": \"revoked\", \"reason\": \"It reads keys\", \"since\": \"2026-01-31\" }\n  ]\n}\n",
    )]),
    marks: "\"the newest\"",
    passes: Example::Files(&[(
        REVOKED,
        "{\n  \"schema\": 1,\n  \"revoked\": [\n    { \"id\": \"example\", \"versions\": \"<0.9.0\", \"level\": \"revoked\", \"reason\": \"It reads keys\", \"since\": \"2026-01-31\" }\n  ]\n}\n",
    )]),
    check: CheckFn::Registry(check),
};

const FORM: &str = "the file is one object: { \"schema\": 1, \"revoked\": [ … ] }";

const MEMBERS: [&str; 5] = ["id", "versions", "level", "reason", "since"];

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let look = |document: &Manifest, report: &mut Reporter<'_>| {
        for (pointer, range) in document.places().repeated_keys(50) {
            report.member(pointer, range, "the member is there twice").help("keep one of the two");
        }
        check_document(&document.value(), report);
    };
    check_file(REVOKED, &registry.revoked, |document| document, FORM, look, report);
}

fn check_document(document: &Value, report: &mut Reporter<'_>) {
    if document.get("schema") != Some(&Value::from(1)) {
        report.value("", "`schema` is not 1").help(FORM);
    }
    let members = document.as_object().into_iter().flat_map(|members| members.keys());
    for name in members.filter(|name| !["schema", "revoked"].contains(&name.as_str())) {
        let place = format!("/{}", escape_segment(name));
        report.key(place, format!("the list has the unknown member {}", quote(name))).help("remove it");
    }
    let Some(items) = document.get("revoked").and_then(Value::as_array) else {
        report.value("", "there is no list `revoked`").help(FORM);
        return;
    };
    for (at, item) in items.iter().enumerate() {
        check_item(item, &format!("/revoked/{at}"), report);
    }
}

fn check_item(item: &Value, pointer: &str, report: &mut Reporter<'_>) {
    let Some(members) = item.as_object() else {
        report
            .value(pointer, "the item is not an object")
            .help("write an object with `id`, `versions`, `level`, `reason` and `since`");
        return;
    };
    for name in MEMBERS.into_iter().filter(|name| !members.contains_key(*name)) {
        report.value(pointer, format!("the item lacks the member `{name}`")).help(format!("add `{name}`"));
    }
    for (name, value) in members {
        let place = format!("{pointer}/{}", escape_segment(name));
        let text = value.as_str();
        let problem = match name.as_str() {
            "id" if text.is_none_or(|id| id.parse::<AgentId>().is_err()) => {
                Some(("`id` is not the id of an agent".to_owned(), "write the id of an agent"))
            }
            "versions" => versions_problem(value)
                .map(|problem| (problem, "write `1.0.0`, a list of versions, or `>=1.0.0 <1.2.0`")),
            "level" if !matches!(text, Some("revoked" | "deprecated")) => {
                Some(("`level` is neither `revoked` nor `deprecated`".to_owned(), "write one of the two words"))
            }
            "reason" if text.is_none_or(|text| text.trim().is_empty()) => {
                Some(("the reason is missing".to_owned(), "write why, for the people who have the version installed"))
            }
            "reason" if text.is_some_and(|text| text.contains(is_hidden)) => {
                Some(("the reason has invisible characters".to_owned(), "remove them: the reason is one line of text"))
            }
            "since" if text.and_then(date).is_none() => {
                Some(("`since` is not a day".to_owned(), "write the day of the recall as \"YYYY-MM-DD\""))
            }
            _ => None,
        };
        if let Some((message, help)) = problem {
            report.value(place, message).help(help);
        } else if !MEMBERS.contains(&name.as_str()) {
            let message = format!("the item has the unknown member {}", quote(name));
            report.key(place, message).suggest(nearest(name, MEMBERS), "remove it");
        }
    }
}

/// Why the value names no versions.
fn versions_problem(value: &Value) -> Option<String> {
    let problem = |text: &Value| match text.as_str() {
        Some(text) => text.parse::<VersionSet>().err().map(|error| error.to_string()),
        None => Some("`versions` is neither a text nor a list of texts".to_owned()),
    };
    match value {
        Value::Array(texts) if texts.is_empty() => Some("`versions` is empty".to_owned()),
        Value::Array(texts) => texts.iter().find_map(problem),
        text => problem(text),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use acp_registry_http::AllowedHosts;

    use super::*;
    use crate::check::{Levels, Selection, check, schema};
    use crate::config::Config;

    /// The messages about the list with this item.
    fn messages(item: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(REVOKED), format!("{{ \"schema\": 1, \"revoked\": [{item}] }}")).unwrap();
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
        found.into_iter().filter(|finding| finding.rule == RULE.name).map(|finding| finding.message).collect()
    }

    #[test]
    fn each_member_is_checked_and_the_schema_thinks_the_same() {
        let schema: Value = serde_json::from_str(schema::REVOKED).unwrap();
        let validator = jsonschema::draft7::options().should_validate_formats(true).build(&schema).unwrap();
        let item = |id: &str, versions: &str, level: &str, reason: &str, since: &str| {
            format!(
                r#"{{ "id": {id}, "versions": {versions}, "level": {level}, "reason": {reason}, "since": {since} }}"#
            )
        };
        let (id, versions, level, reason, since) = ("\"a\"", "\"1.0.0\"", "\"revoked\"", "\"x\"", "\"2026-01-31\"");
        for fine in [
            item(id, versions, level, reason, since),
            item(id, "[\"1.0.0\", \">=2.0.0 <2.1.0\"]", "\"deprecated\"", reason, since),
        ] {
            assert_eq!(messages(&fine), [] as [&str; 0], "{fine}");
            assert!(
                validator
                    .is_valid(&serde_json::from_str(&format!("{{ \"schema\": 1, \"revoked\": [{fine}] }}")).unwrap())
            );
        }
        for (wrong, message) in [
            ("7".to_owned(), "the item is not an object"),
            (item("7", versions, level, reason, since), "`id` is not the id of an agent"),
            (item(id, "[]", level, reason, since), "`versions` is empty"),
            (item(id, "7", level, reason, since), "`versions` is neither a text nor a list of texts"),
            (item(id, versions, "\"gone\"", reason, since), "`level` is neither `revoked` nor `deprecated`"),
            (item(id, versions, level, "\" \"", since), "the reason is missing"),
            (item(id, versions, level, reason, "\"2026-02-30\""), "`since` is not a day"),
            (
                item(id, versions, level, reason, since).replace("\"level\"", "\"levels\""),
                "the item lacks the member `level`",
            ),
        ] {
            assert_eq!(messages(&wrong).first().map(String::as_str), Some(message), "{wrong}");
            let document = format!("{{ \"schema\": 1, \"revoked\": [{wrong}] }}");
            assert!(!validator.is_valid(&serde_json::from_str(&document).unwrap()), "{wrong}");
        }
        // What a schema cannot say.
        assert_eq!(
            messages(&item(id, versions, level, "\"a\\u001b[2Jb\"", since)),
            ["the reason has invisible characters"]
        );
        assert_eq!(
            messages(&item(id, "\"newest\"", level, reason, since)),
            ["`newest` is neither a version nor a range"]
        );
    }
}
