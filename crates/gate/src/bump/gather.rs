//! Asks the sources of a channel for their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use acp_registry_client::registry::AgentFolder;
use acp_registry_plan::manifest::{BinaryTarget, Channel, Distribution, Manifest, NpmSpec, PypiSpec, Release, Version};
use acp_registry_sources::{REPOSITORIES, RepositoryName, SourceError, github};
use futures_util::future::OptionFuture;
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::OnceCell;
use url::Url;

use super::address::{Successor, successor};
use super::feed::Archives;
use super::offer::{Flaw, Offers, SourceKind, SourceVersion, version_of_tag};
use super::{Bumper, Error, ErrorKind};

/// Maximum size of a feed, in bytes.
const FEED_LIMIT: u64 = 32 << 20;

/// The offers of all sources of a channel, and the source of its archives.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) offers: Vec<Offers>,
    pub(super) archives: ArchiveSource,
}

/// The source of a channel's archives.
#[derive(Debug)]
pub(super) enum ArchiveSource {
    /// Releases of a GitHub repository.
    Github { repository: RepositoryName, releases: Vec<Arc<github::Release>> },
    /// A feed from the configuration.
    Feed(Archives),
    /// No source lists archives; new URLs are derived from old ones.
    Unlisted,
}

impl Gathered {
    /// The tag of the release on GitHub that offers a version.
    pub(super) fn tag(&self, version: &Version) -> Option<&str> {
        let offers = self.offers.iter().find(|offers| offers.source == SourceKind::Github)?;
        offers.of(version).map(|offer| offer.text.as_str())
    }
}

impl Bumper<'_> {
    /// Asks the sources of all distributions that a channel has.
    pub(super) async fn gather(
        &self,
        manifest: &Manifest,
        release: Release<'_>,
        current: &Version,
        lists: &Lists,
    ) -> Result<Gathered, Error> {
        let Distribution { npx, uvx, .. } = release.distribution;
        let npx = OptionFuture::from(npx.as_ref().map(|npx| self.npm(&npx.package)));
        let uvx = OptionFuture::from(uvx.as_ref().map(|uvx| self.pypi(&uvx.package, release.channel)));
        let binary = self.archives(manifest, release, current, lists);
        let (npx, uvx, binary) = futures_util::join!(npx, uvx, binary);
        let (archives, of_archives) = binary?;
        Ok(Gathered {
            offers: [npx.transpose()?, uvx.transpose()?, of_archives].into_iter().flatten().collect(),
            archives,
        })
    }

    async fn npm(&self, package: &str) -> Result<Offers, Error> {
        let spec: NpmSpec = package.parse().map_err(|error| odd_package(package, &error))?;
        let registry = self.sources.npm.as_ref().ok_or_else(|| unknown_base("npm registry"))?;
        let packument = if self.min_age.is_zero() {
            registry.packument(self.client, &spec.name).await?
        } else {
            registry.packument_in_full(self.client, &spec.name).await?
        };
        let packument = packument.ok_or_else(|| not_found(&format!("npm has no package {:?}", spec.name)))?;
        Ok(Offers::from_packument(&packument))
    }

    async fn pypi(&self, package: &str, channel: Channel) -> Result<Offers, Error> {
        let spec: PypiSpec = package.parse().map_err(|error| odd_package(package, &error))?;
        let index = self.sources.pypi.as_ref().ok_or_else(|| unknown_base("Python package index"))?;
        let project = index.project(self.client, &spec.name).await?;
        let project = project.ok_or_else(|| not_found(&format!("the Python index has no project {:?}", spec.name)))?;
        Ok(Offers::from_project(&project, channel))
    }

    async fn archives(
        &self,
        manifest: &Manifest,
        release: Release<'_>,
        current: &Version,
        lists: &Lists,
    ) -> Result<(ArchiveSource, Option<Offers>), Error> {
        let targets = &release.distribution.binary;
        let platforms: Vec<&str> = targets.iter().map(|target| target.platform.as_str()).collect();
        if targets.is_empty() {
            return Ok((ArchiveSource::Unlisted, None));
        }
        if let Some(feed) = self.config.feed(&manifest.agent().id, release.channel) {
            let unavailable =
                |message: String| ErrorKind::SourceUnavailable.because(format!("the feed {}: {message}", feed.url));
            let url = acp_registry_http::address::parse(&feed.url).map_err(|error| unavailable(error.to_string()))?;
            // The registry names it, and not who runs this: it gets no secret, and no address that only sources may have.
            let feed_text = self.client.get(&url, FEED_LIMIT).await?;
            let feed_text = feed_text.ok_or_else(|| not_found(&format!("there is no feed at {}", feed.url)))?;
            let archives = Archives::parse(&feed_text, feed, &platforms).map_err(unavailable)?;
            let offers = archives.offers(&platforms);
            return Ok((ArchiveSource::Feed(archives), Some(offers)));
        }
        let Some(repository) = self.repository(manifest, release) else { return Ok((ArchiveSource::Unlisted, None)) };
        let named = self.product_named(targets);
        let lists = lists.found.get_or_init(|| self.request_lists(&lists.wanted)).await;
        let listed =
            lists.get(&repository).filter(|listed| says_all(listed, named.as_deref(), current, release.channel));
        let mut releases = match listed {
            Some(listed) => listed.clone(),
            None => self.releases(&repository, named.as_deref(), current, release.channel).await?,
        };
        keep_product(&mut releases, named, current);
        if releases.is_empty() && !targets.iter().any(|target| self.is_hosted(target, &repository)) {
            // The archives are published elsewhere, so a repository without releases says nothing about them.
            return Ok((ArchiveSource::Unlisted, None));
        }
        let offers = releases
            .iter()
            .filter_map(|found| self.release_versions(found, targets, &repository, current, release.channel));
        let offers = Offers::new(SourceKind::Github, offers, None);
        Ok((ArchiveSource::Github { repository, releases }, Some(offers)))
    }

    /// The GitHub repository whose releases have the versions of a channel's archives, if there is one.
    fn repository(&self, manifest: &Manifest, release: Release<'_>) -> Option<RepositoryName> {
        let targets = &release.distribution.binary;
        if targets.is_empty() || self.config.feed(&manifest.agent().id, release.channel).is_some() {
            return None;
        }
        let hosted = targets.iter().find_map(|target| self.repository_of_archive(&target.archive));
        hosted.or_else(|| self.sources.github.find_repository(manifest.agent().repository.as_ref()?))
    }

    /// The releases of a repository, until enough are known.
    async fn releases(
        &self,
        repository: &RepositoryName,
        named: Option<&str>,
        current: &Version,
        channel: Channel,
    ) -> Result<Vec<Arc<github::Release>>, Error> {
        let is_enough = |all: &[Arc<github::Release>]| is_enough(all, named, current, channel);
        let github = &self.sources.github;
        let releases = github.releases(self.client, &repository.owner, &repository.name, is_enough).await;
        let releases = releases.map_err(|error| match &error {
            SourceError::Fetch(fetch) => {
                let remedy = github.remedy(fetch);
                let error = Error::from(error);
                let message = remedy.map_or_else(|| error.message.clone(), |help| format!("{}; {help}", error.message));
                Error { message, ..error }
            }
            SourceError::Malformed { .. } => error.into(),
        })?;
        releases.ok_or_else(|| not_found(&format!("GitHub has no repository {repository}")))
    }

    /// The product whose releases contain the manifest's archives, taken from the tag in their URLs.
    fn product_named(&self, targets: &[BinaryTarget]) -> Option<String> {
        let tag_of = |target: &BinaryTarget| Some(self.find_asset(&target.archive)?.0.tag);
        product(&targets.iter().find_map(tag_of)?)
    }

    fn release_versions(
        &self,
        found: &github::Release,
        targets: &[BinaryTarget],
        repository: &RepositoryName,
        current: &Version,
        channel: Channel,
    ) -> Option<SourceVersion> {
        let (_, version) = version_of_tag(&found.tag)?;
        let mut offer = SourceVersion { text: found.tag.clone(), published: found.published, flaw: None, version };
        if !is_released(found, channel) {
            offer.flaw = Some(Flaw::Prerelease);
        } else if offer.version > *current {
            let mut missing = Vec::new();
            for target in targets.iter().filter(|target| self.is_hosted(target, repository)) {
                let name = self.find_asset(&target.archive).map(|(_, name)| name).unwrap_or_default();
                match successor(found, &name, &target.platform, current.as_str(), offer.version.as_str()) {
                    // A file may be replaced long after its release.
                    Successor::Same(asset) | Successor::Renamed(asset) => {
                        offer.published =
                            offer.published.map(|time| asset.updated.map_or(time, |updated| time.max(updated)));
                    }
                    Successor::Missing => missing.push(target.platform.clone()),
                }
            }
            offer.flaw = (!missing.is_empty()).then_some(Flaw::Missing(missing));
        }
        Some(offer)
    }

    fn is_hosted(&self, target: &BinaryTarget, repository: &RepositoryName) -> bool {
        self.repository_of_archive(&target.archive).as_ref() == Some(repository)
    }

    pub(super) fn find_asset(&self, archive: &str) -> Option<(github::ReleaseId, String)> {
        self.sources.github.find_asset(&Url::parse(archive).ok()?)
    }

    pub(super) fn repository_of_archive(&self, archive: &str) -> Option<RepositoryName> {
        let (id, _) = self.find_asset(archive)?;
        Some(RepositoryName { owner: id.owner, name: id.repository })
    }
}

/// Whether enough releases were listed: the current one, and one that the agent could move to. Any number of nightly
/// builds may come before these.
fn is_enough(all: &[Arc<github::Release>], named: Option<&str>, current: &Version, channel: Channel) -> bool {
    let is_of_product = |found: &&Arc<github::Release>| named.is_none() || product(&found.tag).as_deref() == named;
    let mut of_product = all.iter().filter(is_of_product);
    of_product.clone().any(|found| names_version(&found.tag, current))
        && of_product.any(|found| {
            let counts = |version: &Version| channel == Channel::Preview || !version.is_prerelease();
            is_released(found, channel) && version_of_tag(&found.tag).is_some_and(|(_, version)| counts(&version))
        })
}

/// Whether a list without files says all that matters: it is long enough, and no release in it is one that the agent could
/// move to, for which files are needed.
fn says_all(listed: &[Arc<github::Release>], named: Option<&str>, current: &Version, channel: Channel) -> bool {
    let mut of_product = listed.to_vec();
    keep_product(&mut of_product, named.map(ToOwned::to_owned), current);
    let is_newer = |found: &Arc<github::Release>| {
        is_released(found, channel) && version_of_tag(&found.tag).is_some_and(|(_, version)| version > *current)
    };
    let is_whole = listed.len() < github::PER_PAGE || is_enough(listed, named, current, channel);
    is_whole && !of_product.iter().any(is_newer)
}

/// If a repository releases several products, keeps the releases of one, by the prefix of their tags: `named`, or else
/// the product with the current version.
fn keep_product(releases: &mut Vec<Arc<github::Release>>, named: Option<String>, current: &Version) {
    let listed =
        || releases.iter().find(|found| names_version(&found.tag, current)).and_then(|found| product(&found.tag));
    let Some(wanted) = named.or_else(listed) else { return };
    releases.retain(|found| product(&found.tag).as_ref() == Some(&wanted));
}

/// The part of a tag before the version. A `v` is not part of it, since publishers add and drop it.
fn product(tag: &str) -> Option<String> {
    let (prefix, _) = version_of_tag(tag)?;
    Some(prefix.trim_end_matches(['v', 'V']).to_owned())
}

fn is_released(found: &github::Release, channel: Channel) -> bool {
    !found.is_draft && (!found.is_prerelease || channel == Channel::Preview)
}

fn names_version(tag: &str, version: &Version) -> bool {
    version_of_tag(tag).is_some_and(|(_, found)| found == *version)
}

fn odd_package(package: &str, error: &dyn std::fmt::Display) -> Error {
    ErrorKind::Manifest.because(format!("the package {package:?} {error}"))
}

fn unknown_base(what: &str) -> Error {
    ErrorKind::SourceUnavailable.because(format!("no {what} is known"))
}

fn not_found(message: &str) -> Error {
    ErrorKind::NotFound.because(message)
}

/// Number of concurrent requests. GitHub limits the time that it spends on one user.
const AT_ONCE: usize = 4;

/// Number of failed requests after which no more are sent: all further agents are looked up one by one.
const FAILURES: usize = 3;

/// The lists of a run, requested when the first one is needed.
#[derive(Debug, Default)]
pub(super) struct Lists {
    wanted: Vec<RepositoryName>,
    found: OnceCell<BTreeMap<RepositoryName, Vec<Arc<github::Release>>>>,
}

impl Bumper<'_> {
    /// The lists for these agents. There are none without a token, or for a single repository.
    pub(super) fn lists(&self, entries: &[&AgentFolder], channels: &[Channel]) -> Lists {
        if !self.sources.github.has_lists(self.client) {
            return Lists::default();
        }
        let manifests = entries.iter().filter_map(|entry| entry.manifest.present());
        let repositories = manifests.flat_map(|manifest| {
            let releases = manifest.agent().releases().filter(|release| channels.contains(&release.channel));
            releases.filter_map(move |release| self.repository(manifest, release))
        });
        let wanted: BTreeSet<RepositoryName> = repositories.collect();
        let wanted = if wanted.len() > 1 { wanted.into_iter().collect() } else { Vec::new() };
        Lists { wanted, found: OnceCell::new() }
    }

    async fn request_lists(&self, wanted: &[RepositoryName]) -> BTreeMap<RepositoryName, Vec<Arc<github::Release>>> {
        let requests = wanted.chunks(REPOSITORIES).map(|some| self.sources.github.lists(self.client, some));
        let mut answers = stream::iter(requests).buffer_unordered(AT_ONCE);
        let (mut found, mut failures) = (BTreeMap::new(), 0);
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(lists) => found.extend(lists),
                Err(_) => failures += 1,
            }
            if failures == FAILURES {
                break;
            }
        }
        found
    }
}
