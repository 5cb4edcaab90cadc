//! How agents are isolated that are started for a check, and what one may touch in `run --sandbox` beside what each may.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use acp_registry::examination::Demand;
use acp_registry::failure::Failure;
use acp_registry::host::process::{Isolation, Network};
use acp_registry::host::sandbox::{Sandbox, SandboxError};
use acp_registry::verify::Networks;
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxKind {
    /// Bubblewrap, which must be installed
    Bwrap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkKind {
    /// The host's, with what listens on its loopback addresses
    Shared,
    /// None but a loopback interface of its own
    None,
}

/// The isolation that the flags select.
pub(crate) fn isolation(sandbox: Option<SandboxKind>, network: Option<NetworkKind>) -> Isolation {
    match (sandbox, network) {
        (None, _) => Isolation::OwnUser { place: None },
        (Some(SandboxKind::Bwrap), Some(NetworkKind::None)) => Isolation::Bwrap { network: Network::None },
        (Some(SandboxKind::Bwrap), _) => Isolation::Bwrap { network: Network::Shared },
    }
}

/// The networks of agents that are examined, as the flags select them.
///
/// # Errors
/// Returns [`Failure`] if agents are to have no network, which takes an examination or a sandbox.
pub(crate) fn networks(
    sandbox: Option<SandboxKind>,
    network: Option<NetworkKind>,
    demand: &Demand,
) -> Result<Networks, Failure> {
    let (handshake, examination) = match network {
        _ if !demand.is_any() => {
            if network == Some(NetworkKind::None) && sandbox.is_none() {
                return Err(Failure::usage("--network none needs --sandbox, or a level beyond `handshake`"));
            }
            return Ok(Networks::default());
        }
        Some(NetworkKind::Shared) => (Network::Shared, Network::Shared),
        // The verdict is that of the handshake, whatever else is asked for.
        None => (Network::Shared, Network::None),
        Some(NetworkKind::None) => (Network::None, Network::None),
    };
    Ok(Networks { handshake, examination })
}

/// The path of this program, which starts agents under resource limits.
pub(crate) fn launcher() -> Option<PathBuf> {
    env::current_exe().ok()
}

/// What an agent may touch in `run --sandbox`, beside what each agent may.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct GrantArgs {
    /// With --sandbox, let the agent change this directory, too (repeatable)
    ///
    /// For clients that start the agent elsewhere than in the directory of its sessions.
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    writable: Vec<PathBuf>,

    /// With --sandbox, let the agent read and start this, too (repeatable)
    ///
    /// For MCP servers and other programs in your home.
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    readable: Vec<PathBuf>,

    /// With --sandbox, the network of the agent: `shared` or `none` [default: shared]
    #[arg(long, value_name = "NETWORK", requires = "sandbox", hide_possible_values = true)]
    network: Option<NetworkKind>,
}

impl GrantArgs {
    /// Grants this.
    pub(crate) fn grant(&self, sandbox: &mut Sandbox) -> Result<(), Failure> {
        let refused = |flag: &'static str| {
            move |error| match error {
                SandboxError::Home(_) => Failure::refused(format!("{flag}: {error}"))
                    .help(format!("name a directory in it that the agent needs with {flag}")),
                error => Failure::usage(format!("{flag}: {error}")).help(format!("correct or leave out {flag}")),
            }
        };
        self.writable.iter().try_for_each(|path| sandbox.write(path)).map_err(refused("--writable"))?;
        self.readable.iter().try_for_each(|path| sandbox.read(path)).map_err(refused("--readable"))?;
        if self.network == Some(NetworkKind::None) {
            sandbox.network = Network::None;
        }
        Ok(())
    }

    /// These flags, with paths as `path` has them.
    pub(crate) fn flags(&self, path: impl Fn(&PathBuf) -> OsString) -> Vec<OsString> {
        let paths = |flag: &'static str, paths: &[PathBuf]| -> Vec<OsString> {
            paths.iter().flat_map(|one| [flag.into(), path(one)]).collect()
        };
        let network = (self.network == Some(NetworkKind::None)).then_some(["--network".into(), "none".into()]);
        let paths = [paths("--writable", &self.writable), paths("--readable", &self.readable)].concat();
        paths.into_iter().chain(network.into_iter().flatten()).collect()
    }
}
