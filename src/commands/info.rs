//! `acp-registry info`

use acp_registry::index::Missing;
use acp_registry::manifest::{Agent, BinaryTarget};
use acp_registry::resolve::{Offer, OfferOrigin};
use acp_registry::session::{self, AgentSpec};
use acp_registry::store::{self, Version};
use acp_registry::text::printable;

use crate::commands::resolve::{in_version, launch};
use crate::documents::{Document, IndexOrigin, Info, InstalledVersion};
use crate::flags::candidates;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{CommandSession, SessionArgs};
use crate::terminal::layout::Look;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// Column at which values begin.
const VALUES: usize = 15;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent, and its version if not the current one
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    pub(crate) agent: AgentSpec,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    let index = signals::run(ui, session.load_index(&[&args.agent.id]))??;
    let id = &args.agent.id;
    let value = index.value(id)?.ok_or_else(|| session::Error::from(Missing::of(id, &index)))?;
    let mut agent = Agent::from_json(&value);
    let mut versions = session.store.versions(id)?;
    let current = session.store.agent(id)?;
    let (mut known, mut newest) = (None, None);
    if args.agent.version.is_some() {
        let offer = in_version(&args.agent, &index, &session)?;
        known = Some(known_from(&offer, &agent));
        versions.retain(|version| version.receipt.version == offer.version);
        newest = Some(agent.version.clone()).filter(|newest| *newest != offer.version);
        (agent.version, agent.distribution, agent.preview) = (offer.version, offer.distribution, None);
    }
    let folder = current.as_ref().map(|agent| agent.current.folder());
    if args.format.is_json() {
        let installed = versions.iter().map(|version| InstalledVersion::of(version, Some(version.folder()) == folder));
        let members = Info {
            id,
            version: &agent.version,
            known_from: known,
            agent: &value,
            installed: installed.collect(),
            pinned: current.is_some_and(|agent| agent.is_pinned),
            index_sha256: index.sha256(),
            index: IndexOrigin::of(&index),
        };
        ui.document(&Document::new("info", members))?;
    } else {
        let mut text = text(&agent, known, &versions, current.as_ref(), ui.look());
        if let Some(newest) = newest {
            let package =
                if known == Some("package") { ", and whether there is such a package was not looked up" } else { "" };
            let note = format!("the index has {newest}, of which name, licence and the like are{package}");
            text.push_str(&line("note", &note, ui.look()));
        }
        if let Some(age) = launch::age(&index) {
            let place = &index.origin.source;
            text.push_str(&line("index", &format!("{age}: {place}"), ui.look()));
        }
        ui.result(&text)?;
    }
    Ok(Exit::Success)
}

/// The source of a requested version, for people and for the JSON document.
fn known_from(offer: &Offer, agent: &Agent) -> &'static str {
    match offer.origin {
        OfferOrigin::Installed => "installed",
        OfferOrigin::Lock => "lock",
        OfferOrigin::Preview => "preview",
        OfferOrigin::Index if offer.version == agent.version => "index",
        // Only the installation shows whether the package registry has the version.
        OfferOrigin::Index => "package",
    }
}

fn text(
    agent: &Agent,
    known: Option<&str>,
    versions: &[Version],
    current: Option<&store::StoredAgent>,
    look: Look,
) -> String {
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
        known.map(|known| if known == "package" { "the name of the package, with another version" } else { known }),
    );
    line("preview", agent.preview.as_ref().map(|preview| preview.version.as_str()));
    for version in versions {
        let receipt = &version.receipt;
        let is_current = current.is_some_and(|agent| agent.current.folder() == version.folder());
        let mark = match current {
            Some(agent) if is_current && agent.is_pinned => ", current, pinned",
            Some(_) if is_current => ", current",
            _ => "",
        };
        line("installed", Some(&format!("{} ({}{mark})", receipt.version, receipt.distribution)));
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
