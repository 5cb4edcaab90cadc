//! `acp-registry build`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acp_registry::check::{Checked, Options as CheckOptions, Selection, check};
use acp_registry::finding::Level;
use acp_registry::index::{self, Built, Difference, Outcome, Tree};
use acp_registry::registry::{DEFAULT_BASE_URL, Registry};
use acp_registry::report::{Format, Report, finding_json, plural};
use acp_registry::site::{self, Capabilities};
use acp_registry::sys::fs::read_bounded;
use acp_registry::text::printable;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global, configured_levels};
use super::previous;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The published tree; replaced as a whole
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Address under which the tree will be found [default: from the configuration, else the public CDN's]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Leave out the catalog site
    #[arg(long)]
    no_site: bool,

    /// A capability snapshot, for the site's tables and filters [default: `capabilities.json` in the registry directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_site")]
    capabilities: Option<PathBuf>,

    /// A published tree from which agents with errors keep their last form
    #[arg(long, value_name = "DIR|URL")]
    previous: Option<String>,

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
        acp_registry::registry::check_base_url(address).map_err(Failure::usage)?;
    }
    let allowed_hosts = global.allowed_hosts()?;
    let levels = configured_levels(&config)?;
    let registry = Registry::load(&global.registry_dir())?;
    let options = CheckOptions { levels: &levels, allowed_hosts: &allowed_hosts, config: &config, survey: None };
    let checked = check(&registry, &options, &Selection::All);
    let capabilities = if args.no_site {
        Capabilities::default()
    } else {
        capabilities(args.capabilities.as_deref(), &global.registry_dir())?
    };
    let previous = args.previous.as_deref().map(|place| previous::open(place, &allowed_hosts)).transpose()?;
    let options = index::Options { base_url: args.base_url.as_deref(), check: &options, previous: previous.as_deref() };
    let built = index::build(&registry, &checked, &options);

    if !args.format.is_json() {
        show_errors(&registry, &checked, ui);
    }
    let mut built = match built {
        Ok(built) => built,
        Err(error) => {
            let failure = Failure::from(error);
            if args.format.is_json() {
                ui.result(&document(args, &checked, None, &[], Some(&failure), started.elapsed()))?;
                ui.error(&failure.to_string());
                return Ok(failure.exit);
            }
            return Err(failure);
        }
    };
    for (id, view) in &built.missing {
        ui.warning(&format!("{id} is missing from {view}: it has errors, and no earlier form there"));
    }
    if !args.no_site {
        let base_url = args.base_url.as_deref().or(config.base_url.as_deref()).unwrap_or(DEFAULT_BASE_URL);
        built.tree = with_site(built.tree, base_url.trim_end_matches('/'), &capabilities)?;
    }
    let differences = if args.check {
        built.tree.differences(&args.out)?
    } else {
        built.tree.write(&args.out, &registry.root)?;
        Vec::new()
    };
    if args.format.is_json() {
        ui.result(&document(args, &checked, Some(&built), &differences, None, started.elapsed()))?;
    } else {
        ui.result(&summary(args, &checked, &built, &differences))?;
    }
    let exit = if differences.is_empty() { Exit::Success } else { Exit::Findings };
    // The process ends: giving back a large registry piece by piece would be a tenth of its work.
    std::mem::forget(built);
    std::mem::forget(registry);
    Ok(exit)
}

/// The largest snapshot that is read, in bytes.
const SNAPSHOT_LIMIT: u64 = 256 << 20;

/// The snapshot that a flag names, or else the one that lies in the registry, if there is one.
pub(super) fn capabilities(named: Option<&Path>, registry: &Path) -> Result<Capabilities, Failure> {
    let usual = registry.join("capabilities.json");
    match named {
        Some(path) => read_capabilities(path),
        None if usual.is_file() => read_capabilities(&usual),
        None => Ok(Capabilities::default()),
    }
}

fn read_capabilities(path: &Path) -> Result<Capabilities, Failure> {
    let shown = path.display();
    let real = path.canonicalize().map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let bytes =
        read_bounded(&real, &real, SNAPSHOT_LIMIT).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    Capabilities::parse(&bytes).map_err(|error| Failure::usage(format!("{shown} {error}")))
}

/// The tree with the site for the agents of its main index.
pub(super) fn with_site<'a>(tree: Tree<'a>, base_url: &str, capabilities: &Capabilities) -> Result<Tree<'a>, Failure> {
    let index = tree.file("registry.json").unwrap_or(b"{}");
    let has_icon = |id: &str| tree.file(&format!("{id}.svg")).is_some();
    let files = site::render(&site::Options { index, base_url, capabilities, has_icon: &has_icon })?;
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
        Report { checked: &errors, duration: Duration::ZERO, text: &text, prefix: "", color: ui.color_stderr() };
    ui.show(&report.render(Format::Human));
}

fn kept<'a>(built: &'a Built<'_>) -> Vec<&'a str> {
    built.agents.iter().filter(|agent| agent.outcome == Outcome::Kept).map(|agent| agent.id.as_str()).collect()
}

fn name_of(difference: &Difference) -> (&'static str, &str) {
    match difference {
        Difference::Missing(name) => ("missing", name),
        Difference::Changed(name) => ("changed", name),
        Difference::Extra(name) => ("extra", name),
    }
}

fn summary(args: &Args, checked: &Checked, built: &Built<'_>, differences: &[Difference]) -> String {
    let mut out = String::new();
    for id in kept(built) {
        out.push_str(&format!("kept the last published form of {id}\n"));
    }
    for difference in differences {
        let (kind, name) = name_of(difference);
        out.push_str(&format!("{kind} {}\n", printable(name)));
    }
    let verb = match (args.check, differences.is_empty()) {
        (false, _) => "wrote",
        (true, true) => "unchanged:",
        (true, false) => "differs:",
    };
    let warnings = checked.count(Level::Warning);
    out.push_str(&format!(
        "{verb} {} ({}, {}{})\n",
        printable(&args.out.display().to_string()),
        plural(built.agents.len(), "agent"),
        plural(built.tree.files().count(), "file"),
        if warnings == 0 { String::new() } else { format!("; {}, see `validate`", plural(warnings, "warning")) },
    ));
    out
}

fn document(
    args: &Args,
    checked: &Checked,
    built: Option<&Built<'_>>,
    differences: &[Difference],
    failure: Option<&Failure>,
    duration: Duration,
) -> String {
    let agents = built.iter().flat_map(|built| &built.agents);
    let files = built.iter().flat_map(|built| built.tree.files());
    let mut document = json!({
        "schema": 1,
        "command": "build",
        "out": args.out.display().to_string(),
        "written": built.is_some() && !args.check,
        "findings": checked.findings.iter().map(finding_json).collect::<Vec<Value>>(),
        "agents": agents.map(|agent| json!({ "id": agent.id, "status": agent.outcome.as_str() })).collect::<Vec<Value>>(),
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
            "kept": built.map_or(0, |built| kept(built).len()),
            "errors": checked.count(Level::Error),
            "warnings": checked.count(Level::Warning),
            "duration_seconds": duration.as_secs_f64(),
        },
    });
    if let Some(failure) = failure {
        document["error"] = json!({ "exit_code": failure.exit.code(), "message": failure.to_string() });
    }
    acp_registry::json::to_string(&document)
}
