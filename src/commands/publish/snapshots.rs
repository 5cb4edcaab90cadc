//! `acp-registry publish prune`, `publish list` and `publish rollback`

use std::time::{Duration, Instant};

use acp_registry::text::printable;
use acp_registry::upload::{self, RollbackOptions};

use crate::commands::publish::snapshots_text::{
    pruned, pruned_human, rolled_back, rolled_back_human, snapshots, snapshots_human,
};
use crate::commands::publish::{PlaceArgs, show, target};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::{duration, value};
use crate::terminal::progress::Count;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

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
    let options = RollbackOptions { grace: args.grace, jobs: usize::from(args.jobs), turns: place.turns() };
    let work = upload::rollback(&target, &args.snapshot, options, args.dry_run, &notice);
    let done = signals::run_and_forget(work);
    progress.clear();
    let done = done??;
    let to = printable(place.to());
    ui.result(&if place.format.is_json() {
        rolled_back(&done, &to, args.dry_run, started.elapsed().as_secs_f64()).to_text()
    } else {
        rolled_back_human(&done, &to, args.dry_run)
    })?;
    Ok(Exit::Success)
}
