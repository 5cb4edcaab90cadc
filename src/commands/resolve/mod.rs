//! `acp-registry resolve`, and the functions that it shares with other commands that use agents

pub(crate) mod launch;

use std::path::PathBuf;

use acp_registry::index::Index;
use acp_registry::install::Kind;
use acp_registry::resolve::{Offer, Plan};
use acp_registry::session::AgentSpec;
use acp_registry::text::{printable, quote};

use crate::documents::{Document, IndexOrigin, Resolve};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{CommandSession, SessionArgs, kind};
use crate::flags::{candidates, installed_version};
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// Column at which values begin.
const VALUES: usize = 15;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent, and its version if not the one in the index or the pinned one
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    pub(crate) agent: AgentSpec,

    /// The kind of distribution
    ///
    /// The default is the first that this machine can run: binary, npx, uvx.
    #[arg(long, value_name = "KIND", value_parser = kind())]
    pub(crate) dist: Option<Kind>,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    let index = signals::run(ui, session.load_index(&[&args.agent.id]))??;
    // The plan for another platform is not about this machine.
    let kept = if session.platform().is_none() { installed_version::kept(&args.agent, &session) } else { None };
    let plan = plan(kept.as_ref().unwrap_or(&args.agent), args.dist, &index, &session)?;
    let members = Resolve { launch: launch::planned(&plan, &session)?, index: IndexOrigin::of(&index) };
    ui.leave(index);
    if args.format.is_json() {
        ui.document(&Document::new("resolve", members))?;
        return Ok(Exit::Success);
    }
    let mut lines = vec![format!("{} {} ({})", plan.id, plan.version, plan.kind().as_str())];
    let launch = members.launch;
    let shown = |path: PathBuf| path.display().to_string();
    for (name, value) in [
        ("platform", launch.platform),
        ("archive", launch.archive),
        ("package", launch.package),
        ("sha256", launch.sha256),
        ("verified", Some(launch.verified)),
        ("install_dir", Some(shown(launch.install_dir))),
        ("program", launch.program.map(shown)),
    ] {
        lines.extend(value.map(|value| format!("  {name:<12} {value}")));
    }
    if !launch.args.is_empty() {
        lines.push(format!("  {:<12} {}", "args", launch::words(&launch.args)));
    }
    for (name, value) in plan.source.variables() {
        lines.push(format!("  {:<12} {name}={value}", "env"));
    }
    lines.push(format!("  {:<12} {}", "installed", if launch.installed { "yes" } else { "no" }));
    let look = ui.look();
    ui.result(&lines.iter().map(|line| look.wrap(&printable(line), VALUES)).collect::<String>())?;
    Ok(Exit::Success)
}

/// Plans the installation of an agent in the index, or of an installed version of it. Warns about the parts of the
/// agent's entry that cannot be used.
pub(crate) fn plan(
    named: &AgentSpec,
    kind: Option<Kind>,
    index: &Index,
    session: &CommandSession<'_>,
) -> Result<Plan, Failure> {
    warn_of_left_out(named, index, session)?;
    Ok(session.plan(named, kind, index)?)
}

/// Returns the offer for the requested version. Warns like [`plan`].
pub(crate) fn in_version(named: &AgentSpec, index: &Index, session: &CommandSession<'_>) -> Result<Offer, Failure> {
    warn_of_left_out(named, index, session)?;
    Ok(session.offer(named, index)?)
}

fn warn_of_left_out(named: &AgentSpec, index: &Index, session: &CommandSession<'_>) -> Result<(), Failure> {
    for note in index.left_out(&named.id)? {
        session.ui().warning(&format!("in the registry index, of {}, {}", quote(&named.id), printable(&note)));
    }
    Ok(())
}
