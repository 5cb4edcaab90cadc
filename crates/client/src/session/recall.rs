//! Keeps versions that a registry has recalled from being installed and started.

use std::sync::{Arc, PoisonError};

use acp_registry_plan::manifest;
use acp_registry_plan::revocations::{Revocation, RevocationLevel, Revocations};

use super::{Error, Session, SessionOptions};
use crate::index::{LoadOptions, RecallMemory, Recalled, learn_recalled};

impl Session {
    /// Asks which versions the registry has recalled, and remembers the answer beside the installed agents. Returns a
    /// warning if that is not known; what an earlier run has learnt counts then.
    pub async fn learn_revoked(&self) -> Option<String> {
        let SessionOptions { is_offline, refresh, .. } = self.options;
        let options = LoadOptions { copies: self.copies(), is_offline, refresh };
        let client = || self.connect().map(|(client, _)| client);
        let Recalled { revocations, warning } =
            learn_recalled(&self.options.index, &self.recall_memory(), &options, client).await;
        *self.recalled.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(revocations));
        warning
    }

    /// What this machine knows of recalled versions. Nothing is sent.
    fn recalled(&self) -> Arc<Revocations> {
        let mut recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        recalled.get_or_insert_with(|| Arc::new(self.recall_memory().recall(&self.options.index))).clone()
    }

    fn recall_memory(&self) -> RecallMemory {
        RecallMemory::at(&self.store.root().join("revoked"))
    }

    /// The recall of a version, as far as this machine knows.
    #[must_use]
    pub fn find_revocation(&self, id: &str, version: &str) -> Option<Revocation> {
        self.recalled().find(id, version).cloned()
    }

    /// Whether a revoked version is installed and started all the same.
    #[must_use]
    pub fn allows_revoked(&self, id: &str, version: &str) -> bool {
        let is_named = |named: &str| manifest::Version::is_same(named, version);
        self.options.allowed_revoked.iter().any(|one| *one.id == *id && one.version.as_deref().is_some_and(is_named))
    }

    /// Refuses a version that the registry has revoked, as far as this machine knows.
    ///
    /// # Errors
    /// [`Error::Revoked`].
    pub fn refuse_revoked(&self, id: &str, version: &str) -> Result<(), Error> {
        let revocation = self.find_revocation(id, version).filter(|found| found.level == RevocationLevel::Revoked);
        let Some(revocation) = revocation.filter(|_| !self.allows_revoked(id, version)) else { return Ok(()) };
        let is_fine = |other: &String| {
            !manifest::Version::is_same(other, version)
                && self.find_revocation(id, other).is_none_or(|found| found.level < RevocationLevel::Revoked)
        };
        let offered = self.entry_at_hand(id).and_then(|index| Some(index.agent(id).ok()??.version));
        let instead = offered.filter(is_fine);
        Err(Error::Revoked { id: id.to_owned(), version: version.to_owned(), why: revocation.to_string(), instead })
    }
}
