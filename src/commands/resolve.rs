//! `acp-registry resolve`

use std::path::PathBuf;

use acp_registry::failure::{Exit, Failure};
use acp_registry::install::Kind;
use acp_registry::ops::{self, PlanReport, Resolve};
use acp_registry::session::AgentSpec;
use acp_registry::text::printable;

use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::flags::{candidates, value};
use crate::terminal::arguments::words;
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// Column at which values begin.
const VALUES: usize = 15;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent; without a version, the pinned one or the one in the index is shown
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    agent: AgentSpec,

    /// The kind of distribution
    ///
    /// The default is the first that this machine can run: binary, npx, uvx; without glibc, binary comes last.
    #[arg(long, value_name = "KIND", value_parser = value::kind())]
    dist: Option<Kind>,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let (events, request) = (events(ui), Resolve { agent: args.agent.clone(), dist: args.dist });
    let report = signals::run(ui, ops::resolve(&session, &request, &events))??;
    if args.format.is_json() {
        ui.report(&report)?;
        return Ok(Exit::Success);
    }
    let PlanReport { plan, launch, .. } = report;
    let mut lines = vec![format!("{} {} ({})", plan.id, plan.version, plan.kind().as_str())];
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
        lines.push(format!("  {:<12} {}", "args", words(&launch.args)));
    }
    for (name, value) in plan.source.variables() {
        lines.push(format!("  {:<12} {name}={value}", "env"));
    }
    lines.push(format!("  {:<12} {}", "installed", if launch.installed { "yes" } else { "no" }));
    let look = ui.look();
    ui.result(&lines.iter().map(|line| look.wrap(&printable(line), VALUES)).collect::<String>())?;
    Ok(Exit::Success)
}
