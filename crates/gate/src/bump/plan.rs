//! Turns the offers of sources into a change of the manifest.

use acp_registry_client::install::Kind;
use acp_registry_examine::examination::{CheckRecord, CheckVerdict, Level, Record, VerdictCounts};
use acp_registry_plan::manifest::{Channel, Manifest, PackageKind, Pin, Release, Version, extension};
use acp_registry_plan::position::Edit;
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::text::{cut, printable, quote};
use acp_registry_sources::{RepositoryName, Sources};
use serde::Serialize;

use super::address::names;
use super::gather::{ArchiveSource, Gathered, Lists};
use super::newest::{Choice, HeldReason, Policy, choose};
use super::offer::Offers;
use super::{Bumper, Error, ErrorKind, SourceKind};

/// The result of looking for a newer version of one channel.
#[derive(Debug)]
pub enum ChannelOutcome {
    /// The manifest has the newest version.
    UpToDate,
    /// There is a newer version.
    Update(Box<VersionUpdate>),
    /// There is a newer version, but it is held back.
    Held {
        /// The newer version.
        version: String,
        /// Why it is held back.
        reason: HeldReason,
        /// The versions of each source, for people.
        message: String,
    },
    /// No source lists versions.
    Unlisted,
}

/// A newer version, and the changes to the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionUpdate {
    /// The channel.
    pub channel: Channel,
    /// The current version.
    pub from: String,
    /// The new version.
    pub to: String,
    /// The sources that offer it.
    pub sources: Vec<SourceKind>,
    /// The values that change.
    pub changes: Vec<ValueChange>,
    /// The changes as edits of the manifest's text.
    pub edits: Vec<Edit>,
    /// Why a person should review the update; empty if it is straightforward.
    pub reasons: Vec<String>,
    /// URLs of the release notes and of the changes since the current version.
    pub links: Vec<String>,
    /// How the examination of each distribution differs, if one was requested.
    pub examined: Vec<Compared>,
}

impl VersionUpdate {
    /// Whether only the version, packages, digests and the version in archive URLs change.
    pub fn is_straightforward(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// A value of a manifest that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValueChange {
    /// JSON pointer of the value.
    pub pointer: String,
    /// The old value; `None` if the member is added.
    pub from: Option<String>,
    /// The new value; `None` if the member is removed.
    pub to: Option<String>,
}

impl Bumper<'_> {
    /// Looks for a newer version of one channel, and plans the smallest change that moves to it. Remarks about the
    /// sources are added to `notes`. Returns [`Error`] if a source does not answer, or offers nothing usable.
    pub(super) async fn plan(
        &self,
        (id, manifest): (&str, &Manifest),
        release: Release<'_>,
        revocations: &Revocations,
        lists: &Lists,
        notes: &mut Vec<String>,
    ) -> Result<ChannelOutcome, Error> {
        let current = Version::parse_loose(release.version)
            .ok_or_else(|| ErrorKind::Manifest.because(format!("{:?} is not a version", release.version)))?;
        let mut gathered = self.gather(manifest, release, &current, lists).await?;
        if !revocations.get(id).is_empty() {
            let revocation = |version: &str| revocations.find(id, version);
            let is_recalled =
                |version: &str| revocation(version).is_some_and(|one| one.level == RevocationLevel::Revoked);
            gathered.offers.iter_mut().for_each(|offers| offers.recall(&current, is_recalled));
        }
        if let ArchiveSource::Feed(archives) = &gathered.archives
            && archives.skipped > 0
        {
            notes.push(format!("the feed has records that are not JSON or too large; skipped: {}", archives.skipped));
        }
        if gathered.offers.is_empty() {
            return Ok(ChannelOutcome::Unlisted);
        }
        let policy = Policy { channel: release.channel, min_age: self.min_age, now: self.now };
        let who = || who_has_what(&gathered.offers, release.channel);
        match choose(&current, &gathered.offers, policy) {
            Choice::UpToDate => Ok(ChannelOutcome::UpToDate),
            Choice::Ahead { newest } => Err(ErrorKind::Downgrade.because(format!(
                "the manifest has {current}, but the newest available version is {newest}: an agent is never moved \
                 to a lower version; {}",
                who()
            ))),
            Choice::Disagree => {
                Err(ErrorKind::VersionsDisagree
                    .because(format!("no version is available from every source: {}", who())))
            }
            Choice::Held { version, reason } => {
                Ok(ChannelOutcome::Held { version: version.to_string(), reason, message: who() })
            }
            Choice::Update(version) => {
                let update = self.update(manifest, release, &current, &version, &gathered).await?;
                Ok(ChannelOutcome::Update(Box::new(update)))
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
    ) -> Result<VersionUpdate, Error> {
        let to = version.in_full();
        let mut update = VersionUpdate {
            channel: release.channel,
            from: release.version.to_owned(),
            to: to.clone(),
            sources: gathered.offers.iter().map(|offers| offers.source).collect(),
            ..VersionUpdate::default()
        };
        update.set(manifest, &format!("{}/version", release.pointer()), Some(&to))?;
        for (kind, package) in release.distribution.packages() {
            let source = match kind {
                PackageKind::Npx => SourceKind::Npm,
                PackageKind::Uvx => SourceKind::Pypi,
            };
            let offers = gathered.offers.iter().find(|offers| offers.source == source);
            let Some(offer) = offers.and_then(|offers| offers.of(version)) else { continue };
            match respecified(kind, &package.package, &offer.text) {
                Some(spec) => {
                    update.set(manifest, &release.package_pointer(kind, "package"), Some(&spec))?;
                    // uv ignores packages released after that day, so it would not find the new version.
                    if let Some(day) = &package.exclude_newer {
                        update.set(manifest, &release.package_pointer(kind, extension::EXCLUDE_NEWER), None)?;
                        update
                            .reasons
                            .push(format!("`{}` ({day}) was for the earlier version", extension::EXCLUDE_NEWER));
                    }
                }
                None => update.reasons.push(format!(
                    "{} {:?} names no exact version, and was not changed",
                    kind.as_str(),
                    package.package
                )),
            }
        }
        let targets = &release.distribution.binary;
        let archives = targets.iter().map(|target| self.archive(target, current, version, gathered));
        for (target, archive) in targets.iter().zip(futures_util::future::join_all(archives).await) {
            let archive = archive?;
            update.reasons.extend(archive.reasons);
            if names(&target.cmd, release.version, &to).iter().any(|name| *name != target.cmd) {
                update
                    .reasons
                    .push(format!("`cmd` {} names the earlier version, and was not changed", quote(&target.cmd)));
            }
            update.set(manifest, &release.target_pointer(target, "archive"), Some(&archive.url))?;
            if target.sha256.is_some() || archive.sha256.is_some() {
                let sha256 = archive.sha256.map(|digest| digest.to_string());
                update.set(manifest, &release.target_pointer(target, "sha256"), sha256.as_deref())?;
            }
        }
        if let ArchiveSource::Github { repository, .. } = &gathered.archives {
            update.links = links(self.sources, repository, gathered.tag(current), gathered.tag(version));
        }
        update.reasons.sort();
        update.reasons.dedup();
        Ok(update)
    }
}

impl VersionUpdate {
    /// The edits of another text of the same manifest, such as one with other line endings.
    pub(crate) fn edits_in(&self, manifest: &Manifest) -> Result<Vec<Edit>, Error> {
        let mut same = Self::default();
        for change in &self.changes {
            same.set(manifest, &change.pointer, change.to.as_deref())?;
        }
        Ok(same.edits)
    }

    /// Sets, adds or removes a value.
    fn set(&mut self, manifest: &Manifest, pointer: &str, to: Option<&str>) -> Result<(), Error> {
        let manifest_value = manifest.value();
        let current = manifest_value.pointer(pointer);
        let from = current.and_then(serde_json::Value::as_str);
        if from == to {
            return Ok(());
        }
        let edit = match (to, pointer.rsplit_once('/')) {
            (Some(text), _) if from.is_some() => manifest.replace_text(pointer, text),
            (Some(text), Some((object, key))) if current.is_none() => manifest.insert_into(object, key, text),
            (Some(_), _) => None,
            (None, _) => manifest.remove(pointer),
        };
        let edit =
            edit.ok_or_else(|| ErrorKind::Manifest.because(format!("there is nothing to change at {pointer}")))?;
        self.edits.push(edit);
        self.changes.push(ValueChange {
            pointer: pointer.to_owned(),
            from: from.map(ToOwned::to_owned),
            to: to.map(ToOwned::to_owned),
        });
        Ok(())
    }
}

/// The package specification with another version; `None` if it does not name an exact one.
fn respecified(kind: PackageKind, spec: &str, version: &str) -> Option<String> {
    let Pin::Exact(old) = kind.pin(spec).ok()? else { return None };
    Some(format!("{}{version}", spec.strip_suffix(&old)?))
}

/// Describes the newest version of each source, and its flaw.
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

fn links(sources: &Sources, repository: &RepositoryName, old: Option<&str>, new: Option<&str>) -> Vec<String> {
    let RepositoryName { owner, name } = repository;
    let page = |path: &[&str]| sources.github.page(&[&[owner.as_str(), name][..], path].concat());
    let notes = new.and_then(|tag| page(&["releases", "tag", tag]));
    let range = old.zip(new).map(|(old, new)| format!("{old}...{new}"));
    let compare = range.and_then(|range| page(&["compare", &range]));
    notes.into_iter().chain(compare).collect()
}

/// Maximum length of a message, in characters.
const MESSAGE: usize = 200;

/// How the examination of an agent differs between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The distribution that was examined.
    pub distribution: Kind,
    /// The level that the new version reached; `None` if it did not answer.
    pub reached: Option<Level>,
    /// The results of the earlier version in numbers; `None` if it could not be examined.
    pub before: Option<VerdictCounts>,
    /// The results of the new version in numbers.
    pub after: VerdictCounts,
    /// The checks with another result, in the order of the checks.
    pub changes: Vec<CheckChange>,
}

/// A check whose result has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckChange {
    /// Id of the check.
    pub check: String,
    /// The result before.
    pub before: CheckVerdict,
    /// The result now.
    pub after: CheckVerdict,
    /// Why the check does not pass now. Printable.
    pub message: Option<String>,
}

impl Compared {
    /// Compares two examinations. Only checks that both have are compared: a later level has further checks.
    pub fn new(distribution: Kind, before: Option<&Record>, after: &Record) -> Self {
        let earlier = |check: &CheckRecord| before?.checks.iter().find(|earlier| earlier.id == check.id);
        let changes = after.checks.iter().filter_map(|check| {
            let before = earlier(check)?.verdict;
            let message = check.message.as_deref().map(|message| cut(message, MESSAGE));
            let id = printable(&check.id).into_owned();
            (before != check.verdict).then_some(CheckChange { check: id, before, after: check.verdict, message })
        });
        Self {
            distribution,
            reached: after.reached,
            before: before.map(Record::summary),
            after: after.summary(),
            changes: changes.collect(),
        }
    }

    /// Why a person should review an update from this version: checks that passed before, and fail now.
    pub fn reasons(&self, from: &str) -> Vec<String> {
        let fails = self.changes.iter().filter(|change| change.is_regression());
        let kind = self.distribution.as_str();
        fails
            .map(|CheckChange { check, message, .. }| {
                let why = message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
                format!("the check {check} passed with {from} ({kind}), and fails now{why}")
            })
            .collect()
    }
}

impl CheckChange {
    /// Whether the check passed before, and fails now.
    pub(crate) fn is_regression(&self) -> bool {
        self.before == CheckVerdict::Pass && self.after == CheckVerdict::Fail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    fn record(results: &[(&str, &str)]) -> Record {
        let check = |(id, result): &(&str, &str)| json!({ "id": id, "result": result, "message": "a\u{1b}b" });
        let checks: Vec<_> = results.iter().map(check).collect();
        Record::read(&json!({ "level": "protocol", "reached": "protocol", "checks": checks })).unwrap()
    }

    #[test]
    fn only_a_check_that_passed_and_fails_is_a_reason() {
        let before = record(&[
            ("a", "pass"),
            ("b", "fail"),
            ("c", "pass"),
            ("d", "fail"),
            ("e", "not_exercised"),
            ("gone", "pass"),
        ]);
        let after =
            record(&[("a", "fail"), ("b", "pass"), ("c", "warning"), ("d", "fail"), ("e", "fail"), ("new", "fail")]);
        let compared = Compared::new(Kind::Npx, Some(&before), &after);
        let changed: Vec<&str> = compared.changes.iter().map(|change| change.check.as_str()).collect();
        assert_eq!(changed, ["a", "b", "c", "e"]);
        let reason = "the check a passed with 1.0.0 (npx), and fails now: a\\u{1b}b";
        assert_eq!(compared.reasons("1.0.0"), [reason]);
        let unknown = Compared::new(Kind::Npx, None, &after);
        assert!(unknown.changes.is_empty() && unknown.before.is_none() && unknown.reasons("1.0.0").is_empty());
    }
}
