//! `acp-registry publish prune`, `publish list` and `publish rollback`

use std::time::{Duration, Instant};

use acp_registry::duration;
use acp_registry::failure::{Exit, Failure};
use acp_registry::text::{plural, printable};
use acp_registry::upload;
use acp_registry::upload::{Pruned, RollbackOptions, RolledBack, SnapshotEntry};
use serde::Serialize;

use crate::commands::publish::text::{FileAction, FileCounts, files, latest_human, sent_human, signed_human, time};
use crate::commands::publish::{PlaceArgs, SignArgs, show, target};
use crate::documents::Document;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::value;
use crate::terminal::layout::Look;
use crate::terminal::progress::Count;
use crate::terminal::signals;
use crate::terminal::table::{Columns, table};
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Keep snapshots younger than this
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "90d")]
    keep: Duration,

    /// Change nothing; list what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Files that are removed at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = value::number(1..=256))]
    jobs: u16,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Where trees are published
    #[arg(long, value_name = "DIR|s3://BUCKET[/PREFIX]")]
    to: String,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    #[command(flatten)]
    signing: SignArgs,

    /// The name of the snapshot
    snapshot: String,

    /// How long unused files stay in latest/
    ///
    /// Readers of the previous index need them.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "1h")]
    grace: Duration,

    /// Change nothing; list what would be sent and removed
    #[arg(long)]
    dry_run: bool,

    /// Files that are read and sent at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = value::number(1..=256))]
    jobs: u16,
}

pub(crate) fn prune(args: &PruneArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let place = &args.place;
    let target = target(place.to(), global)?;
    let progress = Count::files(ui);
    let notice = |event| show(event, &progress, ui);
    let work = upload::prune(&target, args.keep, usize::from(args.jobs), place.turns(), args.dry_run, &notice);
    let done = signals::run_and_forget(work);
    progress.clear();
    let done = done??;
    ui.result(&if place.format.is_json() {
        pruned(&done, &printable(place.to()), args.dry_run).to_text()
    } else {
        pruned_human(&done, args.dry_run)
    })?;
    Ok(Exit::Success)
}

pub(crate) fn list(args: &ListArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let target = target(&args.to, global)?;
    let found = signals::run_and_forget(upload::list(&target))??;
    ui.result(&if args.format.is_json() {
        snapshots(&found, &printable(&args.to)).to_text()
    } else {
        snapshots_human(&found, ui.look())
    })?;
    Ok(Exit::Success)
}

pub(crate) fn rollback(args: &RollbackArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let place = &args.place;
    let target = target(place.to(), global)?;
    let progress = Count::files(ui);
    let notice = |event| show(event, &progress, ui);
    let done = args.signing.with(|signing| {
        let options =
            RollbackOptions { grace: args.grace, signing, jobs: usize::from(args.jobs), turns: place.turns() };
        signals::run_and_forget(upload::rollback(&target, &args.snapshot, options, args.dry_run, &notice))
    });
    progress.clear();
    let done = done???;
    let to = printable(place.to());
    ui.result(&if place.format.is_json() {
        rolled_back(&done, &to, args.dry_run, started.elapsed().as_secs_f64()).to_text()
    } else {
        rolled_back_human(&done, &to, args.dry_run)
    })?;
    Ok(Exit::Success)
}

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
    sent_human(&done.actions, to, is_dry_run)
        + &latest_human(&done.snapshot, done.previous.as_deref(), is_dry_run)
        + &signed_human(done.signed.as_ref(), is_dry_run)
}
