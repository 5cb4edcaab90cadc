//! DIAGNOSE: what installed agents need, whether they are unchanged, and what to do about problems.
//!
//! * [`surroundings`]: the runtimes, and the directory of installed agents
//! * [`installed`]: one agent on disk: receipts, programs, digests
//! * [`start`]: the handshake with one, in the same isolation as [`check`](acp_registry_protocol::handshake::check())
//! * [`explain`]: the result of a handshake, explained
//!
//! Nothing is changed or repaired here.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use acp_registry_host::command::answer;
use acp_registry_host::fs::{ANOTHER_TEMPORARY, PathError, without_path};
use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::{Environment, Isolation, LaunchSpec, Obstacle};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::resolve::{NODE, UV};
use acp_registry_plan::revocations::Revocation;
use acp_registry_plan::text::{brief_list, escape, printable, quote};
use acp_registry_protocol::handshake::{
    FailReason, HandshakeOptions, Outcome, Probe, SetupError, check, set_variables,
};
use serde::Serialize;

use crate::install::{DigestSource, Interpreter, Kind, newer};
use crate::store::{Candidate, Damage, Error, LINK, Store, Version, remove_by_hand, repair_command};

/// The state of something that was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    #[default]
    Ok,
    /// A problem that affects no installed agent.
    Warning,
    /// Something does not work, or is not what it should be.
    Error,
}

impl CheckStatus {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The name of the check, which does not change between versions: `node`, `root`, `program` and the like.
    pub name: &'static str,
    /// The state.
    pub status: CheckStatus,
    /// What was found, as a sentence. Printable.
    pub message: String,
    /// What to do about it. Printable.
    pub help: Option<String>,
}

impl Diagnosis {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Ok, message: message.into(), help: None }
    }

    fn warning(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Warning, message: message.into(), help: Some(help.into()) }
    }

    fn error(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Error, message: message.into(), help: Some(help.into()) }
    }
}

/// One installed agent.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct DiagnosedAgent {
    /// Its id.
    pub id: String,
    /// The version that is named, else the one that is started, if that is known.
    pub version: Option<String>,
    /// The worst of all checks.
    pub status: CheckStatus,
    /// What was found.
    pub checks: Vec<Diagnosis>,
    /// The result of the handshake, if there was one.
    pub handshake: Option<Outcome>,
    /// This version, if no check has found a reason why it cannot start.
    #[serde(skip)]
    pub startable: Option<Version>,
    /// The version that is named, where another one is started.
    #[serde(skip)]
    pub(crate) named: Option<Version>,
}

impl DiagnosedAgent {
    /// Whether a changed file may be why it failed. Only the sizes of a package's files are known, so that a change may
    /// go unnoticed; the digests of an archive's files show every change.
    #[must_use]
    pub(crate) fn may_miss_files(&self) -> bool {
        let reason = self.handshake.as_ref().and_then(|outcome| outcome.reason);
        let is_package = self.startable.as_ref().is_some_and(|version| version.receipt.source.kind() != Kind::Binary);
        let of_files =
            [FailReason::Exited, FailReason::SpawnFailed, FailReason::InvalidResponse, FailReason::AgentError];
        is_package && reason.is_some_and(|reason| of_files.contains(&reason))
    }

    /// Replaces remedies that would repeat a repair that has failed.
    pub(crate) fn repair_has_failed(&mut self, help: Option<&str>) {
        let command = repair_command(&self.id);
        for check in self.checks.iter_mut().filter(|check| check.status == CheckStatus::Error) {
            if check.help.as_ref().is_some_and(|given| given.contains(&command)) {
                check.help = help.map(|help| printable(help).into_owned());
            }
        }
    }

    /// Adds what the registry has recalled, as far as this machine knows.
    pub(crate) fn add_revocation(&mut self, revocation: &Revocation, refusal: Option<Failure>) {
        let status = if refusal.is_some() { CheckStatus::Error } else { CheckStatus::Warning };
        if refusal.is_some() {
            self.startable = None;
        }
        let help = refusal.and_then(|failure| failure.advice());
        self.add(Diagnosis { name: "revocation", status, message: revocation.to_string(), help });
    }

    fn add(&mut self, check: Diagnosis) {
        self.status = self.status.max(check.status);
        self.checks.push(check);
    }
}

/// Looks at the runtimes that agents need, and at the directory of installed agents. The runtimes are asked for their
/// versions in `temporary`, the directory for temporary files, which takes them up to 10 s each.
#[must_use]
pub fn surroundings(store: &Store, environment: &Environment, temporary: &Path) -> Vec<Diagnosis> {
    let mut checks = match cannot_be_written(temporary) {
        None => RUNTIMES.map(|runtime| look_for(runtime, environment, temporary)).into(),
        Some(problem) => vec![problem],
    };
    checks.push(look_at_root(store));
    checks
}

/// Whether agents can be started on this machine, according to the checks of [`surroundings`].
#[must_use]
pub(crate) fn can_start(checks: &[Diagnosis]) -> bool {
    checks.iter().all(|check| check.name != TEMPORARY || check.status < CheckStatus::Error)
}

/// How long a runtime may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Program, what it is for, and how to get it.
const RUNTIMES: [(&str, &str, &str); 3] = [
    ("node", "agents from npm start only with a Node.js that an installation has recorded", NODE),
    ("npm", "most agents from npm cannot be installed", NODE),
    ("uv", "agents from the Python package index cannot be installed", UV),
];

/// Looks for a runtime, and asks it for its version.
fn look_for(
    (name, loss, help): (&'static str, &str, &'static str),
    environment: &Environment,
    directory: &Path,
) -> Diagnosis {
    let Some(path) = environment.find(name) else {
        return Diagnosis::warning(name, format!("is not in PATH: {loss}"), help);
    };
    let path = path.display().to_string();
    let place = printable(&path);
    let error = |message: String| {
        let message = format!("{place} --version {message}");
        Diagnosis::error(name, message, format!("see what `{place} --version` says, and install it again"))
    };
    // npm is a script that the Node.js in `PATH` runs.
    let variable = environment.path().map(|(_, value)| value);
    let text = match answer(&path, &["--version"], directory, PATIENCE, variable) {
        Ok(text) => text,
        Err(cause) => return error(cause.to_string()),
    };
    // A batch file may echo its own lines before.
    let Some(version) = text.lines().map(str::trim).rfind(|line| !line.is_empty()) else {
        return error("prints nothing".to_owned());
    };
    Diagnosis::ok(name, format!("{}, {place}", escape(version)))
}

/// Whether agents can be installed in a store, found out by writing to it: its mode alone does not tell. Other people
/// must not be able to write there.
fn look_at_root(store: &Store) -> Diagnosis {
    if let Err(Error::Foreign { path, problem }) = store.refuse_foreign(None) {
        let shown = path.display().to_string();
        return Diagnosis::error("root", format!("{} {problem}", printable(&shown)), remove_by_hand());
    }
    let root = store.root();
    // It is made with the first agent.
    let there = nearest(root);
    let written = write_below(there).map_err(PathError::at(there));
    let read = store.ids().map_err(|PathError { path, error }| PathError { path: nearest(&path).to_owned(), error });
    let problem = match (read, written) {
        (Err(error), _) => Some(("read", error)),
        (_, Err(error)) => Some(("installed", error)),
        (Ok(_), Ok(())) => None,
    };
    let shown = root.display().to_string();
    let shown = printable(&shown);
    match problem {
        None if there == root => Diagnosis::ok("root", format!("{shown} can be written")),
        None => Diagnosis::ok("root", format!("{shown} does not exist yet; the first installation creates it")),
        Some((what, error)) => {
            let place = if error.path == root { String::new() } else { format!("{}: ", error.path.display()) };
            let message =
                format!("agents cannot be {what} in {shown}: {}", printable(&format!("{place}{}", error.error)));
            let help = error.or_another("make it readable and writable", "directory", "--root or ACP_REGISTRY_ROOT");
            Diagnosis::error("root", message, help)
        }
    }
}

/// The path itself, or the directory above it that is there.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path)
}

/// The name of the check of the directory for temporary files.
const TEMPORARY: &str = "temporary";

/// The check of the directory for temporary files, if nothing can be installed or started without another one.
fn cannot_be_written(temporary: &Path) -> Option<Diagnosis> {
    let error = write_below(temporary).err()?;
    let shown = temporary.display().to_string();
    let message = format!("temporary files cannot be made in {}: {}", printable(&shown), printable(&error.to_string()));
    Some(Diagnosis::error(TEMPORARY, message, ANOTHER_TEMPORARY))
}

fn write_below(folder: &Path) -> io::Result<()> {
    // Without a name where the system can, so that a killed run leaves nothing. An empty file fits on a full disk.
    let mut file = tempfile::tempfile_in(folder).map_err(without_path)?;
    file.write_all(&[0; 4096])?;
    file.sync_all()
}

/// How many damaged files are named.
const NAMED: usize = 3;

/// Looks at an agent of [`Store::ids`]: its receipts, its programs, and every file whose digest was kept. What is to be started
/// is the version that is named, if another one is usually.
///
/// # Errors
/// [`PathError`] when its directory cannot be read.
pub fn installed(
    store: &Store,
    id: &AgentId,
    named: Option<&Version>,
    environment: &Environment,
) -> Result<DiagnosedAgent, PathError> {
    let mut examined = DiagnosedAgent { id: id.to_string(), named: named.cloned(), ..DiagnosedAgent::default() };
    let directory = store.directory(id);
    let found =
        if directory.is_symlink() { Err(Error::Link(directory)) } else { store.examine(id).map_err(Error::from) };
    let remains = match found {
        Ok(remains) => remains,
        Err(Error::Path(error)) if error.error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        Err(error) => {
            examined.add(broken("current", &error, repair(id)));
            return Ok(examined);
        }
    };
    if !remains.leftovers.is_empty() {
        let message = "an interrupted installation has left files";
        let end = if remains.is_restorable { ", and puts back the version that was being repaired" } else { "" };
        let help = format!("`acp-registry gc` removes them{end}");
        examined.add(Diagnosis::warning("leftovers", message, help));
    }
    for path in remains.foreign {
        let shown = path.display().to_string();
        let what = if path.is_symlink() { LINK } else { "was not made by this program" };
        let message = format!("{} {what}", printable(&shown));
        examined.add(Diagnosis::warning(
            "foreign",
            message,
            "nothing needs to be done: it is never started, and stays",
        ));
    }
    if let Err(error) = owner(store, id) {
        examined.add(broken("owner", &error, remove_by_hand().to_owned()));
    }
    let current = match remains.current {
        Ok(current) => current,
        Err(error) => {
            examined.add(broken("current", &error, repair(id)));
            None
        }
    };
    match &current {
        Some(folder) if !remains.versions.iter().any(|found| found.folder == *folder) => {
            let problem = if store.place(id, folder).is_symlink() { LINK } else { "is gone" };
            let message = format!("the version that is started, {}, {problem}", quote(folder));
            examined.add(Diagnosis::error("current", message, repair(id)));
        }
        // What an interrupted first installation has left is not an agent yet.
        None if examined.status != CheckStatus::Error && !remains.versions.is_empty() => {
            examined.add(Diagnosis::error("current", "no version is there to be started", repair(id)));
        }
        _ => {}
    }
    for found in remains.versions {
        look_at(found, current.as_ref(), environment, &mut examined);
    }
    Ok(examined)
}

/// Refuses an agent that other people can change. The check of the root reports the directories above it.
fn owner(store: &Store, id: &AgentId) -> Result<(), Error> {
    if store.refuse_foreign(None).is_err() {
        return Ok(());
    }
    store.refuse_foreign_agent(id)?;
    let version = store.agent(id).ok().flatten().map(|agent| agent.current);
    store.refuse_foreign(version.as_ref())
}

fn look_at(found: Candidate, current: Option<&String>, environment: &Environment, examined: &mut DiagnosedAgent) {
    let is_wanted = match &examined.named {
        Some(named) => named.folder() == found.folder,
        None => current == Some(&found.folder),
    };
    let help = help(&found, current.filter(|_| !is_wanted), &examined.id);
    let version = match found.version {
        Ok(Some(version)) => version,
        Ok(None) => {
            let message = format!("{} has no receipt, and counts as nothing", quote(&found.folder));
            let status = if is_wanted { CheckStatus::Error } else { CheckStatus::Warning };
            return examined.add(Diagnosis { name: "receipt", status, message, help: Some(help) });
        }
        Err(error) => return examined.add(broken("receipt", &error, help)),
    };
    let receipt = &version.receipt;
    if is_wanted {
        examined.version = Some(receipt.version.clone());
    }
    let problem = program(&version, &help)
        .or_else(|| interpreter(&version, environment, &help))
        .or_else(|| damages(&version, &help))
        .map(|(name, message, help)| Diagnosis::error(name, format!("{}: {message}", quote(&receipt.version)), help));
    if let Some(check) = problem {
        return examined.add(check);
    }
    let message = format!("{} is as it was installed; {}", quote(&receipt.version), proof(&version));
    examined.add(Diagnosis::ok("files", message));
    if is_wanted {
        remarks(&version, environment, examined);
        examined.startable = Some(version);
    }
}

/// What helps where a version is not what was installed. Only what this program has made is to be removed.
fn help(found: &Candidate, current: Option<&String>, id: &str) -> String {
    let version = found.version.as_ref().ok().and_then(Option::as_ref);
    // What settings name is kept for them, and repaired.
    let is_named = version.is_some_and(|version| !version.receipt.named_by.is_empty());
    if is_named || current.is_none_or(|current| *current == found.folder) {
        version.map_or_else(|| repair(id), repair_version)
    } else if found.is_ours {
        "`acp-registry gc` removes it: another version is started".to_owned()
    } else {
        "nothing needs to be done: another version is started".into()
    }
}

/// A name of a check, a message, and what helps.
type CheckProblem = (&'static str, String, String);

fn repair_version(version: &Version) -> String {
    format!("{} repairs it", version.receipt.repair_command())
}

fn repair(id: &str) -> String {
    format!("{} repairs it", repair_command(id))
}

fn program(version: &Version, help: &str) -> Option<CheckProblem> {
    let (path, receipt) = (version.program(), &version.receipt);
    let shown = quote(&receipt.program);
    let help = help.to_owned();
    match path.metadata() {
        Err(error) => Some(("program", format!("its program {shown} is not there ({error})"), help)),
        Ok(file) if !file.is_file() => Some(("program", format!("its program {shown} is not a file"), help)),
        Ok(file) if file.len() != receipt.program_size => {
            let (size, wanted) = (file.len(), receipt.program_size);
            Some(("program", format!("its program {shown} has {size} bytes, and was installed with {wanted}"), help))
        }
        // An interpreter only reads it. That a script's own interpreter is gone is found by starting it.
        Ok(_) => {
            let obstacle = find_obstacle(version).filter(|obstacle| !matches!(obstacle, Obstacle::NoInterpreter(_)))?;
            let help = match &obstacle {
                Obstacle::NotExecutable => {
                    let chmod = format!("`chmod +x '{}'` makes it so; or ", printable(&path.display().to_string()));
                    format!("{chmod}{help}")
                }
                Obstacle::NoExec => {
                    "name a directory on another file system with --root or ACP_REGISTRY_ROOT".to_owned()
                }
                Obstacle::NoInterpreter(_) => help,
            };
            Some(("program", format!("its program {shown} {obstacle}"), help))
        }
    }
}

/// Why a version that is there cannot be started, and what helps; `None` if no reason is known.
#[must_use]
pub fn obstacle(version: &Version, environment: &Environment) -> Option<(String, String)> {
    let help = repair_version(version);
    let found = program(version, &help).or_else(|| interpreter(version, environment, &help));
    let found = found.or_else(|| damages(version, &help)).map(|(_, message, help)| (message, help));
    let gone = || {
        let text = format!("its program {} {}", quote(&version.receipt.program), find_obstacle(version)?);
        Some((printable(&text).into_owned(), format!("if its directory was moved, {help}")))
    };
    found.or_else(gone)
}

fn find_obstacle(version: &Version) -> Option<Obstacle> {
    Obstacle::find(&version.program()).filter(|_| version.receipt.interpreter.is_none())
}

/// What may keep the version that is started from working, although it is what was installed.
fn remarks(version: &Version, environment: &Environment, examined: &mut DiagnosedAgent) {
    let receipt = &version.receipt;
    let shown = quote(&receipt.version);
    if let Some(interpreter) = &receipt.interpreter
        && version.is_repairable(environment)
        && let Ok(start) = version.find_start(|| environment.clone())
    {
        let now = start.program.display().to_string();
        let is_there = interpreter.program.as_ref().is_none_or(|program| program.is_file());
        let gone = if is_there { "" } else { ", which is gone" };
        let recorded = recorded(interpreter).map(|known| format!(", no longer by {known}{gone}")).unwrap_or_default();
        let message = format!("{shown} is started by {}{recorded}", printable(&now));
        examined.add(Diagnosis::warning("runtime", message, "`acp-registry doctor --fix` keeps that in its receipt"));
    }
    let mut now = receipt.interpreter.clone();
    if let Some(interpreter) = &mut now {
        interpreter.follow(environment);
    }
    if let Some(shortfall) = now.as_ref().and_then(Interpreter::shortfall) {
        let help = format!("{}: the next start uses it", newer(&shortfall));
        examined.add(Diagnosis::warning("runtime", format!("{shown} {shortfall}"), help));
    }
    let scripts = &receipt.remarks.scripts_not_run;
    if !scripts.is_empty() {
        let help = scripts
            .remedy(&receipt.id)
            .unwrap_or_else(|| "its makers may have to name that package; npm 11 runs such scripts".into());
        let help = format!("if the agent does not start, {help}");
        examined.add(Diagnosis::warning("scripts", scripts.message(), help));
    }
}

fn interpreter(version: &Version, environment: &Environment, help: &str) -> Option<CheckProblem> {
    if version.has_lost_python() {
        return Some(("runtime", "the Python that it was installed with is gone".to_owned(), help.to_owned()));
    }
    let missing = version.find_start(|| environment.clone()).err()?;
    let recorded = version.receipt.interpreter.as_ref().and_then(recorded);
    let known = recorded.map(|known| format!(" any more: it was {known}")).unwrap_or_default();
    let message = format!("it needs {}, which is not in PATH{known}", quote(&missing));
    let help = if missing == "node" { NODE.to_owned() } else { format!("install {}", escape(&missing)) };
    Some(("runtime", message, help))
}

/// The interpreter that a receipt names, if it was there, with its version.
fn recorded(interpreter: &Interpreter) -> Option<String> {
    let version = interpreter.version.as_deref().map(|version| format!(" ({})", escape(version))).unwrap_or_default();
    Some(format!("{}{version}", printable(&interpreter.program.as_ref()?.display().to_string())))
}

fn damages(version: &Version, help: &str) -> Option<CheckProblem> {
    let damages = match version.damages() {
        Ok(damages) if damages.is_empty() => return None,
        Ok(damages) => damages,
        Err(error) => return Some(("files", describe(&error), help.to_owned())),
    };
    let describe = |damage: &Damage| match damage {
        Damage::Missing(path) => format!("{} is gone", quote(path)),
        Damage::Changed(path) => format!("{} has other content than was installed", quote(path)),
        Damage::Unreadable(path) => format!("{} cannot be read", quote(path)),
    };
    Some(("files", brief_list(damages.iter().map(describe), NAMED), help.to_owned()))
}

/// How the installed bytes were verified.
fn proof(version: &Version) -> &'static str {
    match version.receipt.proof.verified {
        DigestSource::Manifest => "its archive had the digest of the manifest",
        DigestSource::Github => "its archive had the digest that GitHub states",
        DigestSource::Lock => "it had the digests of a lock file",
        DigestSource::Npm => "its packages had the digests that were stated",
        DigestSource::Pypi => "uv has fetched it from the Python package index",
        DigestSource::None => "no digest of its archive was known",
    }
}

fn broken(name: &'static str, error: &Error, help: String) -> Diagnosis {
    let is_of_agent = matches!(error, Error::Damaged { .. } | Error::Foreign { .. });
    let help = if is_of_agent { Some(help) } else { error.remedy() };
    Diagnosis { name, status: CheckStatus::Error, message: describe(error), help }
}

fn describe(error: &Error) -> String {
    let text = match error {
        Error::Foreign { path, problem } => format!("{} {problem}", path.display()),
        error => error.to_string(),
    };
    printable(&text).into_owned()
}

/// Starts the agent, unless a check has found a reason why it cannot start, and adds the result.
///
/// The agent gets the variables of `environment` and of its manifest, and an empty home. Afterwards it is ended with
/// all processes that it has started. This takes as long as [`check()`], or twice as long when the agent dies by a
/// signal or does not answer: it is then started once more.
///
/// # Errors
/// [`SetupError`] when the directory for the handshake cannot be made.
pub async fn start(
    examined: &mut DiagnosedAgent,
    environment: &Environment,
    launcher: Option<&Path>,
    options: &HandshakeOptions,
) -> Result<(), SetupError> {
    let Some(version) = &examined.startable else {
        // A first installation is running, or was interrupted.
        let is_absent = examined.version.is_none() && examined.status != CheckStatus::Error;
        let (message, help) = if is_absent {
            (
                "it was not started: no version of it is installed yet",
                format!("run `acp-registry install {}`", examined.id),
            )
        } else {
            ("it was not started, because of the errors above", "repair that first".to_owned())
        };
        examined.add(Diagnosis::error("handshake", message, help));
        return Ok(());
    };
    let version = version.clone();
    match speak(&version, environment, launcher, options).await? {
        Ok(outcome) => {
            let mut check = explain(&outcome, &examined.id);
            examined.handshake = Some(outcome);
            if examined.may_miss_files() {
                // While the scripts are forbidden, a new installation would lack the same files.
                let of_scripts = version.receipt.remarks.scripts_not_run.remedy(&examined.id);
                check.help =
                    of_scripts.or_else(|| Some(format!("{} installs it again", version.receipt.repair_command())));
            }
            examined.add(check);
        }
        Err(problem) => {
            let help = "tell the maintainers of the registry";
            examined.add(Diagnosis::error("handshake", format!("it was not started: {problem}"), help));
        }
    }
    Ok(())
}

/// Starts an installed version as [`start`] does. The inner error says why it cannot be started, as a part of a
/// sentence. Printable.
///
/// # Errors
/// [`SetupError`] when the directory for the handshake cannot be made.
pub async fn speak(
    version: &Version,
    environment: &Environment,
    launcher: Option<&Path>,
    options: &HandshakeOptions,
) -> Result<Result<Outcome, String>, SetupError> {
    let start = match version.find_start(|| environment.clone()) {
        Ok(start) => start,
        Err(name) => return Ok(Err(format!("{} is not in PATH", quote(&name)))),
    };
    let mut environment = environment.clone();
    let variables = start.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    if let Err(error) = set_variables(&mut environment, variables) {
        return Ok(Err(error.to_string()));
    }
    environment.append_to_path(start.beside.into_iter().filter(|folder| is_safe_for_programs(folder)));
    let launch = LaunchSpec {
        program: start.program.into(),
        arguments: start.args.into_iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: launcher.map(Path::to_owned),
        namespace: None,
    };
    // As long as it runs, it is not removed.
    let mark = version.mark_used();
    let mut outcome = check(&launch, options).await?;
    if outcome.may_be_chance() {
        outcome = check(&launch, options).await?.after_failure();
    }
    if outcome.has_silence() {
        outcome = outcome.prefer_fewer_timeouts(check(&launch, &options.patient()).await?);
    }
    drop(mark);
    let interpreter = version.receipt.interpreter.as_ref();
    // Another one may have started it.
    let own = interpreter.filter(|interpreter| interpreter.program.as_ref().is_some_and(|own| *own == launch.program));
    if let Some(shortfall) = own.and_then(Interpreter::shortfall) {
        outcome.blame_runtime(&shortfall.to_string());
    }
    Ok(Ok(outcome))
}

/// Explains an outcome.
#[must_use]
pub fn explain(outcome: &Outcome, id: &str) -> Diagnosis {
    let Some(reason) = outcome.reason else { return passed(outcome, id) };
    let said = outcome.message.as_deref().map(printable).unwrap_or_default();
    let (what, help) = words(reason);
    let message = format!("{what}: {said}");
    let may_be_used = outcome.handshake.probes.get("session/new") == Some(Probe::Ok);
    match reason {
        // Registries require a way to sign in; an agent that has opened a session works without one.
        FailReason::NoAuthMethods | FailReason::NoSupportedAuthType if may_be_used => {
            Diagnosis::warning("handshake", message, "it opens a session all the same: nothing needs to be done")
        }
        _ => Diagnosis::error("handshake", message, help),
    }
}

fn passed(outcome: &Outcome, id: &str) -> Diagnosis {
    let login = format!("`acp-registry login {}`", escape(id));
    let handshake = &outcome.handshake;
    let named = handshake.agent_info.get("name").and_then(|name| name.as_str());
    let who = named.map_or_else(String::new, |name| format!(" as {}", quote(name)));
    let next = match handshake.probes.get("session/new") {
        Some(Probe::Ok) => "; it opens a session without signing in",
        Some(Probe::AuthRequired) => "; it wants you to sign in first, as it was started without your own settings",
        Some(_) if handshake.setup_required.is_some() => {
            let said = handshake.setup_required.as_deref().map(printable).unwrap_or_default();
            let help = format!(
                "do what the agent says; it was started with an empty home and without your keys, so that what you have set up \
                 already may be enough: {login} starts it with yours"
            );
            let message = format!("it answers{who}, but opens no session before it is set up: {said}");
            return Diagnosis::warning("handshake", message, help);
        }
        Some(_) => {
            let said = handshake.probes.refusal().map(printable).unwrap_or_default();
            let help = format!(
                "it was started with an empty home and without your keys, which may be why: {login} starts it with yours; what it \
                 wrote to stderr may say more"
            );
            let message = format!("it answers{who}, but opens no session: {said}");
            return Diagnosis::warning("handshake", message, help);
        }
        None => "",
    };
    let again = if outcome.is_flaky { ", but only when it was started again" } else { "" };
    Diagnosis::ok("handshake", format!("it answers{who}{again}{next}"))
}

/// What has happened, and what helps.
fn words(reason: FailReason) -> (&'static str, &'static str) {
    match reason {
        FailReason::NoAuthMethods => (
            "it starts and answers, but names no way to sign in",
            "look into its own documentation for how to sign in, or update it",
        ),
        FailReason::NoSupportedAuthType => (
            "it starts and answers, but names only ways to sign in that editors cannot offer",
            "look into its own documentation: it may want a variable with a key to be set",
        ),
        FailReason::Timeout => (
            "it was started, but did not answer in time",
            "try again with a longer --timeout; if it waits for the network, see whether the network is there",
        ),
        FailReason::MachineBusy => {
            ("it was started, but the machine was too busy for it to answer", "try again when less runs on it")
        }
        FailReason::Exited => ("it was started, but ended at once", "update it"),
        FailReason::InvalidResponse => (
            "it was started, but what it wrote is not the answer of an ACP agent",
            "see with `acp-registry which` whether its arguments start it as one, and update it",
        ),
        FailReason::AgentError => (
            "it was started, but answered with an error",
            "what it wrote to stderr may say why; update it, or tell its makers",
        ),
        FailReason::ProtocolVersion => ("it speaks a version of the protocol that editors do not", "update it"),
        FailReason::Examination => ("it starts and answers, but does not keep to the protocol", "update it"),
        FailReason::ReadsSecrets => {
            ("it opens files with credentials that it has no use for", "uninstall it, and tell its makers")
        }
        FailReason::RuntimeTooOld => (
            "it did not answer, and asks for another version of what starts it",
            "put a newer Node.js first in PATH: the next start uses it",
        ),
        FailReason::SpawnFailed => (
            "the system cannot start it",
            "the program may be for another system or lack a library; if the agent has a package, install that with \
             --dist npx or --dist uvx",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_place_for_agents_is_written_to_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let look = |path: &str| look_at_root(&Store::at(folder.path().join(path)).unwrap());
        assert_eq!(look("").status, CheckStatus::Ok);
        let check = look("new/place");
        assert_eq!(check.status, CheckStatus::Ok);
        assert!(check.message.ends_with("the first installation creates it"), "{}", check.message);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(cannot_be_written(folder.path()).is_none());
        let check = cannot_be_written(&folder.path().join("none")).unwrap();
        let shown = folder.path().join("none").display().to_string();
        assert!(
            check.message.starts_with(&format!("temporary files cannot be made in {shown}: ")),
            "{}",
            check.message
        );
        assert_eq!(check.message.matches(&shown).count(), 1, "{}", check.message);
        let check = look("file/place");
        assert_eq!(check.status, CheckStatus::Error);
        // To Windows, what is below a file is not there.
        let verb = if cfg!(windows) { "installed" } else { "read" };
        assert!(check.message.starts_with(&format!("agents cannot be {verb} in ")), "{}", check.message);
    }
}
