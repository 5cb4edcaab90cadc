//! Updates installed agents.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use acp_registry_host::process::Environment;
use acp_registry_http::Client;
use acp_registry_plan::documents::{IndexOrigin, Launch};
use acp_registry_plan::failure::{AgentFailure, Code, Failure};
use acp_registry_plan::manifest::{AgentId, NpmSpec, Pin, PypiSpec, Version as AgentVersion};
use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_sources::{Connection, Needs, Sources};
use serde::{Deserialize, Serialize};
use url::Url;

use super::agents::read_agents;
use super::find::installed;
use super::install::{ask, install_all, install_one, note_pin, note_registry};
use super::repair::{Need, repair};
use super::{Event, Events, Report, learn_revocations, learn_versions, load, seconds, waiting, warn_of_revocation};
use crate::index::{Index, Missing};
use crate::install::{Kind, Source};
use crate::provenance::Require;
use crate::resolve::{self, Host, Offer, Plan, PlanOptions};
use crate::session::{AgentSpec, Error, InstallRequest, Session, Terms};
use crate::store::{PinChange, StoredAgent, Version};

/// What to update, and how.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches that a caller sets by name")]
pub struct Update {
    /// The agents; without any, all that are installed.
    pub agents: Vec<AgentSpec>,
    /// The version that the agent, of which there is one, is brought to and stays at. The registry has it or has had it; it
    /// may be older than the installed one.
    pub to: Option<String>,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Versions that are younger are held back.
    #[serde(rename = "min_age_seconds", deserialize_with = "seconds")]
    pub min_age: Option<Duration>,
    /// Whether agents that stay at a version are updated, too.
    pub unpin: bool,
    /// Whether the agents are not started to see if they answer.
    pub no_check: bool,
    /// What must be proven of the bytes of each agent.
    pub require: Require,
    /// Whether a person has agreed to other publishers than before, to weaker proofs and to none.
    pub accept_publisher: bool,
}

/// An agent that was updated, or would be in a dry run.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct AgentUpdate {
    /// The agent.
    pub id: AgentId,
    /// The version before the update.
    pub from: String,
    /// The version in the index, or that of [`Update::to`].
    pub to: String,
    /// The kind of distribution.
    pub distribution: &'static str,
    /// Whether the update was installed.
    pub applied: bool,
    /// How the new version starts, once it is installed.
    pub launch: Option<Launch>,
    #[serde(skip)]
    plan: Plan,
}

/// An agent whose newer version is revoked, too young, or of an unknown release date, or that is from another registry. All but
/// an age have a message.
#[derive(Debug, Serialize)]
pub struct HeldUpdate {
    /// The agent.
    pub id: AgentId,
    /// The current version.
    pub from: String,
    /// The version in the index; the current one where another registry's index has none.
    pub to: String,
    /// `min-age`, `unknown-age`, `cooldown`, `revoked` or `other-registry`.
    pub reason: &'static str,
    /// When the version is old enough, if known. RFC 3339.
    pub until: Option<String>,
    /// What holds it back, as a sentence: a setting with the newest version that is allowed, a recall, or the registry that the
    /// agent is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A pinned agent.
#[derive(Debug, Serialize)]
pub struct Pinned {
    /// The agent.
    pub id: AgentId,
    /// The installed version.
    pub version: String,
    /// The version in the index.
    pub available: String,
}

/// The results for all agents.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct UpdateReport {
    /// Agents with a different version in the index.
    pub updates: Vec<AgentUpdate>,
    /// Agents whose newer version is held back.
    pub held: Vec<HeldUpdate>,
    /// Pinned agents.
    pub pinned: Vec<Pinned>,
    /// Agents that need a repair, which a dry run does not make, and which.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "ids")]
    pub repairs: Vec<(AgentId, Need)>,
    /// Agents that were repaired without a change of version.
    #[serde(serialize_with = "ids")]
    pub repaired: Vec<(AgentId, Need)>,
    /// Agents that already have the version in the index.
    pub up_to_date: Vec<AgentId>,
    /// Installed agents that the index no longer has.
    pub gone: Vec<AgentId>,
    /// Agents that could not be updated, and why.
    pub errors: Vec<AgentFailure>,
    /// The index, if one was needed.
    pub index: Option<IndexOrigin>,
}

fn ids<S: serde::Serializer>(repairs: &[(AgentId, Need)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(repairs.iter().map(|(id, _)| id))
}

impl Report for UpdateReport {
    fn command(&self) -> &'static str {
        "update"
    }

    fn errors(&self) -> &[AgentFailure] {
        &self.errors
    }
}

/// An update waits for its age.
const MIN_AGE: &str = "min-age";
/// The age of an update is unknown.
const UNKNOWN_AGE: &str = "unknown-age";
/// A setting of npm or uv holds an update back.
const COOLDOWN: &str = "cooldown";

/// What is going to be done.
#[derive(Default)]
struct Work {
    report: UpdateReport,
    /// Agents without an update that need a repair.
    repairs: Vec<(Version, Need)>,
    /// Agents whose version the index starts in another way than before, or with other packages.
    changed: Vec<(Plan, Need)>,
    /// Agents of another registry, which has the same version, that are from the registry of the index from now on.
    moved: Vec<AgentId>,
}

impl Work {
    /// Whether an installed version may be started; notes the failure if it may not.
    fn refuse_revoked(&mut self, version: &Version, session: &Session, events: &Events<'_>) -> bool {
        let receipt = &version.receipt;
        match session.refuse_revoked_installed(version) {
            Ok(()) => {
                let revocation = session.find_installed_revocation(version);
                warn_of_revocation(revocation, &receipt.id, &receipt.version, events);
                true
            }
            Err(mut error) => {
                // The help to update leads here.
                if let Error::Revoked { is_installed, .. } = &mut error {
                    *is_installed = false;
                }
                self.fail(&receipt.id, error);
                false
            }
        }
    }

    /// Notes the failure of agents whose version may not be started, and whose update waits for its time.
    fn refuse_held(&mut self, installed: &[StoredAgent], session: &Session, events: &Events<'_>) {
        let waits = |held: &&HeldUpdate| [MIN_AGE, UNKNOWN_AGE, COOLDOWN].contains(&held.reason);
        let waiting: Vec<AgentId> = self.report.held.iter().filter(waits).map(|held| held.id.clone()).collect();
        for agent in installed.iter().filter(|agent| waiting.contains(&agent.id)) {
            self.refuse_revoked(&agent.current, session, events);
        }
    }

    /// Holds an agent of another registry back: the agent with its id here may be of another publisher. `to` is the version in the index,
    /// if it has one.
    fn hold_other(&mut self, agent: &StoredAgent, to: Option<String>, (here, there): (&str, &str), is_named: bool) {
        let receipt = &agent.current.receipt;
        let rest = match &to {
            Some(_) if !is_named => format!("; name it to take it from {here}"),
            Some(_) => format!(", and {here} has no newer version"),
            None => format!(", and {here} does not have it"),
        };
        let from = receipt.version.clone();
        self.report.held.push(HeldUpdate {
            id: agent.id.clone(),
            to: to.unwrap_or_else(|| from.clone()),
            from,
            reason: "other-registry",
            until: None,
            message: Some(format!("it is from {there}{rest}")),
        });
    }

    /// Has the versions repaired at which agents stay because another one is held back.
    fn repair_held(&mut self, installed: &[StoredAgent], environment: &Environment) {
        let held = installed.iter().filter(|agent| self.report.held.iter().any(|held| held.id == agent.id));
        let new = held.filter(|agent| self.repairs.iter().all(|(version, _)| version.receipt.id != agent.id));
        let repairs: Vec<_> = new.filter_map(|agent| find_need(agent, environment)).collect();
        self.repairs.extend(repairs);
    }

    fn fail(&mut self, id: &AgentId, failure: impl Into<Failure>) {
        self.report.errors.push(failure.into().for_agent(id));
    }
}

/// Updates installed agents. The failure of one does not stop the others.
///
/// # Errors
/// [`Failure`] when the request cannot be carried out for any agent.
pub async fn update(session: &Session, request: &Update, events: &Events<'_>) -> Result<UpdateReport, Failure> {
    if let Some(named) = request.agents.iter().find(|named| named.version.is_some()) {
        let message =
            format!("`update` moves to the version in the index, and {} names another", quote(&named.to_string()));
        return Err(Failure::usage(message).help(format!("run `acp-registry install {named}`")));
    }
    let to = target(request)?;
    let ids: Vec<String> = request.agents.iter().map(|named| named.id.clone()).collect();
    let (mut installed, damaged) = chosen(&ids, session)?;
    if request.unpin {
        for agent in installed.iter_mut().filter(|agent| agent.is_pinned) {
            if !request.dry_run {
                session.store.set_pin(&agent.id, false, &waiting(events)).await?;
                events(Event::Note(&format!("{} is no longer pinned", agent.id)));
            }
            agent.is_pinned = false;
        }
    }
    if installed.is_empty() && damaged.is_empty() {
        // No agent is left to compare, so that the index is not fetched.
        let index = session.index_at_hand().map(|index| IndexOrigin::of(&index));
        return Ok(UpdateReport { index, ..UpdateReport::default() });
    }
    let ids: Vec<&str> = installed.iter().map(|agent| &*agent.id).collect();
    let index = load(session, session.load_entries(&ids), events).await?;
    learn_revocations(session, events).await?;
    if let Some(to) = &to {
        learn_versions(session, to, &index).await?;
    }
    let choice = Choice { is_named: !request.agents.is_empty(), to: to.as_ref() };
    let mut work = sort(&installed, choice, &index, session, events).await;
    for (id, failure) in damaged {
        work.fail(&id, failure);
    }
    if let Some(age) = request.min_age {
        let network = if session.options().is_offline {
            None
        } else {
            let network = session.options().connect_to_sources(needs(&work.report))?;
            for note in network.notes() {
                events(Event::Warning(&note));
            }
            Some(network)
        };
        hold(&mut work.report, age, network.as_ref()).await;
    }
    work.repair_held(&installed, &session.environment());
    if request.dry_run {
        work.refuse_held(&installed, session, events);
        let changed = work.changed.into_iter().map(|(plan, need)| (plan.id, need));
        let repairs = work.repairs.into_iter().map(|(version, need)| (version.receipt.id, need));
        work.report.repairs = repairs.chain(changed).collect();
    } else {
        let terms = Terms::new(request.require, request.accept_publisher);
        apply(&mut work, &installed, (to.as_ref(), terms), !request.no_check, session, events).await;
    }
    Ok(work.report)
}

/// The agent and the version that it is brought to.
fn target(request: &Update) -> Result<Option<AgentSpec>, Failure> {
    let Some(version) = &request.to else { return Ok(None) };
    let [agent] = request.agents.as_slice() else {
        return Err(Failure::usage("`--to` names the version of one agent").help("name one agent"));
    };
    let id = &agent.id;
    if request.unpin {
        return Err(Failure::usage("`--to` keeps the agent at the version, and `--unpin` does not")
            .help(format!("leave out `--to` or `--unpin`, or run `acp-registry update {id} --unpin` later")));
    }
    match format!("{id}@{version}").parse() {
        Ok(AgentSpec { version: None, .. }) => Err(Failure::usage(format!("{} is not a version", quote(version)))
            .help(format!("run `acp-registry update --unpin {id}`, which takes the version in the index"))),
        Ok(named) => Ok(Some(named)),
        Err(_) => Err(Failure::usage("`--to` has no version")),
    }
}

/// The agents to update, and the failures of those that cannot be read.
fn chosen(ids: &[String], session: &Session) -> Result<(Vec<StoredAgent>, BTreeMap<AgentId, Failure>), Failure> {
    let (mut installed, mut damaged) = read_agents(&session.store)?;
    if ids.is_empty() {
        return Ok((installed.into_values().collect(), damaged));
    }
    damaged.retain(|id, _| ids.iter().any(|named| **id == **named));
    if let Some(id) = ids.iter().find(|id| !installed.contains_key(id.as_str()) && !damaged.contains_key(id.as_str())) {
        return Err(session.not_installed(id));
    }
    // An agent that is named twice is meant once.
    let chosen = ids.iter().filter_map(|id| installed.remove(id.as_str()));
    Ok((chosen.collect(), damaged))
}

/// The version of an agent, if it needs a repair.
fn find_need(agent: &StoredAgent, environment: &Environment) -> Option<(Version, Need)> {
    Some((agent.current.clone(), Need::find_at_a_glance(&agent.current, environment)?))
}

/// How the agents to update were chosen.
#[derive(Clone, Copy)]
struct Choice<'a> {
    /// Whether a person has named them.
    is_named: bool,
    /// The agent, of which there is one then, and the version that it is brought to.
    to: Option<&'a AgentSpec>,
}

/// Compares every agent with the index, or one with the version that it is brought to. The failure of one does not stop the
/// others.
async fn sort(
    installed: &[StoredAgent],
    Choice { is_named, to }: Choice<'_>,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Work {
    let mut work = Work::default();
    work.report.index = Some(IndexOrigin::of(index));
    let (host, environment) = (session.host(), session.environment());
    let needed = |agent: &StoredAgent| find_need(agent, &environment);
    for agent in installed {
        let (id, from) = (agent.id.clone(), agent.current.receipt.version.clone());
        if let Err(error) = session.store.refuse_foreign_agent(&id) {
            work.fail(&id, error);
            continue;
        }
        let other = agent.current.receipt.other_registry(session.store.revocations.as_deref());
        if let Some(other) = other.filter(|_| !is_named) {
            work.refuse_revoked(&agent.current, session, events);
            let to = index.agent(&id).ok().flatten().map(|entry| entry.version);
            work.hold_other(agent, to, other, is_named);
            continue;
        }
        let entry = match index.agent(&id) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                work.repairs.extend(needed(agent));
                match Missing::of(&id, index) {
                    Missing::UnknownAgent { .. } if to.is_none() => {
                        work.refuse_revoked(&agent.current, session, events);
                        match other {
                            Some(other) => work.hold_other(agent, None, other, is_named),
                            None => work.report.gone.push(id),
                        }
                    }
                    missing => work.fail(&id, missing),
                }
                continue;
            }
            Err(error) => {
                work.fail(&id, error);
                continue;
            }
        };
        let offers = match to.map(|to| session.offers(to, index)).transpose() {
            Ok(offers) => offers.unwrap_or_else(|| Offer::from_agent(&entry, index.sha256())),
            Err(error) => {
                work.fail(&id, error);
                continue;
            }
        };
        if agent.is_pinned && to.is_none() {
            work.refuse_revoked(&agent.current, session, events);
            work.report.pinned.push(Pinned { id, version: from, available: entry.version.clone() });
            work.repairs.extend(needed(agent));
            continue;
        }
        let status = compare(agent, &offers, to, session, &host).await;
        if let (Some(other), Ok(status)) = (other, &status) {
            match status {
                UpdateStatus::UpToDate(plan) if !AgentVersion::is_same(&plan.version, &from) => {
                    work.hold_other(agent, Some(plan.version.clone()), other, is_named);
                    continue;
                }
                UpdateStatus::UpToDate(_) | UpdateStatus::Outdated(_) => note_registry(&id, other, events),
            }
        }
        match status {
            Err(error) => work.fail(&id, error),
            Ok(UpdateStatus::UpToDate(_)) if !work.refuse_revoked(&agent.current, session, events) => {}
            Ok(UpdateStatus::UpToDate(plan)) => match session.store.refuse_changed(&plan) {
                Err(error) => work.fail(&id, error),
                Ok(()) if other.is_some() => {
                    work.moved.push(id.clone());
                    work.repairs.extend(needed(agent));
                    work.report.up_to_date.push(id);
                }
                Ok(()) => match needed(agent) {
                    Some(repair) => work.repairs.push(repair),
                    None => match find_change(agent, plan, session).await {
                        Ok(None) => work.report.up_to_date.push(id),
                        Ok(Some(change)) => work.changed.push(change),
                        Err(error) => work.fail(&id, error),
                    },
                },
            },
            Ok(UpdateStatus::Outdated(plan)) if let Err(error) = session.refuse_revoked(&id, &plan.version) => {
                // The installed version stays, unless it is revoked, too.
                if to.is_some() {
                    work.fail(&id, error);
                } else if work.refuse_revoked(&agent.current, session, events) {
                    let (to, message) = (plan.version.clone(), Some(Failure::from(error).reason().to_owned()));
                    work.report.held.push(HeldUpdate { id, from, to, reason: "revoked", until: None, message });
                }
            }
            Ok(UpdateStatus::Outdated(plan)) => work.report.updates.push(AgentUpdate {
                id,
                from,
                to: plan.version.clone(),
                distribution: plan.kind().as_str(),
                applied: false,
                launch: None,
                plan,
            }),
        }
    }
    work
}

fn needs(report: &UpdateReport) -> Needs {
    let has = |kind| report.updates.iter().any(|update| update.plan.kind() == kind);
    Needs { npm: has(Kind::Npx), pypi: has(Kind::Uvx) }
}

/// Holds back updates that are too young, or whose release date is unknown, as all are without a network.
async fn hold(report: &mut UpdateReport, age: Duration, network: Option<&Connection>) {
    for update in std::mem::take(&mut report.updates) {
        let time = match network {
            Some(Connection { client, sources, .. }) => published(&update.plan, client, sources).await,
            None => None,
        };
        let until = time.and_then(|time| time.checked_add(age));
        if until.is_some_and(|until| until <= SystemTime::now()) {
            report.updates.push(update);
            continue;
        }
        let until = until.and_then(Timestamp::of).map(|time| time.to_string());
        let reason = if until.is_some() { MIN_AGE } else { UNKNOWN_AGE };
        let AgentUpdate { id, from, to, .. } = update;
        report.held.push(HeldUpdate { id, from, to, reason, until, message: None });
    }
}

/// Makes the updates and repairs. An agent that is brought to a version stays at it.
async fn apply(
    work: &mut Work,
    installed_agents: &[StoredAgent],
    (to, terms): (Option<&AgentSpec>, Terms),
    is_checked: bool,
    session: &Session,
    events: &Events<'_>,
) {
    let pin = if to.is_some() { PinChange::Set } else { PinChange::Keep };
    let task = |update: &AgentUpdate| InstallRequest { pin, terms, ..InstallRequest::new(update.plan.clone()) };
    let results = install_all(session, work.report.updates.iter().map(task).collect(), events).await;
    for (update, result) in std::mem::take(&mut work.report.updates).into_iter().zip(results) {
        let mut done = result.done;
        if to.is_some()
            && let Err(failure) = &mut done
        {
            failure.blame_named_version();
        }
        if is_checked && let Ok(outcome) = &mut done {
            ask(outcome, session, events).await;
        }
        match done.and_then(|outcome| installed(&outcome.version, session)) {
            Ok(launch) => {
                if to.is_some() {
                    note_pin(&update.id, &update.to, events);
                }
                work.report.updates.push(AgentUpdate { applied: true, launch: Some(launch), ..update });
            }
            // A version that was named is refused, as `install` does.
            Err(failure) if failure.kind() == Code::HeldByCooldown && to.is_none() => {
                let AgentUpdate { id, from, to, .. } = update;
                let (until, message) = (failure.until(), Some(failure.reason().to_owned()));
                work.report.held.push(HeldUpdate { id, from, to, reason: COOLDOWN, until, message });
            }
            Err(failure) => {
                // A person who reads why there is no update must learn that there should be one.
                let current = installed_agents.iter().find(|agent| agent.id == update.id).map(|agent| &agent.current);
                if let Some(Err(error)) = current.map(|current| session.refuse_revoked_installed(current)) {
                    events(Event::Warning(&error.to_string()));
                }
                work.fail(&update.id, failure);
            }
        }
    }
    work.refuse_held(installed_agents, session, events);
    work.repair_held(installed_agents, &session.environment());
    for id in std::mem::take(&mut work.moved) {
        if let Err(error) = session.store.take_over(&id, &waiting(events)).await {
            work.fail(&id, error);
        }
    }
    for (plan, need) in std::mem::take(&mut work.changed) {
        let id = plan.id.clone();
        match install_one(session, &InstallRequest { terms, ..InstallRequest::new(plan) }, events).await {
            Ok(_) => work.report.repaired.push((id, need)),
            Err(failure) => work.fail(&id, failure),
        }
    }
    for (version, need) in std::mem::take(&mut work.repairs) {
        let id = version.receipt.id.clone();
        match repair(&version, need, session, events).await {
            Ok(()) => work.report.repaired.push((id, need)),
            Err(failure) => work.fail(&id, failure),
        }
    }
    if let Some(version) = to.and_then(|to| to.version.as_deref()) {
        // It had the version before.
        let repaired = work.report.repaired.iter().map(|(id, _)| id);
        let there: Vec<AgentId> = work.report.up_to_date.iter().chain(repaired).cloned().collect();
        for id in there {
            match session.store.set_pin(&id, true, &waiting(events)).await {
                Ok(()) => note_pin(&id, version, events),
                Err(error) => work.fail(&id, error),
            }
        }
    }
}

/// How the index starts the installed version in another way than before, or with other packages.
///
/// # Errors
/// [`Error`] when the list of packages cannot be read, or is not there any more.
async fn find_change(agent: &StoredAgent, plan: Plan, session: &Session) -> Result<Option<(Plan, Need)>, Error> {
    let receipt = &agent.current.receipt;
    // An older version in the index says nothing of the installed one.
    let is_same = AgentVersion::is_same(&plan.version, &receipt.version);
    let follows = receipt.clone().follow(&plan);
    // Without a network, nothing is learnt.
    let has_list = plan.kind() != Kind::Binary && !session.options().is_offline;
    if !is_same || !(follows || has_list) {
        return Ok(None);
    }
    let plan = session.with_closure(plan).await?;
    session.refuse_lost_list(&plan)?;
    let differs = plan.folder() != agent.current.folder();
    // What a lock file has installed stays.
    let need = match differs {
        true if receipt.needs_lock_file() => None,
        true if has_list => Some(Need::Packages),
        _ => follows.then_some(Need::Arguments),
    };
    Ok(need.map(|need| (plan, need)))
}

/// When what a plan names was published, as the npm registry, the Python package index, GitHub, or the archive's host says;
/// `None` when that is not known.
async fn published(plan: &Plan, client: &Client, sources: &Sources) -> Option<SystemTime> {
    match &plan.source {
        Source::Npx(package) => {
            let NpmSpec { name, pin: Pin::Exact(version) } = package.package.parse().ok()? else { return None };
            let packument = sources.npm.as_ref()?.packument_in_full(client, &name).await.ok()??;
            packument.published(&version).map(SystemTime::from)
        }
        Source::Uvx(package) => {
            let PypiSpec { name, pin: Pin::Exact(version), .. } = package.package.parse().ok()? else { return None };
            let project = sources.pypi.as_ref()?.project(client, &name).await.ok()??;
            project.release(&version)?.published.map(SystemTime::from)
        }
        Source::Binary(target) => {
            let url = Url::parse(&target.archive).ok()?;
            if let Some((id, _)) = sources.github.find_asset(&url)
                && let Ok(Some(release)) = sources.github.release(client, &id).await
                && let Some(time) = release.published
            {
                return Some(time.into());
            }
            client.probe(&url).await.ok()?.last_modified
        }
    }
}

/// How an installed agent compares with what is offered.
enum UpdateStatus {
    /// No newer version is offered.
    UpToDate(Plan),
    /// There is a newer version, or another one is wanted, or is offered and cannot be compared.
    Outdated(Plan),
}

/// Compares an installed agent with the offers for it, or with the offer of one version, which may be older. It keeps its kind
/// of distribution as long as that is offered.
///
/// # Errors
/// [`Error`] when what is offered cannot be installed here.
async fn compare(
    agent: &StoredAgent,
    offers: &[Offer],
    to: Option<&AgentSpec>,
    session: &Session,
    host: &Host,
) -> Result<UpdateStatus, Error> {
    let receipt = &agent.current.receipt;
    let platform = session.options().platform.or(receipt.foreign_platform(host));
    let version = to.and_then(|to| to.version.clone());
    let wanted = |kind| PlanOptions { version: version.clone(), kind, platform, ..PlanOptions::new(agent.id.clone()) };
    let plan = match session.resolve(offers, &wanted(Some(receipt.source.kind())), host).await {
        Err(Error::Resolve(resolve::Error::NoSuchKind { .. } | resolve::Error::UnsupportedPlatform { .. })) => {
            session.resolve(offers, &wanted(None), host).await?
        }
        plan => plan?,
    };
    let may_be_newer = match (AgentVersion::parse(&plan.version), AgentVersion::parse(&receipt.version)) {
        (Some(offered), Some(installed)) => offered > installed,
        _ => true,
    };
    let is_outdated = plan.version != receipt.version && (to.is_some() || may_be_newer);
    Ok(if is_outdated { UpdateStatus::Outdated(plan) } else { UpdateStatus::UpToDate(plan) })
}
