//! Asks package registries and hosts about everything that manifests name: URLs, packages, releases, archives.
//!
//! * [`Survey`] holds the answers, the only network data that rules read
//! * [`Surveyor`] asks the questions
//!
//! [`crate::verify`] installs and starts agents; its results are added to the survey with [`Survey::take_rows`].
//!
//! Each question is asked once, however many agents have it, and questions are asked concurrently.

mod archives;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use acp_registry_archive::Limits;
use acp_registry_client::provenance::{self, Artifact, Provenance, TrustRoots, WHEELS};
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_http::{Answer, Client, FetchError, Problem, address};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{Agent, Distribution, NpmSpec, PackageKind, Pin, Platform, PypiSpec};
use acp_registry_plan::text::quote;
use acp_registry_sources::github::{Release, ReleaseId};
use acp_registry_sources::npm::Packument;
use acp_registry_sources::pypi;
use acp_registry_sources::{Attestations, Needs, SourceError, Sources};
use futures_util::stream::{self, StreamExt as _};
use url::Url;

use crate::config::Config;
use crate::select::{Selection, quarantine_problem};
use crate::verify::{self, Row, Task};
use archives::ArchiveRequest;
pub use archives::{Archive, Inspection, SurveyEvent};

/// The answer of a source; `None` if it does not have the item.
pub type SourceAnswer<T> = Result<Option<Arc<T>>, SourceError>;

/// A version of a package, and who must have built it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Built {
    /// Whose package it is: npm's or Python's.
    pub kind: PackageKind,
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
    pub npm: BTreeMap<String, SourceAnswer<Packument>>,
    /// What attestations prove of packages whose registry says that it has some.
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

/// The selected agents whose manifests can be read.
pub fn selected<'a>(registry: &'a Registry, selection: &'a Selection) -> impl Iterator<Item = &'a Agent> {
    let entries = registry.entries.iter().filter(|entry| selection.has_folder(&entry.id));
    entries.filter_map(|entry| Some(entry.manifest.present()?.agent()))
}

/// The tasks that install and start the selected agents on this machine. Withdrawn agents are left out. Returns `None`
/// if the quarantine list cannot be read.
pub fn tasks(registry: &Registry, selection: &Selection, config: &Config) -> Option<Vec<Task>> {
    if quarantine_problem(registry).is_some() {
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
    note("started", ids.filter(is_withdrawn), "withdrawn")
}

/// A note that these agents were not `work` (such as "started"), with the reason; `None` if there are none.
pub(crate) fn note<'a>(work: &str, ids: impl Iterator<Item = &'a String>, why: &str) -> Option<String> {
    let ids: Vec<String> = ids.map(|id| quote(id)).collect();
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
            let ids = rows.iter().filter(|row| row.reason() == Some(reason)).map(|row| &row.id);
            notes.extend(note("started", ids, why));
        }
        self.notes.extend(notes.iter().cloned());
        for row in rows {
            self.agents.entry(row.id.clone()).or_default().push(row);
        }
        notes
    }
}

/// Maximum number of concurrent requests, over all hosts.
const OPEN_QUESTIONS: usize = 256;

/// What to ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scope {
    /// Whether to request URLs, and to look up the named versions in package registries.
    pub urls: bool,
    /// If set, download and inspect archives of all platforms, within these limits.
    pub archives: Option<Limits>,
}

/// Asks package registries and hosts about what manifests name.
pub struct Surveyor<'a> {
    /// The HTTP client; it decides which hosts may be contacted.
    pub client: &'a Client,
    /// The package registries and GitHub.
    pub sources: &'a Sources,
    /// What to ask for.
    pub scope: Scope,
    /// Whose attestations count; with `None`, no registry is asked for attestations.
    pub roots: Option<&'a TrustRoots>,
    /// Called with every event of the survey.
    pub progress: &'a (dyn Fn(SurveyEvent) + Sync),
}

impl Surveyor<'_> {
    /// Asks about everything that these agents name.
    pub async fn survey<'a>(&self, agents: impl IntoIterator<Item = &'a Agent>) -> Survey {
        let targets = Targets::of(agents);
        let mut survey = Survey::default();
        if self.scope.urls {
            self.ask_addresses_and_packages(&targets, &mut survey).await;
        }
        self.ask_github(&targets, &mut survey).await;
        if let Some(limits) = self.scope.archives {
            self.fetch_archives(&targets, limits, &mut survey).await;
        }
        let asked = [survey.links.len(), survey.npm.len(), survey.pypi.len(), survey.provenance.len()];
        let of_archives = [survey.releases.len(), survey.archives.len(), survey.troubles.len()];
        let has_asked = asked.into_iter().chain(of_archives).any(|answers| answers > 0);
        survey.is_cut_off = has_asked && self.client.answers() == 0;
        survey.has_reached_names = self.client.answers_by_name() > 0;
        survey
    }

    async fn ask_addresses_and_packages(&self, targets: &Targets, survey: &mut Survey) {
        let mut links: BTreeMap<&String, &Url> = targets.pages.iter().collect();
        // Downloaded archives need no separate request.
        if self.scope.archives.is_none() {
            links.extend(&targets.archives);
        }
        // URLs that the client refuses to request are reported by offline rules.
        links.retain(|_, url| self.client.may_ask(url));
        let links = self.ask(links.into_iter(), |url| self.client.probe(url));
        let npm = async {
            let Some(registry) = &self.sources.npm else { return BTreeMap::new() };
            let names = targets.npm.iter().map(|name| (name, name));
            self.ask(names, |name| registry.packument(self.client, name)).await
        };
        let pypi = async {
            let Some(index) = &self.sources.pypi else { return BTreeMap::new() };
            let names = targets.pypi.iter().map(|name| (name, name));
            self.ask(names, |name| index.project(self.client, name)).await
        };
        (survey.links, survey.npm, survey.pypi) = futures_util::join!(links, npm, pypi);
        if let Some(roots) = self.roots {
            survey.provenance = self.ask_who_built(targets, survey, roots).await;
        }
    }

    /// Asks for the attestations of the versions of which their registry has said that there are some; of a Python version, those
    /// of each wheel of which it has said so, for people install one or another of them. All must count.
    async fn ask_who_built(
        &self,
        targets: &Targets,
        survey: &Survey,
        roots: &TrustRoots,
    ) -> BTreeMap<Built, Result<Vec<Provenance>, provenance::Error>> {
        let artifacts = |Built { kind, name, version, .. }: &Built| match kind {
            PackageKind::Npx => {
                let found = survey.npm.get(name)?.as_ref().ok()?.as_ref()?.version(version)?;
                let integrity = found.integrity.as_ref().filter(|_| found.is_attested)?;
                Some(vec![Artifact::npm(name, version, integrity)?])
            }
            PackageKind::Uvx => {
                let release = survey.pypi.get(name)?.as_ref().ok()?.as_ref()?.release(version)?;
                let wheels = release.wheels.iter().filter(|wheel| wheel.attestations.is_some()).take(WHEELS).cloned();
                let artifact = |wheel| Artifact::Wheel { name: name.clone(), version: version.clone(), wheel };
                Some(wheels.map(artifact).collect::<Vec<_>>()).filter(|wheels| !wheels.is_empty())
            }
        };
        let built = targets.built.iter().filter_map(|built| Some((built, artifacts(built)?)));
        let built: Vec<(&Built, Vec<Artifact>)> = built.collect();
        let ask = async |(built, artifacts): &(&Built, Vec<Artifact>)| {
            let Built { name, version, repository, .. } = built;
            let mut proven = Vec::new();
            for artifact in artifacts {
                let answer = match (artifact, &self.sources.npm, &self.sources.pypi) {
                    (Artifact::Wheel { wheel, .. }, _, Some(index)) => {
                        index.attestations(self.client, (name, version), wheel).await
                    }
                    (_, Some(registry), _) => registry.attestations(self.client, name, version).await,
                    _ => Ok(None),
                };
                let found = check(roots, answer, artifact, repository)?;
                if found.is_empty() {
                    return Ok(found);
                }
                proven.extend(found);
            }
            Ok(proven)
        };
        self.ask(built.iter().map(|question| (question.0, question)), ask).await
    }

    /// Asks GitHub for the releases that archives belong to: all of them if archives are downloaded, for their digests;
    /// otherwise those whose URLs failed, to find out which files exist instead.
    async fn ask_github(&self, targets: &Targets, survey: &mut Survey) {
        let is_wanted = |text: &String| self.scope.archives.is_some() || matches!(survey.links.get(text), Some(Err(_)));
        let assets = targets.archives.iter().filter(|(text, _)| is_wanted(text));
        let assets = assets.filter_map(|(text, url)| Some((text.clone(), self.sources.github.find_asset(url)?)));
        survey.assets = assets.collect();
        let releases: BTreeMap<&ReleaseId, &ReleaseId> = survey.assets.values().map(|(id, _)| (id, id)).collect();
        survey.releases = self.ask(releases.into_iter(), |id| self.sources.github.release(self.client, id)).await;
    }

    /// Downloads archives, only a few at a time, since inspecting one takes a CPU core.
    async fn fetch_archives(&self, targets: &Targets, limits: Limits, survey: &mut Survey) {
        let archives: Vec<(&String, &Url)> =
            targets.archives.iter().filter(|(_, url)| self.client.may_ask(url)).collect();
        (self.progress)(SurveyEvent::Planned(archives.len()));
        let nothing = BTreeSet::new();
        let at_once = thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
        let fetched = stream::iter(archives.into_iter().enumerate()).map(|(number, (text, url))| {
            let cmds = targets.cmds.get(text).unwrap_or(&nothing);
            let wanted = ArchiveRequest { number, url, cmds, digest: survey.github_digest(text), limits };
            async move {
                let archive = wanted.fetch(self.client, self.progress).await;
                (self.progress)(SurveyEvent::Answered);
                (text.clone(), archive)
            }
        });
        let fetched: Vec<(String, Result<Archive, FetchError>)> = fetched.buffer_unordered(at_once).collect().await;
        for (text, archive) in fetched {
            match archive {
                Err(error) if matches!(error.problem, Problem::Disk { .. }) => survey.troubles.push(error),
                archive => {
                    survey.archives.insert(text, archive);
                }
            }
        }
        survey.troubles.sort_by(|a, b| a.url.cmp(&b.url));
    }

    /// Asks many questions concurrently.
    async fn ask<'q, K, Q, A, F>(
        &self,
        questions: impl ExactSizeIterator<Item = (&'q K, &'q Q)>,
        question: impl Fn(&'q Q) -> F,
    ) -> BTreeMap<K, A>
    where
        K: Ord + Clone + 'q,
        Q: 'q,
        F: Future<Output = A>,
    {
        (self.progress)(SurveyEvent::Planned(questions.len()));
        let answers = stream::iter(questions).map(|(key, what)| {
            let answer = question(what);
            async move {
                let answer = answer.await;
                (self.progress)(SurveyEvent::Answered);
                (key.clone(), answer)
            }
        });
        answers.buffer_unordered(OPEN_QUESTIONS).collect().await
    }
}

/// Everything that agents name, without duplicates.
#[derive(Debug, Default)]
struct Targets {
    /// Archive URLs, keyed by the URL as written.
    archives: BTreeMap<String, Url>,
    /// The programs (`cmd`) that manifests start, by archive URL.
    cmds: BTreeMap<String, BTreeSet<String>>,
    /// URLs of repositories, websites and licences, keyed by the URL as written.
    pages: BTreeMap<String, Url>,
    /// Names of npm packages.
    npm: BTreeSet<String>,
    /// Exact versions of packages, each with the repository of its manifest.
    built: BTreeSet<Built>,
    /// Names of Python projects.
    pypi: BTreeSet<String>,
}

impl Targets {
    /// Collects what `agents` name. Invalid URLs and package specifications are skipped; offline rules report them.
    fn of<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Self {
        let mut targets = Self::default();
        for agent in agents {
            for release in agent.releases() {
                // Unknown platforms are reported by the schema rule, and could be thousands in a hostile manifest.
                let targets_of_platforms =
                    release.distribution.binary.iter().filter(|t| t.platform.parse::<Platform>().is_ok());
                for target in targets_of_platforms {
                    add(&mut targets.archives, &target.archive);
                    targets.cmds.entry(target.archive.clone()).or_default().insert(target.cmd.clone());
                }
                for (kind, package) in release.distribution.packages() {
                    let (names, spec) = match kind {
                        PackageKind::Npx => {
                            (&mut targets.npm, package.package.parse().map(|spec: NpmSpec| (spec.name, spec.pin)))
                        }
                        PackageKind::Uvx => {
                            (&mut targets.pypi, package.package.parse().map(|spec: PypiSpec| (spec.name, spec.pin)))
                        }
                    };
                    let Ok((name, pin)) = spec else { continue };
                    if let (Pin::Exact(version), Some(repository)) = (pin, &agent.repository) {
                        let (name, repository) = (name.clone(), repository.clone());
                        targets.built.insert(Built { kind, name, version, repository });
                    }
                    names.insert(name);
                }
            }
            for page in [&agent.repository, &agent.website, &agent.license_url].into_iter().flatten() {
                add(&mut targets.pages, page);
            }
        }
        targets
    }
}

/// What the attestations of an artifact prove.
fn check(
    roots: &TrustRoots,
    answer: SourceAnswer<Attestations>,
    artifact: &Artifact,
    repository: &str,
) -> Result<Vec<Provenance>, provenance::Error> {
    let found = answer.map_err(|error| provenance::Error::Source { artifact: artifact.shown(), error })?;
    let bundles = found.as_ref().map(|found| found.bundles.as_slice()).unwrap_or_default();
    roots.check(bundles, artifact, repository)
}

fn add(urls: &mut BTreeMap<String, Url>, text: &str) {
    if let Ok(url) = address::parse(text) {
        urls.insert(text.to_owned(), url);
    }
}
