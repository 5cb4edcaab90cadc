//! `acp-registry install` and `acp-registry update`

use std::path::PathBuf;
use std::time::Duration;

use acp_registry::duration;
use acp_registry::elsewhere::Machine;
use acp_registry::failure::{Exit, Failure};
use acp_registry::install::{DigestSource, Kind};
use acp_registry::ops::{self, HeldUpdate, Install, InstallReport, JOBS, Pinned, Report as _, Update, UpdateReport};
use acp_registry::session::AgentSpec;
use acp_registry::store::InstallOutcome;
use acp_registry::text::{bytes, printable};

use crate::commands::{elsewhere, hint, leftovers};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, TermsArgs, flags, open};
use crate::flags::{candidates, value};
use crate::terminal::progress::events;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents
    ///
    /// An agent with a version keeps it until `update --unpin`.
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered(), required_unless_present = "locked")]
    agents: Vec<AgentSpec>,

    /// The kind of distribution
    ///
    /// The default is the first that this machine can run: binary, npx, uvx; without glibc, binary comes last.
    #[arg(long, value_name = "KIND", value_parser = value::one_of(&Kind::ALL, Kind::as_str))]
    dist: Option<Kind>,

    /// Record what is installed in this lock file
    ///
    /// Other agents in it stay. With --locked, the file is only read; its default is then `acp-registry.lock`.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// Install exactly what the lock file records
    ///
    /// Without ids, all its agents. What differs from the file is refused with exit code 4.
    #[arg(long)]
    locked: bool,

    /// Change nothing; show what would be installed
    #[arg(long)]
    dry_run: bool,

    /// Do not start the agents to see if they answer
    #[arg(long)]
    no_check: bool,

    /// Install on another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// Runs `install` there. This program is copied there if it is missing. --root does not apply there.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine, conflicts_with_all = ["lock", "locked"])]
    on: Option<Machine>,

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
    fn request(&self) -> Install {
        Install {
            agents: self.agents.clone(),
            dist: self.dist,
            lock: self.lock.clone(),
            locked: self.locked,
            dry_run: self.dry_run,
            no_check: self.no_check,
            require: self.terms.require,
            accept_publisher: self.terms.accept_publisher,
        }
    }

    /// The request, for this program on another machine.
    fn words(&self) -> Vec<String> {
        let given = [("--dry-run", self.dry_run), ("--no-check", self.no_check), ("--json", self.format.is_json())];
        let dist = self.dist.map(|kind| format!("--dist={}", kind.as_str()));
        let flags = flags(given).chain(dist).chain(self.terms.flags()).chain(self.packages.flags());
        flags.chain(["--".to_owned()]).chain(self.agents.iter().map(ToString::to_string)).collect()
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// Agents [default: all that are installed]
    #[arg(value_name = "ID", add = candidates::installed())]
    agents: Vec<AgentSpec>,

    /// Bring the agent to this version, which may be older
    ///
    /// `info ID --versions` lists those that the registry has or has had; of a package, others can be named as well. As with
    /// `install ID@VERSION`, the agent stays at it until `update --unpin`.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,

    /// Change nothing; exit 1 if there are updates
    #[arg(long)]
    dry_run: bool,

    /// Skip versions younger than this, such as 3d or 12h
    ///
    /// Without it, only the cooldown of npm or uv holds versions back.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    min_age: Option<Duration>,

    /// Also update agents that keep a version because of ID@VERSION or --to
    #[arg(long)]
    unpin: bool,

    /// Do not start the agents to see if they answer
    #[arg(long)]
    no_check: bool,

    /// Update on another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// Updates the agents that are installed there. This program is copied there if it is missing. --root does not apply there.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine)]
    on: Option<Machine>,

    #[command(flatten)]
    terms: TermsArgs,

    #[command(flatten)]
    packages: PackageArgs,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

impl UpdateArgs {
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
        return elsewhere::carry_out(machine, "install", args.words(), &args.place, global, ui);
    }
    let session = open(&args.place, args.packages, global)?;
    let (request, events) = (args.request(), events(ui));
    let starts_agents = !args.no_check && !args.dry_run;
    let (report, _) = leftovers::run_with_agents(ui, JOBS, starts_agents, ops::install(&session, &request, &events));
    let report = report?;
    ui.failures(&report.errors);
    if args.format.is_json() {
        ui.report(&report)?;
        return Ok(report.exit());
    }
    ui.result(&text(&report, args.dry_run))?;
    if let ([done], [], true) = (&*report.done, &*report.errors, ui.is_watched()) {
        let id = &done.version.receipt.id;
        let text = format!(
            "`acp-registry config CLIENT {id}` prints settings for an editor, and `acp-registry run {id}` starts it"
        );
        hint::show("installed", &text, ui);
    }
    Ok(report.exit())
}

fn text(report: &InstallReport, is_dry_run: bool) -> String {
    if !is_dry_run {
        return report.done.iter().map(line).collect();
    }
    let planned = report.agents.iter().map(|launch| {
        let (id, version) = (&launch.id, &launch.version);
        if launch.installed {
            return format!("{id} {version} is installed\n");
        }
        format!("would install {id} {version} ({})\n", launch.distribution)
    });
    planned.collect()
}

/// Describes the result, for people.
fn line(done: &InstallOutcome) -> String {
    let receipt = &done.version.receipt;
    let (id, version) = (&receipt.id, &receipt.version);
    if done.is_repaired && done.replaces.is_none() {
        let program = receipt.interpreter.as_ref().and_then(|interpreter| interpreter.program.as_ref());
        let program = program.map(|program| program.display().to_string());
        let program = program.as_deref().map(printable).unwrap_or_default();
        return format!("repaired {id} {version}, which is started by {program} from now on\n");
    }
    if done.was_there && done.replaces.is_none() {
        return format!("{id} {version} is installed\n");
    }
    let instead = match &done.replaces {
        None => String::new(),
        Some(old) if *old == receipt.version => " instead of another installation of this version".to_owned(),
        Some(old) => format!(" instead of {old}"),
    };
    let checked = match receipt.proof.verified {
        DigestSource::None => "no digest is stated",
        DigestSource::Manifest => "digest as in the index",
        DigestSource::Github => "digest as GitHub says",
        DigestSource::Lock => "digest as in the lock file",
        DigestSource::Npm => "digest as stated for each package",
        _ => "checked by the package manager",
    };
    let verb = if done.was_there { "switched to" } else { "installed" };
    let answers = if receipt.answers == Some(true) { " and answers" } else { "" };
    format!(
        "{verb} {id} {version}{instead}{answers} ({}, {}; {checked})\n",
        receipt.source.kind().as_str(),
        bytes(receipt.size)
    )
}

pub(crate) fn update(args: &UpdateArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
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
        ui.result(
            &update_text(&report, args.to.as_deref()).lines().map(|line| look.wrap(line, 4)).collect::<String>(),
        )?;
    }
    Ok(match report.exit() {
        Exit::Success if args.dry_run && !report.updates.is_empty() => Exit::Findings,
        exit => exit,
    })
}

fn update_text(report: &UpdateReport, to: Option<&str>) -> String {
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
        text.push_str(&format!("held {id} {from} -> {to}{why}\n"));
    }
    for Pinned { id, version, available } in &report.pinned {
        text.push_str(&format!("pinned {id} {version} (the index has {available})\n"));
    }
    for id in &report.gone {
        text.push_str(&format!("gone {id}: it is not in the index any more\n"));
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
