//! How agents are isolated that are started for a check.

use std::env;
use std::path::PathBuf;

use acp_registry::examination::Demand;
use acp_registry::host::process::{Isolation, Network};
use acp_registry::verify::Networks;
use clap::ValueEnum;

use acp_registry::failure::Failure;

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
