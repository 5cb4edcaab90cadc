//! The versions of an agent until now, as its page tells them.

use acp_registry_client::settings::shell;
use acp_registry_plan::revocations::{Revocation, RevocationLevel};
use acp_registry_plan::timestamp::date;
use acp_registry_plan::versions::{EarlierVersion, HELD, HeldVersion, Versions};

use super::SiteOptions;
use super::changes::{AgentChange, ENTRIES};
use super::listing::Listing;
use super::text::shown;
use crate::release::release_page_of_entry;

/// The most recalls that a page lists.
const RECALLS: usize = 20;

/// The versions of an agent until now: which came when, which were recalled, and which can still be installed.
pub(super) struct Past {
    pub(super) changes: Vec<AgentChange>,
    /// Why the index has an older version than the registry.
    pub(super) held: Option<HeldVersion>,
    /// The recalled versions as written, and what the registry says of them.
    pub(super) recalls: Vec<(String, String)>,
    /// What the registry says of the current version, if it is recalled.
    pub(super) recalled: Option<String>,
    /// The recalls, to find those of the versions in `changes`.
    levels: Vec<Revocation>,
    /// The number of earlier versions that can be installed, and the command for the newest one.
    pub(super) earlier: Option<(usize, String)>,
    /// Earlier versions, if nothing else tells when versions came.
    pub(super) earlier_days: Vec<EarlierDay>,
}

/// An earlier version that can be installed.
pub(super) struct EarlierDay {
    pub(super) version: String,
    /// When it came into the registry, as `YYYY-MM-DD`.
    pub(super) day: Option<String>,
    /// The page of the release that its archives are of.
    pub(super) release: Option<String>,
}

impl Past {
    pub(super) fn of(listing: &Listing<'_>, version: &str, options: &SiteOptions<'_>) -> Self {
        let id = &listing.id;
        let mut changes = AgentChange::of(listing);
        let entry = listing.entry();
        let held = entry.get(HELD).and_then(|held| HeldVersion::parse(held, version));
        let levels = options.revocations.get(id).to_vec();
        let list = (options.earlier)(id).and_then(|text| Versions::parse(text, id).ok());
        let versions = list.map(|list| list.versions).unwrap_or_default();
        let flags: Vec<&str> = options.registry_url.into_iter().flat_map(|index| ["--index", index]).collect();
        let command = |one: &EarlierVersion| {
            let named = format!("{id}@{}", one.version);
            let words = ["acp-registry", "install"].into_iter().chain(flags.iter().copied()).chain([&*named]);
            Some((versions.len(), shell::command(&[], words)?))
        };
        let day = |one: &EarlierVersion| {
            let day = one.since.as_deref().and_then(|since| since.get(..10)).filter(|day| date(day).is_some());
            let release = release_page_of_entry(&one.entry);
            EarlierDay { version: shown(&one.version, 40), day: day.map(ToOwned::to_owned), release }
        };
        // A history that was made before it named releases lacks them.
        for change in changes.iter_mut().filter(|change| change.release.is_none() && change.kind != "withdrawn") {
            let earlier = versions.iter().find(|one| one.version == change.version).map(|one| &one.entry);
            let entry = if change.version == version { Some(&entry) } else { earlier };
            change.release = entry.and_then(release_page_of_entry);
        }
        Self {
            held,
            recalls: levels.iter().take(RECALLS).map(|one| (one.written.clone(), one.to_string())).collect(),
            recalled: options.revocations.find(id, version).map(ToString::to_string),
            levels,
            earlier: versions.first().and_then(command),
            earlier_days: if changes.is_empty() {
                versions.iter().take(ENTRIES).map(day).collect()
            } else {
                Vec::new()
            },
            changes,
        }
    }

    /// `revoked` or `deprecated`, if a version is recalled.
    pub(super) fn recall(&self, version: &str) -> Option<&'static str> {
        let levels = self.levels.iter().filter(|one| one.versions.has(version)).map(|one| one.level);
        levels.max().map(RevocationLevel::as_str)
    }

    /// Whether there is something to tell.
    pub(super) fn is_known(&self) -> bool {
        !self.changes.is_empty() || self.earlier.is_some() || !self.recalls.is_empty()
    }
}
