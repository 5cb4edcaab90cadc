//! The result of `build`.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use acp_registry::check::Checked;
use acp_registry::failure::Failure;
use acp_registry::finding::{Finding, Level};
use acp_registry::registry::Registry;
use acp_registry::text::{plural, printable};
use acp_registry::tree::{AgentOutcome, Built, BuiltAgent, Difference, LeftOutReason};
use serde::Serialize;

use crate::documents::Document;
use crate::formats::Report;
use crate::formats::json::FindingDocument;
use crate::terminal::layout::Look;

/// The rule for folders without a manifest.
const STRAY_ENTRY: &str = "registry/stray-entry";

/// The result of `build`.
pub(crate) struct BuildReport<'a> {
    /// The output directory.
    pub(crate) out: &'a Path,
    /// Whether the tree was only compared with the output directory.
    pub(crate) is_check: bool,
    /// The findings of the registry.
    pub(crate) checked: &'a Checked,
    /// The built tree, or the `error` member of the document.
    pub(crate) built: Result<&'a Built<'a>, Failure>,
    /// The differences between the tree and the output directory.
    pub(crate) differences: &'a [Difference],
    /// How many files are new or changed; `None` if the tree was not written.
    pub(crate) changed: Option<usize>,
    /// The path or URL of the previously published tree.
    pub(crate) previous: Option<&'a str>,
    /// How long the build took.
    pub(crate) duration: Duration,
}

/// A message about a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BuildNotice {
    /// An agent is not published as its folder describes it. An error with `--strict`.
    Incomplete(String),
    /// Another part of the registry is not published as described.
    Warning(String),
    /// Information about an intended state.
    Note(String),
}

impl BuildReport<'_> {
    /// A line for each difference, then the summary.
    pub(crate) fn human(&self) -> String {
        let out = printable(&self.out.display().to_string()).into_owned();
        let is_missing = self.is_check && !self.out.exists();
        let mut text = if is_missing { format!("{out} does not exist\n") } else { String::new() };
        // If the directory is missing, every file would be listed as missing.
        for difference in self.differences.iter().filter(|_| !is_missing) {
            let (kind, name) = kind_and_file(difference);
            text.push_str(&format!("{kind} {}\n", printable(name)));
        }
        let verb = match (self.is_check, self.differences.is_empty()) {
            (false, _) => "wrote",
            (true, true) => "unchanged:",
            (true, false) => "differs:",
        };
        let built = self.built.as_ref().ok();
        let agents = built.map_or(0, |built| built.with(AgentOutcome::is_in_tree).count());
        let files = built.map_or(0, |built| built.tree.files().len());
        let changed = self.changed.filter(|changed| *changed < files);
        let changed = changed.map_or_else(String::new, |changed| format!(", {changed} of them new or changed"));
        let warnings = match self.checked.count(Level::Warning) {
            0 => String::new(),
            count => format!("; {}, see `validate`", plural(count, "warning")),
        };
        let (agents, files) = (plural(agents, "agent"), plural(files, "file"));
        text + &format!("{verb} {out} ({agents}, {files}{changed}{warnings})\n")
    }

    /// Returns the document of `build --json`.
    pub(crate) fn document(&self, failure: Option<Failure>) -> String {
        let built = self.built.as_ref().ok().copied();
        let ids = |is: fn(AgentOutcome) -> bool| built.iter().flat_map(|built| built.with(is)).collect::<Vec<&str>>();
        let (kept, left_out) = (ids(is_kept), ids(is_left_out));
        let agents = built.iter().flat_map(|built| &built.agents);
        let files = built.map(|built| built.tree.files()).unwrap_or_default().into_iter();
        let missing = built.iter().flat_map(|built| &built.missing);
        let differences = self.differences.iter().map(kind_and_file);
        let findings: Vec<Cow<'_, Finding>> =
            self.checked.findings.iter().map(|found| as_published(found, &kept)).collect();
        let members = BuildDocument {
            out: self.out.display().to_string(),
            written: built.is_some() && !self.is_check,
            changed_files: self.changed,
            findings: findings.iter().map(|finding| FindingDocument::of(finding)).collect(),
            agents: agents.map(|agent| AgentRow { id: &agent.id, status: agent.outcome.as_str() }).collect(),
            kept_icons: built.map_or(&[], |built| &built.kept_icons),
            files: files.map(|(name, size)| TreeFile { name, size }).collect(),
            missing: missing.map(|(id, file)| Missing { id, file }).collect(),
            differences: differences.map(|(kind, file)| Different { kind, file }).collect(),
            summary: BuildSummary {
                agents: self.checked.agents.len(),
                kept: kept.len(),
                left_out: left_out.len(),
                errors: self.checked.count(Level::Error),
                warnings: self.checked.count(Level::Warning),
                duration_seconds: self.duration.as_secs_f64(),
            },
            kept: kept.clone(),
            left_out,
            previous: built.map(|_| Previous { previous: self.previous }),
        };
        Document::new("build", members).failed(failure).to_text()
    }
}

/// Renders the errors that prevent agents from being published, for people. Warnings are left to `validate`.
pub(crate) fn build_errors(registry: &Registry, checked: &Checked, look: Look) -> Option<String> {
    let errors = checked.findings.iter().filter(|finding| finding.level == Level::Error);
    let findings = errors.cloned().collect::<Vec<_>>();
    if findings.is_empty() {
        return None;
    }
    let errors = Checked { findings, agents: checked.agents.clone(), notes: Vec::new() };
    let text = |file: &str| registry.text(file);
    Some(Report { checked: &errors, duration: Duration::ZERO, text: &text, prefix: "", look, failure: None }.findings())
}

/// Lists the agents that are not published as their folders describe them. `previous` is the path or URL of the
/// previously published tree.
pub(crate) fn build_notices(built: &Built<'_>, registry: &Registry, previous: Option<&str>) -> Vec<BuildNotice> {
    let of_agent = |agent: &BuiltAgent| {
        let id = printable(&agent.id);
        let warning = match agent.outcome {
            AgentOutcome::Published => return None,
            AgentOutcome::Withdrawn => {
                return Some(BuildNotice::Note(format!("{id} is not published: registry.toml names it as withdrawn")));
            }
            AgentOutcome::Kept => format!("{id} keeps its last published form: {}", why_kept(&agent.id, registry)),
            AgentOutcome::LeftOut(LeftOutReason::NeverPublished) => {
                format!("{id} is left out: it has errors and was never published")
            }
            AgentOutcome::LeftOut(LeftOutReason::Unsafe(rule)) => {
                format!("{id} is left out: it has errors, and its published form breaks {rule}")
            }
        };
        Some(BuildNotice::Incomplete(warning))
    };
    let place = previous.filter(|_| built.nothing_published);
    let place = place.map(|place| {
        let place = printable(place);
        BuildNotice::Incomplete(format!("nothing is published at {place}: no agent keeps an earlier form"))
    });
    let missing = built.missing.iter();
    let missing =
        missing.map(|(id, view)| format!("{id} is missing from {view}: it has errors, and no earlier form there"));
    let icons = built.kept_icons.iter();
    let icons = icons.map(|id| format!("{id} has no icon.svg: it keeps the icon that was published before"));
    let unknown = built.unknown_icons.iter();
    let unknown = unknown.map(|error| format!("agents without an icon.svg are published without an icon: {error}"));
    let of_agents = built.agents.iter().filter_map(of_agent);
    place.into_iter().chain(of_agents).chain(missing.chain(icons).chain(unknown).map(BuildNotice::Warning)).collect()
}

fn why_kept(id: &str, registry: &Registry) -> &'static str {
    if registry.entry(id).is_some() {
        "it has errors"
    } else if registry.strays.iter().any(|stray| stray.name == id) {
        "its folder has no agent.json"
    } else {
        "its folder has another name now"
    }
}

fn is_kept(outcome: AgentOutcome) -> bool {
    outcome == AgentOutcome::Kept
}

fn is_left_out(outcome: AgentOutcome) -> bool {
    matches!(outcome, AgentOutcome::LeftOut(_))
}

fn kind_and_file(difference: &Difference) -> (&'static str, &str) {
    match difference {
        Difference::Missing(name) => ("missing", name),
        Difference::Changed(name) => ("changed", name),
        Difference::Extra(name) => ("extra", name),
    }
}

/// Adapts a finding to the result of the build. A folder without a manifest is not published, but if an agent was
/// published from it before, the last published form is kept.
fn as_published<'a>(finding: &'a Finding, kept: &[&str]) -> Cow<'a, Finding> {
    if finding.rule != STRAY_ENTRY || !kept.contains(&finding.file.as_str()) {
        return Cow::Borrowed(finding);
    }
    let mut finding = finding.clone();
    "the folder has no agent.json; its agent keeps its last published form".clone_into(&mut finding.message);
    let is_misnamed = finding.help.as_ref().is_some_and(|help| help.clone().starts_with("rename "));
    if !is_misnamed {
        finding.help = Some(
            "restore agent.json; to stop publishing the agent, name it below `[withdrawn]` in registry.toml".into(),
        );
    }
    Cow::Owned(finding)
}

/// Members of `build`.
#[derive(Serialize)]
struct BuildDocument<'a> {
    out: String,
    written: bool,
    changed_files: Option<usize>,
    findings: Vec<FindingDocument<'a>>,
    agents: Vec<AgentRow<'a>>,
    kept: Vec<&'a str>,
    left_out: Vec<&'a str>,
    kept_icons: &'a [String],
    files: Vec<TreeFile<'a>>,
    missing: Vec<Missing<'a>>,
    differences: Vec<Different<'a>>,
    summary: BuildSummary,
    #[serde(flatten)]
    previous: Option<Previous<'a>>,
}

/// The previously published tree. The member is present only if a tree was built.
#[derive(Serialize)]
struct Previous<'a> {
    previous: Option<&'a str>,
}

#[derive(Serialize)]
struct AgentRow<'a> {
    id: &'a str,
    status: &'static str,
}

#[derive(Serialize)]
struct TreeFile<'a> {
    name: &'a str,
    size: usize,
}

#[derive(Serialize)]
struct Missing<'a> {
    id: &'a str,
    file: &'a str,
}

#[derive(Serialize)]
struct Different<'a> {
    kind: &'static str,
    file: &'a str,
}

#[derive(Serialize)]
struct BuildSummary {
    agents: usize,
    kept: usize,
    left_out: usize,
    errors: usize,
    warnings: usize,
    duration_seconds: f64,
}
