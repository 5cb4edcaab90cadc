//! Who may work beside whom.

use std::sync::Arc;

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The order in which the agents of a run are installed and started.
///
/// An agent that has the caller's user can end the processes of other agents, change what is being installed, and read
/// the credentials that package managers have in their environment: it runs alone. So does an agent that is started
/// again, because other work may have been why it failed, or did not answer. All others work beside each other.
#[derive(Debug, Clone, Default)]
pub struct Turns(Arc<RwLock<()>>);

/// As long as it lives, the work may go on.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    Shared { _guard: RwLockReadGuard<'a, ()> },
    Alone { _guard: RwLockWriteGuard<'a, ()> },
}

impl Turns {
    /// Waits until no work is done that must be alone.
    pub(super) async fn beside_others(&self) -> Turn<'_> {
        Turn::Shared { _guard: self.0.read().await }
    }

    /// Waits until no work is done.
    pub(super) async fn alone(&self) -> Turn<'_> {
        Turn::Alone { _guard: self.0.write().await }
    }
}
