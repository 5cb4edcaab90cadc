//! Keeps versions that a registry has recalled from being installed and started.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use acp_registry_plan::manifest;
use acp_registry_plan::revocations::{Revocation, RevocationLevel};
use futures_util::FutureExt as _;

use super::{Error, Session};
use crate::index::{self, IndexLocation, IndexReader, KnownRevocations, LoadOptions, RevocationMemory};
use crate::resolve::Plan;
use crate::store::Version;

/// What was learnt of registries, by the place of their lists.
pub(super) type RevocationsByPlace = BTreeMap<String, KnownRevocations>;

impl Session {
    /// Asks which versions the registry has recalled, and remembers the answer beside the installed agents. Returns a
    /// warning if that is not known; what an earlier run has learnt counts then.
    ///
    /// # Errors
    /// [`index::Error::Trust`] when the list is not the one that the registry has signed.
    pub async fn learn_revocations(&self) -> Result<Option<String>, index::Error> {
        let recalled = self.reader().learn_revocations(&self.revocation_memory()).await?;
        let warning = recalled.warning.clone();
        if let Some(place) = self.options.index.revocations() {
            let mut known = self.revocations.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(place, recalled);
        }
        Ok(warning)
    }

    fn revocation_memory(&self) -> RevocationMemory {
        RevocationMemory::at(&self.store.root().join("revoked"))
    }

    /// Looks into what this machine knows of a registry. Nothing is sent.
    fn look<T>(&self, place: &str, look: impl FnOnce(&KnownRevocations) -> T) -> T {
        let mut known = self.revocations.lock().unwrap_or_else(PoisonError::into_inner);
        let recalled = known.entry(place.to_owned()).or_insert_with(|| {
            let memory = self.revocation_memory();
            let index = &self.options.index;
            if !matches!(index, IndexLocation::Path(_)) || index.revocations().as_deref() != Some(place) {
                return memory.recall(place);
            }
            // A directory is read anew. Without a request, the future is ready at its first poll.
            let reader = IndexReader::offline(index, LoadOptions::default());
            reader.learn_revocations(&memory).now_or_never().and_then(Result::ok).unwrap_or_default()
        });
        look(recalled)
    }

    /// The recall of a version by the registry of the index, as far as this machine knows.
    #[must_use]
    pub fn find_revocation(&self, id: &str, version: &str) -> Option<Revocation> {
        let place = self.options.index.revocations()?;
        self.look(&place, |recalled| recalled.revocations.find(id, version).cloned())
    }

    /// The recall of an installed version, by the registry that it is from or by that of the index; the severer of both.
    #[must_use]
    pub fn find_installed_revocation(&self, version: &Version) -> Option<Revocation> {
        let receipt = &version.receipt;
        let find = |known: &KnownRevocations| known.revocations.find(&receipt.id, &receipt.version).cloned();
        let found = self.revocation_places(version).filter_map(|place| self.look(&place, find));
        found.max_by_key(|found| found.level)
    }

    /// Why it is not known which versions the registries of the index and of a version have recalled.
    #[must_use]
    pub fn revocation_problem(&self, version: &Version) -> Option<String> {
        self.revocation_places(version).find_map(|place| self.look(&place, |recalled| recalled.warning.clone()))
    }

    /// Where the registries of a version and of the index publish what they recall.
    fn revocation_places(&self, version: &Version) -> impl Iterator<Item = String> {
        version.receipt.revocations.clone().into_iter().chain(self.options.index.revocations())
    }

    /// Refuses a version that the registry of the index has revoked, as far as this machine knows.
    ///
    /// # Errors
    /// [`Error::Revoked`].
    pub fn refuse_revoked(&self, id: &str, version: &str) -> Result<(), Error> {
        self.refuse(id, version, self.find_revocation(id, version), false)
    }

    /// Refuses to install what the registry of the index has revoked, or that of an installed version of the same number, as far
    /// as this machine knows.
    ///
    /// # Errors
    /// [`Error::Revoked`], or [`Error::Store`] when the installed versions cannot be seen.
    pub fn refuse_revoked_plan(&self, plan: &Plan) -> Result<(), Error> {
        self.refuse_revoked(&plan.id, &plan.version)?;
        let versions = self.store.versions(&plan.id)?;
        let mut same =
            versions.iter().filter(|there| manifest::Version::is_same(&there.receipt.version, &plan.version));
        same.try_for_each(|there| self.refuse_revoked_installed(there))
    }

    /// Refuses an installed version that a registry has revoked, as far as this machine knows.
    ///
    /// # Errors
    /// [`Error::Revoked`].
    pub fn refuse_revoked_installed(&self, version: &Version) -> Result<(), Error> {
        self.refuse(&version.receipt.id, &version.receipt.version, self.find_installed_revocation(version), true)
    }

    fn refuse(&self, id: &str, version: &str, revocation: Option<Revocation>, is_installed: bool) -> Result<(), Error> {
        let revocation = revocation.filter(|found| found.level == RevocationLevel::Revoked);
        let is_named = |named: &str| manifest::Version::is_same(named, version);
        let mut allowed = self.options.allowed_revoked.iter();
        let is_allowed = allowed.any(|one| *one.id == *id && one.version.as_deref().is_some_and(is_named));
        let Some(revocation) = revocation.filter(|_| !is_allowed) else { return Ok(()) };
        let is_fine = |other: &String| {
            !manifest::Version::is_same(other, version)
                && self.find_revocation(id, other).is_none_or(|found| found.level < RevocationLevel::Revoked)
        };
        let offered = self.entry_at_hand(id).and_then(|index| Some(index.agent(id).ok()??.version));
        let (id, version) = (id.to_owned(), version.to_owned());
        Err(Error::Revoked { id, version, why: revocation.to_string(), instead: offered.filter(is_fine), is_installed })
    }
}
