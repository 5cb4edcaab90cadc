//! `acp-registry info`

use acp_registry::failure::{Exit, Failure};
use acp_registry::manifest::BinaryTarget;
use acp_registry::ops::{Describe, DescribeReport, describe};
use acp_registry::session::AgentSpec;
use acp_registry::statement::Signed;
use acp_registry::text::printable;

use crate::flags::candidates;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::layout::Look;
use crate::terminal::progress::Progress;
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

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let (progress, request) = (Progress::new(ui), Describe { agent: args.agent.clone(), versions: args.versions });
    let report = signals::run(ui, describe(&session, &request, &|event| progress.show(event)))??;
    if args.format.is_json() {
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
        let note = format!("the index has {newest}, of which name, licence and the like are{package}");
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
    let name = look.paint("1", &printable(&agent.name));
    let mut text = look.wrap(&format!("{name} {}", printable(&agent.version)), 2);
    text.push_str(&look.wrap(&format!("  {}", printable(&agent.description)), 2));
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
    for version in &report.versions {
        let receipt = &version.receipt;
        let is_current = report.is_current(version);
        let mark = match current {
            Some(agent) if is_current && agent.is_pinned => ", current, pinned",
            Some(_) if is_current => ", current",
            _ => "",
        };
        line("installed", Some(&format!("{} ({}{mark})", receipt.version, receipt.source.kind().as_str())));
        line("built by", receipt.provenance.as_ref().map(|proven| proven.publisher.workflow.as_str()));
    }
    text
}

fn line(name: &str, value: &str, look: Look) -> String {
    let name = look.paint("2", &format!("{name:<12}"));
    look.wrap(&format!("  {name} {}", printable(value)), VALUES)
}

fn platform(target: &BinaryTarget) -> String {
    let note = if target.sha256.is_some() { "" } else { " (no digest)" };
    format!("{}{note}", target.platform)
}
