//! `acp-registry doctor`

use std::fmt::Write as _;
use std::time::Duration;

use acp_registry::doctor::{CheckStatus, DiagnosedAgent, Diagnosis};
use acp_registry::duration;
use acp_registry::elsewhere::Machine;
use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{Diagnose, JOBS, Report as _, count_problems, diagnose};
use acp_registry::session::AgentSpec;
use acp_registry::text::printable;
use serde_json::{Map, Value, json};

use crate::commands::{elsewhere, leftovers};
use crate::documents::Document;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, flags, open};
use crate::flags::{candidates, value};
use crate::terminal::layout::{Look, cut, stderr};
use crate::terminal::progress::events;
use crate::terminal::remedy;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Installed agents to check and to start
    ///
    /// Without ids, all are checked, and none is started.
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    agents: Vec<AgentSpec>,

    /// Repair what can be repaired
    ///
    /// Damaged agents, and named packages that do not answer, are installed again in their version, and a Node.js or Python
    /// that has moved is found again.
    #[arg(long)]
    fix: bool,

    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    /// Diagnose another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// Reports whether this program is there and, if so, runs `doctor` there. Nothing is copied there.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine)]
    on: Option<Machine>,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(machine) = &args.on {
        return run_elsewhere(machine, args, global, ui);
    }
    // A fresh copy of the index would hide that its host is out of reach.
    let session = open(&args.place.with_refresh(true), PackageArgs::default(), global)?;
    let request = Diagnose { agents: args.agents.clone(), fix: args.fix, timeout: args.timeout };
    let events = events(ui);
    let starts_agents = !args.agents.is_empty();
    let (report, hidden) = leftovers::run_with_agents(ui, JOBS, starts_agents, diagnose(&session, &request, &events));
    let report = report?;
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }
    if args.format.is_json() {
        ui.report(&report)?;
    } else {
        ui.result(&text(&report.checks, &report.agents, ui.look()))?;
    }
    Ok(report.exit())
}

/// Diagnoses another machine. What it reports is hostile.
fn run_elsewhere(machine: &Machine, args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let ids = args.agents.iter().map(ToString::to_string);
    let timeout = args.timeout.iter().flat_map(|limit| ["--timeout".to_owned(), format!("{}s", limit.as_secs_f64())]);
    let flags = flags([("--fix", args.fix), ("--json", args.format.is_json())]);
    let words = flags.chain(timeout).chain(["--".to_owned()]).chain(ids).collect();
    let (checks, found) = elsewhere::ask(machine, "doctor", words, &args.place, global, false)?;
    let is_bad = checks.iter().any(|check| check.status == CheckStatus::Error);
    let exit = found.as_ref().map_or(if is_bad { Exit::Findings } else { Exit::Success }, |(exit, _)| *exit);
    let result = found.map(|(_, result)| result);
    if args.format.is_json() {
        let mut members: Map<String, Value> = match &result {
            Some(result) => elsewhere::read_document(machine, "doctor", result)?,
            None => Map::from_iter(
                [("agents", json!([])), ("errors", json!([]))].map(|(name, value)| (name.to_owned(), value)),
            ),
        };
        let there = members.remove("checks").and_then(|there| there.as_array().cloned()).unwrap_or_default();
        let all = checks.iter().map(|check| json!(check)).chain(there).collect::<Value>();
        members.retain(|name, _| !["schema", "command"].contains(&name.as_str()));
        members.insert("checks".to_owned(), all);
        let failure = count_problems(checks.iter()).filter(|_| result.is_none());
        ui.document(&Document::new("doctor", members).failed(failure))?;
    } else {
        let result = String::from_utf8_lossy(result.as_deref().unwrap_or_default()).into_owned();
        let there: String = result.lines().map(|line| format!("{}\n", printable(line))).collect();
        ui.result(&format!("{}{there}", text(&checks, &[], ui.look())))?;
    }
    Ok(exit)
}

/// Renders the checks. For agents that failed, it includes the end of their stderr.
fn text(checks: &[Diagnosis], agents: &[DiagnosedAgent], look: Look) -> String {
    let mut out = String::new();
    let all = checks.iter().chain(agents.iter().flat_map(|agent| &agent.checks));
    let width = all.map(|check| check.name.len()).max().unwrap_or_default().max(9);
    for check in checks {
        line(&mut out, check, width, look);
    }
    for agent in agents {
        let version = agent.version.as_deref().map_or_else(String::new, |version| format!(" {}", cut(version)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{}{version}", cut(&agent.id));
        for check in &agent.checks {
            line(&mut out, check, width, look);
        }
        let is_told = agent.checks.iter().any(|check| check.name == "handshake" && check.status != CheckStatus::Ok);
        if let Some(outcome) = &agent.handshake
            && is_told
            && outcome.exit.is_some()
        {
            out.push_str(&stderr(&outcome.stderr_tail));
        }
    }
    out
}

fn line(out: &mut String, check: &Diagnosis, width: usize, look: Look) {
    let code = match check.status {
        CheckStatus::Ok => "1;32",
        CheckStatus::Warning => "1;33",
        CheckStatus::Error => "1;31",
    };
    let word = look.paint(code, &format!("{:7}", check.status.as_str()));
    // Column at which messages begin.
    let indent = 7 + 2 + width + 2;
    out.push_str(&look.wrap(&format!("{word}  {:width$}  {}", check.name, check.message), indent));
    if let Some(help) = &check.help {
        out.push_str(&look.wrap(&format!("{:indent$}help: {}", "", remedy::complete(help)), indent + 2));
    }
}
