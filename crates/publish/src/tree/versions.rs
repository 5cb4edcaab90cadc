//! Earlier versions of agents, as files of the tree; see [`acp_registry_plan::versions`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use acp_registry_gate::check::CheckOptions;
use acp_registry_gate::config::View;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{DISCOVERY, EMPTY, View as EntryView, entry_in, list_in};
use acp_registry_plan::manifest::{AgentId, Manifest};
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::versions::{EarlierVersion, VERSION_LIMIT, VERSIONS, Versions};
use rayon::prelude::*;
use serde_json::Value;

use super::files::INDEX;
use super::index::{Icon, entry};
use super::previous::{PublishedError, PublishedTree, is_safe};
use super::sources::AgentSource;
use crate::history::{EarlierManifest, EarlierManifests};

/// The lists of the agents that have earlier versions, by id: of what git knows, and of what an earlier tree has had.
pub(super) fn versions(
    sources: &[AgentSource<'_>],
    view: &View,
    known: &EarlierManifests,
    previous: Option<&dyn PublishedTree>,
    revocations: &Revocations,
    options: &CheckOptions<'_>,
) -> Result<BTreeMap<String, Vec<u8>>, PublishedError> {
    let earlier = previous.map(EarlierLists::load).transpose()?;
    let one = |source: &AgentSource<'_>| {
        let id = source.id();
        let mut all: Vec<EarlierVersion> =
            known.get(id).into_iter().flatten().filter_map(|one| read(one, view)).collect();
        if let Some(earlier) = &earlier {
            for older in earlier.read(id)? {
                if all.iter().all(|known| known.version != older.version) {
                    all.push(older);
                }
            }
        }
        let now = source.version(&view.file);
        all.retain(|one| Some(&*one.version) != now.as_deref());
        all.truncate(VERSION_LIMIT);
        let is_revoked =
            |version: &str| revocations.find(id, version).is_some_and(|found| found.level == RevocationLevel::Revoked);
        all.retain(|one| !is_revoked(&one.version) && is_safe(id, &one.entry, options));
        Ok(Versions::new(id, all).to_text().map(|text| (id.to_owned(), text.into_bytes())))
    };
    sources.par_iter().filter_map(|source| one(source).transpose()).collect()
}

/// The entry that the index had of a manifest.
fn read(EarlierManifest { version, since, text }: &EarlierManifest, view: &View) -> Option<EarlierVersion> {
    let manifest = Manifest::parse(String::from_utf8(text.clone()).ok()?).ok()?;
    let entry = entry(&manifest, Icon::None, view)?;
    Some(EarlierVersion { version: version.clone(), since: since.map(|time| time.to_string()), entry })
}

/// The lists of an earlier tree.
struct EarlierLists<'a> {
    tree: &'a dyn PublishedTree,
    /// Leads to its lists, if it has some.
    view: Option<EntryView>,
    /// What its index has, which is earlier by now, perhaps.
    index: BTreeMap<String, Value>,
    /// The files that lead to lists, which many agents share.
    known: Mutex<BTreeMap<Sha256, Vec<u8>>>,
}

impl<'a> EarlierLists<'a> {
    fn load(tree: &'a dyn PublishedTree) -> Result<Self, PublishedError> {
        let index = super::previous::entries(tree, INDEX)?.unwrap_or_default();
        let index =
            index.into_iter().filter_map(|entry| Some((entry.get("id")?.as_str()?.to_owned(), entry))).collect();
        let view = tree.read(DISCOVERY)?.and_then(|text| EntryView::parse(&text, VERSIONS).ok().flatten());
        Ok(Self { tree, view, index, known: Mutex::default() })
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
        let text = self.tree.read(&view.list_path(digest))?.unwrap_or_default();
        known().insert(digest, text.clone());
        Ok(text)
    }

    /// The versions that the earlier tree has had of an agent, and the one in its index.
    fn read(&self, id: &str) -> Result<Vec<EarlierVersion>, PublishedError> {
        let current = self.index.get(id).and_then(|entry| {
            let version = entry.get("version")?.as_str()?.to_owned();
            Some(EarlierVersion { version, since: None, entry: entry.clone() })
        });
        let mut versions: Vec<EarlierVersion> = current.into_iter().collect();
        let Some((view, agent)) = self.view.as_ref().zip(id.parse::<AgentId>().ok()) else { return Ok(versions) };
        let failed = |why: &dyn std::fmt::Display| PublishedError::new(&view.entry_path(&agent), why);
        let digest = list_in(&self.list(view, view.group(&agent))?, &agent).map_err(|error| failed(&error))?;
        let found = entry_in(&self.list(view, digest)?, &agent).map_err(|error| failed(&error))?;
        if found.is_some() {
            let text = self.tree.read(&view.entry_path(&agent))?.unwrap_or_default();
            versions.extend(Versions::parse(&text, id).map_err(|error| failed(&error))?.versions);
        }
        Ok(versions)
    }
}
