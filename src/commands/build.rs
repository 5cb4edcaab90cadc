//! `acp-registry build`

use std::borrow::Cow;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_registry::advisories::Advisories;
use acp_registry::build::{BuildRequest, EarlierTree, Error, Site, TreeLocation, build};
use acp_registry::check::{CheckOptions, Checked};
use acp_registry::config::{Config, check_base_url};
use acp_registry::failure::{Exit, Failure};
use acp_registry::finding::{Finding, Level};
use acp_registry::index::minisign::PublicKey;
use acp_registry::registry::Registry;
use acp_registry::text::{plural, printable};
use acp_registry::timestamp::Timestamp;
use acp_registry::tree::{
    AgentOutcome, BuildError, Built, Difference, LeftOutReason, PublishedTree, SignedTree, TreeOutput,
};
use serde_json::{Value, json};

use crate::documents::Document;
use crate::flags::global::{FormatArgs, Global, configured_levels};
use crate::flags::network::settings;
use crate::flags::session::signer;
use crate::formats::json::FindingDocument;
use crate::formats::{Report, human};
use crate::terminal::layout::Look;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the tree, which is replaced as a whole
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,

    /// The address of the published tree
    ///
    /// The default is `base-url` in registry.toml, else none: links are relative. Without a registry.toml, it is the address
    /// of the public registry.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Leave out the catalog site and the entries of single agents
    #[arg(long)]
    no_site: bool,

    /// What agents can do, as `verify --out` wrote it
    ///
    /// The default is `capabilities.json` in the registry.
    #[arg(long, value_name = "FILE", conflicts_with = "no_site")]
    capabilities: Option<PathBuf>,

    /// When agents came, changed and went
    ///
    /// The default is `history.json` in the registry, else its git commits.
    #[arg(long, value_name = "FILE", conflicts_with = "no_site")]
    history: Option<PathBuf>,

    /// Keep the last published form of agents with errors
    ///
    /// The value is a published tree, by default what is published at `base-url`. Agents with errors that it does not
    /// have are left out. Its history is continued where git has none.
    #[arg(long, value_name = "DIR|URL", num_args = 0..=1, default_missing_value = "")]
    previous: Option<String>,

    /// With --previous, take only what this key has signed [env: `ACP_REGISTRY_SIGNER`]
    ///
    /// The default is `signer` in registry.toml.
    #[arg(long, value_name = "KEY", requires = "previous")]
    signer: Option<PublicKey>,

    /// Exit 1 when agents keep their last form or are left out
    #[arg(long, requires = "previous")]
    strict: bool,

    /// Change nothing; exit 1 if the tree differs
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let config = global.config()?;
    if let Some(address) = &args.base_url {
        check_base_url(address)
            .map_err(|error| Failure::usage(error).help("write the address below which the tree is published"))?;
    }
    let (allowed_hosts, levels) =
        (global.allowed_hosts()?, configured_levels(&config, &global.config_file(&global.registry_dir()))?);
    let directory = global.registry_dir();
    let registry = Registry::load(&directory)?;
    let place = previous_place(args, &config, ui);
    let open = |place: &str| place.parse::<TreeLocation>()?.open(|| settings(&allowed_hosts));
    let previous = place.map(open).transpose()?;
    let signed = match (signer(args.signer)?.or(config.signer), previous.as_deref()) {
        (Some(signer), Some(tree)) => Some(SignedTree::load(tree, signer)?),
        _ => None,
    };
    let previous = signed.as_ref().map(|tree| tree as &dyn PublishedTree).or(previous.as_deref());
    let earlier = previous.map(|tree| moment().map(|now| EarlierTree { tree, now })).transpose()?;
    let (capabilities, history) = (args.capabilities.as_deref(), args.history.as_deref());
    let site = (!args.no_site).then_some(Site { directory: &directory, capabilities, history, published: None });
    let advisories = Advisories::read(&config, &registry.root);
    let check = CheckOptions {
        levels: &levels,
        allowed_hosts: &allowed_hosts,
        config: &config,
        survey: None,
        advisories: Some(&advisories),
    };
    let base_url = args.base_url.as_deref();
    let output = (!args.check).then(|| Arc::new(TreeOutput::new(&args.out, &registry.root)));
    if let Some(output) = output.as_ref().map(Arc::downgrade) {
        signals::end_with(move |end| {
            let output = output.upgrade();
            let _held = output.as_ref().map(|output| output.discard());
            end();
        });
    }
    let request = BuildRequest { registry: &registry, check: &check, base_url, earlier, site, output: output.as_ref() };
    let job = Job { args, ui, registry: &registry, output: output.as_deref(), place, started };
    let exit = build(&request, |checked, result| match result {
        Ok(built) => {
            job.show_errors(checked);
            job.notices(built);
            if acp_registry::tree::base_url(base_url, &config, &registry.root).is_none() {
                ui.warning(
                    "`base-url` is not set in registry.toml: all links are relative, and `publish` refuses the tree",
                );
            }
            job.write(checked, built)
        }
        Err(error) => {
            job.show_errors(checked);
            job.failed(checked, error)
        }
    });
    // The process is about to exit: freeing a large registry would take a tenth of the run time.
    std::mem::forget(registry);
    exit
}

/// What the result of a build depends on.
struct Job<'a> {
    args: &'a Args,
    ui: &'a Ui,
    registry: &'a Registry,
    /// None if the tree is only compared with the directory.
    output: Option<&'a TreeOutput>,
    place: Option<&'a str>,
    started: Instant,
}

impl Job<'_> {
    /// Writes the tree, or compares it with the output directory, and prints the result.
    fn write(&self, checked: &Checked, built: &Built<'_>) -> Result<Exit, Failure> {
        let out = &self.args.out;
        let (differences, changed) = match self.output {
            Some(output) => (Vec::new(), Some(built.tree.write(output)?)),
            None => (built.tree.differences(out)?, None),
        };
        let refusal = if !differences.is_empty() {
            let differs = plural(differences.len(), "file");
            Some(Failure::findings(format!("{} differs in {differs}", out.display())).help("build it without --check"))
        } else if self.args.strict && !built.is_complete() {
            let incomplete = Failure::findings("agents keep their last form, or are left out");
            Some(incomplete.help("correct the errors; `acp-registry validate` lists them"))
        } else {
            None
        };
        let exit = if refusal.is_some() { Exit::Findings } else { Exit::Success };
        self.ui.result(&if self.args.format.is_json() {
            self.document((checked, Some(built)), &differences, changed, refusal)
        } else {
            self.human((checked, built), &differences, changed)
        })?;
        Ok(exit)
    }

    fn failed(&self, checked: &Checked, error: Error) -> Result<Exit, Failure> {
        let is_of_tree = matches!(error, Error::Tree(_));
        // If a previous tree was named, it has none of these agents either, so that naming one is no remedy.
        let has_no_form = self.place.is_some() && matches!(error, Error::Tree(BuildError::Findings { .. }));
        let failure = Failure::from(error);
        let failure =
            if has_no_form { failure.help("correct the errors; `acp-registry validate` lists them") } else { failure };
        if !(self.args.format.is_json() && is_of_tree) {
            return Err(failure);
        }
        self.ui.result(&self.document((checked, None), &[], None, Some(failure.clone())))?;
        self.ui.failure(&failure);
        Ok(failure.exit())
    }

    fn show_errors(&self, checked: &Checked) {
        if !self.args.format.is_json()
            && let Some(errors) = build_errors(self.registry, checked, self.ui.look_of_notes())
        {
            self.ui.show(&errors);
        }
    }

    /// Names what is not published as its folder describes it. An agent that is not is an error with `--strict`.
    fn notices(&self, built: &Built<'_>) {
        let incomplete = |text: &str| if self.args.strict { self.ui.error(text) } else { self.ui.warning(text) };
        if let Some(place) = self.place.filter(|_| built.nothing_published) {
            let place = printable(place);
            incomplete(&format!("nothing is published at {place}: no agent keeps an earlier form"));
        }
        for agent in &built.agents {
            let id = printable(&agent.id);
            match agent.outcome {
                AgentOutcome::Published => {}
                AgentOutcome::Withdrawn => {
                    self.ui.note(&format!("{id} is not published: registry.toml names it as withdrawn"));
                }
                AgentOutcome::Kept => {
                    let why = why_kept(&agent.id, self.registry);
                    incomplete(&format!("{id} keeps its last published form: {why}"));
                }
                AgentOutcome::LeftOut(LeftOutReason::NeverPublished) => {
                    incomplete(&format!("{id} is left out: it has errors and was never published"));
                }
                AgentOutcome::LeftOut(LeftOutReason::Unsafe(rule)) => {
                    incomplete(&format!("{id} is left out: it has errors, and its published form breaks {rule}"));
                }
            }
        }
        for (id, view) in &built.missing {
            self.ui.warning(&format!("{id} is missing from {view}: it has errors, and no earlier form there"));
        }
        for id in &built.kept_icons {
            self.ui.warning(&format!("{id} has no icon.svg: it keeps the icon that was published before"));
        }
        if let Some(error) = &built.unknown_icons {
            self.ui.warning(&format!("agents without an icon.svg are published without an icon: {error}"));
        }
    }

    /// A line for each difference, then the summary.
    fn human(
        &self,
        (checked, built): (&Checked, &Built<'_>),
        differences: &[Difference],
        changed: Option<usize>,
    ) -> String {
        let Args { out: directory, check: is_check, .. } = self.args;
        let out = printable(&directory.display().to_string()).into_owned();
        let is_missing = *is_check && !directory.exists();
        let mut text = if is_missing { format!("{out} does not exist\n") } else { String::new() };
        // If the directory is missing, every file would be listed as missing.
        for difference in differences.iter().filter(|_| !is_missing) {
            let (kind, name) = kind_and_file(difference);
            text.push_str(&format!("{kind} {}\n", printable(name)));
        }
        let verb = match (*is_check, differences.is_empty()) {
            (false, _) => "wrote",
            (true, true) => "unchanged:",
            (true, false) => "differs:",
        };
        let agents = built.with(AgentOutcome::is_in_tree).count();
        let files = built.tree.file_count();
        let changed = changed.filter(|changed| *changed < files);
        let changed = changed.map_or_else(String::new, |changed| format!(", {changed} of them new or changed"));
        let warnings = match checked.count(Level::Warning) {
            0 => String::new(),
            count => format!("; {}, see `validate`", plural(count, "warning")),
        };
        let (agents, files) = (plural(agents, "agent"), plural(files, "file"));
        text + &format!("{verb} {out} ({agents}, {files}{changed}{warnings})\n")
    }

    /// Returns the document of `build --json`.
    fn document(
        &self,
        (checked, built): (&Checked, Option<&Built<'_>>),
        differences: &[Difference],
        changed: Option<usize>,
        failure: Option<Failure>,
    ) -> String {
        let ids = |is: fn(AgentOutcome) -> bool| built.iter().flat_map(|built| built.with(is)).collect::<Vec<&str>>();
        let kept = ids(|outcome| outcome == AgentOutcome::Kept);
        let left_out = ids(|outcome| matches!(outcome, AgentOutcome::LeftOut(_)));
        let agents = built.iter().flat_map(|built| &built.agents);
        let files = built.map(|built| built.tree.files()).unwrap_or_default().into_iter();
        let missing = built.iter().flat_map(|built| &built.missing);
        let differences = differences.iter().map(kind_and_file);
        let findings: Vec<Cow<'_, Finding>> = checked.findings.iter().map(|found| as_published(found, &kept)).collect();
        let mut members = json!({
            "out": self.args.out.display().to_string(),
            "written": built.is_some() && !self.args.check,
            "changed_files": changed,
            "findings": findings.iter().map(|finding| FindingDocument::of(finding)).collect::<Vec<_>>(),
            "agents": agents.map(|agent| json!({ "id": agent.id, "status": agent.outcome.as_str() })).collect::<Value>(),
            "kept": kept,
            "left_out": left_out,
            "kept_icons": built.map_or(&[][..], |built| &built.kept_icons),
            "files": files.map(|(name, size)| json!({ "name": name, "size": size })).collect::<Value>(),
            "missing": missing.map(|(id, file)| json!({ "id": id, "file": file })).collect::<Value>(),
            "differences": differences.map(|(kind, file)| json!({ "kind": kind, "file": file })).collect::<Value>(),
            "summary": {
                "agents": checked.agents.len(),
                "kept": kept.len(),
                "left_out": left_out.len(),
                "errors": checked.count(Level::Error),
                "warnings": checked.count(Level::Warning),
                "duration_seconds": self.started.elapsed().as_secs_f64(),
            },
        });
        if built.is_some() {
            members["previous"] = json!(self.place);
        }
        Document::new("build", members).failed(failure).to_text()
    }
}

/// The tree that `--previous` names; without a value, the base URL that the tree will be published at.
fn previous_place<'a>(args: &'a Args, config: &'a Config, ui: &Ui) -> Option<&'a str> {
    let named = Some(args.previous.as_deref()?).filter(|place| !place.is_empty());
    let place = named.or(args.base_url.as_deref()).or(config.base_url.as_deref());
    if place.is_none() {
        ui.warning(
            "--previous has no value, and registry.toml no `base-url`: there is no earlier tree, so that an agent with errors \
             stops the build",
        );
    }
    place
}

/// Returns the time of publication: `SOURCE_DATE_EPOCH` if set, for reproducible builds, otherwise the current time.
fn moment() -> Result<Timestamp, Failure> {
    let wrong =
        || Failure::usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970").help("correct or unset it");
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => {
            let seconds = text.trim().parse().ok();
            seconds.and_then(Timestamp::from_unix).ok_or_else(wrong)
        }
        _ => Ok(Timestamp::now()),
    }
}

/// The rule for folders without a manifest.
const STRAY_ENTRY: &str = "registry/stray-entry";

/// Renders the errors that prevent agents from being published, for people. Warnings are left to `validate`.
pub(crate) fn build_errors(registry: &Registry, checked: &Checked, look: Look) -> Option<String> {
    let errors = checked.findings.iter().filter(|finding| finding.level == Level::Error);
    let findings = errors.cloned().collect::<Vec<_>>();
    if findings.is_empty() {
        return None;
    }
    let errors = Checked { findings, agents: checked.agents.clone(), notes: Vec::new() };
    let text = |file: &str| registry.text(file);
    let duration = Duration::ZERO;
    Some(human::findings(&Report { checked: &errors, duration, text: &text, prefix: "", look, failure: None }))
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
