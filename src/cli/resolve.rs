//! `acp-registry resolve`, and what the other commands for people share with it

use acp_registry::index::Index;
use acp_registry::install::Kind;
use acp_registry::resolve::{Offer, Plan};
use acp_registry::session::Named;
use acp_registry::text::{printable, quote};

use super::candidates;
use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global};
use super::launch;
use super::place::{PlaceArgs, Session, kind};
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
    #[arg(long, value_name = "KIND", value_parser = kind())]
    dist: Option<Kind>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = Session::new(&args.place, global.allowed_hosts()?, ui)?;
    let index = signals::run(session.index())??;
    let plan = plan(&args.agent, args.dist, &index, &session)?;
    let mut members = launch::planned(&plan, &session)?;
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

/// The plan for an agent of the index, or for a version of it that is installed; says what the index has of it that cannot be
/// used.
pub(super) fn plan(named: &Named, kind: Option<Kind>, index: &Index, session: &Session<'_>) -> Result<Plan, Failure> {
    warn_of_left_out(named, index, session)?;
    Ok(session.plan(named, kind, index)?)
}

/// The offer of the version that is named.
pub(super) fn in_version(named: &Named, index: &Index, session: &Session<'_>) -> Result<Offer, Failure> {
    warn_of_left_out(named, index, session)?;
    Ok(session.offer(named, index)?)
}

fn warn_of_left_out(named: &Named, index: &Index, session: &Session<'_>) -> Result<(), Failure> {
    for note in index.left_out(&named.id)? {
        session.ui().warning(&format!("in the registry index, of {}, {}", quote(&named.id), printable(&note)));
    }
    Ok(())
}
