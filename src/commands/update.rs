//! `acp-registry update`

use std::time::Duration;

use acp_registry::duration;
use acp_registry::elsewhere::Machine;
use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, HeldUpdate, JOBS, Pinned, Report as _, Update, UpdateReport};
use acp_registry::session::AgentSpec;
use acp_registry::text::printable;

use crate::commands::{elsewhere, leftovers};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, TermsArgs, flags, open};
use crate::flags::{candidates, value};
use crate::terminal::progress::events;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents [default: all that are installed]
    #[arg(value_name = "ID", add = candidates::installed())]
    agents: Vec<AgentSpec>,

    /// Bring the agent to this version, which may be older
    ///
    /// `info ID --versions` lists those that the registry has or has had; of a package, others can be named as well. As with
    /// `install ID@VERSION`, the agent stays at it until `update --unpin`.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,

    /// Skip versions younger than this, such as 3d or 12h
    ///
    /// Without it, only the cooldown of npm or uv holds versions back.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    min_age: Option<Duration>,

    /// Also update agents that keep a version because of ID@VERSION or --to
    #[arg(long)]
    unpin: bool,

    /// Update on another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// Updates the agents that are installed there. This program is copied there if it is missing. --root does not apply there.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine)]
    on: Option<Machine>,

    /// Change nothing; exit 1 if there are updates
    #[arg(long)]
    dry_run: bool,

    /// Do not start the agents to see if they answer
    #[arg(long)]
    no_check: bool,

    #[command(flatten)]
    terms: TermsArgs,

    #[command(flatten)]
    packages: PackageArgs,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

impl Args {
    fn request(&self) -> Update {
        Update {
            agents: self.agents.clone(),
            to: self.to.clone(),
            dry_run: self.dry_run,
            min_age: self.min_age,
            unpin: self.unpin,
            no_check: self.no_check,
            require: self.terms.require,
            accept_publisher: self.terms.accept_publisher,
        }
    }

    /// The request, for this program on another machine.
    fn words(&self) -> Vec<String> {
        let given = [
            ("--dry-run", self.dry_run),
            ("--unpin", self.unpin),
            ("--no-check", self.no_check),
            ("--json", self.format.is_json()),
        ];
        let to = self.to.as_ref().map(|version| format!("--to={version}"));
        let age = self.min_age.map(|age| format!("--min-age={}s", age.as_secs()));
        let flags = flags(given).chain(to).chain(age).chain(self.terms.flags()).chain(self.packages.flags());
        flags.chain(["--".to_owned()]).chain(self.agents.iter().map(ToString::to_string)).collect()
    }
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(machine) = &args.on {
        return elsewhere::carry_out(machine, "update", args.words(), &args.place, global, ui);
    }
    let session = open(&args.place, args.packages, global)?;
    let (request, events) = (args.request(), events(ui));
    let starts_agents = !args.no_check && !args.dry_run;
    let (report, _) = leftovers::run_with_agents(ui, JOBS, starts_agents, ops::update(&session, &request, &events));
    let report = report?;
    ui.failures_by_id(&report.errors);
    if args.format.is_json() {
        ui.report(&report)?;
    } else {
        let look = ui.look();
        ui.result(&text(&report, args.to.as_deref()).lines().map(|line| look.wrap(line, 4)).collect::<String>())?;
    }
    Ok(match report.exit() {
        Exit::Success if args.dry_run && !report.updates.is_empty() => Exit::Findings,
        exit => exit,
    })
}

fn text(report: &UpdateReport, to: Option<&str>) -> String {
    let mut text = String::new();
    for update in &report.updates {
        let verb = if update.applied { "updated" } else { "update" };
        text.push_str(&format!("{verb} {} {} -> {}\n", update.id, update.from, update.to));
    }
    for (id, need) in &report.repaired {
        text.push_str(&format!("repaired {id}: {}\n", need.why()));
    }
    for (id, need) in &report.repairs {
        text.push_str(&format!("would repair {id}: {}\n", need.why()));
    }
    for HeldUpdate { id, from, to, until, message, .. } in &report.held {
        let why = match (message, until) {
            (Some(message), _) => format!(": {message}"),
            (None, Some(time)) => format!(" (until {time})"),
            (None, None) => " (its age is unknown)".to_owned(),
        };
        // The index of another registry may have the same version, or none.
        let to = if from == to { String::new() } else { format!(" -> {to}") };
        text.push_str(&format!("held {id} {from}{to}{why}\n"));
    }
    for Pinned { id, version, available } in &report.pinned {
        text.push_str(&format!("pinned {id} {version} (the index has {available})\n"));
    }
    for id in &report.gone {
        text.push_str(&format!("gone {id}: it is not in the index\n"));
    }
    if report.updates.is_empty() && report.held.is_empty() && report.errors.is_empty() {
        let is_all = report.pinned.is_empty() && report.gone.is_empty() && report.repaired.is_empty();
        let rest = match (is_all && report.repairs.is_empty(), report.up_to_date.as_slice(), to) {
            (true, [], _) => "no agents are installed".to_owned(),
            (true, [id], Some(version)) => format!("{id} {} is installed", printable(version)),
            (true, ..) => "everything is up to date".to_owned(),
            (false, ..) => "nothing else is to be updated".to_owned(),
        };
        text.push_str(&format!("{rest}\n"));
    }
    text
}
