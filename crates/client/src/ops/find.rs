//! What the index offers and what is installed: `list`, `search`, `info`, `resolve`, `which`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acp_registry_plan::documents::{About, AgentList, IndexOrigin, Launch, ListedAgent};
use acp_registry_plan::failure::{AgentFailure, Failure};
use acp_registry_plan::manifest::{Agent, AgentId};
use acp_registry_plan::revocations::{Revocation, RevocationLevel};
use acp_registry_plan::text::shown;
use acp_registry_plan::versions::{HELD, HeldVersion, Versions};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::agents::read_agents;
use super::{
    Event, Events, Report, check_revoked, check_revoked_installed, learn_versions, load, load_quietly, warn_of_left_out,
};
use crate::index::{self, Entry, Found, Index, Match, Missing, Query, Reading};
use crate::install::{Kind, Start};
use crate::resolve::{Offer, OfferOrigin, Plan};
use crate::session::{self, AgentSpec, Permissions, Session};
use crate::store::{LostVersion, StoredAgent, Version};

/// The document of an installed version, or of a plan for it.
pub(super) fn installed(version: &Version, session: &Session) -> Result<Launch, Failure> {
    let start = match session.find_start(version) {
        Err(_) if !version.receipt.had_interpreter() => None,
        start => Some(start?),
    };
    let path = start.as_ref().map(|start| session.more_path(start)).unwrap_or_default();
    Ok(version.document(start, path))
}

/// The document of the version of a plan, which has its closure, whether it is installed or not.
pub(super) fn planned(plan: &Plan, session: &Session) -> Result<Launch, Failure> {
    let store = &session.store;
    store.refuse_changed(plan)?;
    if let Some(mut version) = store.installed(plan)? {
        version.receipt.follow(plan);
        return installed(&version, session);
    }
    Ok(store.document(plan))
}

/// The plan that installs what was in the directory of a version whose receipt is lost, whatever its kind of distribution.
pub(super) async fn find_lost(named: &AgentSpec, lost: &LostVersion, index: &Index, session: &Session) -> Option<Plan> {
    for kind in Kind::ALL {
        if let Ok(plan) = session.plan(named, Some(kind), index).await
            && let Ok(plan) = session.with_closure(plan).await
            && plan.folder() == lost.folder
        {
            return Some(plan);
        }
    }
    None
}

/// Plans the installation of an agent in the index, or of an installed version of it. Reports the parts of the agent's
/// entry that cannot be used.
pub(super) async fn plan(
    named: &AgentSpec,
    kind: Option<Kind>,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Result<Plan, Failure> {
    warn_of_left_out(&named.id, index, events)?;
    Ok(session.plan(named, kind, index).await?)
}

/// Reads an index that has this agent, and reports once if parts of it cannot be used.
///
/// # Errors
/// [`Failure`] when the index cannot be read.
pub async fn load_entry(session: &Session, id: &str, events: &Events<'_>) -> Result<Index, Failure> {
    load(session, session.load_index(&[id]), events).await
}

/// The offer for the version that is named. Reports the parts of the agent's entry that cannot be used.
///
/// # Errors
/// [`Failure`] when there is no such agent or version.
pub fn find_offer(session: &Session, named: &AgentSpec, index: &Index, events: &Events<'_>) -> Result<Offer, Failure> {
    warn_of_left_out(&named.id, index, events)?;
    Ok(session.offer(named, index)?)
}

/// The agents of an index.
#[derive(Debug)]
#[non_exhaustive]
pub struct FindReport {
    /// The index.
    pub index: Index,
    /// What matches a query, best match first; `None` if there was no query.
    pub hits: Option<Vec<(Entry, Match)>>,
    /// How words of the query were read that no agent has.
    pub reading: Reading,
    /// The installed agents.
    pub installed: BTreeMap<AgentId, StoredAgent>,
}

impl FindReport {
    /// The agents that were found.
    #[must_use]
    pub fn entries(&self) -> Vec<&Entry> {
        match &self.hits {
            None => self.index.entries().collect(),
            Some(hits) => hits.iter().map(|(entry, _)| entry).collect(),
        }
    }

    /// The installed version of an agent.
    #[must_use]
    pub fn installed_version(&self, entry: &Entry) -> Option<&str> {
        self.installed.get(entry.id.as_str()).map(|agent| agent.current.receipt.version.as_str())
    }
}

impl Serialize for FindReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_pinned = |entry: &Entry| self.installed.get(entry.id.as_str()).is_some_and(|agent| agent.is_pinned);
        let listed = |entry| ListedAgent::of(entry, self.installed_version(entry), is_pinned(entry));
        let list = AgentList {
            index: IndexOrigin::of(&self.index),
            index_sha256: self.index.sha256(),
            agents: self.entries().into_iter().map(listed).collect(),
            notes: &self.index.notes,
        };
        list.serialize(serializer)
    }
}

impl Report for FindReport {
    fn command(&self) -> &'static str {
        if self.hits.is_none() { "list" } else { "search" }
    }
}

fn read_and_warn(session: &Session, events: &Events<'_>) -> Result<super::agents::InstalledAgents, Failure> {
    let agents = read_agents(&session.store)?;
    for failure in agents.1.values() {
        events(Event::Failed("", failure));
    }
    Ok(agents)
}

/// Lists the agents of the index.
///
/// # Errors
/// [`Failure`] when the index cannot be read, or the directory of agents.
pub async fn list(session: &Session, events: &Events<'_>) -> Result<FindReport, Failure> {
    let (installed, _) = read_and_warn(session, events)?;
    let index = load_quietly(session, session.index(), events).await?;
    for note in &index.notes {
        events(Event::Warning(&format!("in the registry index, {note}")));
    }
    Ok(FindReport { index, hits: None, reading: Reading::default(), installed })
}

/// What [`search`] looks for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The words.
    pub query: String,
}

/// Searches the index.
///
/// # Errors
/// [`Failure`] when the index cannot be read, or the directory of agents.
pub async fn search(session: &Session, request: &Search, events: &Events<'_>) -> Result<FindReport, Failure> {
    let (installed, _) = read_and_warn(session, events)?;
    let index = load(session, session.index(), events).await?;
    let query = Query::new([request.query.as_str()]);
    let facts = if query.needs_facts() { session.facts().await } else { None };
    let Found { hits, reading, .. } = query.search(index.entries(), facts.as_ref());
    let hits = hits.iter().map(|hit| (hit.entry.clone(), hit.matched)).collect();
    Ok(FindReport { index, hits: Some(hits), reading, installed })
}

/// The installed agents.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct InstalledReport {
    /// The index, if one was given.
    pub index: Option<IndexOrigin>,
    /// The agents that can be started.
    pub agents: Vec<InstalledRow>,
    /// The agents that cannot be read or started, and why.
    pub errors: Vec<AgentFailure>,
    /// All agents that can be read.
    #[serde(skip)]
    pub installed: Vec<StoredAgent>,
}

/// The longest reason of a recall in a document, in characters.
const REASON: usize = 2000;

/// An installed agent, with what the index says about it.
#[derive(Debug)]
pub struct InstalledRow {
    /// How the agent is started.
    pub launch: Launch,
    entry: Option<Entry>,
    is_pinned: bool,
    /// The recall of the installed version, if the registry has recalled it.
    pub revocation: Option<Revocation>,
}

/// The recall of an installed version in a document.
#[derive(Serialize)]
struct RevocationMember {
    level: RevocationLevel,
    reason: String,
    since: Option<String>,
}

impl From<&Revocation> for RevocationMember {
    fn from(Revocation { level, reason, since, .. }: &Revocation) -> Self {
        Self { level: *level, reason: shown(reason, REASON), since: since.as_ref().map(|since| shown(since, 40)) }
    }
}

impl Serialize for InstalledRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            #[serde(flatten)]
            launch: &'a Launch,
            #[serde(flatten)]
            about: About<'a>,
            installed_version: &'a str,
            pinned: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            revocation: Option<RevocationMember>,
        }
        let revocation = self.revocation.as_ref().map(RevocationMember::from);
        let about = self.entry.as_ref().map(About::of).unwrap_or_default();
        let Self { launch, is_pinned, .. } = self;
        Row { launch, about, installed_version: &launch.version, pinned: *is_pinned, revocation }.serialize(serializer)
    }
}

impl Report for InstalledReport {
    fn command(&self) -> &'static str {
        "list"
    }
}

/// Lists the installed agents, with what an index says about them.
///
/// # Errors
/// [`Failure`] when the directory of agents cannot be read.
pub fn list_installed(
    session: &Session,
    index: Option<&Index>,
    events: &Events<'_>,
) -> Result<InstalledReport, Failure> {
    let (installed, damaged) = read_and_warn(session, events)?;
    let mut errors: Vec<AgentFailure> = damaged.iter().map(|(id, failure)| failure.for_agent(id)).collect();
    let mut agents = Vec::new();
    for agent in installed.values() {
        match self::installed(&agent.current, session) {
            Ok(launch) => {
                let entry = index.and_then(|index| index.entries().find(|entry| agent.id == entry.id).cloned());
                let revocation = session.find_installed_revocation(&agent.current);
                agents.push(InstalledRow { launch, entry, is_pinned: agent.is_pinned, revocation });
            }
            Err(failure) => {
                events(Event::Failed("", &failure));
                errors.push(failure.for_agent(&agent.id));
            }
        }
    }
    let index = index.map(IndexOrigin::of);
    Ok(InstalledReport { index, agents, errors, installed: installed.into_values().collect() })
}

/// A question about an agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    /// The agent, and its version if not the current one.
    pub agent: AgentSpec,
    /// Whether all versions are listed that the registry has had.
    #[serde(default)]
    pub versions: bool,
    /// The working directory for which it is listed what `run --sandbox` lets the agent touch.
    pub permissions: Option<PathBuf>,
}

/// What the index says about an agent, and which versions are installed.
#[derive(Debug)]
#[non_exhaustive]
pub struct DescribeReport {
    /// The agent, in the version that is described.
    pub agent: Agent,
    /// The entry of the index, unchanged.
    pub entry: Value,
    /// The source of a named version; `None` if the current entry is described.
    pub known_from: Option<&'static str>,
    /// The version in the index, if another one is described.
    pub newest: Option<String>,
    /// The installed versions, each with its recall, if the registry has recalled it.
    pub versions: Vec<(Version, Option<Revocation>)>,
    /// The installed agent.
    pub current: Option<StoredAgent>,
    /// The earlier versions of the registry, the newest first, if they are asked for.
    pub earlier: Option<Versions>,
    /// What the agent may touch in `run --sandbox`, if that is asked for.
    pub permissions: Option<Permissions>,
    /// The index.
    pub index: Index,
}

impl DescribeReport {
    /// Whether this is the version that is started.
    #[must_use]
    pub fn is_current(&self, version: &Version) -> bool {
        self.current.as_ref().is_some_and(|agent| agent.current.folder() == version.folder())
    }
}

/// A version that the registry has or has had.
#[derive(Debug, Serialize)]
pub struct RegistryVersion<'a> {
    /// The version.
    pub version: &'a str,
    /// When it came into the registry, if that is known. RFC 3339.
    pub since: Option<&'a str>,
    /// Whether it is installed.
    pub installed: bool,
}

impl DescribeReport {
    /// Why the index stays at its version of the agent, if the registry has a newer one.
    #[must_use]
    pub fn held(&self) -> Option<HeldVersion> {
        HeldVersion::parse(self.entry.get(HELD)?, self.entry.get("version")?.as_str()?)
    }

    /// The versions that the registry has and has had, the newest first; `None` if they were not asked for.
    #[must_use]
    pub fn registry_versions(&self) -> Option<Vec<RegistryVersion<'_>>> {
        let earlier = self.earlier.as_ref()?;
        let is_installed = |version: &str| self.versions.iter().any(|(known, _)| known.receipt.version == version);
        let one = |version, since| RegistryVersion { version, since, installed: is_installed(version) };
        let now = self.entry.get("version").and_then(Value::as_str).map(|version| one(version, None));
        let before = earlier.versions.iter().map(|earlier| one(&earlier.version, earlier.since.as_deref()));
        Some(now.into_iter().chain(before).collect())
    }
}

/// An installed version in the document.
#[derive(Serialize)]
struct VersionRow<'a> {
    version: &'a str,
    distribution: &'a str,
    verified: &'a str,
    #[serde(serialize_with = "acp_registry_plan::json::path")]
    install_dir: &'a Path,
    size: u64,
    installed_at: &'a str,
    current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation: Option<RevocationMember>,
}

impl Serialize for DescribeReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            id: &'a str,
            version: &'a str,
            known_from: Option<&'a str>,
            agent: &'a Value,
            installed: bool,
            installed_versions: Vec<VersionRow<'a>>,
            pinned: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            held: Option<HeldVersion>,
            #[serde(skip_serializing_if = "Option::is_none")]
            versions: Option<Vec<RegistryVersion<'a>>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            permissions: Option<&'a Permissions>,
            index_sha256: &'a str,
            index: IndexOrigin,
        }
        fn row<'a>(
            report: &DescribeReport,
            (version, revocation): &'a (Version, Option<Revocation>),
        ) -> VersionRow<'a> {
            let Version { receipt, directory, .. } = version;
            VersionRow {
                version: &receipt.version,
                distribution: receipt.source.kind().as_str(),
                verified: receipt.proof.verified.as_str(),
                install_dir: directory,
                size: receipt.size,
                installed_at: &receipt.installed_at,
                current: report.is_current(version),
                revocation: revocation.as_ref().map(RevocationMember::from),
            }
        }
        let members = Members {
            id: &self.agent.id,
            version: &self.agent.version,
            known_from: self.known_from,
            agent: &self.entry,
            installed: !self.versions.is_empty(),
            installed_versions: self.versions.iter().map(|version| row(self, version)).collect(),
            pinned: self.current.as_ref().is_some_and(|agent| agent.is_pinned),
            held: self.held(),
            versions: self.registry_versions(),
            permissions: self.permissions.as_ref(),
            index_sha256: self.index.sha256(),
            index: IndexOrigin::of(&self.index),
        };
        members.serialize(serializer)
    }
}

impl Report for DescribeReport {
    fn command(&self) -> &'static str {
        "info"
    }
}

/// Describes an agent.
///
/// # Errors
/// [`Failure`] when the index cannot be read, or has no such agent or version.
pub async fn describe(session: &Session, request: &Describe, events: &Events<'_>) -> Result<DescribeReport, Failure> {
    let named = &request.agent;
    let index = load(session, session.load_index(&[&named.id]), events).await?;
    learn_versions(session, named, &index).await?;
    let earlier = if request.versions { Some(session.learn_versions(&named.id).await?) } else { None };
    let entry = index.value(&named.id)?.ok_or_else(|| Missing::of(&named.id, &index))?;
    let mut agent = Agent::from_json(&entry);
    let mut versions = session.store.versions(&named.id)?;
    let current = session.store.agent(&named.id)?;
    let (mut known_from, mut newest) = (None, None);
    if named.version.is_some() {
        let offer = find_offer(session, named, &index, events)?;
        known_from = Some(origin(&offer, &agent));
        versions.retain(|version| version.receipt.version == offer.version);
        newest = Some(agent.version.clone()).filter(|newest| *newest != offer.version);
        (agent.version, agent.distribution, agent.preview) = (offer.version, offer.distribution, None);
    }
    let permit = |directory: &PathBuf| {
        let (version, _) = session.whole(named)?;
        Ok::<_, Failure>(session.confine(&version, &session.find_start(&version)?, directory)?.permissions())
    };
    let permissions = request.permissions.as_ref().map(permit).transpose()?;
    let with_recall = |version: Version| (session.find_installed_revocation(&version), version);
    let versions = versions.into_iter().map(with_recall).map(|(recall, version)| (version, recall)).collect();
    Ok(DescribeReport { agent, entry, known_from, newest, versions, current, earlier, permissions, index })
}

/// The source of a named version.
fn origin(offer: &Offer, agent: &Agent) -> &'static str {
    match offer.origin {
        OfferOrigin::Installed => "installed",
        OfferOrigin::Lock => "lock",
        OfferOrigin::Preview => "preview",
        OfferOrigin::Earlier => "history",
        OfferOrigin::Index if offer.version == agent.version => "index",
        // Only the installation shows whether the package registry has the version.
        OfferOrigin::Index => "package",
    }
}

/// A question how an agent would be installed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The agent, and its version if not the one in the index or the pinned one.
    pub agent: AgentSpec,
    /// The kind of distribution; by default, the first that this machine can run.
    pub dist: Option<Kind>,
}

/// How an agent would be installed.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct PlanReport {
    /// What would be installed, and its command line.
    #[serde(flatten)]
    pub launch: Launch,
    /// The index.
    pub index: IndexOrigin,
    /// The plan.
    #[serde(skip)]
    pub plan: Plan,
}

impl Report for PlanReport {
    fn command(&self) -> &'static str {
        "resolve"
    }
}

/// Plans the installation of an agent.
///
/// # Errors
/// [`Failure`] when the index cannot be read, has no such agent or version, or this machine cannot run it.
pub async fn resolve(session: &Session, request: &Resolve, events: &Events<'_>) -> Result<PlanReport, Failure> {
    let named = &request.agent;
    let index = load(session, session.load_index(&[&named.id]), events).await?;
    // The plan for another platform is not about this machine.
    let kept = if session.options().platform.is_none() { session.kept(named, events) } else { None };
    learn_versions(session, kept.as_ref().unwrap_or(named), &index).await?;
    let plan = plan(kept.as_ref().unwrap_or(named), request.dist, &index, session, events).await?;
    check_revoked(session, &plan.id, &plan.version, events)?;
    let plan = match session.with_closure(plan.clone()).await {
        // An installation needs the list; what the index offers is known without it.
        Err(session::Error::Index(error @ index::Error::Packages { .. })) => {
            events(Event::Warning(&format!("{error}; the agent cannot be installed until it is")));
            plan
        }
        plan => plan?,
    };
    Ok(PlanReport { launch: planned(&plan, session)?, index: IndexOrigin::of(&index), plan })
}

/// A question where an installed agent is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locate {
    /// The agent, and its version if not the current one.
    pub agent: AgentSpec,
}

/// How an installed agent is started.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct LocateReport {
    /// Its command line, and the origin of the installed version.
    #[serde(flatten)]
    pub launch: Launch,
    /// Whether the agent is pinned.
    pub pinned: bool,
    /// How it is started.
    #[serde(skip)]
    pub start: Start,
}

impl Report for LocateReport {
    fn command(&self) -> &'static str {
        "which"
    }
}

/// Finds an installed agent, which must be undamaged.
///
/// # Errors
/// [`Failure`] when it is not installed, or damaged.
pub fn locate(session: &Session, request: &Locate, events: &Events<'_>) -> Result<LocateReport, Failure> {
    let (version, pinned) = session.whole(&request.agent)?;
    check_revoked_installed(session, &version, events)?;
    Ok(LocateReport { launch: installed(&version, session)?, pinned, start: session.find_start(&version)? })
}
