//! Finds an installed version, and decides whether it may be started.

use super::{AgentSpec, Error, Session};
use crate::install::Kind;
use crate::store::Version;
use acp_registry_plan::manifest;

impl Session {
    /// The installed version that is named; if no version is named, the current one. `None` for `ID@latest`, which only
    /// the index knows.
    ///
    /// # Errors
    /// [`Error::Store`] when that cannot be seen.
    pub fn find_version(&self, named: &AgentSpec, kind: Option<Kind>) -> Result<Option<Version>, Error> {
        if named.is_latest {
            return Ok(None);
        }
        let current = self.store.agent(&named.id)?.map(|agent| agent.current);
        let Some(wanted) = &named.version else { return Ok(current) };
        let fits = |version: &Version| {
            is_same(&version.receipt.version, wanted) && kind.is_none_or(|kind| version.receipt.kind() == Some(kind))
        };
        Ok(current.into_iter().chain(self.store.versions(&named.id)?).find(fits))
    }

    /// Refuses a version that is not what was installed, or that other people could change.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Store`].
    pub fn refuse_unfit(&self, version: &Version) -> Result<(), Error> {
        if !version.is_whole() {
            let program = version.program().display().to_string();
            return Err(Error::Damaged { id: version.receipt.id.to_string(), program });
        }
        Ok(self.store.vouch_for(version)?)
    }
}

/// Whether two texts mean the same version.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let parse = manifest::Version::parse;
    one == other || matches!((parse(one), parse(other)), (Some(one), Some(other)) if one == other)
}
