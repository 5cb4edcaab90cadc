//! Removes what killed runs have left, and ends processes that agents have hidden.

use acp_registry::failure::Failure;
use acp_registry::host::fs::temporary;
use acp_registry::host::process::{self, Orphans, remove_abandoned};
use acp_registry::ops::unremoved;

use crate::terminal::signals;
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

/// Runs work. If it starts agents, also returns how many processes had left their tree; these were killed.
pub(crate) fn run_with_agents<T>(
    ui: &Ui,
    jobs: usize,
    starts_agents: bool,
    work: impl Future<Output = Result<T, Failure>>,
) -> (Result<T, Failure>, usize) {
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree. Beside a
    // command that runs for a client, others run that have children too, so that orphans wait until none runs.
    let orphans = if starts_agents && !ui.is_call() { process::adopt_orphans() } else { None };
    let done = signals::run_with_threads(ui, jobs, work);
    let hidden = orphans.map_or(0, Orphans::end);
    (done.and_then(|done| done), hidden)
}
