//! The results of `publish` and `publish prune`.

use serde::Serialize;

use super::documents::Document;
use super::plural;
use acp_registry_core::text::printable;
use acp_registry_core::timestamp::Timestamp;
use acp_registry_publish::upload::{Action, Pruned, Published, What};

fn count(done: &Published, is: fn(What) -> bool) -> usize {
    done.actions.iter().filter(|action| is(action.what)).count()
}

fn bytes(done: &Published) -> u64 {
    let sent = done.actions.iter().map(|action| if let What::Send(length) = action.what { length } else { 0 });
    sent.sum()
}

fn time(seconds: i64) -> Option<String> {
    Timestamp::from_unix(seconds).map(|time| time.to_string())
}

/// Returns the document of `publish --json`.
#[must_use]
pub fn published<'a>(
    done: &'a Published,
    to: &'a str,
    is_dry_run: bool,
    duration_seconds: f64,
) -> Document<'static, Members<'a>> {
    let members = Members {
        to,
        dry_run: is_dry_run,
        snapshot: &done.snapshot,
        is_new_snapshot: !done.is_known,
        files: done.actions.iter().map(Done::of).collect(),
        summary: Summary {
            sent: count(done, |what| matches!(what, What::Send(_))),
            sent_bytes: bytes(done),
            kept: count(done, |what| what == What::Keep),
            stale: count(done, |what| matches!(what, What::Stale(_))),
            removed: count(done, |what| what == What::Remove),
            duration_seconds,
        },
    };
    Document::new("publish", members)
}

/// Members of `publish`.
#[derive(Debug, Serialize)]
pub struct Members<'a> {
    to: &'a str,
    dry_run: bool,
    snapshot: &'a str,
    is_new_snapshot: bool,
    files: Vec<Done<'a>>,
    summary: Summary,
}

/// The action taken for a file.
#[derive(Debug, Serialize)]
struct Done<'a> {
    file: &'a str,
    action: &'static str,
    /// Size in bytes of a file that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Only for an outdated file that is kept for a while.
    #[serde(flatten)]
    stale: Option<Stale>,
}

/// When an outdated file may be removed. RFC 3339.
#[derive(Debug, Serialize)]
struct Stale {
    until: Option<String>,
}

impl<'a> Done<'a> {
    fn of(action: &'a Action) -> Self {
        let (size, stale) = match action.what {
            What::Send(length) => (Some(length), None),
            What::Stale(until) => (None, Some(Stale { until: time(until) })),
            What::Keep | What::Remove => (None, None),
        };
        Self { file: &action.file, action: action.what.as_str(), size, stale }
    }
}

/// How many files there are per action.
#[derive(Debug, Serialize)]
struct Summary {
    sent: usize,
    sent_bytes: u64,
    kept: usize,
    stale: usize,
    removed: usize,
    duration_seconds: f64,
}

/// The summary. In a dry run, a line for each file that would change precedes it.
#[must_use]
pub fn published_human(done: &Published, to: &str, is_dry_run: bool) -> String {
    let mut out = String::new();
    if is_dry_run {
        for action in done.actions.iter().filter(|action| action.what != What::Keep) {
            out.push_str(&format!("{:<6} {}\n", action.what.as_str(), printable(&action.file)));
        }
    }
    let sent = count(done, |what| matches!(what, What::Send(_)));
    let kept = count(done, |what| what == What::Keep);
    let stale = count(done, |what| matches!(what, What::Stale(_)));
    let removed = count(done, |what| what == What::Remove);
    let verb = if is_dry_run { "would be sent" } else { "sent" };
    out.push_str(&format!(
        "{} {verb} to {to} ({}), {kept} unchanged",
        plural(sent, "file"),
        super::table::bytes(bytes(done))
    ));
    if stale > 0 {
        out.push_str(&format!(", {stale} stale"));
    }
    if removed > 0 {
        out.push_str(&format!(", {removed} removed"));
    }
    let known = if done.is_known { " (as before)" } else { "" };
    let is = if is_dry_run { "would be" } else { "is" };
    out + &format!("\nlatest {is} {}{known}\n", printable(&done.snapshot))
}

/// Returns the document of `publish prune --json`.
#[must_use]
pub fn pruned<'a>(done: &'a Pruned, to: &'a str, is_dry_run: bool) -> Document<'static, Snapshots<'a>> {
    let members = Snapshots { prune: true, to, dry_run: is_dry_run, removed: &done.removed, kept: &done.kept };
    Document::new("publish", members)
}

/// Members of `publish prune`.
#[derive(Debug, Serialize)]
pub struct Snapshots<'a> {
    prune: bool,
    to: &'a str,
    dry_run: bool,
    removed: &'a [String],
    kept: &'a [String],
}

/// A line for each removed snapshot, then the summary.
#[must_use]
pub fn pruned_human(done: &Pruned, is_dry_run: bool) -> String {
    let lines: String = done.removed.iter().map(|name| format!("remove {}\n", printable(name))).collect();
    let verb = if is_dry_run { "would be removed" } else { "removed" };
    lines + &format!("{} {verb}, {} kept\n", plural(done.removed.len(), "snapshot"), done.kept.len())
}
