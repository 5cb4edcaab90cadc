//! `acp-registry build`

use std::borrow::Cow;
use std::env;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use acp_registry::check::{Checked, Options as CheckOptions, Selection, check};
use acp_registry::config::Config;
use acp_registry::diff;
use acp_registry::finding::{Finding, Level};
use acp_registry::history::{Extent, History, Moment};
use acp_registry::registry::{DEFAULT_BASE_URL, Registry};
use acp_registry::report::{Report, finding_json, plural};
use acp_registry::site::{self, Capabilities};
use acp_registry::sys::fs::read_bounded;
use acp_registry::text::printable;
use acp_registry::tree::{self, BuildError, Built, Difference, Outcome, Published, Reason, Tree};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global, configured_levels};
use super::previous;
use super::remedy;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory of the tree, which is replaced as a whole
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,

    /// The address of the published tree
    ///
    /// The default is `base-url` in registry.toml, else the address of the public registry.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Leave out the catalog site
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
    /// have are left out. Its history goes on where git does not know it.
    #[arg(long, value_name = "DIR|URL", num_args = 0..=1, default_missing_value = "")]
    previous: Option<String>,

    /// Exit 1 when agents keep their last form or are left out
    #[arg(long, requires = "previous")]
    strict: bool,

    /// Write nothing; exit 1 if the tree differs
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let config = global.config()?;
    if let Some(address) = &args.base_url {
        acp_registry::config::check_base_url(address)
            .map_err(|error| Failure::usage(error).help("write the address below which the tree is published"))?;
    }
    let allowed_hosts = global.allowed_hosts()?;
    let levels = configured_levels(&config)?;
    let directory = global.registry_dir();
    let registry = Registry::load(&directory)?;
    let options = CheckOptions { levels: &levels, allowed_hosts: &allowed_hosts, config: &config, survey: None };
    let knowledge = || {
        let (capabilities, history) = (args.capabilities.as_deref(), args.history.as_deref());
        (!args.no_site).then(|| Knowledge::read(capabilities, history, &directory)).transpose()
    };
    let (checked, knowledge) = rayon::join(|| check(&registry, &options, &Selection::All), knowledge);
    let mut knowledge = knowledge?;
    let place = previous_place(args, &config, ui);
    let previous = place.map(|place| previous::open(place, &allowed_hosts)).transpose()?;
    let options = tree::Options { base_url: args.base_url.as_deref(), check: &options, previous: previous.as_deref() };
    let built = tree::build(&registry, &checked, &options);

    if !args.format.is_json() {
        show_errors(&registry, &checked, ui);
    }
    let mut built = match built {
        Ok(built) => built,
        Err(error) => {
            // The earlier tree, if one is named, has none of these agents, either.
            let has_no_form = place.is_some() && matches!(error, BuildError::Findings { .. });
            let mut failure = Failure::from(error);
            if has_no_form {
                failure = failure.help(remedy::ERRORS);
            }
            if args.format.is_json() {
                let document = result(args, &checked, None, &[], None, started.elapsed());
                ui.result(&acp_registry::json::to_string(&with_error(document, &failure)))?;
                ui.failure(&failure);
                return Ok(failure.exit);
            }
            return Err(failure);
        }
    };
    show_outcomes(&built, &registry, ui);
    if args.base_url.is_none() && config.base_url.is_none() && directory.join("registry.toml").is_file() {
        ui.warning(&format!(
            "`base-url` is not set in registry.toml: icons and pages are linked below {DEFAULT_BASE_URL}, which is the public \
             registry's"
        ));
    }
    if let (Some(knowledge), Some(previous)) = (&mut knowledge, previous.as_deref()) {
        knowledge.continue_history(previous, built.tree.file("registry.json").unwrap_or(b"{}"))?;
    }
    if let Some(knowledge) = &knowledge {
        let base_url = args.base_url.as_deref().or(config.base_url.as_deref()).unwrap_or(DEFAULT_BASE_URL);
        let base_url = base_url.trim_end_matches('/');
        built.tree = with_site(built.tree, base_url, base_url, &config, knowledge)?;
    }
    let (differences, changed) = if args.check {
        (built.tree.differences(&args.out)?, None)
    } else {
        (Vec::new(), Some(built.tree.write(&args.out, &registry.root)?))
    };
    if args.format.is_json() {
        let mut document = result(args, &checked, Some(&built), &differences, changed, started.elapsed());
        document["previous"] = place.into();
        ui.result(&acp_registry::json::to_string(&document))?;
    } else {
        ui.result(&summary(args, &checked, &built, &differences, changed))?;
    }
    let is_incomplete = built.agents.iter().any(|agent| is_kept(agent.outcome) || is_left_out(agent.outcome));
    let is_refused = !differences.is_empty() || (args.strict && is_incomplete);
    let exit = if is_refused { Exit::Findings } else { Exit::Success };
    // The process ends: giving back a large registry piece by piece would be a tenth of its work.
    std::mem::forget(built);
    std::mem::forget(registry);
    Ok(exit)
}

/// What `--previous` names; by itself, the address at which the tree will be found.
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

/// Names the agents that are not published as their folders say.
fn show_outcomes(built: &Built<'_>, registry: &Registry, ui: &Ui) {
    for agent in &built.agents {
        let id = printable(&agent.id);
        match agent.outcome {
            Outcome::Published => {}
            Outcome::Kept => {
                let is_stray = || registry.strays.iter().any(|stray| stray.name == agent.id);
                let why = if registry.entry(&agent.id).is_some() {
                    "it has errors"
                } else if is_stray() {
                    "its folder has no agent.json"
                } else {
                    "its folder has another name now"
                };
                ui.warning(&format!("{id} keeps its last published form: {why}"));
            }
            Outcome::LeftOut(Reason::NeverPublished) => {
                ui.warning(&format!("{id} is left out: it has errors and was never published"));
            }
            Outcome::LeftOut(Reason::Unsafe(rule)) => {
                ui.warning(&format!("{id} is left out: it has errors, and its published form breaks {rule}"));
            }
            Outcome::Withdrawn => ui.note(&format!("{id} is not published: registry.toml names it as withdrawn")),
        }
    }
    for (id, view) in &built.missing {
        ui.warning(&format!("{id} is missing from {view}: it has errors, and no earlier form there"));
    }
    for id in &built.kept_icons {
        ui.warning(&format!("{id} has no icon.svg: it keeps the icon that was published before"));
    }
    if let Some(error) = &built.unknown_icons {
        ui.warning(&format!("agents without an icon.svg are published without an icon: {error}"));
    }
}

/// The rule about folders without a manifest.
const STRAY_ENTRY: &str = "registry/stray-entry";

/// The largest snapshot or history that is read, in bytes.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// What is known of agents besides their entries.
pub(super) struct Knowledge {
    capabilities: Capabilities,
    history: History,
    /// Whether nobody has written the history down, so that it may be continued from what was published.
    is_from_git: bool,
}

impl Knowledge {
    /// Reads the files that flags name, or else those that lie in the registry, if they do; the history, if there is no
    /// file, from git.
    pub(super) fn read(capabilities: Option<&Path>, history: Option<&Path>, registry: &Path) -> Result<Self, Failure> {
        let usual = |name: &str| Some(registry.join(name)).filter(|path| path.is_file());
        let capabilities = match capabilities.map(ToOwned::to_owned).or_else(|| usual("capabilities.json")) {
            Some(path) => document(&path, "--capabilities", Capabilities::parse)?,
            None => Capabilities::default(),
        };
        let written = history.map(ToOwned::to_owned).or_else(|| usual("history.json"));
        let is_from_git = written.is_none();
        let history = match written {
            Some(path) => document(&path, "--history", History::parse)?,
            None => History::of_registry(registry),
        };
        Ok(Self { capabilities, history, is_from_git })
    }

    /// Where git does not know the whole history, what the previous tree told goes on, with what has changed since.
    fn continue_history(&mut self, previous: &dyn Published, index: &[u8]) -> Result<(), Failure> {
        if !self.is_from_git || *self.history.extent() == Extent::Whole {
            return Ok(());
        }
        let failed = |file: &str, message: &dyn Display| {
            Failure::unable(format!("{file} of the previous tree {message}"))
                .help("name another tree with --previous, or a history with --history")
        };
        let Some(before) = previous.read("registry.json")? else { return Ok(()) };
        let before = diff::Index::parse(&before).map_err(|error| failed("registry.json", &error))?;
        let now = diff::Index::parse(index).map_err(Failure::unable)?;
        let told = previous.read("history.json")?.map(|bytes| History::parse(&bytes)).transpose();
        let told = told.map_err(|error| failed("history.json", &error))?;
        let changes = diff::compare(&before, &now);
        self.history = History::continued(told, &changes, &self.history, moment()?);
        Ok(())
    }
}

/// The time of this publication: what `SOURCE_DATE_EPOCH` says, so that a build can be repeated, or now.
fn moment() -> Result<Moment, Failure> {
    let wrong =
        || Failure::usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970").help("correct or unset it");
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => text.trim().parse().map_err(|_| wrong())?,
        _ => SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| i64::try_from(elapsed.as_secs()).unwrap_or_default()),
    };
    Moment::from_unix(seconds).ok_or_else(wrong)
}

fn document<T, E: Display>(path: &Path, flag: &str, parse: impl FnOnce(&[u8]) -> Result<T, E>) -> Result<T, Failure> {
    let shown = path.display();
    let wrong = |why: &dyn Display| {
        Failure::usage(format!("{shown}{why}")).help(format!("correct the file, or name another with {flag}"))
    };
    let real = path.canonicalize().map_err(|error| wrong(&format_args!(": {error}")))?;
    let bytes = read_bounded(&real, &real, DOCUMENT_LIMIT).map_err(|error| wrong(&format_args!(": {error}")))?;
    parse(&bytes).map_err(|error| wrong(&format_args!(" {error}")))
}

/// The tree with the site for the agents of its main index. `published` is the address under which people will find it.
pub(super) fn with_site<'a>(
    tree: Tree<'a>,
    base_url: &str,
    published: &str,
    config: &Config,
    knowledge: &Knowledge,
) -> Result<Tree<'a>, Failure> {
    let index = tree.file("registry.json").unwrap_or(b"{}");
    let has_icon = |id: &str| tree.file(&format!("{id}.svg")).is_some();
    let registry_url = (published != DEFAULT_BASE_URL).then(|| format!("{published}/registry.json"));
    let files = site::render(&site::Options {
        index,
        base_url,
        registry_url: registry_url.as_deref(),
        config: &config.site,
        capabilities: &knowledge.capabilities,
        history: &knowledge.history,
        has_icon: &has_icon,
    })?;
    Ok(tree.with(files))
}

/// Errors stop agents from being published, so they are shown; warnings are the business of `validate`.
pub(super) fn show_errors(registry: &Registry, checked: &Checked, ui: &Ui) {
    let findings = checked.findings.iter().filter(|finding| finding.level == Level::Error).cloned().collect::<Vec<_>>();
    if findings.is_empty() {
        return;
    }
    let errors = Checked { findings, agents: checked.agents.clone(), notes: Vec::new() };
    let text = |file: &str| registry.text(file);
    let report =
        Report { checked: &errors, duration: Duration::ZERO, text: &text, prefix: "", look: ui.look_of_notes() };
    ui.show(&report.findings());
}

fn is_kept(outcome: Outcome) -> bool {
    outcome == Outcome::Kept
}

fn is_left_out(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::LeftOut(_))
}

fn name_of(difference: &Difference) -> (&'static str, &str) {
    match difference {
        Difference::Missing(name) => ("missing", name),
        Difference::Changed(name) => ("changed", name),
        Difference::Extra(name) => ("extra", name),
    }
}

fn summary(
    args: &Args,
    checked: &Checked,
    built: &Built<'_>,
    differences: &[Difference],
    changed: Option<usize>,
) -> String {
    let mut out = String::new();
    let is_missing = args.check && !args.out.exists();
    if is_missing {
        out.push_str(&format!("{} does not exist\n", printable(&args.out.display().to_string())));
    }
    // Of what is not there at all, every file would be missing.
    for difference in differences.iter().filter(|_| !is_missing) {
        let (kind, name) = name_of(difference);
        out.push_str(&format!("{kind} {}\n", printable(name)));
    }
    let verb = match (args.check, differences.is_empty()) {
        (false, _) => "wrote",
        (true, true) => "unchanged:",
        (true, false) => "differs:",
    };
    let warnings = checked.count(Level::Warning);
    let files = built.tree.files().count();
    out.push_str(&format!(
        "{verb} {} ({}, {}{}{})\n",
        printable(&args.out.display().to_string()),
        plural(built.with(Outcome::is_in_tree).count(), "agent"),
        plural(files, "file"),
        changed
            .filter(|changed| *changed < files)
            .map_or_else(String::new, |changed| format!(", {changed} of them new or changed")),
        if warnings == 0 { String::new() } else { format!("; {}, see `validate`", plural(warnings, "warning")) },
    ));
    out
}

fn result(
    args: &Args,
    checked: &Checked,
    built: Option<&Built<'_>>,
    differences: &[Difference],
    changed: Option<usize>,
    duration: Duration,
) -> Value {
    let ids = |is: fn(Outcome) -> bool| built.iter().flat_map(|built| built.with(is)).collect::<Vec<&str>>();
    let (kept, left_out) = (ids(is_kept), ids(is_left_out));
    let agents = built.iter().flat_map(|built| &built.agents);
    let files = built.iter().flat_map(|built| built.tree.files());
    json!({
        "schema": 1,
        "command": "build",
        "out": args.out.display().to_string(),
        "written": built.is_some() && !args.check,
        "changed_files": changed,
        "findings": checked
            .findings
            .iter()
            .map(|finding| finding_json(&as_published(finding, &kept)))
            .collect::<Vec<Value>>(),
        "agents": agents.map(|agent| json!({ "id": agent.id, "status": agent.outcome.as_str() })).collect::<Vec<Value>>(),
        "kept": kept,
        "left_out": left_out,
        "kept_icons": built.map_or(&[][..], |built| &built.kept_icons),
        "files": files.map(|(name, bytes)| json!({ "name": name, "size": bytes.len() })).collect::<Vec<Value>>(),
        "missing": built.iter().flat_map(|built| &built.missing).map(|(id, view)| json!({ "id": id, "file": view })).collect::<Vec<Value>>(),
        "differences": differences
            .iter()
            .map(|difference| {
                let (kind, name) = name_of(difference);
                json!({ "kind": kind, "file": name })
            })
            .collect::<Vec<Value>>(),
        "summary": {
            "agents": checked.agents.len(),
            "kept": kept.len(),
            "left_out": left_out.len(),
            "errors": checked.count(Level::Error),
            "warnings": checked.count(Level::Warning),
            "duration_seconds": duration.as_secs_f64(),
        },
    })
}

/// A finding that says that a folder is not published, with the outcome of its agent: an agent that was published from there
/// keeps its last form.
fn as_published<'a>(finding: &'a Finding, kept: &[&str]) -> Cow<'a, Finding> {
    if finding.rule != STRAY_ENTRY || !kept.contains(&finding.file.as_str()) {
        return Cow::Borrowed(finding);
    }
    let mut finding = finding.clone();
    "the folder has no agent.json; its agent keeps its last published form".clone_into(&mut finding.message);
    let is_misnamed = finding.help.as_deref().is_some_and(|help| help.starts_with("rename "));
    if !is_misnamed {
        finding.help = Some(
            "restore agent.json; to stop publishing the agent, name it below `[withdrawn]` in registry.toml".to_owned(),
        );
    }
    Cow::Owned(finding)
}

fn with_error(mut document: Value, failure: &Failure) -> Value {
    document["error"] = failure.document();
    document
}
