//! A verifier from what is known of a machine, and from what is wanted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Sources, Turns, Verifier};
use acp_registry_client::install::{Installer, PackageCache};
use acp_registry_core::archive::Limits;
use acp_registry_core::manifest::Platform;
use acp_registry_core::net::Client;
use acp_registry_core::sys::process::{Environment, Isolation};
use acp_registry_core::upstream::{Registries, Surroundings, npm_variables, uv_variables};
use acp_registry_protocol::handshake::Options;

/// How long an installation may take, unless something else is wanted.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// How many agents are started at once by default: more than this only slow each other down.
const JOBS: usize = 4;

/// What a verifier needs to know of this machine.
pub struct Machine<'a> {
    /// What agents and package managers may see of the environment.
    pub environment: Environment,
    /// Where temporary directories are made.
    pub temporary: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The `acp-registry` executable, which starts others under limits.
    pub launcher: Option<PathBuf>,
    /// What package managers are configured with.
    pub surroundings: Surroundings<'a>,
    /// Where npm and uv keep what they have fetched, if anything is kept.
    pub packages: Option<PackageCache>,
    /// Fetches archives.
    pub client: Client,
}

/// How agents are installed and started.
#[derive(Debug, Clone)]
pub struct Manner {
    /// What keeps them apart.
    pub isolation: Isolation,
    /// How long the answer to `initialize` may take; `None` for as long as usual.
    pub timeout: Option<Duration>,
    /// How long an installation may take; `None` for 5 minutes.
    pub install_timeout: Option<Duration>,
    /// What an archive may ask for.
    pub limits: Limits,
    /// Whether anything is sent after `initialize`.
    pub probes: bool,
    /// Whether uv may build packages from source, which runs code of these packages.
    pub allow_build: bool,
}

impl Verifier {
    /// A verifier for agents of this machine's platform.
    #[must_use]
    pub fn new(machine: Machine<'_>, manner: Manner) -> Self {
        let Machine { environment, temporary, home, launcher, surroundings, packages, client } = machine;
        // What is installed is started by its absolute path.
        let temporary = temporary.canonicalize().unwrap_or(temporary);
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        let mut handshake = Options::new(temporary);
        handshake.timeout = manner.timeout.unwrap_or(handshake.timeout);
        handshake.probe = handshake.probe.filter(|_| manner.probes);
        let installer = Installer {
            environment: environment.clone(),
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            client: Arc::new(client),
            github: None,
            limits: manner.limits,
            platform: Platform::host(),
            timeout: manner.install_timeout.unwrap_or(INSTALL_TIMEOUT),
            launcher,
            packages,
            allow_build: manner.allow_build,
        };
        let (sources, turns) = (Sources::default(), Turns::default());
        Self { installer, environment, isolation: manner.isolation, home, handshake, keep: None, sources, turns }
    }
}

/// How many agents are started at once, unless something else is wanted: as many as there are processors, at most 4.
#[must_use]
pub fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(JOBS)
}
