//! Tests newer versions before they are written: with all rules, as `validate` does, and by starting them. If an examination is
//! requested, the version before is examined too.

use std::collections::BTreeSet;

use acp_registry_client::install::InstallFailure;
use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_examine::examination::{Demand, Record};
use acp_registry_http::Problem;
use acp_registry_plan::manifest::{Manifest, Platform};
use acp_registry_plan::position::apply;
use acp_registry_plan::text::brief_list;
use serde_json::{Map, Value};

use super::plan::Compared;
use super::{BumpRun, Bumped, Bumper, ChannelOutcome, Error, ErrorKind, VersionUpdate};
use crate::check::{CheckOptions, Selection as CheckSelection, check};
use crate::finding::{Finding, Level};
use crate::survey::{Scope, Survey, Surveyor};
use crate::verify::{NewClosures, Row, Selection, Snapshot, Task, TaskVerdict, plan};

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
    /// The tasks that start the updated agents, with their new closures. If `demand` asks for an examination, there are also tasks
    /// for the versions before, except for those that `capabilities.json` in the registry has an examination of.
    pub fn starts(&self, bumped: &[Bumped], demand: &Demand, closures: &NewClosures) -> Starts {
        let earlier = Snapshot::read_from(self.registry).ok().flatten();
        let mut tasks = Vec::new();
        for one in bumped {
            let edits: Vec<_> = one.edits().collect();
            if edits.is_empty() {
                continue;
            }
            let text = self.registry.text(&format!("{}/agent.json", one.id)).unwrap_or_default();
            let after = self.tasks(one, apply(text, &edits), closures);
            if demand.is_any() {
                let is_unknown = |before: &Task| {
                    let record = known(earlier.as_ref(), before);
                    let is_paired = after.iter().any(|after| after.kind == before.kind);
                    is_paired && record.is_none_or(|record| record.level < demand.level())
                };
                tasks.extend(self.tasks(one, text.to_owned(), &NewClosures::new()).into_iter().filter(is_unknown));
            }
            tasks.extend(after);
        }
        Starts { tasks, earlier }
    }

    /// The tasks of the updated channel, for this text of the manifest.
    fn tasks(&self, one: &Bumped, text: String, closures: &NewClosures) -> Vec<Task> {
        let Ok(manifest) = Manifest::parse(text) else { return Vec::new() };
        let entry = AgentFolder { id: one.id.clone(), manifest: Loaded::Missing, icon: Loaded::Missing };
        let alone = alone(self.registry, &entry, manifest);
        let closures = closures.clone();
        let selection = Selection { platform: Platform::host(), closures, ..Selection::default() };
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
            let one = bumped.iter().find(|one| one.id == row.id && one.channel == row.channel);
            one.and_then(Bumped::update).is_some_and(|update| row.version == update.from)
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

/// Maximum number of errors in a message.
const SHOWN: usize = 3;

/// The rule about the list of packages beside a manifest.
const CLOSURE: &str = "closure/unusable";

impl Bumper<'_> {
    /// Checks the updated manifest as `validate --urls` does. Errors in other parts of the manifest only become a
    /// reason to review the update.
    ///
    /// # Errors
    /// Returns [`ErrorKind::ValidationFailed`] with the first findings if the update causes errors, and
    /// [`ErrorKind::SourceUnavailable`] if its URLs cannot be requested.
    pub(super) async fn prove(
        &self,
        registry: &Registry,
        entry: &AgentFolder,
        update: &mut VersionUpdate,
    ) -> Result<(), Error> {
        let Loaded::Present(manifest) = &entry.manifest else { return Ok(()) };
        let text = apply(manifest.text(), &update.edits);
        let failed = |message: String| ErrorKind::ValidationFailed.because(message);
        let changed = Manifest::parse(text)
            .map_err(|error| failed(format!("the changed manifest is not valid JSON: {error}")))?;
        let scope = Scope { urls: true, archives: None };
        let surveyor = Surveyor { client: self.client, sources: self.sources, scope, roots: None, progress: &|_| {} };
        let survey = surveyor.survey([changed.agent()]).await;
        // Its list of packages is made anew.
        let errors = self.errors(registry, entry, changed, Some(&survey)).filter(|finding| finding.rule != CLOSURE);
        // The update does not cause the errors of offline rules in the current manifest.
        let current = Manifest::parse(manifest.text().to_owned()).into_iter();
        let before = current.flat_map(|manifest| self.errors(registry, entry, manifest, None));
        let before: BTreeSet<_> = before.map(|finding| (finding.rule, finding.pointer)).collect();
        let is_new = |finding: &Finding| !before.contains(&(finding.rule, finding.pointer.clone()));
        let (here, elsewhere): (Vec<Finding>, Vec<Finding>) =
            errors.partition(|finding| update.has_changed(finding) && is_new(finding));
        let is_outage = |finding: &Finding| {
            let value = finding.pointer.as_ref().and_then(|pointer| update.new_value(pointer));
            value.and_then(|value| survey.links.get(value)).is_some_and(|link| {
                link.as_ref()
                    .is_err_and(|error| !error.problem.is_answer() && !matches!(error.problem, Problem::Refused(_)))
            })
        };
        if !here.is_empty() && here.iter().all(is_outage) {
            return Err(ErrorKind::SourceUnavailable.because(format!(
                "{} cannot be verified: {}",
                update.to,
                in_words(&here)
            )));
        }
        if !here.is_empty() {
            return Err(failed(format!("the manifest breaks rules with {}: {}", update.to, in_words(&here))));
        }
        if !elsewhere.is_empty() {
            update.reasons.push(format!("the manifest has other errors: {}", in_words(&elsewhere)));
        }
        Ok(())
    }

    /// The errors in an agent with this manifest.
    fn errors(
        &self,
        registry: &Registry,
        entry: &AgentFolder,
        manifest: Manifest,
        survey: Option<&Survey>,
    ) -> impl Iterator<Item = Finding> + use<> {
        let options = CheckOptions {
            levels: self.levels,
            allowed_hosts: self.allowed_hosts,
            config: self.config,
            survey,
            advisories: Some(self.advisories),
        };
        let findings = check(&alone(registry, entry, manifest), &options, &CheckSelection::All).findings;
        findings.into_iter().filter(|finding| finding.level == Level::Error)
    }
}

/// A registry that contains only this agent, with another manifest.
fn alone(registry: &Registry, entry: &AgentFolder, manifest: Manifest) -> Registry {
    let icon = entry.icon.present().cloned().map_or(Loaded::Missing, Loaded::Present);
    let entry = AgentFolder { id: entry.id.clone(), manifest: Loaded::Present(manifest), icon };
    Registry::with_one(&registry.root, entry)
}

impl VersionUpdate {
    /// The new value at a JSON pointer, if it changes.
    fn new_value(&self, pointer: &str) -> Option<&String> {
        self.changes.iter().find(|change| change.pointer == pointer)?.to.as_ref()
    }

    /// Whether a finding is about a value that the update changes, or about a value that contains one.
    fn has_changed(&self, finding: &Finding) -> bool {
        let Some(pointer) = &finding.pointer else { return finding.file.ends_with("agent.json") };
        let concerns = |change: &super::ValueChange| {
            let inside = |whole: &str, part: &str| {
                part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            // A finding about `cmd` may be caused by the new archive of the same target.
            let target = change.pointer.rsplit_once('/').map_or("", |(target, _)| target);
            inside(&change.pointer, pointer)
                || inside(pointer, &change.pointer)
                || (target.contains("/binary/") && inside(target, pointer))
        };
        self.changes.iter().any(concerns)
    }
}

fn in_words(findings: &[Finding]) -> String {
    brief_list(findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.message)), SHOWN)
}
