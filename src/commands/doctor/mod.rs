//! `acp-registry doctor`

pub(crate) mod repair;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::time::Duration;

use acp_registry::doctor::{self, CheckStatus, DiagnosedAgent, Diagnosis};
use acp_registry::handshake::HandshakeOptions;
use acp_registry::host::fs::temporary;
use acp_registry::host::process::{self, Orphans};
use acp_registry::http::{Authorities, Problem, Proxies};
use acp_registry::index::Loaded;
use acp_registry::manifest::AgentId;
use acp_registry::session::AgentSpec;
use acp_registry::store::Version;
use acp_registry::text::printable;

use self::repair::Need;
use crate::commands::leftovers;
use crate::commands::resolve::launch;
use crate::documents::{self, Document};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::network::{self, environment};
use crate::flags::session::{CommandSession, SessionArgs};
use crate::flags::{candidates, duration, installed_version, isolation};
use crate::terminal::excerpt::{cut, stderr};
use crate::terminal::layout::Look;
use crate::terminal::progress::Installs;
use crate::terminal::ui::Ui;
use crate::terminal::{plural, signals};
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Installed agents to check and to start
    ///
    /// Without ids, all are checked, and none is started.
    #[arg(value_name = "ID", add = candidates::installed())]
    pub(crate) agents: Vec<AgentSpec>,

    /// Repair what can be repaired
    ///
    /// Damaged agents, and named ones that do not answer, are installed again in their version, and a Node.js or Python that
    /// has moved is found again.
    #[arg(long)]
    pub(crate) fix: bool,

    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    // A fresh copy of the index would hide that its host is out of reach.
    let session = CommandSession::new(&args.place.with_refresh(true), global.allowed_hosts()?, ui)?;
    let named = installed_version::started(&args.agents, &session)?;
    let mut ids = session.installed(&named)?;
    let environment = environment();
    let mut checks = doctor::surroundings(&session.store, &environment, &temporary());
    checks.extend(Proxies::new(&network::variable).named().map(|(name, host)| proxy(name, host)));
    checks.extend(authorities());
    checks.push(signals::run(ui, index(&session))?);
    ids.sort_unstable();
    ids.dedup();
    let mut failed = if args.fix { fix(&ids, &session)? } else { BTreeMap::new() };
    let mut agents = Vec::new();
    for id in &ids {
        ui.detail(&format!("looking at {id}"));
        let examined = doctor::installed(&session.store, id, &environment)?;
        if let Some(version) = examined.startable.as_ref().filter(|_| !named.is_empty()) {
            session.store.refuse_foreign(Some(version))?;
        }
        agents.push(examined);
    }
    if !doctor::can_start(&checks) {
        for agent in &mut agents {
            agent.startable = None;
        }
    }
    if !named.is_empty() {
        converse(args, &mut agents, ui)?;
    }
    if args.fix && !named.is_empty() {
        failed.extend(reinstall(args, &mut agents, &session)?);
    }
    let errors: Vec<_> = failed.iter().map(|(id, failure)| failure.for_agent(id)).collect();
    for agent in &mut agents {
        let refusal = || repair::refusal(agent, &session).filter(|_| agent.status == CheckStatus::Error);
        if let Some(failure) = failed.remove(&agent.id).or_else(refusal) {
            agent.repair_has_failed(failure.advice().as_deref());
        }
    }
    if args.format.is_json() {
        ui.document(&Document::new("doctor", documents::Doctor { checks: &checks, agents: &agents, errors }))?;
    } else {
        ui.result(&doctor(&checks, &agents, ui.look()))?;
    }
    Ok(if is_well(&checks, &agents) { Exit::Success } else { Exit::Findings })
}

/// The agents that could not be repaired, and why.
type Failed = BTreeMap<String, Failure>;

/// Repairs the agents that need it. Failures are reported and returned; the agents are then checked like all others.
fn fix(ids: &[AgentId], session: &CommandSession<'_>) -> Result<Failed, Failure> {
    signals::run_with_threads(session.ui(), 1, async {
        let (bars, mut failed) = (Installs::new(session.ui()), Failed::new());
        for id in ids {
            let repaired = match session.store.agent(id) {
                Ok(Some(agent)) => repair_if_needed(&agent.current, session, &bars).await,
                _ => repair::restore(id, session, &bars)
                    .await
                    .map(|version| version.map(|version| format!("repaired {id}: {version} is started from now on"))),
            };
            match repaired {
                Ok(Some(done)) => session.ui().note(&done),
                Ok(None) => {}
                Err(failure) => {
                    not_repaired(id, &failure, session);
                    failed.insert(id.to_string(), failure);
                }
            }
        }
        failed
    })
}

async fn repair_if_needed(
    version: &Version,
    session: &CommandSession<'_>,
    bars: &Installs,
) -> Result<Option<String>, Failure> {
    let Some(need) = Need::of(version) else { return Ok(None) };
    repair::repair(version, need, session, bars).await?;
    Ok(Some(format!("repaired {}: {}", version.receipt.id, need.why())))
}

fn not_repaired(id: &str, failure: &Failure, session: &CommandSession<'_>) {
    session.ui().warn_about(&format!("{id} was not repaired"), failure);
}

/// Reinstalls packages that do not answer although no damage was found, and starts them once more.
fn reinstall(args: &Args, agents: &mut [DiagnosedAgent], session: &CommandSession<'_>) -> Result<Failed, Failure> {
    let mut failed = Failed::new();
    for agent in agents.iter_mut().filter(|agent| agent.may_miss_files()) {
        let Some(version) = agent.startable.clone() else { continue };
        let done = signals::run_with_threads(session.ui(), 1, async {
            let bars = Installs::new(session.ui());
            repair::repair(&version, Need::Start, session, &bars).await
        })?;
        if let Err(failure) = done {
            not_repaired(&agent.id, &failure, session);
            failed.insert(agent.id.clone(), failure);
            continue;
        }
        *agent = doctor::installed(&session.store, &version.receipt.id, &environment())?;
        converse(args, std::slice::from_mut(agent), session.ui())?;
        if agent.status < CheckStatus::Error {
            session.ui().note(&format!("repaired {}: {}", agent.id, Need::Start.why()));
        }
    }
    Ok(failed)
}

/// Checks the proxy that an environment variable names for https or http.
fn proxy(name: &str, host: Result<String, Problem>) -> Diagnosis {
    let (status, message, help) = match host {
        Ok(host) => (CheckStatus::Ok, format!("{name} names a proxy on {}", printable(&host)), None),
        Err(problem) => (CheckStatus::Error, problem.to_string(), problem.remedy()),
    };
    Diagnosis { name: "proxy", status, message, help }
}

/// Checks the certificate authorities that environment variables name.
fn authorities() -> Option<Diagnosis> {
    let names = Authorities::VARIABLES.into_iter().filter(|name| env::var_os(name).is_some_and(|it| !it.is_empty()));
    let names = names.collect::<Vec<_>>().join(" and ");
    let count = Authorities::named(&network::variable).map(|named| named.map(|named| named.count()));
    let (status, message, help) = match count {
        Ok(None) => return None,
        Ok(Some(1)) => (CheckStatus::Ok, format!("1 certificate authority of {names} is trusted"), None),
        Ok(Some(count)) => (CheckStatus::Ok, format!("{count} certificate authorities of {names} are trusted"), None),
        Err(problem) => (CheckStatus::Error, printable(&problem.to_string()).into_owned(), problem.remedy()),
    };
    Some(Diagnosis { name: "certificates", status, message, help })
}

/// Checks whether the index can be read, from where other commands read it.
async fn index(session: &CommandSession<'_>) -> Diagnosis {
    let (place, is_offline) = (&session.options().index, session.options().is_offline);
    let another = "check the network, or name another index with --index or ACP_REGISTRY_INDEX";
    let (status, message, help) = match session.examine_index().await {
        Ok(Loaded { warning: Some(warning), .. }) => (CheckStatus::Warning, warning, Some(another.to_owned())),
        Ok(Loaded { index, .. }) => {
            let count = plural(index.entries().count(), "agent");
            let age = launch::age(&index).filter(|_| is_offline).map_or_else(String::new, |age| {
                format!("; nothing was sent, because of --offline, and this index is {age}")
            });
            match index.notes.len() {
                0 => (CheckStatus::Ok, format!("{count}, {place}{age}"), None),
                left_out => {
                    let message = format!("{count}, {place}{age}; {} cannot be used", plural(left_out, "part"));
                    (CheckStatus::Warning, message, Some("`acp-registry list` says which and why".to_owned()))
                }
            }
        }
        Err(failure) if is_offline => {
            let message = format!("nothing was sent, because of --offline: {failure}");
            (CheckStatus::Warning, message, failure.advice())
        }
        Err(failure) => {
            (CheckStatus::Error, failure.to_string(), failure.advice().or_else(|| Some(another.to_owned())))
        }
    };
    Diagnosis { name: "index", status, message: printable(&message).into_owned(), help }
}

/// Performs the handshake with every agent, one after the other.
fn converse(args: &Args, agents: &mut [DiagnosedAgent], ui: &Ui) -> Result<(), Failure> {
    let environment = environment();
    let mut options = HandshakeOptions::new(temporary());
    options.timeout = args.timeout.unwrap_or(options.timeout);
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree.
    let orphans = leftovers::adopt(ui);
    process::hide_from_agents();
    let (launcher, is_many) = (isolation::launcher(), agents.len() > 1);
    let done = signals::run(ui, async {
        for agent in agents.iter_mut() {
            ui.detail(&format!("starting {}, which has {} s to answer", agent.id, options.timeout.as_secs_f64()));
            doctor::start(agent, &environment, launcher.as_deref(), &options).await?;
            if is_many && ui.is_watched() {
                ui.step(&format!("{}: {}", agent.id, agent.status.as_str()));
            }
        }
        Ok::<_, Failure>(())
    });
    let hidden = orphans.map_or(0, Orphans::end);
    done??;
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }
    for error in agents.iter().filter_map(|agent| agent.handshake.as_ref()?.left.as_ref()) {
        ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
    }
    Ok(())
}

fn is_well(checks: &[Diagnosis], agents: &[DiagnosedAgent]) -> bool {
    let worst = checks.iter().map(|check| check.status).chain(agents.iter().map(|agent| agent.status)).max();
    worst != Some(CheckStatus::Error)
}

/// Renders the checks. For agents that failed, it includes the end of their stderr.
fn doctor(checks: &[Diagnosis], agents: &[DiagnosedAgent], look: Look) -> String {
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
        out.push_str(&look.wrap(&format!("{:indent$}help: {help}", ""), indent + 2));
    }
}
