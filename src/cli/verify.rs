//! `acp-registry verify`

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use acp_registry::install::Kind;
use acp_registry::manifest::Platform;
use acp_registry::registry::{Entry, Registry, today};
use acp_registry::report;
use acp_registry::select::{Agents, load_active};
use acp_registry::sys::fs::{PathError, ReadError, check_writable, write_atomic};
use acp_registry::text::quote;
use acp_registry::verify::{
    Earlier, Origin, Row, Selection, Shard, Snapshot, SnapshotError, Summary, Task, WhenHeld, plan,
};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::candidates;
use super::code::Code;
use super::duration;
use super::exit::{Exit, Failure};
use super::global::Global;
use super::live::{self, LiveArgs, Settings};
use super::merge::{self, PartFile};
use super::place::Dist;
use super::remedy::unwritable;
use super::ui::Ui;

/// How old a row may be to be reused when nothing else is said: agents and their services change.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Agents to check [default: all that are not in quarantine]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Check only agents that differ from a git revision
    #[arg(long, value_name = "REF", conflicts_with = "ids")]
    changed_since: Option<String>,

    /// Check only this kind of distribution (repeatable)
    ///
    /// The default is every kind that this machine can run.
    #[arg(long, value_name = "KIND")]
    dist: Vec<Dist>,

    /// Check one of N equal parts
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
        long, value_name = "I/N=FILE", requires = "out",
        conflicts_with_all = ["ids", "changed_since", "shard", "reuse", "keep_sandboxes"]
    )]
    merge: Vec<PartFile>,

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

    /// Send nothing after `initialize`
    #[arg(long)]
    no_probe: bool,

    /// Fetch archives again, and keep none
    #[arg(long)]
    no_cache: bool,

    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    live: LiveArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Markdown,
}

impl Args {
    pub(super) fn is_json(&self) -> bool {
        self.json || self.format == Format::Json
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let config = global.config()?;
    let allowed = global.allowed_hosts()?;
    let registry = load_active(&global.registry_dir(), &config, &args.ids)?;
    if let (false, Some(out)) = (args.merge.is_empty(), &args.out) {
        return merge::run(&args.merge, out, &registry, &selection(args, &registry)?, ui, args.is_json());
    }
    refuse_other_kinds(args, &registry)?;
    let selection = selection(args, &registry)?;
    let tasks = tasks(args, &registry, &selection, ui)?;
    if let Some(folder) = &args.keep_sandboxes {
        std::fs::create_dir_all(folder).map_err(PathError::at(folder))?;
    }
    let keep = args.keep_sandboxes.as_ref().map(|folder| folder.canonicalize().map_err(PathError::at(folder)));
    let out = args.out.as_deref().map(|path| Out::open(path, &registry)).transpose()?;
    let step = live::steps(tasks.len(), ui);
    let finished = |row: &Row| {
        if let Some(out) = &out {
            out.take(row);
        }
        step(row);
    };
    let settings = Settings {
        finished: &finished,
        allowed: &allowed,
        limits: config.archive_limits.limits(),
        keep: keep.transpose()?,
        probes: !args.no_probe,
        use_cache: !args.no_cache,
    };
    let rows = live::run(&args.live, settings, tasks, ui)?;

    // The result is shown even where the file cannot be written.
    let written = out.map_or(Ok(()), Out::end);
    let duration = started.elapsed();
    ui.result(&if args.is_json() {
        acp_registry::json::to_string(&document(&rows, duration))
    } else if rows.is_empty() {
        nothing(args, &registry, &selection)
    } else if args.format == Format::Markdown {
        report::verify_markdown(&rows, duration)
    } else {
        report::verify(&rows, duration, ui.look())
    })?;
    written.map_err(|error| unwritable(error, "--out"))?;
    if live::lacks_package_managers(&rows) {
        ui.error("nothing could be installed: the package managers are missing");
        return Ok(Exit::Unable);
    }
    let down: BTreeSet<&Origin> = rows.iter().filter_map(|row| row.source_down.as_ref()).collect();
    for origin in &down {
        ui.error(&format!(
            "{origin} could not be reached: its agents were not checked; run `verify` again when it answers"
        ));
    }
    if !down.is_empty() {
        return Ok(Exit::Unable);
    }
    Ok(if rows.iter().any(Row::is_finding) { Exit::Findings } else { Exit::Success })
}

/// The capability snapshot that is written, after each agent.
struct Out {
    path: PathBuf,
    snapshot: RefCell<Snapshot>,
}

impl Out {
    /// Begins with what the file has, without what the registry no longer declares.
    fn open(path: &Path, registry: &Registry) -> Result<Self, Failure> {
        let mut snapshot = match Snapshot::read(path) {
            Ok(snapshot) => snapshot,
            Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => Snapshot::default(),
            // A device or a pipe only takes.
            Err(SnapshotError::Read { .. }) if path.metadata().is_ok_and(|metadata| !metadata.is_file()) => {
                Snapshot::default()
            }
            Err(error) => return Err(error.into()),
        };
        check_writable(path).map_err(|error| unwritable(error, "--out"))?;
        snapshot.retain_declared(registry);
        Ok(Self { path: path.to_owned(), snapshot: RefCell::new(snapshot) })
    }

    fn take(&self, row: &Row) {
        self.snapshot.borrow_mut().renew(row);
        // To a device or a pipe, the whole is written once, at the end.
        if !self.path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            // What cannot be written now is told at the end, when it is written again.
            let _ = self.write();
        }
    }

    fn write(&self) -> Result<(), PathError> {
        write_atomic(&self.path, self.snapshot.borrow().to_text().as_bytes())
    }

    fn end(self) -> Result<(), PathError> {
        self.write()
    }
}

/// Why there is nothing to check.
fn nothing(args: &Args, registry: &Registry, selection: &Selection) -> String {
    let kinds: Vec<&str> = selection.kinds.iter().map(|kind| kind.as_str()).collect();
    let why = if registry.entries.is_empty() {
        "the registry has none; `acp-registry new` adds one".to_owned()
    } else if let (Some(revision), true) = (&args.changed_since, selection.ids.as_ref().is_some_and(BTreeSet::is_empty))
    {
        format!("none has changed since {}", quote(revision))
    } else if !kinds.is_empty() {
        let of = if args.changed_since.is_some() { "none of those that have changed" } else { "none" };
        format!("{of} has a distribution {}", kinds.join(" or "))
    } else if let Some(shard) = args.shard {
        format!("part {shard} has none")
    } else {
        "none was selected".to_owned()
    };
    format!("no agents to verify: {why}\n")
}

fn tasks(args: &Args, registry: &Registry, selection: &Selection, ui: &Ui) -> Result<Vec<Task>, Failure> {
    let earlier = match args.reuse.as_deref().map(Snapshot::read).transpose() {
        Ok(earlier) => earlier,
        Err(error @ SnapshotError::Read { error: ReadError::NotFound, .. }) => {
            ui.note(&format!("nothing is reused: {error}"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let now = SystemTime::now();
    let max_age = args.reuse_max_age.unwrap_or(MAX_AGE);
    let not_before = now.checked_sub(max_age).unwrap_or(SystemTime::UNIX_EPOCH);
    let earlier = earlier.as_ref().map(|snapshot| Earlier { snapshot, not_before, now });
    Ok(plan(registry, selection, earlier))
}

/// Refuses kinds of distributions that a named agent does not have, or no agent: nothing would be checked.
fn refuse_other_kinds(args: &Args, registry: &Registry) -> Result<(), Failure> {
    let wanted: Vec<&str> = args.dist.iter().map(|kind| Kind::from(*kind).as_str()).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let offered = |entry: &Entry| {
        let manifest = entry.manifest.present()?;
        let declares = |kind: Kind| {
            let mut releases = manifest.agent().releases();
            releases.any(|release| !matches!(kind.source(release.distribution, None), Ok(None)))
        };
        let kinds: BTreeSet<&str> = Kind::ALL.into_iter().filter(|kind| declares(*kind)).map(Kind::as_str).collect();
        Some(kinds)
    };
    // Of a manifest that cannot be read, the check itself tells.
    let lacks = |entry: &&Entry| offered(entry).is_some_and(|kinds| wanted.iter().all(|kind| !kinds.contains(kind)));
    let kinds = wanted.join(" or ");
    let named = args.ids.iter().filter_map(|id| registry.entry(id));
    if let Some(entry) = named.into_iter().find(lacks) {
        let there = offered(entry).unwrap_or_default().into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("{} has no distribution {kinds}; it has {there}", quote(&entry.id));
        return Err(Failure::usage(message).code(Code::UnsupportedDistribution));
    }
    if args.ids.is_empty() && args.changed_since.is_none() && registry.entries.iter().all(|entry| lacks(&entry)) {
        let message = format!("no agent of the registry has a distribution {kinds}");
        return Err(Failure::usage(message).code(Code::UnsupportedDistribution));
    }
    Ok(())
}

fn selection(args: &Args, registry: &Registry) -> Result<Selection, Failure> {
    let kinds = args.dist.iter().map(|kind| Kind::from(*kind));
    let agents = Agents::new(args.ids.iter().cloned(), args.changed_since.clone());
    let held = match &agents {
        Agents::Named(_) => WhenHeld::Check,
        _ => WhenHeld::CheckWhenOver(today(SystemTime::now())),
    };
    let ids = agents.select(registry)?.ids(registry);
    Ok(Selection { ids, held, kinds: kinds.collect(), shard: args.shard, platform: Platform::host() })
}

fn document(rows: &[Row], duration: Duration) -> Value {
    let mut summary = json!(Summary::of(rows));
    summary["duration_seconds"] = duration.as_secs_f64().into();
    let results: Vec<Value> = rows.iter().map(Row::to_json).collect();
    json!({ "schema": 1, "command": "verify", "results": results, "summary": summary })
}
