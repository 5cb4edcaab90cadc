//! `acp-registry install`

use std::path::PathBuf;

use acp_registry::elsewhere::Machine;
use acp_registry::failure::{Exit, Failure};
use acp_registry::install::{DigestSource, Kind};
use acp_registry::ops::{self, Install, InstallReport, JOBS, Report as _};
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
    #[arg(long, value_name = "KIND", value_parser = value::kind())]
    dist: Option<Kind>,

    /// Install on another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// Runs `install` there. This program is copied there if it is missing. --root does not apply there.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine, conflicts_with_all = ["lock", "locked"])]
    on: Option<Machine>,

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
    if let Some(failure) = &report.lock_failure {
        ui.failure(failure);
    }
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
