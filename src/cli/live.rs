//! Installing and starting agents, as `verify` does, and `validate --handshake`.

use std::cell::Cell;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::archive::Limits;
use acp_registry::handshake::Options;
use acp_registry::install::{Installer, Kind};
use acp_registry::manifest::Platform;
use acp_registry::net::{AllowedHosts, Client};
use acp_registry::sys::process::{self, Environment, Isolation, Network, Orphans};
use acp_registry::upstream::{Registries, npm_variables, uv_variables};
use acp_registry::verify::{Row, Sources, State, Task, Turns, Verdict, Verifier};

use super::abandoned;
use super::duration;
use super::exit::Failure;
use super::network;
use super::probe::{NetworkKind, SandboxKind};
use super::progress::Running;
use super::signals;
use super::ui::Ui;

/// How many agents are started at once by default: more than this only slow each other down.
const JOBS: usize = 4;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Installing and starting agents")]
pub(super) struct LiveArgs {
    /// Agents at once [default: the processors, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,

    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    /// Time limit for an installation [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    install_timeout: Option<Duration>,

    /// Hide the host's files from the agents
    ///
    /// Package managers still see them.
    #[arg(long, value_name = "PROGRAM")]
    sandbox: Option<SandboxKind>,

    /// With --sandbox, the network that agents reach [default: shared]
    #[arg(long, value_name = "NETWORK", requires = "sandbox")]
    network: Option<NetworkKind>,

    /// Let uv build Python packages from source
    ///
    /// A build runs code of these packages, outside of any sandbox.
    #[arg(long)]
    allow_build: bool,
}

impl LiveArgs {
    /// Whether any of the flags was given.
    pub(super) fn is_set(&self) -> bool {
        self.jobs.is_some()
            || self.timeout.is_some()
            || self.install_timeout.is_some()
            || self.sandbox.is_some()
            || self.allow_build
    }

    /// Whether agents are kept from the host's files and processes.
    pub(super) fn has_sandbox(&self) -> bool {
        self.sandbox.is_some()
    }

    /// Whether it was said how long an agent may take to answer.
    pub(super) fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }
}

/// What else is wanted of a run.
pub(super) struct Settings<'a> {
    pub(super) allowed: &'a AllowedHosts,
    pub(super) limits: Limits,
    /// Where the places of agents stay.
    pub(super) keep: Option<PathBuf>,
    /// Whether anything is sent after `initialize`.
    pub(super) probes: bool,
    pub(super) use_cache: bool,
    /// Is handed each row as soon as it is known.
    pub(super) finished: &'a dyn Fn(&Row),
}

/// Does the tasks, with a progress display, and says on stderr what is left of them.
pub(super) fn run(args: &LiveArgs, settings: Settings<'_>, tasks: Vec<Task>, ui: &Ui) -> Result<Vec<Row>, Failure> {
    abandoned::clear(ui);
    let finished = settings.finished;
    let verifier = verifier(args, settings, ui)?;
    let names = tasks.iter().map(name).collect();
    let progress = Arc::new(Running::new(ui, names));
    let jobs = args.jobs.map_or_else(usual_jobs, usize::from);
    ui.detail(&format!("{} to check, {jobs} at once", tasks.len()));
    // Before any child, and ended after all: what hides from its tree comes here.
    let orphans = process::adopt_orphans();
    let shown = progress.clone();
    process::hide_from_agents();
    let rows = signals::run_with_threads(jobs, async {
        verifier.isolation.check(&verifier.environment).await?;
        let shown = Arc::new(move |event| shown.show(event));
        Ok::<_, Failure>(Arc::new(verifier).verify(tasks, jobs, shown, finished).await)
    });
    let hidden = orphans.map_or(0, Orphans::end);
    progress.clear();
    let rows = rows??;
    for error in rows.iter().filter_map(|row| row.left.as_ref()) {
        ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
    }
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }
    Ok(rows)
}

/// Tells of each agent as it is finished, where no progress is displayed.
pub(super) fn steps(total: usize, ui: &Ui) -> impl Fn(&Row) {
    let count = Cell::new(0);
    move |row| {
        count.set(count.get() + 1);
        let verdict = if matches!(row.state, State::Reused(_)) { "reused" } else { row.verdict().as_str() };
        let verdict = row.reason().map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}, {reason}"));
        ui.step(&format!("{} of {total}: {} ({}) {verdict}", count.get(), row.id, row.distribution()));
    }
}

/// Whether agents failed for nothing else than that the package managers are missing.
pub(super) fn lacks_package_managers(rows: &[Row]) -> bool {
    let is_lacking = |row: &Row| row.reason() == Some("missing_runtime");
    rows.iter().any(Row::is_finding) && rows.iter().all(|row| is_lacking(row) || row.verdict() == Verdict::Skipped)
}

/// A verifier as the flags want it.
pub(super) fn verifier(args: &LiveArgs, settings: Settings<'_>, ui: &Ui) -> Result<Verifier, Failure> {
    let Settings { allowed, limits, keep, probes, use_cache, finished: _ } = settings;
    let mut network = network::settings(allowed)?;
    if use_cache {
        network.cache = network::cache(ui);
    }
    let environment = Environment::from_host(env::vars_os());
    let variable = |name: &str| env::var(name).ok();
    let surroundings = network::surroundings(&variable);
    let temporary = env::temp_dir();
    // What is installed is started by its absolute path.
    let temporary = temporary.canonicalize().unwrap_or(temporary);
    let home = env::home_dir().map(|home| home.canonicalize().unwrap_or(home));
    let mut handshake = Options::new(temporary);
    handshake.timeout = args.timeout.unwrap_or(handshake.timeout);
    handshake.probe = handshake.probe.filter(|_| probes);
    let installer = Installer {
        environment: environment.clone(),
        npm: npm_variables(&surroundings),
        uv: uv_variables(&surroundings),
        registries: Registries::configured(&surroundings),
        client: Arc::new(Client::new(network)?),
        github: None,
        limits,
        platform: Platform::host(),
        timeout: args.install_timeout.unwrap_or(Duration::from_mins(5)),
        launcher: launcher(),
        packages: network::package_cache().filter(|_| use_cache),
        allow_build: args.allow_build,
    };
    let isolation = isolation(args.sandbox, args.network);
    let (sources, turns) = (Sources::default(), Turns::default());
    Ok(Verifier { installer, environment, isolation, home, handshake, keep, sources, turns })
}

/// What keeps agents apart by these flags.
pub(super) fn isolation(sandbox: Option<SandboxKind>, network: Option<NetworkKind>) -> Isolation {
    match (sandbox, network) {
        (None, _) => Isolation::OwnUser { place: None },
        (Some(SandboxKind::Bwrap), Some(NetworkKind::None)) => Isolation::Bwrap { network: Network::None },
        (Some(SandboxKind::Bwrap), _) => Isolation::Bwrap { network: Network::Shared },
    }
}

/// This program, which starts others under limits.
pub(super) fn launcher() -> Option<PathBuf> {
    env::current_exe().ok()
}

fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(JOBS)
}

fn name(task: &Task) -> String {
    format!("{} ({})", task.id, task.kind.map_or("-", Kind::as_str))
}
