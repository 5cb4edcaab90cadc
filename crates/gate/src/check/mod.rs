//! Checks a loaded registry and returns findings. Rules print nothing, and know neither levels nor output formats.
//!
//! * [`check()`]: runs all rules that are not off over the selected agents
//! * [`Rule`], [`RULES`]: the rules; each has a file in `rules/` with its documentation
//! * [`Levels`]: resolves defaults, `registry.toml` and flags
//! * [`fix()`]: applies the fixes of findings
//! * `icon`: the parsed icon that icon rules read
//! * `schema`: the JSON Schemas

mod icon;
mod levels;
mod reporter;
mod rule;
mod rules;
pub mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_http::AllowedHosts;
use acp_registry_plan::closure::file_name;
use acp_registry_plan::manifest::{Manifest, SyntaxError};
use acp_registry_plan::position::Edit;
use rayon::prelude::*;

use crate::advisories::Advisories;
use crate::config::Config;
use crate::edit::{self, EditError};
use crate::finding::{Finding, Level};
pub use crate::select::Selection;
use crate::survey::{Survey, note};
pub use icon::draw_icon;
use icon::{Icon, IconFile};
pub use levels::{Levels, UnknownRule, WARNINGS};
use reporter::{FindingFile, Reporter};
use rule::{CheckFn, ClosureFile, Subject};
pub use rule::{Example, Online, Rule};
pub use rules::{RULES, find, rule_of_reason, rule_of_runner};

/// The result of [`fix`].
#[derive(Debug, Default)]
pub struct Fixed {
    /// Number of applied fixes.
    pub count: usize,
    /// Errors of files that could not be written.
    pub errors: Vec<EditError>,
}

/// Applies the fixes of all findings, and removes these findings from `checked`. A file that cannot be written keeps
/// its findings, and the other files are still fixed.
pub fn fix(registry: &Registry, checked: &mut Checked) -> Fixed {
    let mut by_file: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for finding in &checked.findings {
        if let Some(fix) = &finding.fix {
            by_file.entry(finding.file.clone()).or_default().push(fix.clone());
        }
    }
    let mut fixed = Fixed::default();
    let mut done: BTreeSet<String> = BTreeSet::new();
    // Several paths may lead to one file through links; it must be edited only once.
    let mut written: BTreeSet<PathBuf> = BTreeSet::new();
    for (file, edits) in by_file {
        let path = registry.root.join(&file);
        let is_new = path.canonicalize().is_ok_and(|real| written.insert(real));
        match if is_new { edit::write(registry, &file, &edits) } else { Ok(()) } {
            Ok(()) => {
                fixed.count += edits.len();
                done.insert(file);
            }
            Err(error) => fixed.errors.push(error),
        }
    }
    checked.findings.retain(|finding| finding.fix.is_none() || !done.contains(&finding.file));
    let failed = failed(&checked.findings);
    for agent in checked.agents.iter_mut().filter(|agent| agent.status == CheckOutcome::Failed) {
        if !failed.contains(agent.id.as_str()) {
            agent.status = CheckOutcome::Ok;
        }
    }
    fixed
}

/// The agents with errors.
fn failed(findings: &[Finding]) -> BTreeSet<&str> {
    let errors = findings.iter().filter(|finding| finding.level == Level::Error);
    errors.filter_map(|finding| finding.agent.as_deref()).collect()
}

/// Options of [`check`](check()).
#[derive(Debug)]
pub struct CheckOptions<'a> {
    /// The level of each rule.
    pub levels: &'a Levels,
    /// Hosts that may be private and may be used without TLS.
    pub allowed_hosts: &'a AllowedHosts,
    /// The registry's configuration.
    pub config: &'a Config,
    /// The survey; without it, rules that need one do not run.
    pub survey: Option<&'a Survey>,
    /// The advisories that the configuration names; without them, rules that need them do not run.
    pub advisories: Option<&'a Advisories>,
}

/// Whether an agent is checked. Withdrawn agents are not published, so they are checked only if selected explicitly.
fn is_checked(id: &str, selection: &Selection, options: &CheckOptions<'_>) -> bool {
    let is_passed_over = matches!(selection, Selection::All) && options.config.withdrawn.contains_key(id);
    selection.has_folder(id) && !is_passed_over
}

/// Whether a finding is about the selection.
fn has(selection: &Selection, finding: &Finding) -> bool {
    match (selection, &finding.agent) {
        (Selection::All, _) => true,
        (_, Some(agent)) => selection.has_folder(agent),
        (Selection::Agents(_), None) => false,
        (Selection::Paths(_), None) => selection.has_folder(&finding.file),
    }
}

/// The result for one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    /// No finding is an error.
    Ok,
    /// At least one finding is an error.
    Failed,
    /// The agent is not selected, or is withdrawn.
    Skipped,
}

impl CheckOutcome {
    /// The word used in every output format: `ok`, `failed` or `skipped`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The result for one agent, with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStatus {
    /// Name of the agent's folder.
    pub id: String,
    /// The result.
    pub status: CheckOutcome,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// All findings, sorted by file, place, rule and message.
    pub findings: Vec<Finding>,
    /// All agents of the registry, sorted by folder name.
    pub agents: Vec<AgentStatus>,
    /// What was requested but not checked, and why.
    pub notes: Vec<String>,
}

impl Checked {
    /// Number of findings with this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Number of agents with this status.
    pub fn count_agents(&self, status: CheckOutcome) -> usize {
        self.agents.iter().filter(|agent| agent.status == status).count()
    }
}

/// Runs all rules that are not off over the selected agents, in parallel on all CPU cores.
pub fn check(registry: &Registry, options: &CheckOptions<'_>, selection: &Selection) -> Checked {
    let active: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| options.levels.is_active(rule)).collect();
    let selected: Vec<&AgentFolder> =
        registry.entries.iter().filter(|entry| is_checked(&entry.id, selection, options)).collect();
    let check_registry = |rule: &&'static Rule| {
        let mut findings = Vec::new();
        if let CheckFn::Registry(look) = rule.check {
            let level = |agent: Option<&str>| options.levels.both(rule, agent);
            look(registry, options, &mut Reporter::new(rule.name, &level, FindingFile::default(), &mut findings));
        }
        findings
    };
    // Together: one rule may take as long as all agents, such as the one that reads the snapshot.
    let (mut findings, around): (Vec<Finding>, Vec<Finding>) = rayon::join(
        || selected.par_iter().flat_map_iter(|entry| check_entry(registry, entry, &active, options)).collect(),
        || active.par_iter().flat_map_iter(check_registry).collect(),
    );
    let is_checked = |id: &str| is_checked(id, selection, options);
    let is_wanted = |finding: &Finding| has(selection, finding) && finding.agent.as_deref().is_none_or(is_checked);
    findings.extend(around.into_iter().filter(is_wanted));
    findings.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));

    let failed = failed(&findings);
    let status = |id: &str| {
        if !is_checked(id) {
            CheckOutcome::Skipped
        } else if failed.contains(id) {
            CheckOutcome::Failed
        } else {
            CheckOutcome::Ok
        }
    };
    let agents = registry.entries.iter().map(|entry| AgentStatus { id: entry.id.clone(), status: status(&entry.id) });
    let mut notes = options.survey.map_or_else(Vec::new, |survey| survey.notes.clone());
    notes.extend(options.advisories.and_then(Advisories::note));
    let withdrawn =
        registry.entries.iter().map(|entry| &entry.id).filter(|id| selection.has_folder(id) && !is_checked(id));
    notes.extend(note("checked", withdrawn, "withdrawn"));
    Checked { agents: agents.collect(), findings, notes }
}

fn check_entry(
    registry: &Registry,
    entry: &AgentFolder,
    rules: &[&'static Rule],
    options: &CheckOptions<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifest = entry.manifest.present();
    let icon_text = loaded_text(&entry.icon, String::as_str);
    let parsed = entry.icon.present().map(|text| Icon::parse(text));
    let icon_file = IconFile { loaded: &entry.icon, parsed: parsed.as_ref() };
    let about = |file, text| FindingFile { agent: Some(&entry.id), file, text, manifest: None };
    let subject = manifest.map(|manifest| Subject::new(&entry.id, manifest, options));
    let about_manifest = FindingFile { manifest, ..about("agent.json", loaded_text(&entry.manifest, Manifest::text)) };
    let about_icon = about("icon.svg", icon_text);
    for rule in rules {
        let about =
            if matches!(rule.check, CheckFn::IconFile(_) | CheckFn::Icon(_)) { about_icon } else { about_manifest };
        let level = |agent: Option<&str>| options.levels.both(rule, agent);
        let mut reporter = Reporter::new(rule.name, &level, about, &mut findings);
        match (&rule.check, &subject, &parsed) {
            (CheckFn::ManifestFile(look), ..) => look(&entry.manifest, &mut reporter),
            (CheckFn::Manifest(look), Some(subject), _) => look(subject, &mut reporter),
            (CheckFn::Online(look), Some(subject), _) => {
                if let Some(survey) = options.survey {
                    look(subject, survey, &mut reporter);
                }
            }
            (CheckFn::IconFile(look), ..) => look(&icon_file, &mut reporter),
            (CheckFn::Icon(look), _, Some(Ok(icon))) => look(icon, &mut reporter),
            (
                CheckFn::Manifest(_)
                | CheckFn::Online(_)
                | CheckFn::Icon(_)
                | CheckFn::Closure(_)
                | CheckFn::Registry(_),
                ..,
            ) => {}
        }
    }
    let closure_rules = rules.iter().filter_map(|rule| match rule.check {
        CheckFn::Closure(look) => Some((rule, look)),
        _ => None,
    });
    if let Some(subject) = &subject {
        // Each list is read once, and forgotten: those of all agents together may be large.
        for (kind, closure) in registry.closures(&entry.id, subject.manifest) {
            let file = ClosureFile::new(kind, closure);
            for (rule, look) in closure_rules.clone() {
                let level = |agent: Option<&str>| options.levels.both(rule, agent);
                look(subject, &file, &mut Reporter::new(rule.name, &level, about(file_name(kind), ""), &mut findings));
            }
        }
    }
    if let Some(manifest) = manifest {
        manifest.forget_places();
    }
    findings
}

fn loaded_text<'a, T>(loaded: &'a Loaded<T>, text: impl FnOnce(&'a T) -> &'a str) -> &'a str {
    match loaded {
        Loaded::Present(value) => text(value),
        Loaded::Broken(SyntaxError { text, .. }) | Loaded::NotUtf8 { text, .. } => text,
        Loaded::Missing | Loaded::Unreadable(_) => "",
    }
}
