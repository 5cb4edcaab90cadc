//! The results of `publish`.

use acp_registry::statement::Signed;
use acp_registry::text::{self, plural, printable};
use acp_registry::timestamp::Timestamp;
use acp_registry::upload::{Action, UploadResult, What};
use serde::Serialize;

use crate::documents::Document;

fn count(actions: &[Action], is: fn(What) -> bool) -> usize {
    actions.iter().filter(|action| is(action.what)).count()
}

fn bytes(actions: &[Action]) -> u64 {
    let sent = actions.iter().map(|action| if let What::Send(length) = action.what { length } else { 0 });
    sent.sum()
}

pub(crate) fn time(seconds: i64) -> Option<String> {
    Timestamp::from_unix(seconds).map(|time| time.to_string())
}

/// Returns the document of `publish --json`.
pub(crate) fn published<'a>(
    done: &'a UploadResult,
    to: &'a str,
    is_dry_run: bool,
    duration_seconds: f64,
) -> Document<'static, PublishDocument<'a>> {
    let members = PublishDocument {
        to,
        dry_run: is_dry_run,
        snapshot: &done.snapshot,
        previous: done.previous.as_deref(),
        is_new_snapshot: !done.is_known,
        files: files(&done.actions),
        summary: FileCounts::of(&done.actions, duration_seconds),
    };
    Document::new("publish", members)
}

pub(crate) fn files(actions: &[Action]) -> Vec<FileAction<'_>> {
    actions.iter().map(FileAction::of).collect()
}

/// Members of `publish`.
#[derive(Debug, Serialize)]
pub(crate) struct PublishDocument<'a> {
    to: &'a str,
    dry_run: bool,
    snapshot: &'a str,
    previous: Option<&'a str>,
    is_new_snapshot: bool,
    files: Vec<FileAction<'a>>,
    summary: FileCounts,
}

/// The action taken for a file.
#[derive(Debug, Serialize)]
pub(crate) struct FileAction<'a> {
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

impl<'a> FileAction<'a> {
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
pub(crate) struct FileCounts {
    sent: usize,
    sent_bytes: u64,
    kept: usize,
    stale: usize,
    removed: usize,
    duration_seconds: f64,
}

impl FileCounts {
    pub(crate) fn of(actions: &[Action], duration_seconds: f64) -> Self {
        Self {
            sent: count(actions, |what| matches!(what, What::Send(_))),
            sent_bytes: bytes(actions),
            kept: count(actions, |what| what == What::Keep),
            stale: count(actions, |what| matches!(what, What::Stale(_))),
            removed: count(actions, |what| what == What::Remove),
            duration_seconds,
        }
    }
}

/// The summary. In a dry run, a line for each file that would change precedes it.
pub(crate) fn published_human(done: &UploadResult, to: &str, is_dry_run: bool) -> String {
    sent_human(&done.actions, to, is_dry_run)
        + &latest_human(&done.snapshot, done.previous.as_deref(), is_dry_run)
        + &signed_human(done.signed.as_ref(), is_dry_run)
}

/// The line that says what was signed, if something was.
pub(crate) fn signed_human(signed: Option<&Signed>, is_dry_run: bool) -> String {
    signed.map_or_else(String::new, |Signed { signer, sequence, expires_at }| {
        let verb = if is_dry_run { "would be signed" } else { "signed" };
        format!("{verb} by {signer}: statement {sequence}, valid until {expires_at}\n")
    })
}

/// The line that says which snapshot readers find in `latest/`, and which one they found there before.
pub(crate) fn latest_human(snapshot: &str, previous: Option<&str>, is_dry_run: bool) -> String {
    let is = if is_dry_run { "would be" } else { "is" };
    let before = match previous {
        Some(previous) if previous == snapshot => " (as before)".to_owned(),
        Some(previous) => format!(" instead of {}", printable(previous)),
        None => String::new(),
    };
    format!("\nlatest {is} {}{before}\n", printable(snapshot))
}

/// The counts of actions. In a dry run, a line for each file that would change precedes them.
pub(crate) fn sent_human(actions: &[Action], to: &str, is_dry_run: bool) -> String {
    let mut out = String::new();
    if is_dry_run {
        for action in actions.iter().filter(|action| action.what != What::Keep) {
            out.push_str(&format!("{:<6} {}\n", action.what.as_str(), printable(&action.file)));
        }
    }
    let FileCounts { sent, sent_bytes, kept, stale, removed, .. } = FileCounts::of(actions, 0.0);
    let verb = if is_dry_run { "would be sent" } else { "sent" };
    out.push_str(&format!("{} {verb} to {to} ({}), {kept} unchanged", plural(sent, "file"), text::bytes(sent_bytes)));
    if stale > 0 {
        out.push_str(&format!(", {stale} stale"));
    }
    if removed > 0 {
        out.push_str(&format!(", {removed} removed"));
    }
    out
}
