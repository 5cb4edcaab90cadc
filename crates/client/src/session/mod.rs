//! USE: the entry point of programs that use agents: open an index, choose an agent, install it, start it.
//!
//! * [`Session`]: an index and a directory of installed agents
//! * [`SessionOptions`]: which ones, and what may be sent and kept
//! * [`AgentSpec`]: an agent as a person names it: `gemini`, `gemini@0.61.0`, `gemini@latest`
//!
//! The safety checks hold for every caller: an agent is started only if it is unchanged since its installation and in a
//! directory that other people cannot change, and a manifest sets no variable that decides what runs.

mod install;
mod revocation;
mod sandbox;

use acp_registry_plan::failure::{Code, Failure};
use std::collections::{BTreeMap, BTreeSet};
use std::env::split_paths;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use acp_registry_host::fs::PathError;
use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::Environment;
use acp_registry_host::sandbox::SandboxError;
use acp_registry_host::start::{Program, spawn};
use acp_registry_http::{AllowedHosts, Authorities, Cache, Client, Problem, Proxies, Settings};
use acp_registry_plan::closure::Closures;
use acp_registry_plan::manifest::{self, Platform, env_name};
use acp_registry_plan::text::quote;
use acp_registry_plan::versions::Versions;
use acp_registry_protocol::handshake::SetupError;
use acp_registry_sources::github::Github;
use acp_registry_sources::{
    ConnectError, Connection, Needs, Registries, Surroundings, ask_package_manager, left_to_npm, npm_authorities,
    npm_variables, uv_variables,
};
use futures_util::FutureExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::index::minisign::PublicKey;
use crate::index::{self, Copies, EntryError, Facts, Index, IndexLocation, IndexReader, Loaded, Missing, Trust};
use crate::install::{
    Installer, Kind, NpmConnection, PackageCache, Start, host_environment, path_environment, variable,
};
use crate::provenance;
use crate::resolve::{self, Host};
pub use crate::resolve::{AgentSpec, WrongName};
use crate::store::{self, Store, Version, repair_command};

use revocation::RevocationsByPlace;

pub use install::{InstallEvent, InstallRequest, Liveness, PATIENCE, Terms};
pub use sandbox::{Confined, Permissions};

/// An index and a directory of installed agents. Connections and questions to package managers wait until they are needed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// The installed agents.
    pub store: Store,
    options: SessionOptions,
    connection: OnceLock<(Arc<Client>, Result<Github, &'static str>)>,
    /// The connection to the registry of npm; `None` where it is not known.
    npm: Arc<OnceLock<Option<Arc<Connection>>>>,
    revocations: Mutex<RevocationsByPlace>,
    /// The versions that the index has had, by agent.
    versions: Mutex<BTreeMap<String, Versions>>,
}

impl Session {
    /// Opens a session. Nothing is read, written or sent yet.
    ///
    /// # Errors
    /// [`PathError`] when the directory of agents is relative, and the working directory is unknown.
    pub fn open(options: SessionOptions) -> Result<Self, PathError> {
        let mut store = Store::at(&options.root)?;
        store.patience = options.patience;
        store.trusts_others = options.trusts_others;
        store.revocations = options.index.revocations();
        Ok(Self {
            store,
            options,
            connection: OnceLock::new(),
            npm: Arc::default(),
            revocations: Mutex::default(),
            versions: Mutex::default(),
        })
    }

    /// What the session was opened with.
    #[must_use]
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Reads the index, from its host or from a copy of an earlier run.
    ///
    /// # Errors
    /// [`index::Error`].
    pub async fn index(&self) -> Result<Loaded, index::Error> {
        self.reader().load().await
    }

    /// Reads what the registry publishes of its agents beside the index; `None` where there is nothing.
    pub async fn facts(&self) -> Option<Facts> {
        self.reader().load_facts().await
    }

    /// Reads an index that has these agents. If the tree of the index offers entries one by one, the others are not
    /// fetched, except to suggest their ids in place of one that the index lacks.
    ///
    /// # Errors
    /// [`index::Error`].
    pub async fn load_index(&self, ids: &[&str]) -> Result<Loaded, index::Error> {
        let mut some = self.load_entries(ids).await?;
        if some.is_whole || ids.iter().all(|id| some.index.entries().any(|entry| entry.id == **id)) {
            return Ok(some);
        }
        match self.index().await {
            Ok(whole) if whole.index.sha256() == some.index.sha256() => Ok(whole),
            whole => {
                // An index of another publication may be older than the entries that prove an agent to be absent.
                if let Ok(whole) = whole {
                    some.index.suggest(&whole.index);
                }
                Ok(some)
            }
        }
    }

    /// Like [`Session::load_index`], but the result may lack other agents even if it lacks one of these.
    ///
    /// # Errors
    /// [`index::Error`].
    pub async fn load_entries(&self, ids: &[&str]) -> Result<Loaded, index::Error> {
        self.reader().load_some(ids).await
    }

    /// Learns the versions that the index has had of an agent, if the registry publishes them. Later plans for a named
    /// version of it know them.
    ///
    /// # Errors
    /// [`index::Error::Trust`] when the registry is not what it has signed.
    pub async fn learn_versions(&self, id: &str) -> Result<Versions, index::Error> {
        let known = || self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(versions) = known().get(id) {
            return Ok(versions.clone());
        }
        let versions = self.reader().load_versions(id).await?;
        let versions = versions.unwrap_or_else(|| Versions::new(id, Vec::new()));
        known().insert(id.to_owned(), versions.clone());
        Ok(versions)
    }

    /// The closures that the registry publishes of an agent.
    async fn load_closures(&self, id: &str) -> Result<Option<Closures>, index::Error> {
        if let Some(mut closures) = index::closures_in_checkout(&self.options.index, id)? {
            if let Some(npx) = &mut closures.npx {
                npx.allow_scripts = Some(self.options.approved_scripts.get(id).cloned().unwrap_or_default());
            }
            return Ok(Some(closures));
        }
        self.reader().load_closures(id).await
    }

    /// What [`Session::learn_versions`] has learnt.
    pub(crate) fn known_versions(&self, id: &str) -> Option<Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The last copy of an agent's entry or of the index, if there is one; nothing is sent.
    #[must_use]
    pub fn entry_at_hand(&self, id: &str) -> Option<Index> {
        let reader = IndexReader::offline(&self.options.index, self.load_options());
        // Without a request, the future is ready at its first poll.
        reader.load_some(&[id]).now_or_never()?.ok().map(|loaded| loaded.index)
    }

    /// The last copy of the index, if there is one; nothing is sent.
    #[must_use]
    pub fn index_at_hand(&self) -> Option<Index> {
        let reader = IndexReader::offline(&self.options.index, self.load_options());
        reader.load().now_or_never()?.ok().map(|loaded| loaded.index)
    }

    /// The variables that package managers and agents may see. `PATH` has also the directories that a start without a shell
    /// lacks.
    #[must_use]
    pub fn environment(&self) -> Environment {
        host_environment(self.options.variables.as_slice(), [])
    }

    /// What this machine can run.
    #[must_use]
    pub fn host(&self) -> Host {
        resolve::host(&self.environment())
    }

    /// The GitHub that states digests of archives.
    ///
    /// # Errors
    /// [`ConnectError`] when a variable about it is wrong, or there is no HTTP client.
    pub(crate) fn github(&self) -> Result<Github, ConnectError> {
        self.connect()?.1.map_err(ConnectError::Github)
    }

    /// What installs agents for this platform. It does not ask GitHub.
    ///
    /// # Errors
    /// [`Problem`] when there is no HTTP client, because of a wrong proxy for example.
    pub fn installer(&self, platform: Option<Platform>) -> Result<Installer, Problem> {
        let (client, _) = self.connect()?;
        let variable = |name: &str| self.options.variable(name);
        let environment = self.environment();
        let path = environment.path().map(|(_, value)| value.to_owned());
        let run = |program: &str, arguments: &[&str]| ask_package_manager(path.as_deref(), program, arguments);
        let names = || self.options.variables.names();
        let surroundings = Surroundings { variable: &variable, names: &names, run: &run };
        let new = Installer::new(client, environment);
        let cache = self.options.cache.as_deref().filter(|_| self.options.keeps_packages);
        let npm_connection = match left_to_npm(&surroundings) {
            Some(setting) => {
                tracing::debug!("npm fetches packages: it has the setting {setting}");
                Err(format!("npm has the setting {}, which only it obeys", quote(&setting)))
            }
            None => Ok(self.npm_connection()),
        };
        Ok(Installer {
            npm_connection,
            is_offline: self.options.is_offline,
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            platform,
            launcher: self.options.launcher.clone(),
            packages: cache.map(PackageCache::at),
            allow_build: self.options.allow_build,
            vouches: true,
            timeout: self.options.install_timeout.unwrap_or(new.timeout),
            ..new
        })
    }

    /// A connection to the registry of npm, made once when it is needed.
    fn npm_connection(&self) -> NpmConnection {
        let (options, made) = (self.options.clone(), self.npm.clone());
        NpmConnection::new(move || {
            let needs = Needs { npm: true, pypi: false };
            let connect = || {
                let made = options.connect_to_sources(needs);
                made.inspect_err(|error| tracing::debug!("npm fetches packages: {error}")).ok().map(Arc::new)
            };
            made.get_or_init(connect).clone().filter(|_| !options.is_offline)
        })
    }

    fn reader(&self) -> IndexReader<'_> {
        let client = || self.connect().map(|(client, _)| client);
        IndexReader { place: &self.options.index, options: self.load_options(), client: Box::new(client) }
    }

    fn load_options(&self) -> index::LoadOptions {
        let SessionOptions { is_offline, refresh, signer, .. } = self.options;
        let copies = self.options.cache.as_deref().map(Copies::below);
        let trust = Trust::at(&self.store.root().join("trust"), signer);
        index::LoadOptions { copies, is_offline, refresh, trust: Some(trust) }
    }

    fn connect(&self) -> Result<(Arc<Client>, Result<Github, &'static str>), Problem> {
        if let Some((client, github)) = self.connection.get() {
            return Ok((client.clone(), github.clone()));
        }
        let variable = |name: &str| self.options.variable(name);
        let mut settings = Settings {
            allowed: self.options.allowed_hosts.clone(),
            proxies: Proxies::new(&variable),
            authorities: Authorities::named(&variable)?,
            ..Settings::default()
        };
        let github = Github::configured(&variable, &mut settings.credentials);
        if let Ok(github) = &github {
            settings.sources.add(&github.api);
        }
        if let IndexLocation::Url(index) = &self.options.index {
            settings.credentials.add_user_info(index);
        }
        let client = Arc::new(Client::new(settings));
        Ok(self.connection.get_or_init(|| (client, github)).clone())
    }
}

/// Why an agent was not chosen, installed or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// An entry of the index cannot be read.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The index has no such agent that can be used.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no plan for the agent.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// It cannot be installed, or what is installed cannot be used.
    #[error(transparent)]
    Store(Box<store::Error>),
    /// There is no HTTP client.
    #[error(transparent)]
    Client(#[from] Problem),
    /// The package registries or GitHub cannot be asked.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It cannot be checked who has built it.
    #[error(transparent)]
    Provenance(Box<provenance::Error>),
    /// A request is needed, and the session is offline.
    #[error("{id} {version} {problem}, and {work} it needs the network")]
    Offline {
        /// The agent.
        id: String,
        /// Its version.
        version: String,
        /// What is wrong with it, as `is not installed`.
        problem: &'static str,
        /// What would be done: `installing` or `repairing`.
        work: &'static str,
    },
    /// A package manager installs for its own platform only.
    #[error(
        "{id}: a distribution by {kind} can only be installed on the platform that it is for: package managers choose by the machine they run on"
    )]
    OtherPlatform {
        /// The agent.
        id: String,
        /// The kind of distribution.
        kind: &'static str,
    },
    /// The registry has recalled the version.
    #[error("{id} {version} {why}")]
    Revoked {
        /// The agent.
        id: String,
        /// Its version.
        version: String,
        /// What the registry says, as `has been revoked since 2026-01-31: REASON`.
        why: String,
        /// The version that the registry has instead, if it is known and fine.
        instead: Option<String>,
        /// Whether it is installed.
        is_installed: bool,
    },
    /// The program is not what was installed.
    #[error("{} is damaged: {program} is not what was installed", quote(id))]
    Damaged {
        /// The agent.
        id: String,
        /// Its program.
        program: String,
    },
    /// The interpreter that starts the agent is gone.
    #[error("{id} needs {name}, which is not in PATH{}", if *was_there { " any more" } else { "" })]
    LostInterpreter {
        /// The agent.
        id: String,
        /// The interpreter.
        name: String,
        /// Whether it was there when the agent was installed.
        was_there: bool,
    },
    /// The operating system has not started the agent.
    #[error("{} cannot be started: {program}: {error}", quote(id))]
    Start {
        /// The agent.
        id: String,
        /// Its program, ready to be shown.
        program: String,
        /// What the system says.
        error: io::Error,
    },
    /// The agent cannot be confined.
    #[error("{} cannot be started in a sandbox: {error}", quote(id))]
    Sandbox {
        /// The agent.
        id: String,
        /// Why not.
        error: SandboxError,
    },
    /// The directory for the handshake cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A directory cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl From<provenance::Error> for Error {
    fn from(error: provenance::Error) -> Self {
        Self::Provenance(Box::new(error))
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}

impl Session {
    /// The installed version that is named; if no version is named, the current one. `None` for `ID@latest`, which only
    /// the index knows.
    ///
    /// # Errors
    /// [`Error::Store`] when that cannot be seen.
    pub fn find_version(&self, named: &AgentSpec, kind: Option<Kind>) -> Result<Option<Version>, Error> {
        if named.is_latest {
            return Ok(None);
        }
        let current = self.store.agent(&named.id)?.map(|agent| agent.current);
        let Some(wanted) = &named.version else { return Ok(current) };
        // Two versions that differ in their build metadata count as one, but not where one of them is named.
        let build = |version: &str| version.split_once('+').map(|(_, build)| build.to_owned());
        let fits = |version: &Version| {
            manifest::Version::is_same(&version.receipt.version, wanted)
                && build(&version.receipt.version) == build(wanted)
                && kind.is_none_or(|kind| version.receipt.source.kind() == kind)
        };
        Ok(current.into_iter().chain(self.store.versions(&named.id)?).find(fits))
    }

    /// Refuses a version that the registry has revoked, as far as this machine knows, that is not what was installed, or that
    /// other people could change.
    ///
    /// # Errors
    /// [`Error::Revoked`], [`Error::Damaged`], [`Error::Store`].
    pub fn refuse_unfit(&self, version: &Version) -> Result<(), Error> {
        self.refuse_revoked_installed(version)?;
        if !version.is_whole() {
            let program = version.program().display().to_string();
            return Err(Error::Damaged { id: version.receipt.id.to_string(), program });
        }
        Ok(self.store.vouch_for(version)?)
    }
}

/// A running agent, which is ended when this is dropped. As long as it runs, its version is not removed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Running {
    /// The process. Its stderr is that of this program.
    pub child: Child,
    /// Where the client writes messages of the protocol, one on each line.
    pub stdin: ChildStdin,
    /// Where the client reads messages of the agent.
    pub stdout: ChildStdout,
    _mark: Option<File>,
}

impl Session {
    /// How a version is started.
    ///
    /// # Errors
    /// [`Error::LostInterpreter`].
    pub fn find_start(&self, version: &Version) -> Result<Start, Error> {
        version.find_start(|| self.environment()).map_err(|name| Error::LostInterpreter {
            id: version.receipt.id.to_string(),
            name,
            was_there: version.receipt.had_interpreter(),
        })
    }

    /// The variables that an agent gets besides those of the person: `PATH`, with more directories at its end, and those of
    /// its manifest, except for variables that the person has set.
    #[must_use]
    pub fn variables(&self, start: &Start) -> Vec<(OsString, OsString)> {
        let is_set = |name: &str| self.options.variables.get(name).is_some();
        let is_free =
            |(name, value): &&(String, String)| !is_set(name) && env_name::problem_with_value(name, value).is_none();
        let own = start.env.iter().filter(is_free).map(|(name, value)| (name.into(), value.into()));
        let environment = self.start_environment(start);
        let path = environment.path().map(|(name, value)| (name.to_owned(), value.to_owned()));
        path.into_iter().chain(own).collect()
    }

    /// The directories that [`Session::variables`] appends to `PATH`.
    #[must_use]
    pub(crate) fn more_path(&self, start: &Start) -> Vec<PathBuf> {
        let parts = |path: &OsStr| split_paths(path).collect::<Vec<_>>();
        let known = self.options.variables.get("PATH").map(parts).unwrap_or_default().len();
        self.start_environment(start).path().map(|(_, path)| parts(path).split_off(known)).unwrap_or_default()
    }

    fn start_environment(&self, start: &Start) -> Environment {
        let trusts = self.options.trusts_others;
        let beside = start.beside.iter().filter(|folder| trusts || is_safe_for_programs(folder)).cloned();
        path_environment(self.options.variables.as_slice(), beside)
    }

    /// Starts a version for a client that speaks the protocol. The agent runs as the person, with the environment and
    /// in the working directory of this program.
    ///
    /// # Errors
    /// [`Error`] when it has changed since its installation, other people could change it, or the system does
    /// not start it.
    pub fn start(&self, version: &Version) -> Result<Running, Error> {
        let mark = version.mark_used();
        self.refuse_unfit(version)?;
        let start = self.find_start(version)?;
        let program = Program {
            path: start.program.clone(),
            variables: self.variables(&start),
            arguments: start.args.iter().map(OsString::from).collect(),
            hidden: Vec::new(),
            keep_open: None,
        };
        let failed = |error| {
            let program = quote(&start.program.display().to_string());
            Error::Start { id: version.receipt.id.to_string(), program, error }
        };
        let mut child = spawn(program).map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        Ok(Running { child, stdin, stdout, _mark: mark })
    }
}

/// Environment variables. Their values may be secrets, and are not shown.
#[derive(Clone)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        variable(&self.0, name)
    }

    fn as_slice(&self) -> &[(OsString, OsString)] {
        &self.0
    }

    /// The names that are Unicode.
    fn names(&self) -> Vec<String> {
        self.iter().filter_map(|(name, _)| name.to_str().map(ToOwned::to_owned)).collect()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        self.0.iter()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// What a session works with.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches that a caller sets by name")]
#[non_exhaustive]
pub struct SessionOptions {
    /// Where the index is: by default, that of the public registry.
    pub index: IndexLocation,
    /// The directory of installed agents.
    pub root: PathBuf,
    /// The directory for copies of indexes, and for what npm and uv have fetched. Without it, nothing is kept for later
    /// sessions.
    pub cache: Option<PathBuf>,
    /// Why there is no such directory, for a warning when the index is read.
    pub cache_problem: Option<String>,
    /// The environment variables of the person: `PATH`, proxies, the configuration of npm and uv. Agents and package managers
    /// see only those of them that hold no secrets.
    pub variables: Variables,
    /// Whether requests are forbidden.
    pub is_offline: bool,
    /// Whether the host of the index is asked although the copy is fresh.
    pub refresh: bool,
    /// Whether agents are started although other people could change them.
    pub trusts_others: bool,
    /// How long to wait for another process that changes the same agent: by default, 5 minutes.
    pub patience: Duration,
    /// The platform to install for: by default, this machine's.
    pub platform: Option<Platform>,
    /// Hosts that need neither https nor a public address, such as a mirror.
    pub allowed_hosts: AllowedHosts,
    /// Whether what npm and uv fetch is kept in the cache: by default, it is.
    pub keeps_packages: bool,
    /// Whether uv may build Python packages from source, which runs their code: by default, it may not.
    pub allow_build: bool,
    /// The ids of agents for which it may, whatever `allow_build` says.
    pub builders: BTreeSet<String>,
    /// The install scripts of dependencies that an index that is a checkout has approved, by agent; a published tree says so itself.
    pub approved_scripts: BTreeMap<String, Vec<String>>,
    /// The key that must have signed what the registry publishes, or an earlier publication: by default, the key that this
    /// machine has seen first, if the registry signs.
    pub signer: Option<PublicKey>,
    /// Versions that are installed and started although the registry has revoked them, each named with its agent.
    pub allowed_revoked: Vec<AgentSpec>,
    /// How long the installation of an agent may take: by default, 30 minutes.
    pub install_timeout: Option<Duration>,
    /// The `acp-registry` executable. On Linux, it sets memory and file limits for package managers, and for agents that are
    /// asked whether they answer; without it, they have none.
    pub launcher: Option<PathBuf>,
}

impl SessionOptions {
    /// The public index, and agents in this directory. `std::env::vars_os()` is usual for the variables.
    pub fn new(root: impl AsRef<Path>, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            index: IndexLocation::default(),
            root: root.as_ref().to_owned(),
            cache: None,
            cache_problem: None,
            variables: Variables(variables.into_iter().collect()),
            is_offline: false,
            refresh: false,
            trusts_others: false,
            patience: store::PATIENCE,
            platform: None,
            allowed_hosts: AllowedHosts::default(),
            keeps_packages: true,
            allow_build: false,
            builders: BTreeSet::new(),
            approved_scripts: BTreeMap::new(),
            signer: None,
            allowed_revoked: Vec::new(),
            install_timeout: None,
            launcher: None,
        }
    }

    /// Finds the package registries, and connects to them.
    pub(crate) fn connect_to_sources(&self, needs: Needs) -> Result<Connection, ConnectError> {
        let variable = |name: &str| self.variable(name);
        let environment = path_environment(self.variables.as_slice(), []);
        let path = environment.path().map(|(_, value)| value.to_owned());
        let run = |program: &str, arguments: &[&str]| ask_package_manager(path.as_deref(), program, arguments);
        let names = || self.variables.names();
        let surroundings = Surroundings { variable: &variable, names: &names, run: &run };
        let authorities = match npm_authorities(&surroundings) {
            Some(file) if needs.npm && !needs.pypi => Some(Authorities::in_file("npm's setting `cafile`", file)?),
            _ => Authorities::named(&variable)?,
        };
        let settings = Settings {
            allowed: self.allowed_hosts.clone(),
            proxies: Proxies::new(&variable),
            authorities,
            // Without it, answers are not kept.
            cache: self.cache.as_deref().and_then(|directory| Cache::open(directory, Cache::LIMIT).ok()),
            ..Settings::default()
        };
        Connection::open(&surroundings, needs, settings)
    }

    /// The value of a variable, if it is Unicode.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name)?.to_str().map(ToOwned::to_owned)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Index(error) => error.into(),
            Error::Entry(error) => error.into(),
            Error::Resolve(error) => error.into(),
            Error::Store(error) => (*error).into(),
            Error::Client(error) => error.into(),
            Error::Connect(error) => error.into(),
            Error::Provenance(error) => (*error).into(),
            Error::Setup(error) => error.into(),
            Error::Path(error) => error.into(),
            Error::Missing(error) => error.into(),
            Error::Offline { .. } => {
                let help = "run it again without --offline";
                Self::unable(format!("{message} (--offline)")).code(Code::Offline).help(help)
            }
            Error::OtherPlatform { .. } => Self::usage(message).code(Code::UnsupportedPlatform),
            Error::Damaged { id, .. } => {
                Self::unable(message).code(Code::Damaged).help(format!("{} repairs it", repair_command(&id)))
            }
            Error::Revoked { id, version, instead, is_installed, .. } => {
                let help = match instead {
                    Some(instead) => format!("run `acp-registry install {id}@latest`, which installs {instead}"),
                    None if is_installed => format!("run `acp-registry update {id}`, which asks for a good version"),
                    None => format!("if you trust it all the same, add `--allow-revoked {id}@{version}`"),
                };
                Self::refused(message).code(Code::Revoked).help(help)
            }
            Error::Sandbox { error: SandboxError::Home(_), .. } => {
                Self::refused(message).help("start it in the directory of a project")
            }
            Error::Sandbox { error: SandboxError::Link(_), .. } => {
                Self::refused(message).help("put the directory itself in its place")
            }
            Error::Sandbox { error: SandboxError::Network(_), .. } => {
                Self::refused(message).help("leave out --network none, or name a sandbox of this system with --wrap")
            }
            Error::Sandbox { error: SandboxError::Unsupported(_), .. } => {
                Self::refused(message).help("name a sandbox of this system with --wrap")
            }
            Error::Sandbox { error: SandboxError::Own(error), .. } => {
                Self::unable(message).help_if(store::Error::from(error).remedy())
            }
            Error::Sandbox { .. } => Self::refused(message),
            Error::LostInterpreter { name, .. } => {
                let help = if name == "node" { resolve::NODE.to_owned() } else { format!("install {name}") };
                Self::unable(message).code(Code::MissingRuntime).help(help)
            }
            _ => Self::unable(message),
        }
    }
}
