//! The networks of agents that are examined.

use acp_registry_host::process::Network;

/// The networks that agents reach if they are examined after the handshake. For agents that are not, only the
/// [`Isolation`](acp_registry_host::process::Isolation) counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Networks {
    /// During the handshake.
    pub handshake: Network,
    /// During the examination. With [`Network::None`], the network is a [`Namespace`] of the agent's own.
    ///
    /// [`Namespace`]: acp_registry_host::process::Namespace
    pub examination: Network,
}

impl Default for Networks {
    fn default() -> Self {
        Self { handshake: Network::Shared, examination: Network::Shared }
    }
}
