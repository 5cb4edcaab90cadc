//! `acp-registry resolve`, and what the other commands for people share with it

use acp_registry::index::Index;
use acp_registry::install::Kind;
use acp_registry::resolve::{Offer, Plan, Wanted, pick, resolve};
use acp_registry::text::{printable, quote};
use acp_registry::update::as_installed;

use super::candidates;
use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global};
use super::launch;
use super::place::{Dist, PlaceArgs, Session, host, unknown};
use super::signals;
use super::ui::Ui;

/// Where values begin, in columns.
const VALUES: usize = 15;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agent, and its version if not the current one
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    agent: Named,

    /// The kind of distribution
    ///
    /// The default is the first that this machine can run: binary, npx, uvx.
    #[arg(long, value_name = "KIND")]
    dist: Option<Dist>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// An agent, with its version if one is named.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) id: String,
    /// An exact version.
    pub(super) version: Option<String>,
    /// Whether it is written as `ID@latest`: the version in the index.
    pub(super) is_latest: bool,
}

impl Named {
    /// The agent in whatever version is usual for the command.
    pub(super) fn any(id: &str) -> Self {
        Self { id: id.to_owned(), version: None, is_latest: false }
    }

    /// One version of the agent.
    pub(super) fn exact(id: &str, version: &str) -> Self {
        Self { id: id.to_owned(), version: Some(version.to_owned()), is_latest: false }
    }

    /// Whether a version is named, be it by number or as `latest`.
    pub(super) fn has_version(&self) -> bool {
        self.version.is_some() || self.is_latest
    }
}

impl std::fmt::Display for Named {
    /// As it is written on a command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.version, self.is_latest) {
            (Some(version), _) => write!(f, "{}@{version}", self.id),
            (None, true) => write!(f, "{}@{LATEST}", self.id),
            (None, false) => f.write_str(&self.id),
        }
    }
}

/// What is wrong with a text that names no agent.
const WANTED: &str = "ID or ID@VERSION is wanted";

/// The word for the version in the index.
const LATEST: &str = "latest";

impl std::str::FromStr for Named {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('@') {
            Some(("", _) | (_, "")) => Err(WANTED),
            Some((id, LATEST)) => Ok(Self { is_latest: true, ..Self::any(id) }),
            Some((id, version)) => Ok(Self::exact(id, version)),
            None if text.is_empty() => Err(WANTED),
            None => Ok(Self::any(text)),
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = Session::new(&args.place, global.allowed_hosts()?, ui)?;
    let index = signals::run(session.index())??;
    let plan = plan(&args.agent, args.dist.map(Kind::from), &index, &session)?;
    let mut members = launch::planned(&plan, &session.store)?;
    members.insert("index".to_owned(), launch::index(&index));
    // The process ends: giving back a large index piece by piece takes its time.
    std::mem::forget(index);
    if args.format.is_json() {
        ui.result(&launch::document("resolve", members))?;
        return Ok(Exit::Success);
    }
    let mut lines = vec![format!("{} {} ({})", plan.id, plan.version, plan.kind().as_str())];
    for name in ["platform", "archive", "package", "sha256", "verified", "install_dir", "program"] {
        if let Some(value) = members.get(name).and_then(|value| value.as_str()) {
            lines.push(format!("  {name:<12} {value}"));
        }
    }
    if !plan.source.arguments().is_empty() {
        lines.push(format!("  {:<12} {}", "args", plan.source.arguments().join(" ")));
    }
    for (name, value) in plan.source.variables() {
        lines.push(format!("  {:<12} {name}={value}", "env"));
    }
    let is_installed = members.get("installed").is_some_and(|value| value == true);
    lines.push(format!("  {:<12} {}", "installed", if is_installed { "yes" } else { "no" }));
    let look = ui.look();
    ui.result(&lines.iter().map(|line| look.wrap(&printable(line), VALUES)).collect::<String>())?;
    Ok(Exit::Success)
}

/// The plan for an agent of the index, or for a version of it that is installed.
pub(super) fn plan(named: &Named, kind: Option<Kind>, index: &Index, session: &Session<'_>) -> Result<Plan, Failure> {
    let (offers, wanted, host) = (offers(named, index, session)?, wanted(named, kind, session), host());
    if kind.is_none()
        && let Ok(Some(agent)) = session.store.agent(&named.id)
        && let Some(plan) = as_installed(&agent, &offers, &wanted, &host)
    {
        return Ok(plan);
    }
    Ok(resolve(&offers, &wanted, &host)?)
}

/// The offer of the version that is named.
pub(super) fn in_version(named: &Named, index: &Index, session: &Session<'_>) -> Result<Offer, Failure> {
    Ok(pick(&offers(named, index, session)?, &wanted(named, None, session))?)
}

/// What there is of an agent.
pub(super) fn offers(named: &Named, index: &Index, session: &Session<'_>) -> Result<Vec<Offer>, Failure> {
    let agent = index.agent(&named.id)?.ok_or_else(|| unknown(&named.id, index))?;
    for note in index.left_out(&named.id)? {
        session.ui().warning(&format!("in the registry index, of {}, {}", quote(&named.id), printable(&note)));
    }
    let mut offers = Offer::of_agent(&agent, index.sha256());
    if named.version.is_some() {
        offers.extend(session.store.versions(&named.id)?.iter().filter_map(acp_registry::store::Version::offer));
    }
    Ok(offers)
}

pub(super) fn wanted(named: &Named, kind: Option<Kind>, session: &Session<'_>) -> Wanted {
    Wanted { id: named.id.clone(), version: named.version.clone(), kind, platform: session.platform() }
}
