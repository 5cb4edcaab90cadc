//! CLOSURES: lists of all packages that an agent needs, made by npm and uv, and kept beside its manifest.
//!
//! * [`make_closures`]: makes those that are missing or of another version
//! * [`ClosureChange`]: what has changed in one of them; writes it

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use acp_registry_client::install::{Error as InstallError, Installer, Source};
use acp_registry_client::registry::Registry;
use acp_registry_host::command;
use acp_registry_host::fs::{PathError, read_bounded, write_atomic};
use acp_registry_plan::closure::{
    CLOSURE_LIMIT, NpmLock, PublishedClosure, WrongClosure, file_name, listed, with_python,
};
use acp_registry_plan::manifest::{Channel, Manifest, PackageKind};
use acp_registry_plan::text::{plural, printable};

use crate::advisories::Advisories;
use crate::bump::{Bumped, ChannelOutcome};

/// How many packages a line names.
const NAMED: usize = 8;

/// How long uv and Python may take to say which version is there.
const PATIENCE: Duration = Duration::from_secs(20);

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
    /// uv names no Python, for which the list would be.
    #[error("uv finds no Python: install one with `uv python install`")]
    NoPython,
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] PathError),
}

/// What was done for a package of an agent.
#[derive(Debug)]
pub struct ClosureChange {
    /// The agent.
    pub id: String,
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
            let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            if names.is_empty() { String::new() } else { format!("; {word} {}{more}", printable(&shown.join(", "))) }
        };
        write!(f, "{}", plural(self.count, "package"))?;
        // Of the first list, all are new.
        if self.added.len() < self.count {
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
    /// Those that were not there.
    pub added: Vec<String>,
    /// Those that are there no more.
    pub removed: Vec<String>,
    /// Those with install scripts that were not there, or had none.
    pub new_scripts: Vec<String>,
}

/// Makes the closures of agents, of the packages in these manifests, that are missing in the registry or of another version.
/// One that an advisory calls malicious is not made. With `only_kept`, only those of which there is an earlier one. Temporary files are made below `temporary`. Nothing is
/// written yet.
pub async fn make_closures(
    registry: &Registry,
    agents: &[(&str, &Manifest)],
    only_kept: bool,
    installer: &Installer,
    advisories: &Advisories,
    temporary: &Path,
) -> Vec<ClosureChange> {
    let mut changes = Vec::new();
    for (id, manifest) in agents {
        let current: Vec<_> = registry.closures(id, manifest).collect();
        for (kind, package) in manifest.agent().distribution.packages() {
            match current.iter().find(|(known, _)| *known == kind) {
                Some((_, Ok(_))) => continue,
                None if only_kept => continue,
                _ => {}
            }
            let file = format!("{id}/{}", file_name(kind));
            let path = registry.root.join(&file);
            let before = read_bounded(&path, &registry.root, CLOSURE_LIMIT).unwrap_or_default();
            let source = match kind {
                PackageKind::Npx => Source::Npx(package.clone()),
                PackageKind::Uvx => Source::Uvx(package.clone()),
            };
            let done = make(kind, &source, installer, advisories, temporary).await.map(|text| {
                let diff = ClosureDiff::new(kind, &String::from_utf8_lossy(&before), &text);
                MadeClosure { text, diff }
            });
            changes.push(ClosureChange { id: (*id).to_owned(), file, done });
        }
    }
    changes
}

impl ClosureChange {
    /// Asks for a review of the update that the closure belongs to, if it was not made, or if more packages have install scripts.
    pub fn review(&self, bumped: &mut [Bumped]) {
        let reason = match &self.done {
            Ok(made) if made.diff.new_scripts.is_empty() => return,
            Ok(made) => format!("install scripts are new: {}", made.diff.new_scripts.join(", ")),
            Err(error) => format!("the list of its packages was not made: {error}"),
        };
        let own = bumped.iter_mut().find(|one| one.id == self.id && one.channel == Channel::Stable);
        if let Some(Bumped { result: Ok(ChannelOutcome::Update(update)), .. }) = own {
            update.reasons.push(reason);
        }
    }

    /// Writes the closure into the registry, if it was made.
    pub fn write(&mut self, registry: &Registry) {
        let Ok(made) = &self.done else { return };
        let path = registry.root.join(&self.file);
        let written = if path.is_symlink() {
            Err(PathError::at(&path)(io::Error::other("is a link, which is not followed")))
        } else {
            write_atomic(&path, made.text.as_bytes())
        };
        if let Err(error) = written {
            self.done = Err(error.into());
        }
    }
}

async fn make(
    kind: PackageKind,
    source: &Source,
    installer: &Installer,
    advisories: &Advisories,
    temporary: &Path,
) -> Result<String, ClosureError> {
    let python = match kind {
        PackageKind::Npx => None,
        PackageKind::Uvx => Some(python(installer, temporary).ok_or(ClosureError::NoPython)?),
    };
    let closure = installer.closure(source, python.as_deref(), temporary).await;
    let Some(closure) = closure.map_err(|error| ClosureError::Install(Box::new(error)))? else {
        return Ok(String::new());
    };
    let text = match python {
        Some(python) => with_python(&closure.packages, &python),
        None => closure.packages,
    };
    let published = PublishedClosure::new(kind, source.name(), &text)?;
    if let Some(package) = advisories.listed(kind, &published).first() {
        return Err(ClosureError::Malicious(package.message()));
    }
    if let Some((package, name)) = serde_json::from_str::<NpmLock>(&text).ok().as_ref().and_then(NpmLock::lacking) {
        return Err(ClosureError::Lacks { package: package.to_owned(), name: name.to_owned() });
    }
    Ok(text)
}

/// The version of the Python that uv would use, without its last number.
fn python(installer: &Installer, temporary: &Path) -> Option<String> {
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
        let (before, after) = (packages(kind, before), packages(kind, after));
        let names = |of: &BTreeMap<String, bool>, other: &BTreeMap<String, bool>| {
            of.keys().filter(|name| !other.contains_key(*name)).cloned().collect::<Vec<_>>()
        };
        let scripts = after.iter().filter(|(name, has)| **has && before.get(*name) != Some(&true));
        Self {
            count: after.len(),
            added: names(&after, &before),
            removed: names(&before, &after),
            new_scripts: scripts.map(|(name, _)| name.clone()).collect(),
        }
    }
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
    use super::*;

    #[test]
    fn what_has_changed_in_a_list_is_named_by_version() {
        let before = r#"{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0" }, "node_modules/b": { "version": "1.0.0" },
            "node_modules/s": { "version": "1.0.0", "hasInstallScript": true } } }"#;
        let after = r#"{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0", "hasInstallScript": true },
            "node_modules/a/node_modules/b": { "version": "2.0.0" }, "node_modules/s": { "version": "1.0.0", "hasInstallScript": true } } }"#;
        let diff = ClosureDiff::new(PackageKind::Npx, before, after);
        let expected = ClosureDiff {
            count: 3,
            added: vec!["b@2.0.0".to_owned()],
            removed: vec!["b@1.0.0".to_owned()],
            new_scripts: vec!["a@1.0.0".to_owned()],
        };
        assert_eq!(diff, expected);
        let diff = ClosureDiff::new(PackageKind::Uvx, "", "# python 3.13\na==1 \\\n    --hash=sha256:00\nb==2 ; x\n");
        assert_eq!((diff.count, diff.added), (2, vec!["a==1".to_owned(), "b==2".to_owned()]));
    }
}
