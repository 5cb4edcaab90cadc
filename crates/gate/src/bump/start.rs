//! Proves newer versions by starting them.

use serde_json::{Map, Value};

use super::prove::alone;
use super::{Bumped, ErrorKind, Outcome, Session};
use crate::verify::{Row, Selection, Snapshot, Task, Verdict, plan};
use acp_registry_core::manifest::{Manifest, Platform};
use acp_registry_core::registry::{Entry, Loaded};
use acp_registry_core::source::apply;

/// What is to be started, and what the versions before could do.
#[derive(Debug)]
pub struct Starts {
    /// The newer versions.
    pub tasks: Vec<Task>,
    earlier: Option<Snapshot>,
}

/// A newer version that has passed the handshake.
#[derive(Debug)]
pub struct Passed {
    /// The result.
    pub row: Row,
    /// What the version before could do, by the stable names of features, where that is known.
    pub before: Option<Map<String, Value>>,
}

impl Session<'_> {
    /// What is to be started to see whether the updates work.
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
    /// Takes in the results: updates that do not pass become errors of their agents, and those that were not started have a
    /// reason to look at them. The others are returned.
    pub fn judge(&self, bumped: &mut [Bumped], rows: Vec<Row>) -> Vec<Passed> {
        let mut passed = Vec::new();
        for row in rows {
            let one = bumped.iter_mut().find(|one| one.id == row.id && one.channel == row.channel);
            let Some(one) = one else { continue };
            let Ok(Outcome::Update(update)) = &mut one.result else { continue };
            let message = row.message().unwrap_or_default();
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
