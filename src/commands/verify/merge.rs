//! The result of `verify --merge`.

use acp_registry::verify::Merged;
use serde::Serialize;

use crate::documents::Document;
use acp_registry::text::plural;

/// Counts the rows that were merged, and lists the agents without a result, for people.
pub(crate) fn merged(merged: &Merged, parts: usize) -> String {
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

/// Returns the JSON document.
pub(crate) fn merged_document(merged: &Merged) -> Document<'_, MergeDocument<'_>> {
    let unknown = merged.unknown.iter().map(|one| Unknown {
        id: &one.id,
        distribution: one.distribution,
        reason: &one.reason,
        has_row: one.is_kept,
    });
    Document::new("verify", MergeDocument { merged: Rows { taken: merged.taken, unknown: unknown.collect() } })
}

/// Members of `verify --merge`.
#[derive(Debug, Serialize)]
pub(crate) struct MergeDocument<'a> {
    merged: Rows<'a>,
}

/// How many rows were merged, and which are missing.
#[derive(Debug, Serialize)]
struct Rows<'a> {
    taken: usize,
    unknown: Vec<Unknown<'a>>,
}

/// A distribution that no part has a result for.
#[derive(Debug, Serialize)]
struct Unknown<'a> {
    id: &'a str,
    distribution: &'a str,
    reason: &'a str,
    has_row: bool,
}
