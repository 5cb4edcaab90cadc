//! Checks an updated manifest with all rules, as `validate` does, before it is written.

use acp_registry_plan::text::brief_list;
use std::collections::BTreeSet;

use super::{Bumper, Error, ErrorKind, VersionUpdate};
use crate::check::{CheckOptions, Selection, check};
use crate::finding::{Finding, Level};
use crate::survey::{Scope, Surveyor};
use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_http::Problem;
use acp_registry_plan::manifest::Manifest;
use acp_registry_plan::source::apply;

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
        let alone = alone(registry, entry, changed);
        let options = CheckOptions {
            levels: self.levels,
            allowed_hosts: self.allowed_hosts,
            config: self.config,
            survey: Some(&survey),
            advisories: Some(self.advisories),
        };
        let findings = check(&alone, &options, &Selection::All).findings;
        // Its list of packages is made anew.
        let is_remade = |finding: &Finding| finding.rule == CLOSURE;
        let errors = findings.into_iter().filter(|finding| finding.level == Level::Error && !is_remade(finding));
        let before = self.errors_before(registry, entry, manifest.text());
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
}

impl Bumper<'_> {
    /// The errors of offline rules in the current manifest, by rule and JSON pointer. The update does not cause them.
    fn errors_before(
        &self,
        registry: &Registry,
        entry: &AgentFolder,
        text: &str,
    ) -> BTreeSet<(&'static str, Option<String>)> {
        let Ok(manifest) = Manifest::parse(text.to_owned()) else { return BTreeSet::new() };
        let alone = alone(registry, entry, manifest);
        let options = CheckOptions {
            levels: self.levels,
            allowed_hosts: self.allowed_hosts,
            config: self.config,
            survey: None,
            advisories: Some(self.advisories),
        };
        let findings = check(&alone, &options, &Selection::All).findings.into_iter();
        let errors = findings.filter(|finding| finding.level == Level::Error);
        errors.map(|finding| (finding.rule, finding.pointer)).collect()
    }
}

/// A registry that contains only this agent, with another manifest.
pub(super) fn alone(registry: &Registry, entry: &AgentFolder, manifest: Manifest) -> Registry {
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
