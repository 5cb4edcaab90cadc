//! A snapshot that was merged from parts.

use serde_json::{Value, json};

use super::plural;
use acp_registry_gate::verify::Merged;

/// How many rows the parts gave, and which agents no part has started, for people.
#[must_use]
pub fn merged(merged: &Merged, parts: usize) -> String {
    let mut text = format!("{} from {}\n", plural(merged.taken, "row"), plural(parts, "part"));
    for one in &merged.unknown {
        let (name, reason) = (format!("{} ({})", one.id, one.distribution), &one.reason);
        text.push_str(&match (reason.as_str(), one.is_kept) {
            ("no_row", true) => format!("{name} has no row in its part; the earlier row stays\n"),
            ("no_row", false) => format!("{name} has no row in its part, and no earlier one\n"),
            (_, true) => format!("{name} was not started: {reason}; the earlier row stays\n"),
            (_, false) => format!("{name} was not started: {reason}; it has no earlier row\n"),
        });
    }
    text
}

/// The document of the command-line contract.
#[must_use]
pub fn merged_json(merged: &Merged) -> Value {
    let unknown = merged.unknown.iter().map(
        |one| json!({ "id": one.id, "distribution": one.distribution, "reason": one.reason, "kept": one.is_kept }),
    );
    json!({
        "schema": 1, "command": "verify",
        "merged": { "taken": merged.taken, "unknown": unknown.collect::<Vec<_>>() },
    })
}
