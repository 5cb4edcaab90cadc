//! Diagnoses this machine, the index and installed agents, and repairs agents.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use acp_registry_host::fs::temporary;
use acp_registry_http::{Authorities, Problem, Proxies};
use acp_registry_plan::failure::{AgentFailure, Failure};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::text::{plural, printable};
use acp_registry_protocol::handshake::HandshakeOptions;
use serde::{Deserialize, Serialize};

use super::repair::{Need, refusal, repair, repair_named, restore};
use super::{Event, Events, Report, Starting, learn_revocations, limit, unremoved};
use crate::doctor::{self, CheckStatus, DiagnosedAgent, Diagnosis};
use crate::index::Loaded;
use crate::session::{AgentSpec, Session};
use crate::store::Version;

/// What to diagnose.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Diagnose {
    /// The agents to check and to start. Without any, all are checked, and none is started.
    pub agents: Vec<AgentSpec>,
    /// Whether what can be repaired is repaired.
    pub fix: bool,
    /// The time limit for the answer to `initialize`.
    #[serde(rename = "timeout_seconds", deserialize_with = "limit")]
    pub timeout: Option<Duration>,
}

/// What was found.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DiagnoseReport {
    /// The checks of this machine.
    pub checks: Vec<Diagnosis>,
    /// The agents.
    pub agents: Vec<DiagnosedAgent>,
    /// The agents that could not be repaired, and why.
    pub errors: Vec<AgentFailure>,
}

impl Report for DiagnoseReport {
    fn command(&self) -> &'static str {
        "doctor"
    }

    fn failure(&self) -> Option<Failure> {
        count_problems(self.checks.iter().chain(self.agents.iter().flat_map(|agent| &agent.checks)))
    }
}

/// The failure for checks that have found problems; `None` if none has.
pub fn count_problems<'a>(checks: impl Iterator<Item = &'a Diagnosis>) -> Option<Failure> {
    let count = checks.filter(|check| check.status == CheckStatus::Error).count();
    let failure = || Failure::findings(format!("{} found", plural(count, "problem")));
    (count > 0).then(|| failure().help("see `help` of each check that is not `ok`"))
}

/// The agents that could not be repaired, and why.
type Failed = BTreeMap<String, Failure>;

/// Diagnoses this machine, the index and installed agents.
///
/// # Errors
/// [`Failure`] when a named agent is not installed, or other people can change it.
pub async fn diagnose(session: &Session, request: &Diagnose, events: &Events<'_>) -> Result<DiagnoseReport, Failure> {
    // Where the agents cannot be read, the check of their directory says why.
    let mut wanted = match session.store.ids() {
        Ok(_) => session.installed_versions(&request.agents)?,
        Err(_) => Vec::new(),
    };
    let is_named = !request.agents.is_empty() && !wanted.is_empty();
    let environment = session.environment();
    let variable = |name: &str| session.options().variable(name);
    let mut checks = doctor::surroundings(&session.store, &environment, &temporary());
    checks.extend(Proxies::new(&variable).named().map(|(name, host)| proxy(name, host)));
    checks.extend(authorities(session));
    checks.push(index(session).await);
    if let Err(failure) = learn_revocations(session, events).await {
        events(Event::Warning(failure.reason()));
    }
    wanted.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut failed = if request.fix { fix(&wanted, session, events).await } else { Failed::new() };
    let mut agents = Vec::new();
    for (id, version) in &wanted {
        events(Event::Detail(&format!("looking at {id}")));
        let mut agent = match doctor::installed(&session.store, id, version.as_ref(), &environment) {
            // Another process has removed it meanwhile.
            Err(missing) if missing.error.kind() == ErrorKind::NotFound => {
                if !is_named {
                    continue;
                }
                return Err(session.not_installed(id));
            }
            agent => agent?,
        };
        if let Some(version) = agent.startable.clone()
            && let Some(revocation) = session.find_installed_revocation(&version)
        {
            agent.add_revocation(&revocation, session.refuse_revoked_installed(&version).err().map(Failure::from));
        }
        if let Some(version) = agent.startable.as_ref().filter(|_| is_named) {
            session.store.refuse_foreign(Some(version))?;
        }
        agents.push(agent);
    }
    if !doctor::can_start(&checks) {
        for agent in &mut agents {
            agent.startable = None;
        }
    }
    if is_named {
        start(request, &mut agents, session, events).await?;
        if request.fix {
            failed.extend(reinstall(request, &mut agents, session, events).await?);
        }
    }
    let errors = failed.iter().map(|(id, failure)| failure.for_agent(id)).collect();
    for agent in &mut agents {
        let mut failure = failed.remove(&agent.id);
        if failure.is_none() && agent.status == CheckStatus::Error && agent.named.is_none() {
            failure = refusal(agent, session, events).await;
        }
        if let Some(failure) = failure {
            agent.repair_has_failed(failure.advice().as_deref());
        }
    }
    Ok(DiagnoseReport { checks, agents, errors })
}

/// Repairs the agents that need it. Failures are reported and returned; the agents are then checked like all others.
async fn fix(wanted: &[(AgentId, Option<Version>)], session: &Session, events: &Events<'_>) -> Failed {
    let mut failed = Failed::new();
    for (id, version) in wanted {
        let found = match version {
            Some(version) => Ok(Some(version.clone())),
            None => session.store.agent(id).map(|agent| agent.map(|agent| agent.current)),
        };
        let repaired = match found {
            Ok(Some(version)) => match Need::find(&version, &session.environment()) {
                None => Ok(None),
                Some(need) => {
                    let repaired = repair(&version, need, session, events).await;
                    repaired.map(|()| Some(format!("repaired {id}: {}", need.why())))
                }
            },
            _ => restore(id, session, events)
                .await
                .map(|version| version.map(|version| format!("repaired {id}: {version} is started from now on"))),
        };
        match repaired {
            Ok(Some(done)) => events(Event::Note(&done)),
            Ok(None) => {}
            Err(failure) => {
                events(Event::Failed(&format!("{id} was not repaired"), &failure));
                failed.insert(id.to_string(), failure);
                continue;
            }
        }
        if let Err(failure) = repair_named(id, session, events).await {
            events(Event::Failed(&format!("{id} was not repaired"), &failure));
            failed.insert(id.to_string(), failure);
        }
    }
    failed
}

/// Reinstalls packages that do not answer although no damage was found, and starts them once more.
async fn reinstall(
    request: &Diagnose,
    agents: &mut [DiagnosedAgent],
    session: &Session,
    events: &Events<'_>,
) -> Result<Failed, Failure> {
    let mut failed = Failed::new();
    for agent in agents.iter_mut().filter(|agent| agent.may_miss_files()) {
        let Some(version) = agent.startable.clone() else { continue };
        if let Err(failure) = repair(&version, Need::Start, session, events).await {
            events(Event::Failed(&format!("{} was not repaired", agent.id), &failure));
            failed.insert(agent.id.clone(), failure);
            continue;
        }
        *agent = doctor::installed(&session.store, &version.receipt.id, agent.named.as_ref(), &session.environment())?;
        start(request, std::slice::from_mut(agent), session, events).await?;
        if agent.status < CheckStatus::Error {
            events(Event::Note(&format!("repaired {}: {}", agent.id, Need::Start.why())));
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
fn authorities(session: &Session) -> Option<Diagnosis> {
    let variable = |name: &str| session.options().variable(name);
    let is_set = |name: &&str| session.options().variables.get(name).is_some_and(|value| !value.is_empty());
    let names = Authorities::VARIABLES.into_iter().filter(is_set).collect::<Vec<_>>().join(" and ");
    let count = Authorities::named(&variable).and_then(|named| named.map(|named| named.count()).transpose());
    let (status, message, help) = match count {
        Ok(None) => return None,
        Ok(Some(1)) => (CheckStatus::Ok, format!("1 certificate authority of {names} is trusted"), None),
        Ok(Some(count)) => (CheckStatus::Ok, format!("{count} certificate authorities of {names} are trusted"), None),
        Err(problem) => (CheckStatus::Error, printable(&problem.to_string()).into_owned(), problem.remedy()),
    };
    Some(Diagnosis { name: "certificates", status, message, help })
}

/// Checks whether the index can be read, from where other use cases read it.
async fn index(session: &Session) -> Diagnosis {
    let (place, is_offline) = (&session.options().index, session.options().is_offline);
    let another = "check the network, or name another index with --index or ACP_REGISTRY_INDEX";
    let (status, message, help) = match session.index().await.map_err(Failure::from) {
        Ok(Loaded { warning: Some(warning), help, .. }) => (CheckStatus::Warning, warning, help),
        Ok(Loaded { index, .. }) => {
            let count = plural(index.entries().count(), "agent");
            let age = index.age().filter(|_| is_offline).map_or_else(String::new, |age| {
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
async fn start(
    request: &Diagnose,
    agents: &mut [DiagnosedAgent],
    session: &Session,
    events: &Events<'_>,
) -> Result<(), Failure> {
    let environment = session.environment();
    let mut options = HandshakeOptions::new(temporary());
    options.timeout = request.timeout.unwrap_or(options.timeout);
    let is_many = agents.len() > 1;
    for agent in agents.iter_mut() {
        let id = agent.id.clone();
        let starting = Starting::report(&id, options.timeout, events);
        doctor::start(agent, &environment, session.options().launcher.as_deref(), &options).await?;
        drop(starting);
        if is_many {
            events(Event::Step(&format!("{}: {}", agent.id, agent.status.as_str())));
        }
    }
    for error in agents.iter().filter_map(|agent| agent.handshake.as_ref()?.left.as_ref()) {
        events(Event::Warning(&unremoved(error)));
    }
    Ok(())
}
