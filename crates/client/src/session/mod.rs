//! USE: the entry point of programs that use agents: open an index, choose an agent, install it, start it.
//!
//! * [`Session`]: an index and a directory of installed agents
//! * [`SessionOptions`]: which ones, and what may be sent and kept
//! * [`AgentSpec`]: an agent as a person names it: `gemini`, `gemini@0.61.0`, `gemini@latest`
//!
//! The safety checks hold for every caller: an agent is started only if it is unchanged since its installation and in a
//! directory that other people cannot change, and a manifest sets no variable that decides what runs.

mod error;
mod find;
mod install;
mod launch;
mod options;
mod plan;

pub use crate::resolve::{AgentSpec, WrongName};
pub use error::Error;
pub use find::is_same;
pub use install::{InstallEvent, InstallRequest, Liveness, PATIENCE};
pub use launch::{Running, may_set};
pub use options::{SessionOptions, Variables};

use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;

use crate::index::{self, Copies, Index, Loaded};
use crate::install::{Installer, PackageCache, host_environment};
use crate::resolve::{self, Host};
use crate::store::Store;
use acp_registry_host::fs::PathError;
use acp_registry_host::process::Environment;
use acp_registry_http::{Authorities, Client, Problem, Proxies, Settings};
use acp_registry_plan::manifest::Platform;
use acp_registry_sources::github::Github;
use acp_registry_sources::{Registries, Surroundings, ask_package_manager, npm_variables, uv_variables};

/// An index and a directory of installed agents. Connections and questions to package managers wait until they are needed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// The installed agents.
    pub store: Store,
    options: SessionOptions,
    connection: OnceLock<(Arc<Client>, Github)>,
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
        Ok(Self { store, options, connection: OnceLock::new() })
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
        let SessionOptions { is_offline, refresh, .. } = self.options;
        let options = index::LoadOptions { copies: self.copies(), is_offline, refresh };
        index::load(&self.options.index, &options, || self.connect().map(|(client, _)| client)).await
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
        let SessionOptions { is_offline, refresh, .. } = self.options;
        let options = index::LoadOptions { copies: self.copies(), is_offline, refresh };
        index::load_some(&self.options.index, ids, &options, || self.connect().map(|(client, _)| client)).await
    }

    /// The last copy of an agent's entry or of the index, if there is one; nothing is sent.
    #[must_use]
    pub fn entry_at_hand(&self, id: &str) -> Option<Index> {
        let options = index::LoadOptions { copies: self.copies(), is_offline: true, refresh: false };
        let no_client = || Err(Problem::Refused("nothing may be sent"));
        index::load_some(&self.options.index, &[id], &options, no_client)
            .now_or_never()?
            .ok()
            .map(|loaded| loaded.index)
    }

    /// The last copy of the index, if there is one; nothing is sent.
    #[must_use]
    pub fn index_at_hand(&self) -> Option<Index> {
        let options = index::LoadOptions { copies: self.copies(), is_offline: true, refresh: false };
        let no_client = || Err(Problem::Refused("nothing may be sent"));
        // Without a request, the future is ready at its first poll.
        index::load(&self.options.index, &options, no_client).now_or_never()?.ok().map(|loaded| loaded.index)
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

    /// What installs agents for this platform.
    ///
    /// # Errors
    /// [`Problem`] when there is no HTTP client, because of a wrong proxy for example.
    pub fn installer(&self, platform: Option<Platform>) -> Result<Installer, Problem> {
        let (client, github) = self.connect()?;
        let variable = |name: &str| self.options.variable(name);
        let environment = self.environment();
        let path = environment.path().map(|(_, value)| value.to_owned());
        let run = |program: &str, arguments: &[&str]| ask_package_manager(path.as_deref(), program, arguments);
        let surroundings = Surroundings { variable: &variable, run: &run };
        let new = Installer::new(client, environment);
        let cache = self.options.cache.as_deref().filter(|_| self.options.keeps_packages);
        Ok(Installer {
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            github: Some(github),
            platform,
            launcher: self.options.launcher.clone(),
            packages: cache.map(PackageCache::at),
            allow_build: self.options.allow_build,
            vouches: true,
            timeout: self.options.install_timeout.unwrap_or(new.timeout),
            ..new
        })
    }

    fn copies(&self) -> Option<Copies> {
        self.options.cache.as_deref().map(Copies::below)
    }

    fn connect(&self) -> Result<(Arc<Client>, Github), Problem> {
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
        let github = Github::configured(&variable, &mut settings.credentials)
            .map_err(|problem| Problem::Variable(problem.to_owned()))?;
        settings.sources.add(&github.api);
        if let index::IndexLocation::Url(index) = &self.options.index {
            settings.credentials.add_user_info(index);
        }
        let client = Arc::new(Client::new(settings)?);
        Ok(self.connection.get_or_init(|| (client, github)).clone())
    }
}
