//! GATHER: what the world outside says of the things that manifests name: addresses, packages, releases, archives.
//!
//! * [`Survey`]: the answers, by what was asked; rules read it and nothing else
//! * [`Surveyor`] asks
//!
//! How agents behave when they are started comes from [`crate::verify`], and is put in beside the rest.
//!
//! Each thing is asked for once, however many agents name it, and all of them at the same time.

mod archives;
mod surveyor;
mod targets;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use archives::{Archive, Inspection};
pub use surveyor::{Event, Scope, Surveyor};
pub(crate) use wanted::note_of;
pub use wanted::{needs, not_started, tasks};

use crate::verify::Row;
use acp_registry_core::net::{Answer, FetchError};
use acp_registry_core::upstream::github::{Release, ReleaseId};
use acp_registry_core::upstream::{SourceError, npm, pypi};

/// What a source says of one thing; `None` when there is no such thing.
pub type Found<T> = Result<Option<Arc<T>>, SourceError>;

/// The answers of the world outside. What was not asked for is not there.
#[derive(Debug, Default)]
pub struct Survey {
    /// Whether there is something at an address, by the address as the manifest writes it.
    pub links: BTreeMap<String, Result<Answer, FetchError>>,
    /// npm packages by name.
    pub npm: BTreeMap<String, Found<npm::Packument>>,
    /// Python projects by name as the manifest writes it.
    pub pypi: BTreeMap<String, Found<pypi::Project>>,
    /// Releases on GitHub.
    pub releases: BTreeMap<ReleaseId, Found<Release>>,
    /// The files of releases on GitHub that addresses name.
    pub assets: BTreeMap<String, (ReleaseId, String)>,
    /// Archives that were fetched, by the address as the manifest writes it.
    pub archives: BTreeMap<String, Result<Archive, FetchError>>,
    /// The result of starting agents, by id.
    pub agents: BTreeMap<String, Vec<Row>>,
    /// What was not asked, and why: for readers of the result.
    pub notes: Vec<String>,
    /// What this machine itself could not do, such as storing an archive: nothing is known then of what was asked.
    pub troubles: Vec<FetchError>,
    /// Whether no agent could be installed because this machine has no package managers.
    pub lacks_package_managers: bool,
    /// Whether anything was asked and no host answered.
    pub is_cut_off: bool,
    /// Whether a host answered that is known by a public name, so that names can be resolved.
    pub has_reached_names: bool,
}

impl Survey {
    /// The result of asking for an address; `None` when it was not asked for.
    #[must_use]
    pub fn link(&self, url: &str) -> Option<Result<&Answer, &FetchError>> {
        match self.archives.get(url) {
            Some(archive) => Some(archive.as_ref().map(|archive| &archive.answer)),
            None => self.links.get(url).map(Result::as_ref),
        }
    }

    /// Whether GitHub itself has said that it does not have the file at an address.
    #[must_use]
    pub fn is_denied_by_github(&self, url: &str) -> bool {
        self.asset(url).is_some_and(|(_, file, found)| match found {
            Ok(Some(release)) => release.asset(file).is_none(),
            Ok(None) => true,
            Err(_) => false,
        })
    }

    /// The digest that GitHub gives for the file at an address.
    #[must_use]
    pub fn github_digest(&self, url: &str) -> Option<&str> {
        let (_, file, found) = self.asset(url)?;
        found.as_ref().ok()?.as_ref()?.asset(file)?.sha256.as_deref()
    }

    /// The release that an address names a file of, and the file's name, if the release was asked for.
    #[must_use]
    pub fn asset(&self, url: &str) -> Option<(&ReleaseId, &str, &Found<Release>)> {
        let (id, file) = self.assets.get(url)?;
        Some((id, file, self.releases.get(id)?))
    }
}
