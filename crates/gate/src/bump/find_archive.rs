//! Finds the archives of a new version for each platform of the manifest.

use std::io::{self, Write};

use acp_registry_archive::{BinaryFormat, HEAD_LENGTH, Lookalike};
use acp_registry_http::{Hashing, address, shown};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{BinaryTarget, Version};
use acp_registry_sources::github::{self, Release};
use url::Url;

use super::address::{Successor, candidates, successor};
use super::gather::{ArchiveSource, Gathered};
use super::{Bumper, Error, ErrorKind};

/// Maximum number of URLs to try for an archive that is not listed in a release or feed.
const GUESSES: usize = 8;

/// Maximum size of an archive, in bytes.
const ARCHIVE_LIMIT: u64 = 2 << 30;

/// An archive of the new version.
pub(super) struct NewArchive {
    pub(super) url: String,
    pub(super) sha256: Option<Sha256>,
    pub(super) reasons: Vec<String>,
}

impl Bumper<'_> {
    /// Finds the archive of `version` for the platform of `target`.
    pub(super) async fn archive(
        &self,
        target: &BinaryTarget,
        current: &Version,
        version: &Version,
        gathered: &Gathered,
    ) -> Result<NewArchive, Error> {
        let mut new = match &gathered.archives {
            ArchiveSource::Feed(archives) => {
                let entry = archives.entry(version, &target.platform).ok_or_else(|| missing(target, version))?;
                address::parse(&entry.archive).map_err(|error| {
                    let shown = Url::parse(&entry.archive).map_or_else(|_| "of the feed".to_owned(), |url| shown(&url));
                    ErrorKind::AssetMissing.because(format!("the address {shown} {error}"))
                })?;
                let mut reasons = Vec::new();
                // On a shared host, only a URL of the same form is known to belong to the same publisher.
                let is_expected = [version.as_str(), &version.in_full()]
                    .iter()
                    .any(|to| candidates(&target.archive, current.as_str(), to).contains(&entry.archive));
                if !is_expected {
                    reasons.push(format!("the archive for {} has moved: {}", target.platform, entry.archive));
                }
                NewArchive { url: entry.archive.clone(), sha256: entry.sha256, reasons }
            }
            ArchiveSource::Github { repository, releases }
                if self.repository_of_archive(&target.archive).as_ref() == Some(repository) =>
            {
                // Several releases may have this version, such as a prerelease.
                let tag = gathered.tag(version);
                let found = releases.iter().find(|found| Some(found.tag.as_str()) == tag);
                self.in_release(target, current, version, found.ok_or_else(|| missing(target, version))?)?
            }
            ArchiveSource::Github { .. } | ArchiveSource::Unlisted => self.guess(target, current, version).await?,
        };
        // If no source states the digest that the manifest has of the earlier one, the archive is downloaded.
        if target.sha256.is_some() && new.sha256.is_none() {
            match self.digest(&new.url).await {
                Ok(digest) => new.sha256 = Some(digest),
                Err(error) if error.kind == ErrorKind::AssetMissing => return Err(error),
                Err(error) => new.reasons.push(format!(
                    "the digest for {} was removed, because no new one was found: {error}",
                    target.platform
                )),
            }
        }
        Ok(new)
    }

    fn in_release(
        &self,
        target: &BinaryTarget,
        current: &Version,
        version: &Version,
        found: &Release,
    ) -> Result<NewArchive, Error> {
        let (_, name) = self.find_asset(&target.archive).ok_or_else(|| missing(target, version))?;
        let mut reasons = Vec::new();
        let asset = match successor(found, &name, &target.platform, current.as_str(), version.as_str()) {
            Successor::Same(asset) => asset,
            Successor::Renamed(asset) => {
                reasons.push(format!("the file for {} is now named {:?}, not {name:?}", target.platform, asset.name));
                asset
            }
            Successor::Missing => return Err(missing(target, version)),
        };
        let is_it =
            |url: &String| self.find_asset(url).is_some_and(|(id, name)| id.tag == found.tag && name == asset.name);
        // If the version is not part of the old URL, the new URL is built from the release.
        let spelled = candidates(&target.archive, current.as_str(), version.as_str()).into_iter().find(is_it);
        let url = spelled.or_else(|| github::asset_address(&target.archive, &found.tag, &asset.name).filter(is_it));
        let url = url.ok_or_else(|| missing(target, version))?;
        Ok(NewArchive { url, sha256: asset.sha256, reasons })
    }

    /// Finds an archive by replacing the version in the old URL and requesting the result.
    async fn guess(&self, target: &BinaryTarget, current: &Version, version: &Version) -> Result<NewArchive, Error> {
        let full = version.in_full();
        let mut guesses = candidates(&target.archive, current.as_str(), &full);
        let mut reasons = Vec::new();
        if guesses == [target.archive.clone()] {
            reasons.push(format!("the address for {} names no version", target.platform));
        }
        guesses.truncate(GUESSES);
        let mut unanswered = None;
        for guess in guesses {
            let Ok(url) = address::parse(&guess) else { continue };
            match self.client.probe(&url).await {
                Ok(answer) => {
                    if answer.is_page {
                        reasons.push(format!("the host calls the archive for {} a page", target.platform));
                    }
                    return Ok(NewArchive { url: guess, sha256: None, reasons });
                }
                Err(error) if error.problem.may_pass() || !error.problem.is_answer() => unanswered = Some(error),
                Err(_) => {}
            }
        }
        Err(unanswered.map_or_else(|| missing(target, version), Error::from))
    }

    /// Downloads an archive and computes its SHA-256.
    async fn digest(&self, url: &str) -> Result<Sha256, Error> {
        let missing = |why: String| ErrorKind::AssetMissing.because(why);
        let address = address::parse(url).map_err(|error| missing(format!("{url:?} {error}")))?;
        let mut hashing = Hashing::to(Head::default());
        self.client.download(&address, ARCHIVE_LIMIT, &mut hashing).await?;
        let (Head(head), digest) = hashing.finish();
        match BinaryFormat::detect(&head) {
            Err(it @ (Lookalike::Empty | Lookalike::Html | Lookalike::Xml | Lookalike::Json | Lookalike::GitLfs)) => {
                Err(missing(format!("{} is no archive, but {it}", shown(&address))))
            }
            _ => Ok(digest),
        }
    }
}

/// The first bytes of a download.
#[derive(Default)]
struct Head(Vec<u8>);

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = HEAD_LENGTH.saturating_sub(self.0.len());
        self.0.extend(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn missing(target: &BinaryTarget, version: &Version) -> Error {
    ErrorKind::AssetMissing
        .because(format!("{version} has no archive for {} that replaces {}", target.platform, target.archive))
}
