//! Installs and starts agents, for `verify`, `validate --handshake`, `new` and `bump`.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::advisories::{Advisories, SourceProblem};
use acp_registry::closures::{ClosureChange, make_closures};
use acp_registry::config::Config;
use acp_registry::duration;
use acp_registry::examination::Demand;
use acp_registry::host::fs::temporary;
use acp_registry::host::process::{self, Environment, Orphans};
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::manifest::Manifest;
use acp_registry::ops::unremoved;
use acp_registry::registry::Registry;
use acp_registry::verify::{Job, Machine, Row, StartOptions, Task, Verified, Verifier, usual_jobs};

use crate::commands::leftovers;
use crate::flags::isolation::{NetworkKind, SandboxKind, isolation, launcher, networks};
use crate::flags::{network, value};
use crate::terminal::progress::AgentsProgress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Code, Failure};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Installing and starting agents")]
pub(crate) struct LiveArgs {
    /// Agents at once [default: the processors, at most 4]
    #[arg(long, value_name = "N", value_parser = value::number(1..=64))]
    jobs: Option<u16>,

    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    /// Time limit for the installation of an agent [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    install_timeout: Option<Duration>,

    /// Hide the host's files from the agents
    ///
    /// Package managers still see them.
    #[arg(long, value_name = "PROGRAM")]
    sandbox: Option<SandboxKind>,

    /// The network that agents reach [default: shared]
    ///
    /// Beyond the level `handshake`, the default is `none`. At that level, `none` needs --sandbox.
    #[arg(long, value_name = "NETWORK")]
    network: Option<NetworkKind>,

    /// Let uv build Python packages from source
    ///
    /// A build runs code of these packages, outside of any sandbox.
    #[arg(long)]
    allow_build: bool,
}

impl LiveArgs {
    /// Whether any of these flags was given.
    pub(crate) fn is_set(&self) -> bool {
        self.jobs.is_some()
            || self.timeout.is_some()
            || self.install_timeout.is_some()
            || self.sandbox.is_some()
            || self.network.is_some()
            || self.allow_build
    }

    /// Whether agents run in a sandbox.
    pub(crate) fn has_sandbox(&self) -> bool {
        self.sandbox.is_some()
    }

    /// Whether a time limit for the answer was given.
    pub(crate) fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }
}

/// Settings of a run that do not come from these flags.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) allowed: &'a AllowedHosts,
    pub(crate) config: &'a Config,
    /// Whether messages are sent after `initialize`.
    pub(crate) probes: bool,
    pub(crate) use_cache: bool,
    /// The level of examination after the handshake.
    pub(crate) demand: &'a Demand,
}

/// Reads the advisories that the configuration names, and fetches those at addresses. `problems` of the result says which ones
/// could not be read.
pub(crate) fn advisories(
    (config, allowed): (&Config, &AllowedHosts),
    registry: &Registry,
    use_cache: bool,
    ui: &Ui,
) -> Result<Advisories, Failure> {
    let mut advisories = Advisories::read(config, &registry.root);
    if !advisories.unasked.is_empty() {
        let mut settings = network::settings(allowed)?;
        settings.cache = if use_cache { network::cache(ui) } else { None };
        let client = Client::new(settings);
        client.prepare()?;
        signals::run_and_forget(advisories.ask(&client))?;
    }
    Ok(advisories)
}

/// Like [`advisories`], for a run that may not begin unless all of them could be read.
pub(crate) fn all_advisories(
    settings: (&Config, &AllowedHosts),
    registry: &Registry,
    use_cache: bool,
    ui: &Ui,
) -> Result<Advisories, Failure> {
    let advisories = advisories(settings, registry, use_cache, ui)?;
    match advisories.problems.first() {
        Some(problem) => Err(Failure::unable(problem).help(SourceProblem::REMEDY)),
        None => Ok(advisories),
    }
}

/// The failure of a run whose agents all need package managers that this machine lacks.
pub(crate) fn missing_package_managers() -> Failure {
    let failure = Failure::unable("nothing could be installed: the package managers are missing");
    failure
        .code(Code::MissingRuntime)
        .help("install Node.js with npm, or uv; the message of each agent names what it needs")
}

/// Runs a job with a progress display. Warns about temporary directories that could not be removed, and about processes
/// that had left their tree. `finished` is called with each row as soon as it is complete.
pub(crate) fn run(
    args: &LiveArgs,
    settings: Settings<'_>,
    job: Job,
    finished: &dyn Fn(&Row),
    ui: &Ui,
) -> Result<Verified, Failure> {
    leftovers::clear(ui);
    let verifier = verifier(args, settings, ui)?;
    let progress = Arc::new(AgentsProgress::new(ui, job.tasks().iter().map(Task::name).collect()));
    let jobs = args.jobs.map_or_else(usual_jobs, usize::from);
    ui.detail(&format!("{} to check, {jobs} at once", job.tasks().len()));
    let shown = progress.clone();
    let (result, hidden) = run_with_agents(ui, jobs, async {
        Ok(job.run(verifier, jobs, Arc::new(move |event| shown.show(event)), finished).await?)
    });
    progress.clear();
    let result = result?;
    for error in result.rows.iter().filter_map(|row| row.left.as_ref()) {
        ui.warning(&unremoved(error));
    }
    let unwatched: Vec<&String> = result.rows.iter().filter_map(|row| row.unwatched.as_ref()).collect();
    if let Some(cause) = unwatched.first() {
        ui.warning(&format!(
            "for some agents, it is not known whether they look for secrets: {} ({cause})",
            unwatched.len()
        ));
    }
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }
    let left = result.rows.iter().filter_map(Row::examination).flat_map(|examination| &examination.left);
    for error in left {
        ui.warning(&unremoved(error));
    }
    Ok(result)
}

/// Runs work that starts agents. Also returns how many processes had left their tree; these were killed.
pub(crate) fn run_with_agents<T>(
    ui: &Ui,
    jobs: usize,
    work: impl Future<Output = Result<T, Failure>>,
) -> (Result<T, Failure>, usize) {
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree.
    let orphans = process::adopt_orphans();
    let done = signals::run_with_threads(ui, jobs, work);
    let hidden = orphans.map_or(0, Orphans::end);
    (done.and_then(|done| done), hidden)
}

/// Creates a verifier from the flags.
pub(crate) fn verifier(args: &LiveArgs, settings: Settings<'_>, ui: &Ui) -> Result<Verifier, Failure> {
    let Settings { allowed, config, probes, use_cache, demand } = settings;
    let mut network = network::settings(allowed)?;
    if use_cache {
        network.cache = network::cache(ui);
    }
    let client = Client::new(network);
    client.prepare()?;
    let variable = |name: &str| env::var(name).ok();
    let machine = Machine {
        environment: Environment::from_host(env::vars_os()),
        temporary: temporary(),
        home: env::home_dir(),
        launcher: launcher(),
        surroundings: network::surroundings(&variable),
        packages: network::package_cache().filter(|_| use_cache),
        client,
    };
    let options = StartOptions {
        isolation: isolation(args.sandbox, args.network),
        networks: networks(args.sandbox, args.network, demand)?,
        timeout: args.timeout,
        install_timeout: args.install_timeout,
        limits: config.archive_limits.limits(),
        probes,
        demand: demand.clone(),
        allow_build: args.allow_build,
        builders: config.builders(),
    };
    Ok(Verifier::new(machine, options))
}

/// Makes the closures of these agents that the registry lacks, and writes them into it. Says of each what it has, or why it was
/// not written.
pub(crate) fn write_closures(
    args: &LiveArgs,
    settings: Settings<'_>,
    (registry, advisories): (&Registry, &Advisories),
    agents: &[(&str, &Manifest)],
    ui: &Ui,
) -> Result<Vec<ClosureChange>, Failure> {
    let installer = verifier(args, settings, ui)?.installer;
    let mut changes = signals::run(ui, make_closures(registry, agents, false, &installer, advisories, &temporary()))?;
    for change in &mut changes {
        change.write(registry);
        match &change.done {
            Ok(made) => ui.note(&format!("{} has {}", change.file, made.diff)),
            Err(error) => ui.warning(&format!("{} was not written: {error}", change.file)),
        }
    }
    Ok(changes)
}
