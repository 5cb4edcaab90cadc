//! Tests newer versions by starting them.

use serde_json::{Map, Value};

use super::prove::alone;
use super::{Bumped, ErrorKind, Outcome, Session};
use crate::verify::{Row, Selection, Snapshot, Task, Verdict, plan};
use acp_registry_core::manifest::{Manifest, Platform};
use acp_registry_core::registry::{Entry, Loaded};
use acp_registry_core::source::apply;

/// The tasks that start newer versions, and the features of earlier ones.
#[derive(Debug)]
pub struct Starts {
    /// The tasks.
    pub tasks: Vec<Task>,
    earlier: Option<Snapshot>,
}

/// A newer version that passed the handshake.
#[derive(Debug)]
pub struct Passed {
    /// The result.
    pub row: Row,
    /// Features of the earlier version by stable name, if known.
    pub before: Option<Map<String, Value>>,
}

impl Session<'_> {
    /// The tasks that start the updated agents.
    #[must_use]
    pub fn starts(&self, bumped: &[Bumped]) -> Starts {
        let earlier = Snapshot::read(&self.registry.root.join("capabilities.json")).ok();
        let mut tasks = Vec::new();
        for one in bumped {
            let edits: Vec<_> = one.edits().collect();
            let text = apply(self.registry.text(&format!("{}/agent.json", one.id)).unwrap_or_default(), &edits);
            let Ok(manifest) = Manifest::parse(text) else { continue };
            if edits.is_empty() {
                continue;
            }
            let entry = Entry { id: one.id.clone(), manifest: Loaded::Missing, icon: Loaded::Missing };
            let alone = alone(self.registry, &entry, manifest);
            let selection = Selection { platform: Platform::host(), ..Selection::default() };
            tasks.extend(plan(&alone, &selection, None).into_iter().filter(|task| task.channel == one.channel));
        }
        Starts { tasks, earlier }
    }
}

impl Starts {
    /// Applies the results: an update that fails becomes an error, and one that was not started gets a reason to review
    /// it. Returns the versions that passed.
    pub fn judge(&self, bumped: &mut [Bumped], rows: Vec<Row>) -> Vec<Passed> {
        let mut passed = Vec::new();
        for row in rows {
            let one = bumped.iter_mut().find(|one| one.id == row.id && one.channel == row.channel);
            let Some(one) = one else { continue };
            let Ok(Outcome::Update(update)) = &mut one.result else { continue };
            let message = row.explanation().unwrap_or_default();
            if row.is_finding() {
                let message = format!("{} ({}) does not pass the handshake: {message}", update.to, row.distribution());
                one.result = Err(ErrorKind::HandshakeFailed.because(message));
            } else if row.verdict() == Verdict::Skipped {
                update.reasons.push(format!("{} was not started: {message}", row.distribution()));
            } else {
                let earlier = |kind| self.earlier.as_ref()?.features(&row.id, row.channel, kind).cloned();
                let before = row.kind.and_then(earlier);
                passed.push(Passed { row, before });
            }
        }
        passed
    }
}
