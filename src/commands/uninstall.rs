//! `acp-registry uninstall`

use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, Report as _, Uninstall};
use acp_registry::session::AgentSpec;
use acp_registry::text::bytes;

use crate::commands::{gc, hint};
use crate::flags::candidates;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents
    #[arg(value_name = "ID", add = candidates::installed(), required_unless_present = "all", conflicts_with = "all")]
    agents: Vec<AgentSpec>,

    /// All installed agents
    #[arg(long)]
    all: bool,

    /// Also agents that are running
    #[arg(long)]
    force: bool,

    /// Change nothing; show what would be removed
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let mut session = open(&args.place, PackageArgs::default(), global)?;
    let events = events(ui);
    let request = Uninstall { agents: args.agents.clone(), all: args.all, force: args.force, dry_run: args.dry_run };
    let removal = signals::run(ui, ops::uninstall(&mut session, &request, &events))??;
    if !args.format.is_json() {
        let ids = removal.ids.as_deref().unwrap_or_default();
        for (id, freed) in ids.iter().filter_map(|(id, freed)| Some((id, (*freed)?))) {
            let done = if args.dry_run { "would uninstall" } else { "uninstalled" };
            ui.result(&format!("{done} {id}, {} freed\n", bytes(freed)))?;
        }
        if ids.is_empty() && removal.errors.is_empty() {
            ui.note("nothing is installed");
        }
        if removal.caches.iter().any(|cache| cache.size > 0) {
            hint::show("caches", &gc::holdings(&removal.caches), ui);
        }
    }
    ui.failures(&removal.errors);
    if args.format.is_json() {
        ui.report(&removal)?;
    }
    Ok(removal.exit())
}
