//! Creates a [`Verifier`] from the machine's settings and the request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{AgentLock, Networks, Sources, Verifier};
use acp_registry_archive::Limits;
use acp_registry_client::install::{Installer, PackageCache};
use acp_registry_examine::examination::Demand;
use acp_registry_host::process::{Environment, Isolation};
use acp_registry_http::Client;
use acp_registry_protocol::handshake::HandshakeOptions;
use acp_registry_sources::{Registries, Surroundings, npm_variables, uv_variables};

/// Default timeout of an installation.
pub const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// Maximum of the default for concurrent agents. More of them slow each other down.
const JOBS: usize = 4;

/// Settings of this machine.
pub struct Machine<'a> {
    /// The environment variables of agents and package managers.
    pub environment: Environment,
    /// Directory for temporary directories.
    pub temporary: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The `acp-registry` executable, which starts programs under limits.
    pub launcher: Option<PathBuf>,
    /// Configuration of package managers.
    pub surroundings: Surroundings<'a>,
    /// The cache directories of npm and uv, if they are to use any.
    pub packages: Option<PackageCache>,
    /// The HTTP client for archives.
    pub client: Client,
}

/// How agents are installed and started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The isolation between agents.
    pub isolation: Isolation,
    /// Timeout of the answer to `initialize`; `None` for the default.
    pub timeout: Option<Duration>,
    /// Timeout of an installation; `None` for 5 minutes.
    pub install_timeout: Option<Duration>,
    /// Limits for archives.
    pub limits: Limits,
    /// Whether to send requests after `initialize`.
    pub probes: bool,
    /// How far agents are examined after the handshake.
    pub demand: Demand,
    /// The networks of agents that are examined.
    pub networks: Networks,
    /// Whether uv may build packages from source, which runs code of these packages.
    pub allow_build: bool,
    /// The ids of agents for which it may, whatever `allow_build` says.
    pub builders: BTreeSet<String>,
    /// The install scripts of dependencies that the registry has approved, by agent.
    pub approved_scripts: BTreeMap<String, Vec<String>>,
}

impl Verifier {
    /// Creates a verifier for agents of this machine's platform.
    pub fn new(machine: Machine<'_>, options: StartOptions) -> Self {
        let Machine { environment, temporary, home, launcher, surroundings, packages, client } = machine;
        // Installed programs are started by absolute path.
        let temporary = temporary.canonicalize().unwrap_or(temporary);
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        let mut handshake = HandshakeOptions::new(temporary);
        handshake.timeout = options.timeout.unwrap_or(handshake.timeout);
        handshake.probe = handshake.probe.filter(|_| options.probes);
        let installer = Installer {
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            limits: options.limits,
            timeout: options.install_timeout.unwrap_or(INSTALL_TIMEOUT),
            launcher,
            packages,
            allow_build: options.allow_build,
            // npx asks for permission.
            vouches: false,
            ..Installer::new(Arc::new(client), environment.clone())
        };
        let (sources, turns) = (Sources::default(), AgentLock::default());
        let StartOptions { isolation, demand, networks, builders, approved_scripts, .. } = options;
        Self {
            installer,
            builders,
            approved_scripts,
            environment,
            isolation,
            home,
            handshake,
            demand,
            networks,
            keep: None,
            sources,
            turns,
        }
    }
}

/// Default number of concurrent agents: the number of CPU cores, at most 4.
pub fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(JOBS)
}
