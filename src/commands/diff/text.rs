//! The changes between two indexes: as JSON, for people, and as release notes.

use acp_registry::diff::{Changes, DiffAgent, Recalled, Updated};
use acp_registry::text::{code_span, plural, printable, prose, shown};
use acp_registry::versions::HeldVersion;
use serde::Serialize;

use crate::documents::Document;
use crate::terminal::layout::Look;

/// The longest release notes, in bytes. GitHub's limit is 125,000 characters.
const NOTES_LIMIT: usize = 100_000;

/// The longest reason of a recall, in characters.
const REASON: usize = 2000;

/// The most fields that a line lists.
const FIELDS: usize = 8;

/// Returns the document of `diff --json`.
pub(crate) fn diff<'a>(changes: &'a Changes, notes: &'a [String]) -> Document<'static, DiffDocument<'a>> {
    let listed = |agents: &'a [DiffAgent]| agents.iter().map(Plain::of).collect();
    let updated = |one: &'a Updated| Changed {
        id: &one.agent.id,
        name: &one.agent.name,
        from: &one.from,
        to: &one.agent.version,
        fields: &one.fields,
        held: one.held.as_ref(),
    };
    let recalled = |one: &'a Recalled| RecalledRow {
        id: &one.id,
        versions: &one.revocation.written,
        level: one.revocation.level.as_str(),
        reason: shown(&one.revocation.reason, REASON),
    };
    let members = DiffDocument {
        added: listed(&changes.added),
        removed: listed(&changes.removed),
        updated: changes.updated.iter().map(updated).collect(),
        recalled: changes.recalled.iter().map(recalled).collect(),
        notes,
        summary: DiffCounts {
            added: changes.added.len(),
            removed: changes.removed.len(),
            updated: changes.updated.len(),
        },
    };
    Document::new("diff", members)
}

/// Members of `diff`.
#[derive(Debug, Serialize)]
pub(crate) struct DiffDocument<'a> {
    added: Vec<Plain<'a>>,
    removed: Vec<Plain<'a>>,
    updated: Vec<Changed<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recalled: Vec<RecalledRow<'a>>,
    notes: &'a [String],
    summary: DiffCounts,
}

/// An added or removed agent.
#[derive(Debug, Serialize)]
struct Plain<'a> {
    id: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Plain<'a> {
    fn of(one: &'a DiffAgent) -> Self {
        Self { id: &one.id, name: &one.name, version: &one.version }
    }
}

/// A changed agent.
#[derive(Debug, Serialize)]
struct Changed<'a> {
    id: &'a str,
    name: &'a str,
    from: &'a str,
    to: &'a str,
    fields: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'a HeldVersion>,
}

/// Versions that were recalled.
#[derive(Debug, Serialize)]
struct RecalledRow<'a> {
    id: &'a str,
    versions: &'a str,
    level: &'a str,
    reason: String,
}

/// How many agents were added, removed and changed.
#[derive(Debug, Serialize)]
struct DiffCounts {
    added: usize,
    removed: usize,
    updated: usize,
}

/// A line for each change, then the summary.
pub(crate) fn diff_human(changes: &Changes, look: Look) -> String {
    let mut out = String::new();
    let plain =
        |sign: &str, one: &DiffAgent| format!("{sign} {} {}\n", printable(&one.id), printable(version(&one.version)));
    out.extend(changes.added.iter().map(|one| plain("+", one)));
    out.extend(changes.removed.iter().map(|one| plain("-", one)));
    for one in &changes.updated {
        let id = printable(&one.agent.id);
        let to = printable(version(&one.agent.version));
        let fields = printable(&fields(one)).into_owned();
        out.push_str(&if one.is_new_version() {
            let older = if one.is_older_version() { ", older" } else { "" };
            let held = one.held.as_ref().map(|held| format!(", {held}")).unwrap_or_default();
            format!("~ {id} {} → {to}{older}{held} ({fields})\n", printable(version(&one.from)))
        } else {
            format!("~ {id} {to} ({fields})\n")
        });
    }
    for Recalled { id, revocation } in &changes.recalled {
        out.push_str(&format!("! {} {} {revocation}\n", printable(id), revocation.written));
    }
    if changes.is_empty() {
        return "no agent has changed\n".to_owned();
    }
    let [added, removed, updated] = [changes.added.len(), changes.removed.len(), changes.updated.len()];
    out.push_str(&format!("{} added, {updated} updated, {removed} removed\n", plural(added, "agent")));
    out.lines().map(|line| look.wrap(line, 4)).collect()
}

/// Release notes in Markdown, for users of the agents.
pub(crate) fn diff_markdown(changes: &Changes) -> String {
    if changes.is_empty() {
        return "No agent has changed.\n".to_owned();
    }
    let name = |one: &DiffAgent| {
        let (name, id) = (prose(&one.name), code_span(&one.id));
        if one.name == one.id || name.is_empty() { format!("**{id}**") } else { format!("**{name}** ({id})") }
    };
    let plain = |one: &DiffAgent| format!("- {} {}\n", name(one), prose(version(&one.version)));
    let (releases, edits): (Vec<_>, Vec<_>) = changes.updated.iter().partition(|one| one.is_new_version());
    let (older, newer): (Vec<&Updated>, Vec<&Updated>) = releases.into_iter().partition(|one| one.is_older_version());
    let release = |one: &&Updated| {
        let (from, to) = (version(&one.from), version(&one.agent.version));
        let held = one.held.as_ref().map(|held| format!(", {}", prose(&held.to_string()))).unwrap_or_default();
        format!("- {} {} → {}{held}\n", name(&one.agent), prose(from), prose(to))
    };
    let edit = |one: &&Updated| format!("- {}: {}\n", name(&one.agent), prose(&fields(one)));
    let recall = |Recalled { id, revocation }: &Recalled| {
        format!("- **{}** {} {}\n", code_span(id), prose(&revocation.written), prose(&revocation.to_string()))
    };
    let mut out = String::new();
    let mut left_out = 0;
    for (title, lines) in [
        ("New agents", changes.added.iter().map(plain).collect::<Vec<_>>()),
        ("New versions", newer.iter().map(release).collect()),
        ("Back to older versions", older.iter().map(release).collect()),
        ("Changed entries", edits.iter().map(edit).collect()),
        ("Withdrawn agents", changes.removed.iter().map(plain).collect()),
        ("Recalled versions", changes.recalled.iter().map(recall).collect()),
    ] {
        if lines.is_empty() {
            continue;
        }
        out.push_str(&format!("{}### {title}\n\n", if out.is_empty() { "" } else { "\n" }));
        for line in lines {
            if out.len() + line.len() > NOTES_LIMIT {
                left_out += 1;
            } else {
                out.push_str(&line);
            }
        }
    }
    if left_out > 0 {
        out.push_str(&format!("\n{} more did not fit.\n", plural(left_out, "change")));
    }
    out
}

/// The version, or a placeholder if the entry has none.
fn version(text: &str) -> &str {
    if text.is_empty() { "(no version)" } else { text }
}

fn fields(one: &Updated) -> String {
    let mut text = one.fields.iter().take(FIELDS).cloned().collect::<Vec<_>>().join(", ");
    if one.fields.len() > FIELDS {
        text.push_str(&format!(", and {} more", one.fields.len() - FIELDS));
    }
    text
}
