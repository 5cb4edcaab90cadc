//! Asks package registries and hosts about everything that manifests name: URLs, packages, releases, archives.
//!
//! * [`Survey`] holds the answers, the only network data that rules read
//! * [`Surveyor`] asks the questions
//!
//! [`crate::verify`] installs and starts agents; its results are added to the survey with [`Survey::take_rows`].
//!
//! Each question is asked once, however many agents have it, and questions are asked concurrently.

mod archives;
mod surveyor;

use std::collections::BTreeMap;
use std::sync::Arc;

use acp_registry_client::provenance::{self, Provenance};
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_http::{Answer, FetchError};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{Agent, Distribution, Platform};
use acp_registry_plan::text::quote;
use acp_registry_sources::github::{Release, ReleaseId};
use acp_registry_sources::{Needs, SourceError, npm, pypi};
pub use archives::{Archive, Inspection, SurveyEvent};
pub use surveyor::{Scope, Surveyor};

use crate::config::Config;
use crate::select::{Selection, knows_quarantine};
use crate::verify;
use crate::verify::{Row, Task};

/// The answer of a source; `None` if it does not have the item.
pub type SourceAnswer<T> = Result<Option<Arc<T>>, SourceError>;

/// A version of an npm package, and who must have built it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Built {
    /// The package.
    pub name: String,
    /// The version.
    pub version: String,
    /// The repository that the manifest names, as written.
    pub repository: String,
}

/// All answers, keyed by what was asked. Questions that were not asked have no entry.
#[derive(Debug, Default)]
pub struct Survey {
    /// Whether URLs can be fetched, keyed by the URL as written in the manifest.
    pub links: BTreeMap<String, Result<Answer, FetchError>>,
    /// npm packages, by name.
    pub npm: BTreeMap<String, SourceAnswer<npm::Packument>>,
    /// What attestations prove of npm packages whose registry says that it has some.
    pub provenance: BTreeMap<Built, Result<Vec<Provenance>, provenance::Error>>,
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

/// Maximum number of agents that a note names.
const NOTED: usize = 10;

impl Scope {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The package registries that the selected agents need.
    pub fn needs(&self, registry: &Registry, selection: &Selection) -> Needs {
        if !self.urls {
            return Needs::default();
        }
        let agents = selected(registry, selection);
        needs(agents.flat_map(Agent::releases).map(|release| release.distribution))
    }
}

/// The package registries that these distributions are published in.
pub fn needs<'a>(distributions: impl IntoIterator<Item = &'a Distribution>) -> Needs {
    distributions.into_iter().fold(Needs::default(), |needs, distribution| Needs {
        npm: needs.npm || distribution.npx.is_some(),
        pypi: needs.pypi || distribution.uvx.is_some(),
    })
}

impl Surveyor<'_> {
    /// Asks about everything that the selected agents name.
    pub async fn survey_selected(&self, registry: &Registry, selection: &Selection) -> Survey {
        self.survey(selected(registry, selection)).await
    }
}

fn selected<'a>(registry: &'a Registry, selection: &'a Selection) -> impl Iterator<Item = &'a Agent> {
    let entries = registry.entries.iter().filter(|entry| selection.has_folder(&entry.id));
    entries.filter_map(|entry| Some(entry.manifest.present()?.agent()))
}

/// The tasks that install and start the selected agents on this machine. Withdrawn agents are left out. Returns `None`
/// if the quarantine list cannot be read.
pub fn tasks(registry: &Registry, selection: &Selection, config: &Config) -> Option<Vec<Task>> {
    if !knows_quarantine(registry) {
        return None;
    }
    let is_selected =
        |entry: &&AgentFolder| selection.has_folder(&entry.id) && !config.withdrawn.contains_key(&entry.id);
    let selected = registry.entries.iter().filter(is_selected);
    let wanted = verify::Selection {
        ids: Some(selected.map(|entry| entry.id.clone()).collect()),
        platform: Platform::host(),
        ..verify::Selection::default()
    };
    Some(verify::plan(registry, &wanted, None, None))
}

/// A note that names the selected agents that are not started because they are withdrawn; `None` if there are none.
pub fn not_started(registry: &Registry, selection: &Selection, config: &Config) -> Option<String> {
    let ids = registry.entries.iter().map(|entry| &entry.id);
    let is_withdrawn = |id: &&String| selection.has_folder(id) && config.withdrawn.contains_key(*id);
    let ids: Vec<String> = ids.filter(is_withdrawn).map(|id| quote(id)).collect();
    note("started", &ids, "withdrawn")
}

/// A note that these agents were not `work` (such as "started"), with the reason; `None` if there are none.
pub(crate) fn note(work: &str, ids: &[String], why: &str) -> Option<String> {
    let (count, more) = (ids.len(), if ids.len() > NOTED { ", …" } else { "" });
    let named = ids[..count.min(NOTED)].join(", ");
    (count > 0).then(|| format!("not {work} because they are {why}: {count} ({named}{more})"))
}

impl Survey {
    /// Adds the results of starting agents. Returns notes about agents that were not started, which are also added to
    /// `notes`.
    pub fn take_rows(&mut self, rows: Vec<Row>) -> Vec<String> {
        self.lacks_package_managers = verify::lacks_package_managers(&rows);
        let mut notes = Vec::new();
        for (reason, why) in [("quarantined", "in quarantine"), ("unsupported_platform", "not made for this machine")] {
            let ids: Vec<String> =
                rows.iter().filter(|row| row.reason() == Some(reason)).map(|row| quote(&row.id)).collect();
            notes.extend(note("started", &ids, why));
        }
        self.notes.extend(notes.iter().cloned());
        for row in rows {
            self.agents.entry(row.id.clone()).or_default().push(row);
        }
        notes
    }
}
