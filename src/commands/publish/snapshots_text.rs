//! The results of `publish list`, `publish rollback` and `publish prune`.

use acp_registry::text::printable;
use acp_registry::upload::{Pruned, RolledBack, SnapshotEntry};
use serde::Serialize;

use crate::commands::publish::text::{FileAction, FileCounts, files, latest_human, sent_human, time};
use crate::documents::Document;
use crate::terminal::layout::Look;
use crate::terminal::table::{Columns, table};
use acp_registry::text::plural;

/// Returns the document of `publish prune --json`.
pub(crate) fn pruned<'a>(done: &'a Pruned, to: &'a str, is_dry_run: bool) -> Document<'static, Remaining<'a>> {
    let Pruned { removed, kept, contents } = done;
    let members = Remaining { prune: true, to, dry_run: is_dry_run, removed, kept, removed_contents: *contents };
    Document::new("publish", members)
}

/// Members of `publish prune`.
#[derive(Debug, Serialize)]
pub(crate) struct Remaining<'a> {
    prune: bool,
    to: &'a str,
    dry_run: bool,
    removed: &'a [String],
    kept: &'a [String],
    removed_contents: usize,
}

/// A line for each removed snapshot, then the summary.
pub(crate) fn pruned_human(done: &Pruned, is_dry_run: bool) -> String {
    let lines: String = done.removed.iter().map(|name| format!("remove {}\n", printable(name))).collect();
    let verb = if is_dry_run { "would be removed" } else { "removed" };
    let contents = match done.contents {
        0 => String::new(),
        count => format!("; {} that no snapshot names {verb}", plural(count, "file")),
    };
    lines + &format!("{} {verb}, {} kept{contents}\n", plural(done.removed.len(), "snapshot"), done.kept.len())
}

/// Returns the document of `publish list --json`.
pub(crate) fn snapshots<'a>(found: &'a [SnapshotEntry], to: &'a str) -> Document<'static, SnapshotList<'a>> {
    let one = |found: &'a SnapshotEntry| SnapshotDocument {
        name: &found.name,
        created: time(found.created),
        is_complete: found.is_complete,
        is_latest: found.is_latest,
        sums_sha256: found.sums.as_deref(),
    };
    Document::new("publish", SnapshotList { list: true, to, snapshots: found.iter().map(one).collect() })
}

/// Members of `publish list`.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotList<'a> {
    list: bool,
    to: &'a str,
    snapshots: Vec<SnapshotDocument<'a>>,
}

/// A snapshot.
#[derive(Debug, Serialize)]
struct SnapshotDocument<'a> {
    name: &'a str,
    /// RFC 3339.
    created: Option<String>,
    is_complete: bool,
    is_latest: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sums_sha256: Option<&'a str>,
}

/// A line for each snapshot.
pub(crate) fn snapshots_human(found: &[SnapshotEntry], look: Look) -> String {
    let row = |one: &SnapshotEntry| {
        let note = match (one.is_complete, one.is_latest) {
            (false, _) => "interrupted",
            (true, true) => "latest",
            (true, false) => "",
        };
        [one.name.clone(), time(one.created).unwrap_or_default(), note.to_owned()]
    };
    let rows: Vec<[String; 3]> = found.iter().map(row).collect();
    table(&Columns::plain(&["SNAPSHOT", "CREATED", ""]), &rows, look)
}

/// Returns the document of `publish rollback --json`.
pub(crate) fn rolled_back<'a>(
    done: &'a RolledBack,
    to: &'a str,
    is_dry_run: bool,
    duration_seconds: f64,
) -> Document<'static, Restored<'a>> {
    let members = Restored {
        rollback: true,
        to,
        dry_run: is_dry_run,
        snapshot: &done.snapshot,
        previous: done.previous.as_deref(),
        files: files(&done.actions),
        summary: FileCounts::of(&done.actions, duration_seconds),
    };
    Document::new("publish", members)
}

/// Members of `publish rollback`.
#[derive(Debug, Serialize)]
pub(crate) struct Restored<'a> {
    rollback: bool,
    to: &'a str,
    dry_run: bool,
    snapshot: &'a str,
    previous: Option<&'a str>,
    files: Vec<FileAction<'a>>,
    summary: FileCounts,
}

/// The summary. In a dry run, a line for each file that would change precedes it.
pub(crate) fn rolled_back_human(done: &RolledBack, to: &str, is_dry_run: bool) -> String {
    sent_human(&done.actions, to, is_dry_run) + &latest_human(&done.snapshot, done.previous.as_deref(), is_dry_run)
}
