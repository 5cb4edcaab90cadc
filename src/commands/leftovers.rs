//! What killed runs and hidden processes leave.

use acp_registry::host::fs::temporary;
use acp_registry::host::process::{self, Orphans, remove_abandoned};
use acp_registry::ops::unremoved;

use crate::terminal::ui::Ui;

/// Removes the directories that no running process uses.
pub(crate) fn clear(ui: &Ui) {
    let mut removed = 0_usize;
    for outcome in remove_abandoned(&temporary()) {
        match outcome {
            Ok(path) => {
                ui.detail(&format!("removed {}", path.display()));
                removed += 1;
            }
            Err(error) => ui.warning(&unremoved(&error)),
        }
    }
    if removed > 0 {
        ui.note(&format!("temporary directories of runs that were killed, now removed: {removed}"));
    }
}

/// Adopts orphaned descendants, to kill them once the command has started its last process. `None` for a command that
/// runs for a client: others that run beside it have children too, so that orphans wait until none runs.
pub(crate) fn adopt(ui: &Ui) -> Option<Orphans> {
    if ui.is_call() { None } else { process::adopt_orphans() }
}
