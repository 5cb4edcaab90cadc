//! Asks package registries and hosts about everything that manifests name: URLs, packages, releases, archives.
//!
//! * [`Survey`] holds the answers, the only network data that rules read
//! * [`Surveyor`] asks the questions
//!
//! [`crate::verify`] installs and starts agents; its results are added to the survey with [`Survey::take_rows`].
//!
//! Each question is asked once, however many agents have it, and questions are asked concurrently.

mod archives;
mod requests;
mod surveyor;

use std::collections::BTreeMap;
use std::sync::Arc;

use acp_registry_http::{Answer, FetchError};
use acp_registry_plan::digest::Sha256;
use acp_registry_sources::github::{Release, ReleaseId};
use acp_registry_sources::{SourceError, npm, pypi};

use crate::verify::Row;

pub use archives::{Archive, Inspection, SurveyEvent};
pub(crate) use requests::note;
pub use requests::{needs, not_started, tasks};
pub use surveyor::{Scope, Surveyor};

/// The answer of a source; `None` if it does not have the item.
pub type SourceAnswer<T> = Result<Option<Arc<T>>, SourceError>;

/// All answers, keyed by what was asked. Questions that were not asked have no entry.
#[derive(Debug, Default)]
pub struct Survey {
    /// Whether URLs can be fetched, keyed by the URL as written in the manifest.
    pub links: BTreeMap<String, Result<Answer, FetchError>>,
    /// npm packages, by name.
    pub npm: BTreeMap<String, SourceAnswer<npm::Packument>>,
    /// Python projects, by name as written in the manifest.
    pub pypi: BTreeMap<String, SourceAnswer<pypi::Project>>,
    /// GitHub releases.
    pub releases: BTreeMap<ReleaseId, SourceAnswer<Release>>,
    /// Release and file name of each archive URL that is a GitHub release asset, keyed by the URL as written in the
    /// manifest.
    pub assets: BTreeMap<String, (ReleaseId, String)>,
    /// Downloaded archives, keyed by the URL as written in the manifest.
    pub archives: BTreeMap<String, Result<Archive, FetchError>>,
    /// Results of starting agents, by id.
    pub agents: BTreeMap<String, Vec<Row>>,
    /// What was left out, and why; printed with the result.
    pub notes: Vec<String>,
    /// Downloads that failed because of this machine, such as a full disk. They say nothing about the archives.
    pub troubles: Vec<FetchError>,
    /// Whether no agent could be installed because this machine has no package managers.
    pub lacks_package_managers: bool,
    /// Why no agent was started, if it is unknown which ones are in quarantine.
    pub lacks_quarantine: Option<String>,
    /// Whether questions were asked and no host answered.
    pub is_cut_off: bool,
    /// Whether a host was reached by a name that needs public DNS, which shows that name resolution works.
    pub has_reached_names: bool,
}

impl Survey {
    /// The answer for a URL; `None` if it was not asked.
    pub fn link(&self, url: &str) -> Option<Result<&Answer, &FetchError>> {
        match self.archives.get(url) {
            Some(archive) => Some(archive.as_ref().map(|archive| &archive.answer)),
            None => self.links.get(url).map(Result::as_ref),
        }
    }

    /// Whether GitHub itself says that the file at a URL does not exist.
    pub(crate) fn is_denied_by_github(&self, url: &str) -> bool {
        self.asset(url).is_some_and(|(_, file, found)| match found {
            Ok(Some(release)) => release.asset(file).is_none(),
            Ok(None) => true,
            Err(_) => false,
        })
    }

    /// The SHA-256 that GitHub states for the file at a URL.
    pub fn github_digest(&self, url: &str) -> Option<Sha256> {
        let (_, file, found) = self.asset(url)?;
        found.as_ref().ok()?.as_ref()?.asset(file)?.sha256
    }

    /// The GitHub release that a URL belongs to, the file's name, and GitHub's answer; `None` if that release was not
    /// asked for.
    pub fn asset(&self, url: &str) -> Option<(&ReleaseId, &str, &SourceAnswer<Release>)> {
        let (id, file) = self.assets.get(url)?;
        Some((id, file, self.releases.get(id)?))
    }
}
