//! Runs the tasks: installs an agent, lets it read what it needs in its sandbox, and starts it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, iter};

use acp_registry_client::install;
use acp_registry_client::install::{
    Expected, Installer, Interpreter, Kind, Placed, Progress, Remarks, ScriptsNotRun, Source, Start,
};
use acp_registry_examine::examination::{Demand, Examination};
use acp_registry_host::fs::{ANOTHER_TEMPORARY, PathError};
use acp_registry_host::lock::mark_used;
use acp_registry_host::process::{
    Canaries, Environment, INSTALLED, Isolation, LaunchSpec, Namespace, NamespaceError, Network, Scratch,
    hide_from_agents, make_readable,
};
use acp_registry_plan::text::{quote, shown};
use acp_registry_protocol::handshake::{HandshakeOptions, Outcome, check, set_variables};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::outages::Sources;
use super::snapshot::LISTED;
use super::{AgentLock, Networks, NotStarted, Row, State, Task, TaskKind, TaskVerdict};

/// Installs and checks agents.
#[derive(Debug, Clone)]
pub struct Verifier {
    /// Installs agents.
    pub installer: Installer,
    /// The ids of agents for which uv may build packages from source.
    pub builders: BTreeSet<String>,
    /// The install scripts of dependencies that the registry has approved, by agent.
    pub approved_scripts: BTreeMap<String, Vec<String>>,
    /// Isolates agents, but not package managers. The directory of [`Isolation::OwnUser`] is set for each agent.
    pub isolation: Isolation,
    /// The user's home directory. Isolated agents must not read all of it, even if an interpreter is installed there.
    pub home: Option<PathBuf>,
    /// Options of the handshake; all directories are created in its `temporary`.
    pub handshake: HandshakeOptions,
    /// How agents are examined after the handshake.
    pub demand: Demand,
    /// The networks of agents that are examined.
    pub networks: Networks,
    /// Creates the directories here instead, and keeps them.
    pub keep: Option<PathBuf>,
    /// The sources that are known to be down.
    pub sources: Sources,
    /// Locks for work that must run alone.
    pub turns: AgentLock,
}

/// Default timeout of an installation.
pub const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// Maximum of the default for concurrent agents. More of them slow each other down.
const JOBS: usize = 4;

/// Default number of concurrent agents: the number of CPU cores, at most 4.
pub fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(JOBS)
}

/// How many characters of a path in a home, and of the name of a host, are reported.
const PATH: usize = 100;

/// Progress. The number is the task's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyEvent {
    /// The agent is being installed.
    Installing(usize),
    /// A phase of the installation, as short text without control characters.
    Phase(usize, String),
    /// The agent has been started.
    Checking(usize),
    /// The agent is being examined: the number of checks that have run, and of all.
    Examining(usize, usize, usize),
    /// The task is finished.
    Done(usize),
}

/// An agent that is checked: its task, what is known of it, and what it does to secrets and to its home.
struct Running<'a> {
    number: usize,
    id: &'a str,
    source: &'a Source,
    expected: &'a Expected,
    progress: &'a (dyn Fn(VerifyEvent) + Send + Sync),
    row: Row,
    canaries: Arc<Canaries>,
}

/// The results of starting an agent.
type StartResult = (Outcome, Option<Examination>);

/// An installed agent.
pub(super) struct Ready {
    placed: Placed,
    start: Start,
    environment: Environment,
    readable: Vec<PathBuf>,
    /// Duration of the installation, without waiting for locks.
    took: Duration,
}

impl Verifier {
    /// Runs all tasks, at most `jobs` at once, and returns their rows in the order of the tasks. `finished` is called
    /// with each row as soon as it is known.
    ///
    /// If the future is dropped, all processes are killed and all files are removed before the runtime shuts down.
    /// Requires a multi-threaded runtime.
    pub async fn verify(
        self: Arc<Self>,
        tasks: Vec<Task>,
        jobs: usize,
        progress: Arc<dyn Fn(VerifyEvent) + Send + Sync>,
        finished: &dyn Fn(&Row),
    ) -> Vec<Row> {
        let mut rows: Vec<Row> = tasks.iter().map(unfinished).collect();
        let mut running = JoinSet::new();
        let mut waiting = tasks.into_iter().enumerate();
        loop {
            while running.len() < jobs.max(1)
                && let Some((number, task)) = waiting.next()
            {
                let (verifier, progress) = (self.clone(), progress.clone());
                running.spawn(async move {
                    let row = verifier.settle(number, task, &*progress).await;
                    progress(VerifyEvent::Done(number));
                    (number, row)
                });
            }
            match running.join_next().await {
                None => return rows,
                Some(Ok((number, row))) => {
                    if let Some(place) = rows.get_mut(number) {
                        *place = row;
                        finished(place);
                    }
                }
                // The row is initialized as a failed task.
                Some(Err(_)) => {}
            }
        }
    }

    async fn settle(&self, number: usize, task: Task, progress: &(dyn Fn(VerifyEvent) + Send + Sync)) -> Row {
        let row = unfinished(&task);
        let source = match task.work {
            TaskKind::Skip { reason, message } => return Row { state: State::Skipped { reason, message }, ..row },
            TaskKind::Reuse(earlier) => return Row { state: State::Reused(earlier), ..row },
            TaskKind::Broken { reason, message, remedy } => {
                let why = NotStarted::new(TaskVerdict::Fail, reason, message);
                let why = NotStarted { remedy: remedy.map(ToOwned::to_owned), ..why };
                return Row { state: State::NotStarted(why), ..row };
            }
            TaskKind::Check(source) => source,
        };
        let (id, source) = (task.id.as_str(), &source);
        let expected = &task.closure.map_or_else(Expected::default, |mut closure| {
            let approved = self.approved_scripts.get(id).cloned();
            closure.allow_scripts = (task.kind == Some(Kind::Npx)).then(|| approved.unwrap_or_default());
            closure.into()
        });
        let mut running = Running { number, id, source, expected, progress, row, canaries: Arc::default() };
        let state = match self.ask_source(&mut running).await {
            Ok((outcome, examination)) => {
                let examination = examination.map(Box::new);
                State::Checked { outcome: Box::new(outcome), examination, at: SystemTime::now() }
            }
            Err(stop) => {
                running.row.is_not_startable = stop.is_not_startable;
                State::NotStarted(stop.why)
            }
        };
        let Running { mut row, canaries, .. } = running;
        row.state = state;
        row.unwatched = canaries.problem();
        let written = canaries.written().filter(|_| row.unwatched.is_none());
        row.writes = written.map(|paths| paths.iter().map(|path| shown(path, PATH)).collect());
        row
    }

    /// Installs and checks an agent, unless its source is known to be down.
    async fn ask_source(&self, running: &mut Running<'_>) -> Result<StartResult, Stop> {
        let (id, source) = (running.id, running.source);
        if let Some((origin, why)) = self.sources.why_down(source) {
            running.row.source_down = Some(origin);
            return Err(Stop::error("install_failed", &why));
        }
        let result = self.install_and_check(running).await;
        if let Err(stop) = &result
            && stop.is_source_down
        {
            running.row.source_down = self.sources.mark_down(source, id, &stop.why.message);
        }
        result
    }

    async fn install_and_check(&self, running: &mut Running<'_>) -> Result<StartResult, Stop> {
        let place = match &self.keep {
            Some(folder) => {
                let name = format!("{:03}-{}", running.number + 1, running.source.kind().as_str());
                // An earlier run may have left its directories there.
                let others = (2..).map(|run| format!("{name}-{run}"));
                let mut places = iter::once(name.clone()).chain(others).map(|name| folder.join(name));
                Scratch::at(&places.find(|place| place.symlink_metadata().is_err()).unwrap_or_default())?
            }
            None => Scratch::below(&self.handshake.temporary)?,
        };
        // While the mark exists, other runs do not remove the directory as abandoned.
        let _mark = mark_used(place.path());
        (running.progress)(VerifyEvent::Installing(running.number));
        let mut result = self.in_place(running, &place).await;
        if let Ok((outcome, _)) = &mut result
            && outcome.blame_secrets(&running.canaries.opened())
        {
            running.row.is_not_startable = false;
        }
        if self.keep.is_some() {
            place.keep();
            return result;
        }
        // Removing a package's tens of thousands of files would block the runtime.
        let removed = spawn_blocking(move || place.remove()).await;
        running.row.left = removed.ok().and_then(Result::err);
        result
    }

    async fn in_place(&self, running: &mut Running<'_>, place: &Scratch) -> Result<StartResult, Stop> {
        let Running { number, id, source, expected, progress, .. } = *running;
        let started = Instant::now();
        let told = |step| {
            if let Some(phase) = phase(step) {
                progress(VerifyEvent::Phase(number, phase));
            }
        };
        let ready = self.set_up(id, (source, expected), place, &told).await;
        running.row.install = ready.as_ref().map_or_else(|_| started.elapsed(), |ready| ready.took);
        let ready = ready?;
        running.row.scripts_not_run.clone_from(&ready.placed.remarks.scripts_not_run);
        progress(VerifyEvent::Checking(number));
        let mut launch = self.launch(&ready, &[], place);
        let handshake = HandshakeOptions { canaries: Some(running.canaries.clone()), ..self.handshake.clone() };
        // Each agent has a namespace of its own, so that agents that run at once do not reach each other.
        let namespace = self.namespace().await.map_err(|error| Stop::error("spawn_failed", &error))?;
        launch.namespace = namespace.clone().filter(|_| self.networks.handshake == Network::None);
        let is_apart = match &launch.isolation {
            Isolation::Environment => false,
            Isolation::OwnUser { .. } => launch.gets_own_user(place.path()),
            Isolation::Bwrap { .. } => true,
        };
        let mut outcome = {
            let _turn = if is_apart { self.turns.beside_others().await } else { self.turns.alone().await };
            self.start(id, &launch, place, &handshake).await?
        };
        if outcome.may_be_chance() {
            let _turn = self.turns.alone().await;
            outcome = self.start(id, &launch, place, &handshake).await?.after_failure();
        }
        // Results of requests are published, so an agent that was slow once must not be listed as lacking a feature.
        if outcome.has_silence() {
            let _turn = self.turns.alone().await;
            let again = self.start(id, &launch, place, &handshake.patient()).await?;
            outcome = outcome.prefer_fewer_timeouts(again);
        }
        if let Some(shortfall) = ready.placed.interpreter.as_ref().and_then(Interpreter::shortfall) {
            outcome.blame_runtime(&shortfall.to_string());
        }
        if let Some(why) = why_not_started(&ready.placed.remarks, source) {
            running.row.is_not_startable = outcome.blame_start(&why);
        }
        if !self.demand.is_any() {
            return Ok((outcome, None));
        }
        let _turn = if is_apart { self.turns.beside_others().await } else { self.turns.alone().await };
        let options = self.options_in(place, &handshake);
        launch.namespace = namespace;
        let examining = |done, all| progress(VerifyEvent::Examining(number, done, all));
        let (id, place) = (Some(id), Some(place.path()));
        let examination = self.demand.meet(&launch, &options, &mut outcome, id, place, &examining).await;
        let names = launch.namespace.as_ref().and_then(Namespace::lookups);
        running.row.hosts = names.map(|names| names.iter().take(LISTED).map(|name| shown(name, PATH)).collect());
        Ok((outcome, examination))
    }

    /// Installs an agent in its directory.
    pub(super) async fn set_up(
        &self,
        id: &str,
        (source, expected): (&Source, &Expected),
        place: &Scratch,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Ready, Stop> {
        // Install scripts run with the user's permissions too.
        hide_from_agents();
        let mut environment = self.installer.environment.clone();
        let variables = source.variables().iter().map(|(name, value)| (name.as_str(), value.as_str()));
        set_variables(&mut environment, variables)
            .map_err(|error| Stop::from(NotStarted::new(TaskVerdict::Fail, "spawn_failed", error.to_string())))?;
        let directory = place.path().join(INSTALLED);
        fs::create_dir(&directory).map_err(PathError::at(&directory))?;
        let turn = self.turns.beside_others().await;
        let started = Instant::now();
        let mut setup = self.installer.clone();
        setup.allow_build |= self.builders.contains(id);
        let placed = setup.place(source, expected, &directory, place.path(), progress).await;
        let placed = placed.map_err(|error| Stop::install(&error, source))?;
        let start = placed.start(source, &directory)?;
        environment.append_to_path(start.beside.iter().cloned());
        drop(turn);
        let readable = self.readable(source.kind(), &directory, &start.program);
        if self.isolation != Isolation::Environment && self.installer.launcher.is_some() {
            // Packages have tens of thousands of files, so this would block the runtime.
            let _ = spawn_blocking(move || make_readable(&directory)).await;
        }
        Ok(Ready { placed, start, environment, readable, took: started.elapsed() })
    }

    /// The command that starts an agent with additional arguments.
    pub(super) fn launch(&self, ready: &Ready, arguments: &[String], place: &Scratch) -> LaunchSpec {
        let Ready { start, environment, readable, .. } = ready;
        let isolation = match &self.isolation {
            Isolation::OwnUser { .. } => Isolation::OwnUser { place: Some(place.place()) },
            other => other.clone(),
        };
        LaunchSpec {
            program: start.program.clone().into(),
            arguments: start.args.iter().chain(arguments).map(Into::into).collect(),
            directory: None,
            environment: environment.clone(),
            isolation,
            readable: readable.clone(),
            launcher: self.installer.launcher.clone(),
            namespace: None,
        }
    }

    /// A network namespace, if an agent is to be examined in one.
    pub(super) async fn namespace(&self) -> Result<Option<Namespace>, NamespaceError> {
        if !self.demand.is_any() || self.networks.examination == Network::Shared {
            return Ok(None);
        }
        Ok(Some(Namespace::create(self.installer.launcher.as_deref()).await?))
    }

    /// The options of starts below `place`.
    pub(super) fn options_in(&self, place: &Scratch, how: &HandshakeOptions) -> HandshakeOptions {
        HandshakeOptions { temporary: place.path().to_owned(), keep: self.keep.is_some(), ..how.clone() }
    }

    /// Starts an agent and performs the handshake.
    pub(super) async fn start(
        &self,
        id: &str,
        launch: &LaunchSpec,
        place: &Scratch,
        how: &HandshakeOptions,
    ) -> Result<Outcome, Stop> {
        let options = self.options_in(place, how);
        let led = self.demand.lead(launch, &options, Some(id)).await;
        let (launch, options, model) = led.map_err(|error| Stop::error("spawn_failed", &error))?;
        let mut outcome = check(&launch, &options).await.map_err(|error| Stop::error("spawn_failed", &error))?;
        outcome.hide_path(place.path());
        if model.is_some() {
            outcome.handshake.warnings.push(LED.to_owned());
        }
        Ok(outcome)
    }
}

/// The warning about an agent that was started with its recipe.
const LED: &str = "was started with its recipe, without which it does not start";

/// Why `npx` would not start an agent that does not answer here either, if its package may be the cause.
fn why_not_started(remarks: &Remarks, source: &Source) -> Option<String> {
    if remarks.is_read_by_shell {
        return Some("its file does not begin with `#!`, so that npx has a shell read it".to_owned());
    }
    let ScriptsNotRun { packages, ignored_by: None, .. } = &remarks.scripts_not_run else { return None };
    let own = packages.iter().find(|package| package.as_str() == source.name())?;
    Some(format!("npx runs the install script of {} only with the user's permission, since npm 12", quote(own)))
}

/// The description of a step of the installation; `None` for steps that are not shown.
fn phase(step: Progress) -> Option<String> {
    match step {
        Progress::Downloading(_) => Some("downloading".to_owned()),
        Progress::Unpacking => Some("unpacking".to_owned()),
        Progress::Phase(tool, phase) => Some(format!("{tool}: {phase}")),
        _ => None,
    }
}

/// The initial row of a task; it is returned only if the task panics.
fn unfinished(task: &Task) -> Row {
    let message = "the check panicked, which is a bug of this program";
    let state = State::NotStarted(NotStarted::new(TaskVerdict::Error, "spawn_failed", message));
    let row = Row::new(&task.id, &task.version, task.channel, task.kind, state);
    Row { held: task.held.clone(), basis: task.basis.clone(), ..row }
}

impl Verifier {
    /// The directories of this machine that an installed agent must be able to read.
    pub(super) fn readable(&self, kind: Kind, directory: &Path, program: &Path) -> Vec<PathBuf> {
        let interpreters = match kind {
            // The interpreter that the agent was installed for, and the one in `PATH`.
            Kind::Npx => {
                let own = Some(program.to_owned()).filter(|program| !program.starts_with(directory));
                own.into_iter().chain(self.installer.environment.find("node")).collect()
            }
            Kind::Uvx => pythons(directory),
            Kind::Binary => Vec::new(),
        };
        let mut readable = vec![directory.to_owned()];
        let folders = interpreters.iter().flat_map(|interpreter| interpreter_folders(interpreter));
        let shows_home = |folder: &PathBuf| self.home.as_ref().is_some_and(|home| home.starts_with(folder));
        readable.extend(folders.filter(|folder| !shows_home(folder)));
        readable
    }
}

/// The Python interpreters that uv linked in its tool environments.
fn pythons(directory: &Path) -> Vec<PathBuf> {
    let tools = fs::read_dir(directory.join("tools")).into_iter().flatten().flatten();
    tools.map(|tool| tool.path().join("bin/python")).filter(|python| python.exists()).collect()
}

/// The directories that an interpreter may need: its own, that of the file it links to and, if that is a `bin`
/// directory, its parent with the libraries.
fn interpreter_folders(interpreter: &Path) -> Vec<PathBuf> {
    let real = interpreter.canonicalize().unwrap_or_default();
    let folders = [interpreter.parent(), real.parent()].into_iter().flatten();
    let around = real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    folders.chain(around).map(Path::to_owned).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_comes_with_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["versions/3/bin", "install/tools/a/bin", "install/tools/b"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("versions/3/bin/python3"), "").unwrap();
        let link = root.join("install/tools/a/bin/python");
        std::os::unix::fs::symlink(root.join("versions/3/bin/python3"), &link).unwrap();
        let found = pythons(&root.join("install"));
        assert_eq!(found, std::slice::from_ref(&link));
        let expected = ["install/tools/a/bin", "versions/3/bin", "versions/3"].map(|path| root.join(path));
        assert_eq!(interpreter_folders(&found[0]), expected);
        assert_eq!(pythons(&root), [] as [PathBuf; 0]);
    }
}

/// Why an agent was not started, and what that says of others.
pub(super) struct Stop {
    pub(super) why: NotStarted,
    is_source_down: bool,
    /// Whether the package runner of the distribution would not start it either.
    pub(super) is_not_startable: bool,
}

impl Stop {
    pub(super) fn error(reason: &'static str, message: &dyn std::fmt::Display) -> Self {
        NotStarted::new(TaskVerdict::Error, reason, message.to_string()).into()
    }

    fn install(error: &install::Error, source: &Source) -> Self {
        let why = NotStarted {
            verdict: if error.is_of_manifest() { TaskVerdict::Fail } else { TaskVerdict::Error },
            reason: error.reason().as_str(),
            message: error.to_string(),
            remedy: error.remedy(),
            stderr: error.stderr().to_owned(),
        };
        let is_not_startable = matches!(error, install::Error::NoCommand { .. });
        Self { why, is_source_down: error.is_of_source(source.name()), is_not_startable }
    }
}

impl From<NotStarted> for Stop {
    fn from(why: NotStarted) -> Self {
        Self { why, is_source_down: false, is_not_startable: false }
    }
}

impl From<PathError> for Stop {
    fn from(error: PathError) -> Self {
        let message = format!("cannot make a temporary directory: {error}");
        let remedy = Some(error.remedy().unwrap_or(ANOTHER_TEMPORARY).to_owned());
        NotStarted { remedy, ..NotStarted::new(TaskVerdict::Error, "install_failed", message) }.into()
    }
}
