//! Locks between the agents of a run.

use std::sync::Arc;

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Decides which agents of a run are installed and started concurrently.
///
/// An agent that runs as the caller's user can kill processes of other agents, change installations, and read
/// credentials from the environment of package managers, so it runs alone. So does an agent that is started again,
/// since the load of other work may have caused its failure. All other work runs concurrently.
#[derive(Debug, Clone, Default)]
pub struct AgentLock(Arc<RwLock<()>>);

/// A lock that is held while the work runs.
#[derive(Debug)]
pub(super) enum AgentGuard<'a> {
    Shared { _guard: RwLockReadGuard<'a, ()> },
    Alone { _guard: RwLockWriteGuard<'a, ()> },
}

impl AgentLock {
    /// Waits until no work runs that must be alone.
    pub(super) async fn beside_others(&self) -> AgentGuard<'_> {
        AgentGuard::Shared { _guard: self.0.read().await }
    }

    /// Waits until no work runs.
    pub(super) async fn alone(&self) -> AgentGuard<'_> {
        AgentGuard::Alone { _guard: self.0.write().await }
    }
}
