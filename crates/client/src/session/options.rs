use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::index::IndexLocation;
use acp_registry_http::AllowedHosts;
use acp_registry_plan::manifest::Platform;

/// Environment variables. Their values may be secrets, and are not shown.
#[derive(Clone)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        // On Windows, the case of names does not matter.
        let is_named = |known: &OsString| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name };
        self.iter().find(|(known, _)| is_named(known)).map(|(_, value)| value.as_os_str())
    }

    pub(super) fn as_slice(&self) -> &[(OsString, OsString)] {
        &self.0
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
            variables: Variables(variables.into_iter().collect()),
            is_offline: false,
            refresh: false,
            trusts_others: false,
            patience: Duration::from_mins(5),
            platform: None,
            allowed_hosts: AllowedHosts::default(),
            keeps_packages: true,
            allow_build: false,
            builders: BTreeSet::new(),
            install_timeout: None,
            launcher: None,
        }
    }

    /// The value of a variable, if it is Unicode.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name)?.to_str().map(ToOwned::to_owned)
    }
}
