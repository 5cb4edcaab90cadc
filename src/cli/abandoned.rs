//! Removes the temporary directories of killed runs.

use acp_registry::host::fs::temporary;
use acp_registry::host::process::remove_abandoned;

use super::ui::Ui;

/// Removes the directories that no running process uses.
pub(super) fn clear(ui: &Ui) {
    let mut removed = 0_usize;
    for outcome in remove_abandoned(&temporary()) {
        match outcome {
            Ok(path) => {
                ui.detail(&format!("removed {}", path.display()));
                removed += 1;
            }
            Err(error) => {
                ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
            }
        }
    }
    if removed > 0 {
        ui.note(&format!("temporary directories of runs that were killed, now removed: {removed}"));
    }
}
