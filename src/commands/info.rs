//! `acp-registry info`

use std::env;
use std::path::PathBuf;

use acp_registry::failure::{Exit, Failure};
use acp_registry::manifest::BinaryTarget;
use acp_registry::ops::{self, Describe, DescribeReport};
use acp_registry::session::{AgentSpec, Permissions};
use acp_registry::statement::Signed;
use acp_registry::text::{printable, printable_line};
use clap::ValueEnum;

use crate::flags::candidates;
use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::layout::Look;
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// Column at which values begin.
const VALUES: usize = 15;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent, and its version if not the current one
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    agent: AgentSpec,

    /// List all versions that the registry has had
    ///
    /// `install ID@VERSION` takes each of them.
    #[arg(long)]
    versions: bool,

    /// List what the installed agent may touch in `run --sandbox` from this directory
    ///
    /// With `--format landlock`, as a profile for `llconfig`.
    #[arg(long)]
    permissions: bool,

    #[command(flatten)]
    place: SessionArgs,

    /// Form of the result; `landlock` is for the permissions alone
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: InfoFormat,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InfoFormat {
    Human,
    Json,
    Landlock,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.format == InfoFormat::Json
    }
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let is_profile = args.format == InfoFormat::Landlock;
    if is_profile && (!args.permissions || args.json) {
        return Err(Failure::usage("--format landlock is a form of --permissions").help("add --permissions"));
    }
    let here = args.permissions.then(env::current_dir).transpose();
    let permissions = here.map_err(|error| Failure::unable(format!("the working directory: {error}")))?;
    let request = Describe { agent: args.agent.clone(), versions: args.versions, permissions };
    let events = events(ui);
    let report = signals::run(ui, ops::describe(&session, &request, &events))??;
    if let (true, Some(permissions)) = (is_profile, &report.permissions) {
        let profile = permissions.landlock().ok_or_else(|| {
            Failure::unable("a profile cannot have a path that is not Unicode").help("leave out --format landlock")
        })?;
        ui.result(&format!("{profile:#}\n"))?;
    } else if args.is_json() {
        ui.report(&report)?;
    } else {
        ui.result(&text(&report, ui.look()))?;
    }
    Ok(Exit::Success)
}

fn text(report: &DescribeReport, look: Look) -> String {
    let mut text = entry(report, look);
    if let Some(newest) = &report.newest {
        let is_package = report.known_from == Some("package");
        let package = if is_package { ", and whether there is such a package was not looked up" } else { "" };
        let note = format!("name, licence and the like are those of {newest}, which the index has{package}");
        text.push_str(&line("note", &note, look));
    }
    if let Some(held) = report.held() {
        text.push_str(&line("index", &held.to_string(), look));
    }
    for version in report.registry_versions().unwrap_or_default() {
        let since =
            version.since.map(|since| format!(", since {}", since.get(..10).unwrap_or(since))).unwrap_or_default();
        let installed = if version.installed { ", installed" } else { "" };
        text.push_str(&line("version", &format!("{}{since}{installed}", version.version), look));
    }
    if let Some(permissions) = &report.permissions {
        text.push_str(&permitted(permissions, look));
    }
    if let Some(age) = report.index.age() {
        text.push_str(&line("index", &format!("{age}: {}", report.index.origin.source), look));
    }
    if let Some(Signed { signer, sequence, expires_at }) = &report.index.origin.signed {
        text.push_str(&line("signed by", &format!("{signer}, statement {sequence}, valid until {expires_at}"), look));
    }
    text
}

fn entry(report: &DescribeReport, look: Look) -> String {
    let agent = &report.agent;
    let name = look.paint("1", &printable_line(&agent.name));
    let mut text = look.wrap(&format!("{name} {}", printable(&agent.version)), 2);
    text.push_str(&look.wrap(&format!("  {}", printable_line(&agent.description)), 2));
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&line(name, value, look));
        }
    };
    line("id", Some(&agent.id));
    line("licence", agent.license.as_deref());
    line("authors", Some(&agent.authors.join(", ")));
    line("website", agent.website.as_deref());
    line("repository", agent.repository.as_deref());
    let platforms: Vec<String> = agent.distribution.binary.iter().map(platform).collect();
    line("binary", Some(&platforms.join(", ")));
    for (kind, package) in agent.distribution.packages() {
        let mut words = package.package.clone();
        if let Some(command) = &package.command {
            words.push_str(&format!(", command {command}"));
        }
        if let Some(day) = &package.exclude_newer {
            words.push_str(&format!(", as of {day}"));
        }
        line(kind.as_str(), Some(&words));
    }
    line(
        "known from",
        report
            .known_from
            .map(|known| if known == "package" { "the name of the package, with another version" } else { known }),
    );
    line("preview", agent.preview.as_ref().map(|preview| preview.version.as_str()));
    let current = report.current.as_ref();
    for (version, revocation) in &report.versions {
        let receipt = &version.receipt;
        let is_current = report.is_current(version);
        let mark = match current {
            Some(agent) if is_current && agent.is_pinned => ", current, pinned",
            Some(_) if is_current => ", current",
            _ => "",
        };
        let recall = revocation.as_ref().map(|found| format!(", {}", found.level.as_str())).unwrap_or_default();
        line("installed", Some(&format!("{} ({}{mark}{recall})", receipt.version, receipt.source.kind().as_str())));
        line("built by", receipt.provenance.as_ref().map(|proven| proven.publisher.workflow.as_str()));
    }
    text
}

/// What `run --sandbox` lets the agent touch.
fn permitted(permissions: &Permissions, look: Look) -> String {
    let lines = |name: &str, paths: &[PathBuf]| -> String {
        paths.iter().map(|path| line(name, &path.display().to_string(), look)).collect()
    };
    let obstacle = permissions.obstacle.as_deref().map(|why| line("sandbox", why, look)).unwrap_or_default();
    let network = if permissions.network == "none" { "none" } else { "all of it; --network none takes it away" };
    let (writes, reads) = (lines("may write", &permissions.writes), lines("may read", &permissions.reads));
    [obstacle, writes, reads, line("network", network, look)].concat()
}

fn line(name: &str, value: &str, look: Look) -> String {
    let name = look.paint("2", &format!("{name:<12}"));
    look.wrap(&format!("  {name} {}", printable(value)), VALUES)
}

fn platform(target: &BinaryTarget) -> String {
    let note = if target.sha256.is_some() { "" } else { " (no digest)" };
    format!("{}{note}", target.platform)
}
