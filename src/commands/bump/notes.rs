//! Notes on the versions before and after an update, as Markdown for its pull request.

use std::collections::BTreeSet;

use acp_registry::bump::Compared;
use acp_registry::examination::VerdictCounts;
use acp_registry::text::{code_span, prose};
use acp_registry::verify::Row;
use serde_json::{Map, Value};

/// Maximum number of changed checks in a pull request.
const CHANGES: usize = 40;

/// Describes the handshake with the new version, as Markdown for a pull request. `earlier` holds the capabilities of the
/// previous version.
pub(crate) fn handshake_notes(row: &Row, earlier: Option<&Map<String, Value>>) -> String {
    let result = row.to_json();
    let handshake = &result["handshake"];
    let types = handshake["auth_methods"].as_array().into_iter().flatten().filter_map(|method| method["type"].as_str());
    let types: Vec<String> = types.map(code_span).collect();
    let mut out =
        format!("Started with {}: {}, sign in by {}.\n", row.distribution(), row.verdict().as_str(), types.join(", "));
    let now = handshake["features"].as_object();
    let is_on = |features: Option<&Map<String, Value>>, name: &str| {
        features.and_then(|features| features.get(name)).and_then(Value::as_bool).unwrap_or_default()
    };
    let names = now.into_iter().chain(earlier).flat_map(Map::keys).collect::<BTreeSet<_>>();
    let changed = names.into_iter().filter(|name| earlier.is_some() && is_on(now, name) != is_on(earlier, name));
    for name in changed {
        out.push_str(&format!("- {} {}\n", if is_on(now, name) { "new:" } else { "gone:" }, code_span(name)));
    }
    out
}

/// Describes how the examination of a new version differs from that of the version before, as Markdown for a pull request.
/// Durations are left out, so that the text is the same on every run.
pub(crate) fn examination_notes(compared: &Compared) -> String {
    let level = compared.reached.map_or_else(
        || "The agent could not be examined".to_owned(),
        |level| format!("Examined at the level {}", code_span(level.as_str())),
    );
    let counts = |summary: &VerdictCounts| {
        let ran = summary.passed + summary.failed + summary.warnings;
        format!("{} of {ran} checks passed", summary.passed)
    };
    let before = compared.before.as_ref().map_or_else(
        || "the version before could not be examined".to_owned(),
        |summary| format!("before: {}", counts(summary)),
    );
    let mut out = format!("{level}: {} ({before}).\n", counts(&compared.after));
    for change in compared.changes.iter().take(CHANGES) {
        let why = change.message.as_deref().map_or_else(String::new, |message| format!(": {}", prose(message)));
        let (before, after) = (change.before.as_str(), change.after.as_str());
        out.push_str(&format!("- {}: {before} → {after}{why}\n", code_span(&change.check)));
    }
    if compared.changes.len() > CHANGES {
        out.push_str(&format!("- and {} more\n", compared.changes.len() - CHANGES));
    }
    out
}
