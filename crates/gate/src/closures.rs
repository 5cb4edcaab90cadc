//! CLOSURES: lists of all packages that an agent needs, made by npm and uv, and kept beside its manifest.
//!
//! * [`ClosureMaker`]: makes those that are missing, of another version, or not as rules want them
//! * [`ClosureChange`]: what has changed in one of them; writes it

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acp_registry_client::install::{Error as InstallError, InstallFailure, Installer, Source};
use acp_registry_client::registry::Registry;
use acp_registry_host::command;
use acp_registry_host::fs::{PathError, read_bounded, write_atomic};
use acp_registry_http::Client;
use acp_registry_plan::closure::{
    CLOSURE_LIMIT, NpmLock, NpmLockPackage, PublishedClosure, WrongClosure, file_name, listed, with_python,
};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::manifest::{Manifest, NpmSpec, PackageKind, Pin};
use acp_registry_plan::text::{brief_list, bytes, plural, printable};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_sources::{SourceError, Sources};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use time::OffsetDateTime;

use crate::advisories::Advisories;

/// How many packages a line names.
const NAMED: usize = 8;

/// How long uv and Python may take to say which version is there.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many packages the registry of packages is asked about at once.
const AT_ONCE: usize = 16;

/// Why a closure was not written.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError {
    /// The package manager could not make it.
    #[error("{0}")]
    Install(Box<InstallError>),
    /// What it has made cannot be used.
    #[error(transparent)]
    Wrong(#[from] WrongClosure),
    /// It lacks a package that another platform needs.
    #[error("npm lists no {name}, which {package} needs, perhaps on another platform: its registry does not have it")]
    Lacks {
        /// The path of the package that names it.
        package: String,
        /// Its name.
        name: String,
    },
    /// An advisory calls one of its packages malicious.
    #[error("{0}")]
    Malicious(String),
    /// The registry of packages does not say when they were published.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It was not made of packages until this time.
    #[error(
        "{error}; nothing that was published after {last} counts, unless `max-days-newer` below `[closures]` in registry.toml allows it"
    )]
    Dated {
        /// Why not.
        error: Box<Self>,
        /// The last second of a publication.
        last: Timestamp,
    },
    /// The agent that it installs did not pass, for this reason.
    #[error("the agent that it installs fails: {0}")]
    Fails(String),
    /// uv names no Python, for which the list would be.
    #[error("uv finds no Python: install one with `uv python install`")]
    NoPython,
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] PathError),
}

impl ClosureError {
    /// The failure of a command that was to write lists. `what` names this list.
    pub fn failure(&self, what: &str) -> Failure {
        let message = format!("{what} was not written: {self}");
        match self {
            // What is in the way is part of the registry.
            Self::Write(error) if error.error.kind() != io::ErrorKind::Other => {
                Failure::unable(message).help_if(error.remedy())
            }
            _ => Failure::findings(message),
        }
    }

    /// Whether a version is missing, which npm may have passed over because it is too new.
    fn is_of_version(&self) -> bool {
        let Self::Install(error) = self else { return matches!(self, Self::Lacks { .. }) };
        matches!(error.reason(), InstallFailure::PackageNotFound | InstallFailure::HeldByCooldown)
            || matches!(&**error, InstallError::Tool(failure) if ["code ETARGET", "code ENOVERSIONS"].iter().any(|code| failure.stderr.contains(code)))
    }
}

/// What was done for a package of an agent.
#[derive(Debug)]
pub struct ClosureChange {
    /// The agent.
    pub id: String,
    /// The kind of package.
    pub kind: PackageKind,
    /// The package, as the manifest names it.
    pub package: String,
    /// The file, relative to the registry.
    pub file: String,
    /// What was made, or why it was not.
    pub done: Result<MadeClosure, ClosureError>,
}

/// A new closure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeClosure {
    /// Its text.
    pub text: String,
    /// How it differs from the one before.
    pub diff: ClosureDiff,
}

impl fmt::Display for ClosureDiff {
    /// In one line. Printable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |word: &str, names: &[String]| {
            let shown = brief_list(names, NAMED);
            if names.is_empty() { String::new() } else { format!("; {word} {}", printable(&shown)) }
        };
        write!(f, "{}", plural(self.count, "package"))?;
        if let Some(size) = self.size {
            write!(f, ", {} for all platforms", bytes(size))?;
        }
        match (self.size, self.size_before) {
            (Some(now), Some(before)) if now > before => write!(f, " (+{})", bytes(now - before))?,
            (Some(now), Some(before)) if now < before => write!(f, " (-{})", bytes(before - now))?,
            _ => {}
        }
        // Of the first list, all are new.
        if self.added.len() < self.count || !self.removed.is_empty() {
            f.write_str(&list("new:", &self.added))?;
        }
        write!(f, "{}{}", list("gone:", &self.removed), list("new install scripts of", &self.new_scripts))
    }
}

/// The difference between two lists, by name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClosureDiff {
    /// How many packages there are now.
    pub count: usize,
    /// The size of their archives for all platforms, in bytes, if it is known of all.
    pub size: Option<u64>,
    /// The same of the list before.
    pub size_before: Option<u64>,
    /// Those that were not there.
    pub added: Vec<String>,
    /// Those that are there no more.
    pub removed: Vec<String>,
    /// Those with install scripts that were not there, or had none.
    pub new_scripts: Vec<String>,
}

/// Makes closures for a registry. Nothing is written yet.
#[derive(Debug)]
pub struct ClosureMaker<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// Starts the package managers.
    pub installer: &'a Installer,
    /// Asks the registry of npm's packages when they were published, and how large they are.
    pub client: &'a Client,
    /// The sources, perhaps without that registry.
    pub sources: &'a Sources,
    /// A closure with a package that one of them calls malicious is not made.
    pub advisories: &'a Advisories,
    /// How many days after an agent's version the packages that it needs may have been published.
    pub max_days_newer: u16,
    /// Where temporary files are made.
    pub temporary: &'a Path,
}

impl ClosureMaker<'_> {
    /// Makes the closures of agents, of the packages in these manifests, that are missing in the registry, of another version, or
    /// not as rules want them. With `only_kept`, only those of which there is an earlier one.
    pub async fn make(&self, agents: &[(&str, &Manifest)], only_kept: bool) -> Vec<ClosureChange> {
        let mut changes = Vec::new();
        for (id, manifest) in agents {
            let current: Vec<_> = self.registry.closures(id, manifest).collect();
            for (kind, package) in manifest.agent().distribution.packages() {
                match current.iter().find(|(known, _)| *known == kind) {
                    Some((_, Ok(closure))) if !self.is_outdated(kind, closure) => continue,
                    None if only_kept => continue,
                    _ => {}
                }
                let file = format!("{id}/{}", file_name(kind));
                let path = self.registry.root.join(&file);
                let before = read_bounded(&path, &self.registry.root, CLOSURE_LIMIT).unwrap_or_default();
                let source = match kind {
                    PackageKind::Npx => Source::Npx(package.clone()),
                    PackageKind::Uvx => Source::Uvx(package.clone()),
                };
                let done = self.make_one(kind, &source).await.map(|text| {
                    let diff = ClosureDiff::new(kind, &String::from_utf8_lossy(&before), &text);
                    MadeClosure { text, diff }
                });
                let (id, package) = ((*id).to_owned(), package.package.clone());
                changes.push(ClosureChange { id, kind, package, file, done });
            }
        }
        changes
    }

    /// Whether a closure lacks packages, or has some that are too new.
    fn is_outdated(&self, kind: PackageKind, closure: &PublishedClosure) -> bool {
        let (Ok(lock), Ok(own)) =
            (serde_json::from_str::<NpmLock>(&closure.packages), closure.package.parse::<NpmSpec>())
        else {
            return false;
        };
        kind == PackageKind::Npx && (lock.lacking().is_some() || !lock.newer(&own.name, self.max_days_newer).is_empty())
    }

    async fn make_one(&self, kind: PackageKind, source: &Source) -> Result<String, ClosureError> {
        let Self { installer, temporary, .. } = self;
        if kind == PackageKind::Npx {
            let last = self.last_second(source.name()).await?;
            // A setting of the person that allows less is left to npm.
            let own = if last.is_some() { installer.npm_cutoff(temporary).await } else { None };
            let last = last.filter(|last| own.is_none_or(|own| *last < own));
            let made = self.make_from(kind, source, None, last).await;
            return made.map_err(|error| match last {
                Some(last) if error.is_of_version() => ClosureError::Dated { error: Box::new(error), last },
                _ => error,
            });
        }
        let python = find_python(installer, temporary).ok_or(ClosureError::NoPython)?;
        self.make_from(kind, source, Some(python), None).await
    }

    /// Makes a closure for a version of Python, or of npm packages that were published until `before`.
    async fn make_from(
        &self,
        kind: PackageKind,
        source: &Source,
        python: Option<String>,
        before: Option<Timestamp>,
    ) -> Result<String, ClosureError> {
        let closure = self.installer.closure(source, python.as_deref(), before, self.temporary).await;
        let Some(closure) = closure.map_err(|error| ClosureError::Install(Box::new(error)))? else {
            return Ok(String::new());
        };
        let text = match python {
            Some(python) => with_python(&closure.packages, &python),
            None => closure.packages,
        };
        let published = PublishedClosure::new(kind, source.name(), &text)?;
        if let Some(package) = self.advisories.listed(kind, &published).first() {
            return Err(ClosureError::Malicious(package.message()));
        }
        let Some(lock) = serde_json::from_str::<NpmLock>(&text).ok().filter(|_| kind == PackageKind::Npx) else {
            return Ok(text);
        };
        if let Some((package, name)) = lock.lacking() {
            return Err(ClosureError::Lacks { package: package.to_owned(), name: name.to_owned() });
        }
        let facts = self.archive_facts(&lock).await?;
        Ok(with_facts(&text, &lock, &facts).unwrap_or(text))
    }

    /// The last second in which the packages that a package needs may have been published, if it is over.
    async fn last_second(&self, package: &str) -> Result<Option<Timestamp>, SourceError> {
        let Some((npm, spec)) = self.sources.npm.as_ref().zip(package.parse::<NpmSpec>().ok()) else {
            return Ok(None);
        };
        let packument = npm.packument_in_full(self.client, &spec.name).await?;
        let Pin::Exact(version) = spec.pin else { return Ok(None) };
        let published = packument.and_then(|packument| packument.published(&version));
        let end = |day: i64| Timestamp::from_unix((day + i64::from(self.max_days_newer) + 1) * 86_400 - 1);
        Ok(published.and_then(|time| end(time.unix_timestamp() / 86_400)).filter(|end| *end < Timestamp::now()))
    }

    /// Asks the registry of packages about all archives of a list, by name and version.
    async fn archive_facts<'a>(
        &self,
        lock: &'a NpmLock,
    ) -> Result<BTreeMap<(&'a str, &'a str), ArchiveFacts>, SourceError> {
        let Some(npm) = &self.sources.npm else { return Ok(BTreeMap::new()) };
        let archives = lock.packages.iter().filter(|(_, package)| package.integrity.is_some());
        let archives: BTreeSet<_> =
            archives.filter_map(|(path, package)| Some((package.name(path), package.version.as_deref()?))).collect();
        // A host that refuses to say them once is not asked again: they are of no use to the installation.
        let says_sizes = &AtomicBool::new(true);
        let ask = |(name, version)| async move {
            let packument = npm.packument_in_full(self.client, name).await?;
            let published = packument.and_then(|packument| packument.published(version));
            let size = match npm.tarball(name, version).filter(|_| says_sizes.load(Ordering::Relaxed)) {
                Some(url) => self.client.size_at_source(&url).await.unwrap_or_else(|_| {
                    says_sizes.store(false, Ordering::Relaxed);
                    None
                }),
                None => None,
            };
            Ok(((name, version), ArchiveFacts { published, size }))
        };
        stream::iter(archives.into_iter().map(ask)).buffer_unordered(AT_ONCE).try_collect().await
    }
}

/// What the registry of packages says of an archive.
#[derive(Debug, Clone, Copy)]
struct ArchiveFacts {
    published: Option<OffsetDateTime>,
    size: Option<u64>,
}

/// A list of npm with what is known of its archives, if anything is. npm ignores members that it does not know.
fn with_facts(list: &str, lock: &NpmLock, facts: &BTreeMap<(&str, &str), ArchiveFacts>) -> Option<String> {
    if facts.values().all(|facts| facts.published.is_none() && facts.size.is_none()) {
        return None;
    }
    let mut value: Value = serde_json::from_str(list).ok()?;
    for (path, package) in value.get_mut("packages")?.as_object_mut()? {
        let known = lock.packages.get(path).filter(|known| known.integrity.is_some());
        let facts = known.and_then(|known| facts.get(&(known.name(path), known.version.as_deref()?)));
        let (Some(facts), Some(package)) = (facts, package.as_object_mut()) else { continue };
        let day = facts.published.and_then(|time| Timestamp::from_unix(time.unix_timestamp())).map(Timestamp::day);
        let members = [day.map(Value::from), facts.size.map(Value::from)];
        for (name, value) in NpmLockPackage::OWN_MEMBERS.into_iter().zip(members) {
            package.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    Some(serde_json::to_string_pretty(&value).ok()? + "\n")
}

impl ClosureChange {
    /// The new closure, with the agent and the kind of package.
    pub fn published(&self) -> Option<((String, PackageKind), PublishedClosure)> {
        let closure = PublishedClosure::new(self.kind, &self.package, &self.done.as_ref().ok()?.text).ok()?;
        Some(((self.id.clone(), self.kind), closure))
    }

    /// Writes the closure into the registry, if it was made.
    pub fn write(&mut self, registry: &Registry) {
        let Ok(made) = &self.done else { return };
        let path = registry.root.join(&self.file);
        // A link would be followed, and a FIFO waited for.
        let is_other = path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file());
        let written = if is_other {
            Err(PathError::at(&path)(io::Error::other("is no file: remove it")))
        } else {
            write_atomic(&path, made.text.as_bytes())
        };
        if let Err(error) = written {
            self.done = Err(error.into());
        }
    }
}

/// The version of the Python that uv would use, without its last number.
fn find_python(installer: &Installer, temporary: &Path) -> Option<String> {
    let path = installer.environment.path().map(|(_, value)| value.to_owned());
    let ask = |program: &str, arguments: &[&str]| {
        command::answer(program, arguments, temporary, PATIENCE, path.as_deref()).ok()
    };
    let program = ask("uv", &["python", "find", "--no-config"])?;
    let said = ask(program.trim(), &["--version"])?;
    let mut numbers = said.trim().strip_prefix("Python ")?.split('.');
    Some(format!("{}.{}", numbers.next()?, numbers.next()?))
}

impl ClosureDiff {
    /// Compares two lists; the one before may be missing.
    fn new(kind: PackageKind, before: &str, after: &str) -> Self {
        let sizes = (archives_size(before), archives_size(after));
        let (before, after) = (packages(kind, before), packages(kind, after));
        let names = |of: &BTreeMap<String, bool>, other: &BTreeMap<String, bool>| {
            of.keys().filter(|name| !other.contains_key(*name)).cloned().collect::<Vec<_>>()
        };
        let scripts = after.iter().filter(|(name, has)| **has && before.get(*name) != Some(&true));
        Self {
            count: after.len(),
            size: sizes.1,
            size_before: sizes.0,
            added: names(&after, &before),
            removed: names(&before, &after),
            new_scripts: scripts.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// The size of all archives of a list of npm, in bytes, if it names that of each.
fn archives_size(list: &str) -> Option<u64> {
    let lock: NpmLock = serde_json::from_str(list).ok()?;
    let mut sizes = BTreeMap::new();
    for package in lock.packages.values() {
        if let Some(integrity) = &package.integrity {
            sizes.insert(integrity.as_str(), package.size?);
        }
    }
    Some(sizes.into_values().fold(0, u64::saturating_add))
}

/// The packages of a list, each with its version, and whether it has install scripts.
fn packages(kind: PackageKind, list: &str) -> BTreeMap<String, bool> {
    if kind == PackageKind::Uvx {
        return listed(list).map(|(name, version)| (format!("{name}=={version}"), false)).collect();
    }
    let Ok(lock) = serde_json::from_str::<NpmLock>(list) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for (path, package) in lock.packages.iter().filter(|(path, _)| !path.is_empty()) {
        let name = format!("{}@{}", package.name(path), package.version.as_deref().unwrap_or_default());
        *found.entry(name).or_insert(false) |= package.has_install_script;
    }
    found
}

#[cfg(test)]
mod tests {
    use acp_registry_plan::failure::Exit;

    use super::*;

    #[test]
    fn a_full_disk_is_no_finding_and_what_is_in_the_way_is_one() {
        let at = |error: io::Error| ClosureError::Write(PathError::at(Path::new("x"))(error)).failure("the list");
        let full = at(io::ErrorKind::StorageFull.into());
        assert_eq!((full.exit(), full.advice().as_deref()), (Exit::Unable, Some("free space on that disk")));
        assert!(full.to_string().starts_with("the list was not written: x: "), "{full}");
        let in_the_way = ClosureError::Write(PathError::in_the_way(Path::new("x"), "a directory")).failure("the list");
        assert_eq!(
            (in_the_way.exit(), at(io::ErrorKind::PermissionDenied.into()).exit()),
            (Exit::Findings, Exit::Unable)
        );
        assert_eq!(ClosureError::NoPython.failure("the list").exit(), Exit::Findings);
    }

    #[test]
    fn what_has_changed_in_a_list_is_named_by_version() {
        let before = r#"{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0", "integrity": "x", "size": 1024 }, "node_modules/b": { "version": "1.0.0" },
            "node_modules/s": { "version": "1.0.0", "hasInstallScript": true } } }"#;
        let after = r#"{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0", "integrity": "x", "size": 4096, "hasInstallScript": true },
            "node_modules/a/node_modules/b": { "version": "2.0.0" }, "node_modules/s": { "version": "1.0.0", "hasInstallScript": true } } }"#;
        let diff = ClosureDiff::new(PackageKind::Npx, before, after);
        let expected = ClosureDiff {
            count: 3,
            size: Some(4096),
            size_before: Some(1024),
            added: vec!["b@2.0.0".to_owned()],
            removed: vec!["b@1.0.0".to_owned()],
            new_scripts: vec!["a@1.0.0".to_owned()],
        };
        assert_eq!(diff, expected);
        let shown = "3 packages, 4.0 KiB for all platforms (+3.0 KiB); new: b@2.0.0; gone: b@1.0.0; new install scripts of a@1.0.0";
        assert_eq!(diff.to_string(), shown);
        // The same archive at two places counts once, and one of unknown size leaves the sum unknown.
        let sizes = |package: &str| {
            archives_size(&format!(
                r#"{{ "packages": {{ "node_modules/a": {{ "integrity": "x", "size": {max} }}, "node_modules/b": {package} }} }}"#,
                max = u64::MAX
            ))
        };
        assert_eq!(sizes(r#"{ "integrity": "x", "size": 7 }"#), Some(7));
        assert_eq!(sizes(r#"{ "integrity": "y", "size": 7 }"#), Some(u64::MAX));
        assert_eq!(sizes(r#"{ "integrity": "y" }"#), None);
        let diff = ClosureDiff::new(PackageKind::Uvx, "", "# python 3.13\na==1 \\\n    --hash=sha256:00\nb==2 ; x\n");
        assert_eq!((diff.count, diff.added), (2, vec!["a==1".to_owned(), "b==2".to_owned()]));
    }
}
