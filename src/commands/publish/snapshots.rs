//! `acp-registry publish prune`, `publish list` and `publish rollback`

use std::time::{Duration, Instant};

use acp_registry::duration;
use acp_registry::failure::{Exit, Failure};
use acp_registry::text::{plural, printable};
use acp_registry::upload::{self, Pruned, SnapshotEntry};
use serde_json::{Value, json};

use crate::commands::publish::{Change, PlaceArgs, SignArgs, report, show, target, time};
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

    /// Change nothing; show what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Files that are removed at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = value::number(1..=256))]
    jobs: u16,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
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

    /// The name of the snapshot
    snapshot: String,

    /// How long unused files stay in latest/
    ///
    /// Readers of the previous index need them.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "1h")]
    grace: Duration,

    #[command(flatten)]
    signing: SignArgs,

    /// Change nothing; show what would be sent and removed
    #[arg(long)]
    dry_run: bool,

    /// Files that are read and sent at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = value::number(1..=256))]
    jobs: u16,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn prune(args: &PruneArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let place = &args.place;
    let target = target(place.to(), global)?;
    let progress = Count::files(ui);
    let notice = |event| show(event, &progress, ui);
    let run = place.upload(&target, args.jobs, args.dry_run, &notice);
    let done = signals::run_and_forget(upload::prune(run, args.keep));
    progress.clear();
    let done = done??;
    ui.result(&if args.format.is_json() {
        let Pruned { removed, kept, contents } = &done;
        let members = json!({
            "prune": true,
            "to": printable(place.to()),
            "dry_run": args.dry_run,
            "removed": removed,
            "kept": kept,
            "removed_contents": contents,
        });
        Document::new("publish", members).to_text()
    } else {
        pruned_human(&done, args.dry_run)
    })?;
    Ok(Exit::Success)
}

pub(crate) fn list(args: &ListArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let target = target(&args.to, global)?;
    let found = signals::run_and_forget(upload::list(&target))??;
    ui.result(&if args.format.is_json() {
        let snapshots: Value = found.iter().map(document).collect();
        Document::new("publish", json!({ "list": true, "to": printable(&args.to), "snapshots": snapshots })).to_text()
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
        let run = place.upload(&target, args.jobs, args.dry_run, &notice);
        signals::run_and_forget(upload::rollback(run, &args.snapshot, args.grace, signing.as_ref()))
    });
    progress.clear();
    report(&done???, Change::Rollback, args.dry_run, (place.to(), args.format.is_json()), started, ui)
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

fn document(found: &SnapshotEntry) -> Value {
    let mut members = json!({
        "name": found.name,
        "created": time(found.created),
        "is_complete": found.is_complete,
        "is_latest": found.is_latest,
    });
    if let Some(sums) = &found.sums {
        members["sums_sha256"] = json!(sums);
    }
    members
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
    table(&Columns::plain(&["snapshot", "created", ""]), &rows, look)
}
