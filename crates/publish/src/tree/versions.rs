//! Earlier versions of agents, as files of the tree; see [`acp_registry_plan::versions`].

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use acp_registry_gate::check::CheckOptions;
use acp_registry_gate::config::{HoldConfig, View};
use acp_registry_plan::closure::{CLOSURES, Closures, EARLIER_CLOSURES, EarlierClosures};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{DISCOVERY, EMPTY, View as EntryView, entry_in, list_in};
use acp_registry_plan::index::INDEX;
use acp_registry_plan::manifest::{AgentId, Manifest};
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::versions::{EarlierVersion, HELD, VERSION_LIMIT, VERSIONS, Versions};
use rayon::prelude::*;
use serde_json::{Value, json};
use time::Date;

use super::BuildError;
use super::choice::{AgentSource, KeptAgent, PublishedError, PublishedTree, is_safe};
use super::index::entry;
use acp_registry_gate::history::{EarlierManifest, EarlierManifests, EventKind, HISTORY_FILE, History, HistoryEvent};

/// The path of the list of an agent.
pub(crate) fn list_path(id: &str) -> String {
    super::index::name(VERSIONS, id)
}

/// The versions that agents have had: those that git knows, and those of an earlier tree.
pub(super) struct Earlier<'a> {
    manifests: &'a EarlierManifests,
    previous: Option<&'a dyn PublishedTree>,
    /// Those of the earlier tree, which is read on first use.
    lists: OnceLock<Result<EarlierLists<'a>, PublishedError>>,
    revocations: Revocations,
    options: &'a CheckOptions<'a>,
}

impl<'a> Earlier<'a> {
    pub(super) fn new(
        (manifests, previous): (&'a EarlierManifests, Option<&'a dyn PublishedTree>),
        revocations: Revocations,
        options: &'a CheckOptions<'a>,
    ) -> Self {
        Self { manifests, previous, lists: OnceLock::new(), revocations, options }
    }

    /// The lists of the agents of a view that have earlier versions, by id.
    pub(super) fn lists(
        &self,
        sources: &[AgentSource<'_>],
        view: &View,
    ) -> Result<BTreeMap<String, Vec<u8>>, PublishedError> {
        let one = |source: &AgentSource<'_>| {
            let (id, now) = (source.id(), source.version(&view.file));
            let mut all = self.versions(id, view)?;
            all.retain(|one| Some(&*one.version) != now.as_deref());
            Ok(Versions::new(id, all).to_text().map(|text| (id.to_owned(), text.into_bytes())))
        };
        sources.par_iter().filter_map(|source| one(source).transpose()).collect()
    }

    /// The versions of an agent, the newest first, without those that are revoked or not safe.
    fn versions(&self, id: &str, view: &View) -> Result<Vec<EarlierVersion>, PublishedError> {
        let known = self.manifests.get(id).into_iter().flatten();
        let mut all: Vec<EarlierVersion> = known.filter_map(|one| read(one, view)).collect();
        if let Some(lists) = self.published()? {
            for older in lists.read(id)? {
                if all.iter().all(|known| known.version != older.version) {
                    all.push(older);
                }
            }
        }
        all.truncate(VERSION_LIMIT);
        let recall = |version: &str| self.revocations.find(id, version).map(|found| found.level);
        all.retain(|one| {
            recall(&one.version) != Some(RevocationLevel::Revoked) && is_safe(id, &one.entry, self.options)
        });
        Ok(all)
    }

    /// What the earlier tree has, if there is one.
    fn published(&self) -> Result<Option<&EarlierLists<'a>>, PublishedError> {
        let Some(tree) = self.previous else { return Ok(None) };
        self.lists.get_or_init(|| EarlierLists::load(tree)).as_ref().map(Some).map_err(Clone::clone)
    }

    /// The closures of earlier versions of agents, by id, without those that agents have `now`.
    pub(super) fn closures(
        &self,
        sources: &[AgentSource<'_>],
        now: &BTreeMap<&str, Closures>,
    ) -> Result<BTreeMap<String, Vec<u8>>, PublishedError> {
        let Some(lists) = self.published()? else { return Ok(BTreeMap::new()) };
        let one = |source: &AgentSource<'_>| {
            let id = source.id();
            let earlier = EarlierClosures::new(id, now.get(id), lists.closures(id)?);
            Ok(earlier.to_text().map(|text| (id.to_owned(), text.into_bytes())))
        };
        sources.par_iter().filter_map(|source| one(source).transpose()).collect()
    }

    /// The sources of a view, in which agents that are held have the version that they are held at.
    pub(super) fn held<'b>(
        &self,
        sources: &[AgentSource<'b>],
        view: &View,
        today: Date,
    ) -> Result<Option<Vec<AgentSource<'b>>>, BuildError> {
        let holds: BTreeMap<&String, &HoldConfig> =
            self.options.config.hold.iter().filter(|(_, hold)| hold.holds(&view.file, today)).collect();
        if holds.is_empty() {
            return Ok(None);
        }
        let one = |source: &AgentSource<'b>| {
            let id = source.id().to_owned();
            let is_other = |version: &String| source.version(&view.file).as_ref() != Some(version);
            // What the folder of an agent has that keeps its earlier entry is not known.
            let is_kept = matches!(source, AgentSource::Earlier(_));
            let Some(hold) = holds.get(&id).filter(|hold| is_kept || is_other(&hold.version)) else {
                return Ok(source.clone());
            };
            let found = match source {
                AgentSource::Earlier(kept) if !is_other(&hold.version) => kept.entries.get(&view.file).cloned(),
                _ => {
                    let mut versions = self.versions(&id, view)?.into_iter();
                    versions.find(|one| one.version == hold.version).map(|one| one.entry)
                }
            };
            let mut entry = found.ok_or_else(|| BuildError::Hold {
                id: id.clone(),
                version: hold.version.clone(),
                message: match self.revocations.find(&id, &hold.version) {
                    Some(recall) if recall.level == RevocationLevel::Revoked => recall.to_string(),
                    _ => "is known neither to git nor to the tree of --previous, or breaks a rule".to_owned(),
                },
            })?;
            if let Value::Object(entry) = &mut entry {
                let HoldConfig { version, reason, until, .. } = hold;
                let mut member = json!({ "version": version, "reason": reason });
                if let Some(until) = until {
                    member["until"] = json!(until.to_string());
                }
                entry.insert(HELD.to_owned(), member);
            }
            let icon = match source {
                AgentSource::Own(own, earlier) => own.icon.present().cloned().or_else(|| earlier.clone()),
                AgentSource::Earlier(kept) => kept.icon.clone(),
            };
            Ok(AgentSource::Earlier(KeptAgent { id, entries: BTreeMap::from([(view.file.clone(), entry)]), icon }))
        };
        sources.iter().map(one).collect::<Result<_, BuildError>>().map(Some)
    }
}

/// The entry that the index had of a manifest.
fn read(EarlierManifest { version, since, text }: &EarlierManifest, view: &View) -> Option<EarlierVersion> {
    let manifest = Manifest::parse(String::from_utf8(text.clone()).ok()?).ok()?;
    let entry = entry(&manifest, None, view)?;
    Some(EarlierVersion { version: version.clone(), since: since.map(|time| time.to_string()), entry })
}

/// The lists of an earlier tree.
struct EarlierLists<'a> {
    tree: &'a dyn PublishedTree,
    /// What leads to its lists of versions and closures, by the names of their views.
    views: BTreeMap<&'static str, EntryView>,
    /// What its index has, which is earlier by now, perhaps.
    index: BTreeMap<String, Value>,
    /// What happened to its agents last, as far as its history tells.
    events: BTreeMap<String, HistoryEvent>,
    /// The files that lead to lists, which many agents share.
    known: Mutex<BTreeMap<Sha256, Vec<u8>>>,
}

impl<'a> EarlierLists<'a> {
    fn load(tree: &'a dyn PublishedTree) -> Result<Self, PublishedError> {
        let index = super::choice::entries(tree, INDEX)?.unwrap_or_default();
        let index =
            index.into_iter().filter_map(|entry| Some((entry.get("id")?.as_str()?.to_owned(), entry))).collect();
        let document = tree.read(DISCOVERY)?.unwrap_or_default();
        let view = |name| Some((name, EntryView::parse(&document, name).ok().flatten()?));
        let views = [VERSIONS, CLOSURES, EARLIER_CLOSURES].into_iter().filter_map(view).collect();
        let history = tree.read(HISTORY_FILE)?.and_then(|bytes| History::parse(&bytes).ok());
        // The newest event is the first one.
        let events = history.iter().flat_map(History::events).rev();
        let events = events.map(|event| (event.id.clone(), event.clone())).collect();
        Ok(Self { tree, views, index, events, known: Mutex::default() })
    }

    /// A group or a list of digests.
    fn list(&self, view: &EntryView, digest: Sha256) -> Result<Vec<u8>, PublishedError> {
        if digest == Sha256::of(EMPTY) {
            return Ok(EMPTY.as_bytes().to_vec());
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known().get(&digest) {
            return Ok(text.clone());
        }
        let name = view.list_path(digest);
        let text = self.tree.read_as(&name, digest)?.unwrap_or_default();
        if Sha256::of(&text) != digest {
            return Err(PublishedError::new(&name, &"it does not have the digest of its name"));
        }
        known().insert(digest, text.clone());
        Ok(text)
    }

    /// The versions that the earlier tree has had of an agent, and the one in its index.
    fn read(&self, id: &str) -> Result<Vec<EarlierVersion>, PublishedError> {
        let current = self.index.get(id).and_then(|entry| {
            let version = entry.get("version")?.as_str()?.to_owned();
            let is_of_version = |event: &&HistoryEvent| event.version == version && event.kind != EventKind::Withdrawn;
            let since = self.events.get(id).filter(is_of_version).map(|event| event.time.to_string());
            Some(EarlierVersion { version, since, entry: entry.clone() })
        });
        let mut versions: Vec<EarlierVersion> = current.into_iter().collect();
        let older = self.parse(VERSIONS, id, Versions::parse)?;
        versions.extend(older.into_iter().flat_map(|older| older.versions));
        Ok(versions)
    }

    /// The closures that the earlier tree has of an agent, the newest first.
    fn closures(&self, id: &str) -> Result<Vec<Closures>, PublishedError> {
        let newest = self.parse(CLOSURES, id, Closures::parse)?;
        let older = self.parse(EARLIER_CLOSURES, id, EarlierClosures::parse)?;
        Ok(newest.into_iter().chain(older.into_iter().flat_map(|older| older.closures)).collect())
    }

    /// What the earlier tree has of an agent in a view.
    fn parse<T, E: std::fmt::Display>(
        &self,
        view: &str,
        id: &str,
        parse: impl Fn(&[u8], &str) -> Result<T, E>,
    ) -> Result<Option<T>, PublishedError> {
        let Some((view, agent)) = self.views.get(view).zip(id.parse::<AgentId>().ok()) else { return Ok(None) };
        let failed = |why: &dyn std::fmt::Display| PublishedError::new(&view.entry_path(&agent), why);
        let digest = list_in(&self.list(view, view.group(&agent))?, &agent).map_err(|error| failed(&error))?;
        let found = entry_in(&self.list(view, digest)?, &agent).map_err(|error| failed(&error))?;
        let Some(digest) = found else { return Ok(None) };
        let text = self.tree.read_as(&view.entry_path(&agent), digest)?.unwrap_or_default();
        if Sha256::of(&text) != digest {
            return Err(failed(&"it does not have the digest that its list names"));
        }
        parse(&text, id).map(Some).map_err(|error| failed(&error))
    }
}
