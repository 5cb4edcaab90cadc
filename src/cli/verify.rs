//! `acp-registry verify`

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_registry::archive::Limits;
use acp_registry::handshake::Options;
use acp_registry::install::{Installer, Kind};
use acp_registry::manifest::Platform;
use acp_registry::net::Client;
use acp_registry::registry::{Loaded, Registry};
use acp_registry::report;
use acp_registry::sys::fs::{PathError, ReadError, write_atomic};
use acp_registry::sys::process::{self, Environment, Orphans};
use acp_registry::text::nearest;
use acp_registry::upstream::{npm_variables, uv_variables};
use acp_registry::verify::{Row, Selection, Shard, Snapshot, SnapshotError, Summary, Task, Verifier, plan};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::global::Global;
use super::network;
use super::place::Dist;
use super::probe::seconds;
use super::progress::Running;
use super::signals;
use super::survey::limits;
use super::ui::Ui;

/// How many agents are started at once when nobody says: more than this only slow each other down.
const JOBS: usize = 4;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Agents to check, also those in quarantine [default: all others]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Check this kind of distribution only (repeatable) [default: all that this host can run]
    #[arg(long, value_name = "KIND")]
    dist: Vec<Dist>,

    /// How many agents are installed and started at once [default: the processors, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,

    /// How long an agent may take to answer `initialize`, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// How long an installation may take, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    install_timeout: Option<Duration>,

    /// Check one of N equal parts, to divide the work among machines
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Write what the agents can do to this file, the capability snapshot
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Take the rows of agents that passed, and whose id, version and distribution are the same, from this snapshot
    #[arg(long, value_name = "FILE")]
    reuse: Option<PathBuf>,

    /// Leave what was installed, and what the agents wrote, in this folder
    #[arg(long, value_name = "DIR")]
    keep_sandboxes: Option<PathBuf>,

    /// Send nothing after `initialize`
    #[arg(long)]
    no_probe: bool,

    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,

    /// The same as `--format json`
    #[arg(long)]
    json: bool,
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
    let registry = load(args, global)?;
    let tasks = tasks(args, &registry, ui)?;
    if let Some(folder) = &args.keep_sandboxes {
        std::fs::create_dir_all(folder).map_err(PathError::at(folder))?;
    }
    let keep = args.keep_sandboxes.as_ref().map(|folder| folder.canonicalize().map_err(PathError::at(folder)));
    let settings = network::settings(&allowed);
    let limits = limits(&config.archive_limits);
    let verifier = verifier(args, Client::new(settings).map_err(Failure::unable)?, limits, keep.transpose()?);

    let names = tasks.iter().map(name).collect();
    let progress = Arc::new(Running::new(ui, names));
    let jobs = args.jobs.map_or_else(usual_jobs, usize::from);
    ui.detail(&format!("{} to check, {jobs} at once", tasks.len()));
    // Before any child, and ended after all: what hides from its tree comes here.
    let orphans = process::adopt_orphans();
    let shown = progress.clone();
    let rows = signals::run_with_threads(
        jobs,
        Arc::new(verifier).verify(tasks, jobs, Arc::new(move |event| shown.show(event))),
    );
    let hidden = orphans.map_or(0, Orphans::end);
    progress.clear();
    let rows = rows?;
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }

    if let Some(path) = &args.out {
        write_atomic(path, Snapshot::write(&rows).as_bytes())?;
    }
    let duration = started.elapsed();
    ui.result(&if args.is_json() {
        acp_registry::json::to_string(&document(&rows, duration))
    } else if args.format == Format::Markdown {
        report::verify_markdown(&rows, duration)
    } else {
        report::verify(&rows, duration, ui.color_stdout())
    })?;
    let findings: Vec<&Row> = rows.iter().filter(|row| row.is_finding()).collect();
    let lacks_runtime = |row: &Row| row.reason() == Some("missing_runtime");
    if !findings.is_empty() && rows.iter().all(|row| lacks_runtime(row) || !has_run(row)) {
        ui.error("nothing could be installed: the package managers are missing");
        return Ok(Exit::Unable);
    }
    Ok(if findings.is_empty() { Exit::Success } else { Exit::Findings })
}

/// Whether anything came of a row.
fn has_run(row: &Row) -> bool {
    row.verdict() != acp_registry::verify::Verdict::Skipped
}

fn load(args: &Args, global: &Global) -> Result<Registry, Failure> {
    let directory = global.registry_dir();
    let registry = Registry::load(&directory)?;
    if registry.entries.is_empty() {
        let directory = directory.display();
        return Err(Failure::usage(format!("{directory} holds no agents; name the registry with --registry-dir")));
    }
    let ids = || registry.entries.iter().map(|entry| entry.id.as_str());
    if let Some(id) = args.ids.iter().find(|id| registry.entry(id).is_none()) {
        let meant = nearest(id, ids()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(Failure::usage(format!("there is no agent {}{meant}", acp_registry::text::quote(id))));
    }
    let is_list = |document: &Value| document.is_object();
    match &registry.quarantine {
        Loaded::Missing => {}
        Loaded::Present(quarantine) if is_list(quarantine.document.value()) => {}
        // Without the list, every quarantined agent would be let loose.
        _ => {
            let message = "quarantine.json cannot be read; `acp-registry validate` says why";
            return Err(Failure::unable(message));
        }
    }
    Ok(registry)
}

fn tasks(args: &Args, registry: &Registry, ui: &Ui) -> Result<Vec<Task>, Failure> {
    let earlier = match args.reuse.as_deref().map(Snapshot::read).transpose() {
        Ok(earlier) => earlier,
        Err(error @ SnapshotError::Read { error: ReadError::NotFound, .. }) => {
            ui.note(&format!("nothing is reused: {error}"));
            None
        }
        Err(error @ SnapshotError::Read { .. }) => return Err(Failure::unable(error)),
        Err(error @ SnapshotError::Form { .. }) => return Err(Failure::usage(error)),
    };
    let kinds = args.dist.iter().map(|kind| Kind::from(*kind));
    let selection =
        Selection { ids: args.ids.clone(), kinds: kinds.collect(), shard: args.shard, platform: Platform::host() };
    Ok(plan(registry, &selection, earlier.as_ref()))
}

fn verifier(args: &Args, client: Client, limits: Limits, keep: Option<PathBuf>) -> Verifier {
    let environment = Environment::from_host(env::vars_os());
    let variable = |name: &str| env::var(name).ok();
    let surroundings = network::surroundings(&variable);
    let temporary = env::temp_dir();
    // What is installed is started by its absolute path.
    let temporary = temporary.canonicalize().unwrap_or(temporary);
    let mut handshake = Options::new(temporary);
    handshake.timeout = args.timeout.unwrap_or(handshake.timeout);
    handshake.probe = handshake.probe.filter(|_| !args.no_probe);
    let installer = Installer {
        environment: environment.clone(),
        npm: npm_variables(&surroundings),
        uv: uv_variables(&surroundings),
        client: Arc::new(client),
        github: None,
        limits,
        platform: Platform::host(),
        timeout: args.install_timeout.unwrap_or(Duration::from_mins(5)),
    };
    Verifier { installer, environment, handshake, keep }
}

fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(JOBS)
}

fn name(task: &Task) -> String {
    format!("{} ({})", task.id, task.kind.map_or("-", Kind::as_str))
}

fn document(rows: &[Row], duration: Duration) -> Value {
    let mut summary = json!(Summary::of(rows));
    summary["duration_seconds"] = duration.as_secs_f64().into();
    let results: Vec<Value> = rows.iter().map(Row::to_json).collect();
    json!({ "schema": 1, "command": "verify", "results": results, "summary": summary })
}
