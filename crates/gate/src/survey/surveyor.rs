//! Asks package registries and hosts about what manifests name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use acp_registry_archive::Limits;
use acp_registry_client::provenance::{self, Artifact, Provenance, TrustRoots};
use acp_registry_http::{Client, FetchError, Problem, address};
use acp_registry_plan::manifest::{Agent, NpmSpec, Pin, Platform, PypiSpec};
use acp_registry_sources::Sources;
use acp_registry_sources::github::ReleaseId;
use acp_registry_sources::npm::{Packument, Registry};
use futures_util::stream::{self, StreamExt as _};
use url::Url;

use super::archives::{Archive, ArchiveRequest, SurveyEvent};
use super::{Built, SourceAnswer, Survey};

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
        let asked = AtomicU64::new(0);
        if self.scope.urls {
            self.ask_addresses_and_packages(&targets, &mut survey, &asked).await;
        }
        self.ask_github(&targets, &mut survey, &asked).await;
        if let Some(limits) = self.scope.archives {
            self.fetch_archives(&targets, limits, &mut survey, &asked).await;
        }
        survey.is_cut_off = asked.into_inner() > 0 && self.client.answers() == 0;
        survey.has_reached_names = self.client.answers_by_name() > 0;
        survey
    }

    async fn ask_addresses_and_packages(&self, targets: &Targets, survey: &mut Survey, asked: &AtomicU64) {
        let mut links: BTreeMap<&String, &Url> = targets.pages.iter().collect();
        // Downloaded archives need no separate request.
        if self.scope.archives.is_none() {
            links.extend(&targets.archives);
        }
        // URLs that the client refuses to request are reported by offline rules.
        links.retain(|_, url| self.client.may_ask(url));
        let links = self.ask(links.into_iter(), asked, |url| self.client.probe(url));
        let npm = async {
            let Some(registry) = &self.sources.npm else { return BTreeMap::new() };
            let names = targets.npm.iter().map(|name| (name, name));
            self.ask(names, asked, |name| registry.packument(self.client, name)).await
        };
        let pypi = async {
            let Some(index) = &self.sources.pypi else { return BTreeMap::new() };
            let names = targets.pypi.iter().map(|name| (name, name));
            self.ask(names, asked, |name| index.project(self.client, name)).await
        };
        (survey.links, survey.npm, survey.pypi) = futures_util::join!(links, npm, pypi);
        if let (Some(registry), Some(roots)) = (&self.sources.npm, self.roots) {
            survey.provenance = self.ask_who_built(targets, &survey.npm, registry, roots, asked).await;
        }
    }

    /// Asks for the attestations of the versions of which the registry has said that there are some.
    async fn ask_who_built(
        &self,
        targets: &Targets,
        npm: &BTreeMap<String, SourceAnswer<Packument>>,
        registry: &Registry,
        roots: &TrustRoots,
        asked: &AtomicU64,
    ) -> BTreeMap<Built, Result<Vec<Provenance>, provenance::Error>> {
        let artifact = |built: &Built| {
            let version = npm.get(&built.name)?.as_ref().ok()?.as_ref()?.version(&built.version)?;
            let integrity = version.integrity.as_ref().filter(|_| version.is_attested)?;
            Artifact::npm(&built.name, &built.version, integrity)
        };
        let built: Vec<(&Built, Artifact)> =
            targets.built.iter().filter_map(|built| Some((built, artifact(built)?))).collect();
        let questions = built.iter().map(|question| (question.0, question));
        let ask = async |(built, artifact): &(&Built, Artifact)| {
            let answer = registry.attestations(self.client, &built.name, &built.version).await;
            let found = answer.map_err(|error| provenance::Error::Source { artifact: artifact.shown(), error })?;
            let bundles = found.as_ref().map(|found| found.bundles.as_slice()).unwrap_or_default();
            roots.check(bundles, artifact, &built.repository)
        };
        self.ask(questions, asked, ask).await
    }

    /// Asks GitHub for the releases that archives belong to: all of them if archives are downloaded, for their digests;
    /// otherwise those whose URLs failed, to find out which files exist instead.
    async fn ask_github(&self, targets: &Targets, survey: &mut Survey, asked: &AtomicU64) {
        let is_wanted = |text: &String| self.scope.archives.is_some() || matches!(survey.links.get(text), Some(Err(_)));
        let assets = targets.archives.iter().filter(|(text, _)| is_wanted(text));
        let assets = assets.filter_map(|(text, url)| Some((text.clone(), self.sources.github.find_asset(url)?)));
        survey.assets = assets.collect();
        let releases: BTreeMap<&ReleaseId, &ReleaseId> = survey.assets.values().map(|(id, _)| (id, id)).collect();
        survey.releases =
            self.ask(releases.into_iter(), asked, |id| self.sources.github.release(self.client, id)).await;
    }

    /// Downloads archives, only a few at a time, since inspecting one takes a CPU core.
    async fn fetch_archives(&self, targets: &Targets, limits: Limits, survey: &mut Survey, asked: &AtomicU64) {
        let archives: Vec<(&String, &Url)> =
            targets.archives.iter().filter(|(_, url)| self.client.may_ask(url)).collect();
        asked.fetch_add(archives.len() as u64, Ordering::Relaxed);
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
        asked: &AtomicU64,
        question: impl Fn(&'q Q) -> F,
    ) -> BTreeMap<K, A>
    where
        K: Ord + Clone + 'q,
        Q: 'q,
        F: Future<Output = A>,
    {
        (self.progress)(SurveyEvent::Planned(questions.len()));
        asked.fetch_add(questions.len() as u64, Ordering::Relaxed);
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
pub(super) struct Targets {
    /// Archive URLs, keyed by the URL as written.
    pub(super) archives: BTreeMap<String, Url>,
    /// The programs (`cmd`) that manifests start, by archive URL.
    pub(super) cmds: BTreeMap<String, BTreeSet<String>>,
    /// URLs of repositories, websites and licences, keyed by the URL as written.
    pub(super) pages: BTreeMap<String, Url>,
    /// Names of npm packages.
    pub(super) npm: BTreeSet<String>,
    /// Exact versions of npm packages, each with the repository of its manifest.
    pub(super) built: BTreeSet<Built>,
    /// Names of Python projects.
    pub(super) pypi: BTreeSet<String>,
}

impl Targets {
    /// Collects what `agents` name. Invalid URLs and package specifications are skipped; offline rules report them.
    pub(super) fn of<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Self {
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
                if let Some(Ok(spec)) = release.distribution.npx.as_ref().map(|npx| npx.package.parse::<NpmSpec>()) {
                    if let (Pin::Exact(version), Some(repository)) = (spec.pin, &agent.repository) {
                        let repository = repository.clone();
                        targets.built.insert(Built { name: spec.name.clone(), version, repository });
                    }
                    targets.npm.insert(spec.name);
                }
                if let Some(Ok(spec)) = release.distribution.uvx.as_ref().map(|uvx| uvx.package.parse::<PypiSpec>()) {
                    targets.pypi.insert(spec.name);
                }
            }
            for page in [&agent.repository, &agent.website, &agent.license_url].into_iter().flatten() {
                add(&mut targets.pages, page);
            }
        }
        targets
    }
}

fn add(urls: &mut BTreeMap<String, Url>, text: &str) {
    if let Ok(url) = address::parse(text) {
        urls.insert(text.to_owned(), url);
    }
}
