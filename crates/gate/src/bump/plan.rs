//! From what sources offer to a change of the manifest.

use std::sync::Arc;

use super::gather::{ArchiveSource, Gathered, Repository};
use super::newest::{Choice, Held, Policy, choose};
use super::offer::Offers;
use super::{Bumper, Error, ErrorKind, SourceKind};
use acp_registry_core::manifest::{
    Channel, Manifest, NpmSpec, PackageKind, Pin, PypiSpec, Release, Version, extension,
};
use acp_registry_core::source::Edit;
use acp_registry_core::upstream::{Sources, github};

/// The result of looking for a newer version of one channel.
#[derive(Debug)]
pub enum Outcome {
    /// The manifest has the newest version.
    UpToDate,
    /// There is a newer version.
    Update(Box<Update>),
    /// There is a newer version that is not taken in yet.
    Held {
        /// The version.
        version: String,
        /// Why.
        reason: Held,
        /// Who has what, for people.
        message: String,
    },
    /// No source lists its versions.
    Unlisted,
}

/// A newer version, and what it changes in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The channel.
    pub channel: Channel,
    /// The version in the manifest.
    pub from: String,
    /// The newer one.
    pub to: String,
    /// The sources that offer it.
    pub sources: Vec<SourceKind>,
    /// The values that change.
    pub changes: Vec<Change>,
    /// The same as edits of the manifest's text.
    pub edits: Vec<Edit>,
    /// Why a person should look at it; empty for a straightforward change.
    pub reasons: Vec<String>,
    /// Addresses of what its authors say of the new version, and of all changes since the old one.
    pub links: Vec<String>,
}

impl Update {
    /// Whether only version, package, addresses of the same place, and digests change.
    #[must_use]
    pub fn is_straightforward(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// A value of a manifest that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer.
    pub pointer: String,
    /// The old value; `None` where there was none.
    pub from: Option<String>,
    /// The new value; `None` where it goes.
    pub to: Option<String>,
}

impl Bumper<'_> {
    /// Looks for a newer version of one channel, and works out the smallest change that takes it in. What a person should
    /// know of the sources besides goes to `notes`.
    ///
    /// # Errors
    /// [`Error`] when a source does not answer, or offers nothing that can be used.
    pub async fn plan(
        &self,
        manifest: &Manifest,
        release: Release<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Outcome, Error> {
        let current = Version::parse_loose(release.version)
            .ok_or_else(|| ErrorKind::Manifest.because(format!("{:?} is not a version", release.version)))?;
        let gathered = self.gather(manifest, release, &current).await?;
        if let ArchiveSource::Feed(archives) = &gathered.archives
            && archives.skipped > 0
        {
            notes.push(format!("the feed has records that are not JSON, or too large; skipped: {}", archives.skipped));
        }
        if gathered.offers.is_empty() {
            return Ok(Outcome::Unlisted);
        }
        let policy = Policy { channel: release.channel, min_age: self.min_age, now: self.now };
        match choose(&current, &gathered.offers, policy) {
            Choice::UpToDate => Ok(Outcome::UpToDate),
            Choice::Ahead { newest } => Err(ErrorKind::Downgrade.because(format!(
                "the manifest has {current}, but the newest version that can be had is {newest}: an agent is never moved \
                 to a lower version; {}",
                who_has_what(&gathered.offers, release.channel)
            ))),
            Choice::Disagree => Err(ErrorKind::VersionsDisagree
                .because(format!("no version can be had everywhere: {}", who_has_what(&gathered.offers, release.channel)))),
            Choice::Held { version, reason } => Ok(Outcome::Held {
                version: version.to_string(),
                reason,
                message: who_has_what(&gathered.offers, release.channel),
            }),
            Choice::Update(version) => {
                let update = self.update(manifest, release, &current, &version, &gathered).await?;
                Ok(Outcome::Update(Box::new(update)))
            }
        }
    }

    async fn update(
        &self,
        manifest: &Manifest,
        release: Release<'_>,
        current: &Version,
        version: &Version,
        gathered: &Gathered,
    ) -> Result<Update, Error> {
        let to = version.in_full();
        let mut update = Update {
            channel: release.channel,
            from: release.version.to_owned(),
            to: to.clone(),
            sources: gathered.offers.iter().map(|offers| offers.source).collect(),
            changes: Vec::new(),
            edits: Vec::new(),
            reasons: Vec::new(),
            links: Vec::new(),
        };
        update.set(manifest, &format!("{}/version", release.pointer()), Some(&to))?;
        for (kind, package) in release.distribution.packages() {
            let source = if kind == PackageKind::Npx { SourceKind::Npm } else { SourceKind::Pypi };
            let offers = gathered.offers.iter().find(|offers| offers.source == source);
            let Some(offer) = offers.and_then(|offers| offers.of(version)) else { continue };
            match respecified(kind, &package.package, &offer.text) {
                Some(spec) => {
                    update.set(manifest, &release.package_pointer(kind, "package"), Some(&spec))?;
                    // uv would not find what was released after that day.
                    if let Some(day) = &package.exclude_newer {
                        update.set(manifest, &release.package_pointer(kind, extension::EXCLUDE_NEWER), None)?;
                        update
                            .reasons
                            .push(format!("`{}` ({day}) was for the earlier version", extension::EXCLUDE_NEWER));
                    }
                }
                None => update.reasons.push(format!(
                    "{} {:?} names no exact version, and stays",
                    kind.as_str(),
                    package.package
                )),
            }
        }
        let targets = &release.distribution.binary;
        let archives = targets.iter().map(|target| self.archive(target, current, version, &gathered.archives));
        for (target, archive) in targets.iter().zip(futures_util::future::join_all(archives).await) {
            let archive = archive?;
            update.reasons.extend(archive.reasons);
            update.set(manifest, &release.target_pointer(target, "archive"), Some(&archive.url))?;
            if target.sha256.is_some() || archive.sha256.is_some() {
                update.set(manifest, &release.target_pointer(target, "sha256"), archive.sha256.as_deref())?;
            }
        }
        if let ArchiveSource::Github { repository, releases } = &gathered.archives {
            update.links = links(self.sources, repository, releases, current, version);
        }
        update.reasons.sort();
        update.reasons.dedup();
        Ok(update)
    }
}

impl Update {
    /// Puts a value in the place of another, adds it, or takes it out.
    fn set(&mut self, manifest: &Manifest, pointer: &str, to: Option<&str>) -> Result<(), Error> {
        let from = manifest.value().pointer(pointer).and_then(serde_json::Value::as_str);
        if from == to {
            return Ok(());
        }
        let edit = match (to, pointer.rsplit_once('/')) {
            (Some(text), _) if from.is_some() => manifest.replace_text(pointer, text),
            (Some(text), Some((object, key))) if manifest.value().pointer(pointer).is_none() => {
                manifest.insert_into(object, key, text)
            }
            (Some(_), _) => None,
            (None, _) => manifest.remove(pointer),
        };
        let edit =
            edit.ok_or_else(|| ErrorKind::Manifest.because(format!("there is nothing to change at {pointer}")))?;
        self.edits.push(edit);
        self.changes.push(Change {
            pointer: pointer.to_owned(),
            from: from.map(ToOwned::to_owned),
            to: to.map(ToOwned::to_owned),
        });
        Ok(())
    }
}

/// A package specification with another version; `None` when it names no exact one.
fn respecified(kind: PackageKind, spec: &str, version: &str) -> Option<String> {
    let pin = match kind {
        PackageKind::Npx => spec.parse::<NpmSpec>().ok()?.pin,
        PackageKind::Uvx => spec.parse::<PypiSpec>().ok()?.pin,
    };
    let Pin::Exact(old) = pin else { return None };
    Some(format!("{}{version}", spec.strip_suffix(&old)?))
}

/// The newest version of each source, and what is wrong with newer ones.
fn who_has_what(sources: &[Offers], channel: Channel) -> String {
    let of_source = |source: &Offers| {
        let counts = |version: &Version| !version.is_prerelease() || channel == Channel::Preview;
        let newest = source.all().rev().find(|offer| counts(&offer.version));
        match newest.map(|offer| (&offer.text, &offer.flaw)) {
            None => format!("{} has none", source.source),
            Some((text, None)) => format!("{} has {text}", source.source),
            Some((text, Some(flaw))) => format!("{} has {text}, which {flaw}", source.source),
        }
    };
    sources.iter().map(of_source).collect::<Vec<_>>().join("; ")
}

fn links(
    sources: &Sources,
    repository: &Repository,
    releases: &[Arc<github::Release>],
    current: &Version,
    version: &Version,
) -> Vec<String> {
    let tag_of = |wanted: &Version| {
        releases
            .iter()
            .map(|found| &found.tag)
            .find(|tag| super::version_of_tag(tag).is_some_and(|(_, found)| found == *wanted))
    };
    let Repository { owner, name } = repository;
    let page = |path: &[&str]| sources.github.page(&[&[owner.as_str(), name][..], path].concat());
    let notes = tag_of(version).and_then(|tag| page(&["releases", "tag", tag]));
    let range = tag_of(current).zip(tag_of(version)).map(|(old, new)| format!("{old}...{new}"));
    let compare = range.and_then(|range| page(&["compare", &range]));
    notes.into_iter().chain(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_keeps_its_form() {
        for (kind, spec, version, expected) in [
            (PackageKind::Npx, "@s/p@1.0.0", "1.1.0", Some("@s/p@1.1.0")),
            (PackageKind::Npx, "p@latest", "1.1.0", None),
            (PackageKind::Npx, "p@^1.0.0", "1.1.0", None),
            (PackageKind::Uvx, "p==1.0", "1.1", Some("p==1.1")),
            (PackageKind::Uvx, "p[acp,x]==1.0.0", "1.1.0", Some("p[acp,x]==1.1.0")),
            (PackageKind::Uvx, "p@1.0.0", "1.1.0", Some("p@1.1.0")),
            (PackageKind::Uvx, "p>=1.0.0", "1.1.0", None),
            (PackageKind::Uvx, "p", "1.1.0", None),
        ] {
            assert_eq!(respecified(kind, spec, version).as_deref(), expected, "{spec}");
        }
    }
}
