//! Tests newer versions by starting them. If an examination is requested, the version before is examined too.

use serde_json::{Map, Value};

use super::plan::Compared;
use super::prove::alone;
use super::{BumpRun, Bumped, ChannelOutcome, ErrorKind, VersionUpdate};
use crate::verify::{Row, Selection, Snapshot, Task, TaskVerdict, plan};
use acp_registry_client::install::InstallFailure;
use acp_registry_client::registry::{AgentFolder, Loaded};
use acp_registry_examine::examination::{Demand, Record};
use acp_registry_plan::manifest::{Manifest, Platform};
use acp_registry_plan::source::apply;

/// The tasks that start newer versions, and what is known of earlier ones.
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
    /// How its examination differs from that of the earlier version, if one was requested.
    pub compared: Option<Compared>,
}

impl BumpRun<'_> {
    /// The tasks that start the updated agents. If `demand` asks for an examination, there are also tasks for the versions
    /// before, except for those that `capabilities.json` in the registry has an examination of.
    pub fn starts(&self, bumped: &[Bumped], demand: &Demand) -> Starts {
        let earlier = Snapshot::read_from(self.registry).ok().flatten();
        let mut tasks = Vec::new();
        for one in bumped {
            let edits: Vec<_> = one.edits().collect();
            if edits.is_empty() {
                continue;
            }
            let text = self.registry.text(&format!("{}/agent.json", one.id)).unwrap_or_default();
            let after = self.tasks(one, apply(text, &edits));
            if demand.is_any() {
                let is_unknown = |before: &Task| {
                    let record = known(earlier.as_ref(), before);
                    let is_paired = after.iter().any(|after| after.kind == before.kind);
                    is_paired && record.is_none_or(|record| record.level < demand.level())
                };
                tasks.extend(self.tasks(one, text.to_owned()).into_iter().filter(is_unknown));
            }
            tasks.extend(after);
        }
        Starts { tasks, earlier }
    }

    /// The tasks of the updated channel, for this text of the manifest.
    fn tasks(&self, one: &Bumped, text: String) -> Vec<Task> {
        let Ok(manifest) = Manifest::parse(text) else { return Vec::new() };
        let entry = AgentFolder { id: one.id.clone(), manifest: Loaded::Missing, icon: Loaded::Missing };
        let alone = alone(self.registry, &entry, manifest);
        let selection = Selection { platform: Platform::host(), ..Selection::default() };
        plan(&alone, &selection, None, None).into_iter().filter(|task| task.channel == one.channel).collect()
    }
}

/// The recorded examination of a task's version.
fn known(earlier: Option<&Snapshot>, task: &Task) -> Option<Record> {
    Some(earlier?.examined(&task.id, &task.version, task.channel, task.kind?)?.record)
}

impl Starts {
    /// Applies the results: an update that fails becomes an error. One that was not started gets a reason to review it, and
    /// so does one that fails a check that the earlier version passed. Returns the versions that passed.
    pub fn judge(&self, bumped: &mut [Bumped], rows: Vec<Row>) -> Vec<Passed> {
        let is_before = |row: &Row| {
            let update = bumped.iter().find(|one| one.id == row.id && one.channel == row.channel);
            let update = update.and_then(|one| one.result.as_ref().ok());
            matches!(update, Some(ChannelOutcome::Update(update)) if row.version == update.from)
        };
        let (before, after): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(is_before);
        let mut passed = Vec::new();
        for row in after {
            let one = bumped.iter_mut().find(|one| one.id == row.id && one.channel == row.channel);
            let Some(one) = one else { continue };
            let Ok(ChannelOutcome::Update(update)) = &mut one.result else { continue };
            let message = row.explanation().unwrap_or_default();
            // The machine's cooldown says nothing of the version.
            let is_held = row.reason() == Some(InstallFailure::HeldByCooldown.as_str());
            if row.is_finding() && !is_held {
                let message = format!("{} ({}) does not pass the handshake: {message}", update.to, row.distribution());
                one.result = Err(ErrorKind::HandshakeFailed.because(message));
            } else if is_held || row.verdict() == TaskVerdict::Skipped {
                update.reasons.push(format!("{} was not started: {message}", row.distribution()));
            } else {
                let compared = self.compared(&row, update, &before);
                if let Some(compared) = &compared {
                    update.reasons.extend(compared.reasons(&update.from));
                    update.examined.push(compared.clone());
                }
                let earlier = |kind| self.earlier.as_ref()?.features(&row.id, row.channel, kind).cloned();
                let before = row.kind.and_then(earlier);
                passed.push(Passed { row, before, compared });
            }
        }
        passed
    }

    /// Compares the examination of a row with that of the version before.
    fn compared(&self, row: &Row, update: &VersionUpdate, before: &[Row]) -> Option<Compared> {
        let kind = row.kind?;
        let is_same =
            |earlier: &&Row| earlier.id == row.id && earlier.channel == row.channel && earlier.kind == row.kind;
        let recorded = || Some(self.earlier.as_ref()?.examined(&row.id, &update.from, row.channel, kind)?.record);
        let examined = before.iter().find(is_same).and_then(Row::record).filter(|record| record.reached.is_some());
        Some(Compared::new(kind, examined.or_else(recorded).as_ref(), &row.record()?))
    }
}
