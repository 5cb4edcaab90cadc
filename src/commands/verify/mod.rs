//! `acp-registry verify`

pub(crate) mod merge;
pub(crate) mod text;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use acp_registry::advisories::Advisories;
use acp_registry::closures::make_closures;
use acp_registry::duration;
use acp_registry::examination::Demand;
use acp_registry::host::fs::temporary;
use acp_registry::install::Kind;
use acp_registry::registry::Registry;
use acp_registry::select::{AgentFilter, are_all_withdrawn, load_active};
use acp_registry::verify::{
    Job, Nothing, Row, Selection, Shard, ShardFile, Verified, VerifyRequest, lacks_package_managers, merge_files,
    sources_down,
};

use crate::commands::verifier::{self, LiveArgs, Settings};
use crate::flags::global::{Global, prefix};
use crate::flags::level::LevelArgs;
use crate::flags::report::ReportArgs;
use crate::flags::session::kind;
use crate::flags::{candidates, value};
use crate::formats::examination::{self, Examinee};
use crate::formats::{Format, junit};
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};
use acp_registry::text::plural;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents to check [default: all that are not in quarantine]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Check only agents that differ from a git revision
    #[arg(long, value_name = "REF", conflicts_with = "ids")]
    changed_since: Option<String>,

    /// Check only this kind of distribution (repeatable)
    ///
    /// The default is every kind that this machine can run.
    #[arg(long, value_name = "KIND", value_parser = kind())]
    dist: Vec<Kind>,

    /// Check one of N parts, which take about the same time
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Write what the agents can do to this file
    ///
    /// Rows of agents that are not checked stay.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Merge snapshots of parts into `--out` (repeatable)
    ///
    /// No agent is started.
    #[arg(
        long, value_name = "I/N=FILE", value_parser = value::shard_file, requires = "out",
        conflicts_with_all = ["ids", "changed_since", "shard", "reuse", "keep_sandboxes"]
    )]
    merge: Vec<ShardFile>,

    /// Take rows of unchanged agents from this snapshot
    ///
    /// A row is taken if the agent passed, and its version and distribution are the same.
    #[arg(long, value_name = "FILE")]
    reuse: Option<PathBuf>,

    /// How old a reused row may be [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, requires = "reuse")]
    reuse_max_age: Option<Duration>,

    /// Keep what was installed and written, in this directory
    #[arg(long, value_name = "DIR")]
    keep_sandboxes: Option<PathBuf>,

    /// Write the list of all packages of each agent that passes beside its manifest
    ///
    /// The lists are made by npm and uv, where there is none of this version. Clients install exactly what they name.
    #[arg(long, conflicts_with = "merge")]
    closures: bool,

    /// Send nothing after `initialize`
    #[arg(long)]
    no_probe: bool,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    level: LevelArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    #[command(flatten)]
    live: LiveArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let files = args.report.files()?;
    let config = global.config()?;
    let allowed = global.allowed_hosts()?;
    let examine = &config.examine;
    let demand =
        args.level.demand((examine.require, examine.timeout), args.no_probe)?.with_recipes(examine.recipes.clone());
    let registry = load_active(&global.registry_dir(), &config, &args.ids)?;
    let (request, now) = (request(args, &demand), SystemTime::now());
    if let (false, Some(out)) = (args.merge.is_empty(), &args.out) {
        return merge(args, out, &registry, &request.selection(&registry, now)?, ui);
    }
    let mut job = Job::prepare(&registry, &request, now)?;
    if let Some(error) = job.not_reused() {
        ui.note(&format!("nothing is reused: {error}"));
    }
    let advisories = verifier::all_advisories((&config, &allowed), &registry, !args.no_cache, ui)?;
    job.refuse_malicious(&registry, &advisories);
    let settings = Settings {
        allowed: &allowed,
        config: &config,
        probes: !args.no_probe,
        use_cache: !args.no_cache,
        demand: &demand,
    };
    let finished = steps(job.tasks().len(), ui);
    let Verified { rows, unwritten, nothing } = verifier::run(&args.live, settings, job, &finished, ui)?;
    let nothing = nothing.map(|nothing| match nothing {
        Nothing::NoAgents if are_all_withdrawn(&registry, &config) => Nothing::Withdrawn,
        other => other,
    });

    let unlisted = if args.closures { write_lists(args, settings, (&registry, &advisories), &rows, ui)? } else { 0 };
    let duration = started.elapsed();
    let examinees = || {
        let prefix = prefix(&registry.root);
        rows.iter().map(|row| Examinee::from_row(row, &prefix)).collect::<Vec<_>>()
    };
    let failures = failures(&rows);
    let findings = rows.iter().filter(|row| row.is_finding()).count();
    let failure = failures.first().cloned().or_else(|| {
        let of = format!("{findings} of {}", plural(rows.len(), "distribution"));
        let failure = || Failure::findings(format!("{of} did not pass")).help("see `message` of each result");
        (findings > 0).then(failure)
    });
    files.write(ui, &mut |format, look| match (format, &nothing) {
        (Format::Json, _) => text::verify_document(&rows, duration).failed(failure.clone()).to_text(),
        (Format::Junit, _) => junit::by_agent(&examinees()),
        (Format::Sarif, _) => examination::sarif(&examinees()),
        (Format::Github, _) => examination::github(&examinees()),
        (Format::Human | Format::Markdown, Some(nothing)) => text::nothing_to_verify(nothing),
        (Format::Markdown, None) => text::verify_markdown(&rows, duration),
        (Format::Human, None) => text::verify(&rows, duration, look),
    })?;
    if let Some(error) = unwritten {
        return Err(error.unwritable("--out"));
    }
    if !failures.is_empty() {
        for failure in &failures {
            ui.failure(failure);
        }
        return Ok(Exit::Unable);
    }
    Ok(if findings + unlisted > 0 { Exit::Findings } else { Exit::Success })
}

/// Writes the closures of the agents that passed. Returns how many could not be made.
fn write_lists(
    args: &Args,
    settings: Settings<'_>,
    (registry, advisories): (&Registry, &Advisories),
    rows: &[Row],
    ui: &Ui,
) -> Result<usize, Failure> {
    let is_failed = |id: &str| rows.iter().any(|row| row.id == id && row.is_finding());
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).filter(|id| !is_failed(id)).collect();
    let folders = registry.entries.iter().filter(|folder| ids.contains(folder.id.as_str()));
    let agents: Vec<_> = folders.filter_map(|one| Some((one.id.as_str(), one.manifest.present()?))).collect();
    let installer = verifier::verifier(&args.live, settings, ui)?.installer;
    let mut changes = signals::run(ui, make_closures(registry, &agents, false, &installer, advisories, &temporary()))?;
    for change in &mut changes {
        change.write(registry);
        match &change.done {
            Ok(made) => ui.note(&format!("{} has {}", change.file, made.diff)),
            Err(error) => ui.warning(&format!("{} was not written: {error}", change.file)),
        }
    }
    Ok(changes.iter().filter(|change| change.done.is_err()).count())
}

/// Why agents were not checked, if the cause is this machine or its network.
fn failures(rows: &[Row]) -> Vec<Failure> {
    if lacks_package_managers(rows) {
        return vec![verifier::missing_package_managers()];
    }
    let down = sources_down(rows);
    let failures = down.iter().map(|origin| {
        Failure::unable(format!(
            "{origin} could not be reached: its agents were not checked; run `verify` again when it answers"
        ))
    });
    failures.collect()
}

fn request(args: &Args, demand: &Demand) -> VerifyRequest {
    VerifyRequest {
        agents: AgentFilter::new(args.ids.iter().cloned(), args.changed_since.clone()),
        kinds: args.dist.clone(),
        shard: args.shard,
        reuse: args.reuse.clone(),
        reuse_max_age: args.reuse_max_age,
        demand: demand.clone(),
        out: args.out.clone(),
        keep: args.keep_sandboxes.clone(),
    }
}

/// Merges the snapshots of parts into `out`.
fn merge(args: &Args, out: &Path, registry: &Registry, selection: &Selection, ui: &Ui) -> Result<Exit, Failure> {
    let missing = |part: &ShardFile| {
        ui.warning(&format!("part {} has no file {}", part.shard, part.path.display()));
    };
    let merged = merge_files(registry, selection, &args.merge, out, &missing)?;
    ui.result(&if args.report.is_json() {
        merge::merged_document(&merged).to_text()
    } else {
        merge::merged(&merged, args.merge.len())
    })?;
    Ok(Exit::Success)
}

/// Prints a line for each finished agent, for use without a progress display.
pub(crate) fn steps(total: usize, ui: &Ui) -> impl Fn(&Row) {
    let count = Cell::new(0);
    move |row| {
        count.set(count.get() + 1);
        ui.step(&text::verified_one(row, count.get(), total));
    }
}
