//! Flags about installing and starting agents for a check, and the verifier that they describe.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::config::Config;
use acp_registry::duration;
use acp_registry::examination::Demand;
use acp_registry::failure::Failure;
use acp_registry::handshake::HandshakeOptions;
use acp_registry::host::fs::temporary;
use acp_registry::host::process::Environment;
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::install::Installer;
use acp_registry::sources::{Registries, npm_variables, uv_variables};
use acp_registry::verify::{AgentLock, INSTALL_TIMEOUT, Sources, Verifier, usual_jobs};

use crate::flags::isolation::{NetworkKind, SandboxKind, isolation, launcher, networks};
use crate::flags::{network, value};
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Installing and starting agents")]
pub(crate) struct VerifierArgs {
    /// Agents at once [default: the processors, at most 4]
    #[arg(long, value_name = "N", value_parser = value::number(1..=64))]
    jobs: Option<u16>,

    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    pub(crate) timeout: Option<Duration>,

    /// Time limit for the installation of an agent [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    install_timeout: Option<Duration>,

    /// Hide the host's files from the agents
    ///
    /// Package managers still see them.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) sandbox: Option<SandboxKind>,

    /// The network that agents reach
    ///
    /// The default is `shared` for the handshake, and `none` for the examination beyond it. At the level `handshake`, `none`
    /// needs --sandbox.
    #[arg(long, value_name = "NETWORK")]
    network: Option<NetworkKind>,

    /// Let uv build Python packages from source
    ///
    /// A build runs code of these packages, outside of any sandbox.
    #[arg(long)]
    allow_build: bool,
}

impl VerifierArgs {
    /// Whether any of these flags was given.
    pub(crate) fn is_set(&self) -> bool {
        self.jobs.is_some()
            || self.timeout.is_some()
            || self.install_timeout.is_some()
            || self.sandbox.is_some()
            || self.network.is_some()
            || self.allow_build
    }

    /// How many agents are started at once.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(usual_jobs, usize::from)
    }

    /// The verifier that these flags describe.
    pub(crate) fn verifier(&self, settings: VerifierSettings<'_>, ui: &Ui) -> Result<Verifier, Failure> {
        let VerifierSettings { allowed, config, probes, use_cache, demand } = settings;
        let mut network = network::settings(allowed)?;
        if use_cache {
            network.cache = network::cache(ui);
        }
        let client = Client::new(network);
        client.prepare()?;
        let networks = networks(self.sandbox, self.network, demand)?;
        let variable = |name: &str| env::var(name).ok();
        let surroundings = network::surroundings(&variable);
        // Installed programs are started by absolute path.
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let mut handshake = HandshakeOptions::new(real(temporary()));
        handshake.timeout = self.timeout.unwrap_or(handshake.timeout);
        handshake.probe = handshake.probe.filter(|_| probes);
        let installer = Installer {
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            limits: config.archive_limits.limits(),
            timeout: self.install_timeout.unwrap_or(INSTALL_TIMEOUT),
            launcher: launcher(),
            packages: network::package_cache().filter(|_| use_cache),
            allow_build: self.allow_build,
            // npx asks for permission.
            vouches: false,
            ..Installer::new(Arc::new(client), Environment::from_host(env::vars_os()))
        };
        Ok(Verifier {
            installer,
            builders: config.builders(),
            approved_scripts: config.approved_scripts(),
            isolation: isolation(self.sandbox, self.network),
            home: env::home_dir().map(real),
            handshake,
            demand: demand.clone(),
            networks,
            keep: None,
            sources: Sources::default(),
            turns: AgentLock::default(),
        })
    }
}

/// Settings of a verifier that do not come from these flags.
#[derive(Clone, Copy)]
pub(crate) struct VerifierSettings<'a> {
    pub(crate) allowed: &'a AllowedHosts,
    pub(crate) config: &'a Config,
    /// Whether messages are sent after `initialize`.
    pub(crate) probes: bool,
    pub(crate) use_cache: bool,
    /// The level of examination after the handshake.
    pub(crate) demand: &'a Demand,
}
