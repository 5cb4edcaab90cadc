//! Processes that detach from the tree of an agent.

use acp_registry::host::process::{self, Orphans};

use super::ui::Ui;

/// Adopts orphaned descendants, to kill them once the command has started its last process. `None` for a command that
/// runs for a client: others that run beside it have children too, so that orphans wait until none runs.
pub(super) fn adopt(ui: &Ui) -> Option<Orphans> {
    if ui.is_call() { None } else { process::adopt_orphans() }
}
