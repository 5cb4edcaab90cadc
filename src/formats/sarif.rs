//! SARIF 2.1.0, the Static Analysis Results Interchange Format (OASIS), for code scanning.

use acp_registry::check::{RULES, Rule};
use acp_registry::digest::Hasher;
use acp_registry::finding::{Finding, Level};
use serde_json::{Value, json};

use crate::formats::{Report, path_within};

pub(crate) fn render(report: &Report<'_>) -> String {
    let rules: Vec<Value> = RULES.iter().map(|rule| descriptor(rule)).collect();
    let results = report.checked.findings.iter().map(|finding| finding_result(&rules, finding, report.prefix));
    log(&rules, &results.collect::<Vec<_>>())
}

/// The log of a run with these rules and results.
pub(crate) fn log(rules: &[Value], results: &[Value]) -> String {
    acp_registry::json::to_string(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": env!("CARGO_PKG_NAME"),
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

pub(crate) fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.why },
        "help": { "text": rule.fix, "markdown": rule.fix },
        "defaultConfiguration": { "enabled": rule.level > Level::Off, "level": level(rule.level) },
    })
}

fn finding_result(rules: &[Value], finding: &Finding, prefix: &str) -> Value {
    let mut place = json!({
        "artifactLocation": artifact(&path_within(prefix, &finding.file)),
    });
    if let Some(span) = finding.span {
        place["region"] = json!({
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        });
    }
    let text = match finding.help.as_deref() {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    // A finding is the same even if lines are added above it.
    let pointer = finding.pointer.as_deref().unwrap_or_default();
    let same = json!({ "place/v1": digest(&[finding.rule, &finding.file, pointer, &finding.message]) });
    result(rules, (finding.rule, level(finding.level), &text), &json!({ "physicalLocation": place }), &same)
}

/// A result: its rule, level and text, its place, and what identifies it across runs.
pub(crate) fn result(rules: &[Value], (rule, level, text): (&str, &str, &str), place: &Value, same: &Value) -> Value {
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": text },
        "locations": [place],
        "partialFingerprints": same,
    });
    if let Some(index) = rules.iter().position(|known| known["id"] == *rule) {
        result["ruleIndex"] = json!(index);
    }
    result
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Off => "none",
    }
}

/// A digest of these texts that identifies a result.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut hasher = Hasher::default();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    hasher.finish().first(32)
}

/// The location of a file of the repository.
pub(crate) fn artifact(path: &str) -> Value {
    json!({ "uri": uri(path), "uriBaseId": "%SRCROOT%" })
}

/// Encodes a relative path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn file_names_become_relative_references() {
        assert_eq!(uri("a b/ä:\n%.json"), "a%20b/%C3%A4%3A%0A%25.json");
    }
}
