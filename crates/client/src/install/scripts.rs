//! Install scripts of npm packages that npm has not run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use acp_registry_plan::closure::{NpmLock, ScriptedPackage, package_folder};
use acp_registry_plan::json::{self, Object};
use acp_registry_plan::text::{escape, printable, quote};
use serde::{Deserialize, Serialize};

use super::Installer;

/// What begins the lines in which npm tells of install scripts.
const MARK: &str = "npm warn install-scripts";

/// How many packages are named.
const NAMED: usize = 20;

/// How many packages of npm's notes are looked at.
const PACKAGES: usize = 100_000;

/// npm's setting that turns install scripts off.
const SETTING: &str = "ignore-scripts";

/// The variable that sets the same, and counts for more than npm's files.
pub(super) const VARIABLE: &str = "npm_config_ignore_scripts";

/// Whether the variable says that npm runs no install scripts, if it is set.
pub(super) fn are_ignored(installer: &Installer) -> Option<bool> {
    installer.npm.iter().find(|(name, _)| name == VARIABLE)?.1.parse().ok()
}

/// What keeps scripts of dependencies from being run that the registry has not approved.
const REGISTRY: &str = "registry";

/// Which install scripts of a list of packages run, where its registry says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Approval {
    /// The package of the manifest and approved dependencies, as npm's `allowScripts` names them.
    pub(super) specs: BTreeSet<String>,
    /// Where they are, below the directory.
    places: BTreeSet<String>,
    /// The other packages with scripts: their places, names and versions.
    refused: BTreeMap<String, String>,
}

impl Approval {
    /// Compares what a list has with what the registry approves, by its digest.
    pub(super) fn new(list: &NpmLock, own: (&str, &str), approved: &[String]) -> Self {
        let approved: BTreeSet<&str> = approved.iter().map(String::as_str).collect();
        let mut specs = BTreeSet::from([format!("{}@{}", own.0, own.1)]);
        let mut places = BTreeSet::from([format!("node_modules/{}", own.0)]);
        // npm finds packages by the names of their directories.
        let spec = |found: &ScriptedPackage| {
            format!("{}@{}", package_folder(&found.path), found.package.rsplit('@').next().unwrap_or_default())
        };
        let all = list.dependencies_with_scripts(own.0);
        let (allowed, refused): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|found| approved.contains(found.to_string().as_str()));
        specs.extend(allowed.iter().map(spec));
        places.extend(allowed.into_iter().map(|found| found.path));
        let refused = refused.into_iter().map(|found| (found.path, found.package)).collect();
        Self { specs, places, refused }
    }

    /// What `npm rebuild` is given in a directory: paths, since another package may be in a directory of the same name, and
    /// say that it has the same version. There is always one: without any, npm would run the scripts of all packages.
    ///
    /// # Errors
    /// That the directory is not found.
    pub(super) fn paths(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let real = directory.canonicalize()?;
        // npm knows no paths in Windows' longer form.
        let real = real.to_str().and_then(|real| real.strip_prefix(r"\\?\")).map(PathBuf::from).unwrap_or(real);
        Ok(self.places.iter().map(|place| place.split('/').fold(real.clone(), |path, part| path.join(part))).collect())
    }

    /// Whether the scripts of the package at a place run.
    pub(super) fn allows(&self, path: &str) -> bool {
        !self.refused.contains_key(path)
    }

    /// The scripts that were not run in a directory.
    pub(super) fn not_run(&self, directory: &Path) -> ScriptsNotRun {
        let there = self.refused.iter().filter(|(path, _)| directory.join(path).is_dir());
        let packages: BTreeSet<String> = there.map(|(_, package)| printable(package).into_owned()).collect();
        ScriptsNotRun { packages: packages.into_iter().take(NAMED).collect(), ignored_by: Some(REGISTRY.to_owned()) }
    }
}

/// The install scripts that npm has not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScriptsNotRun {
    /// The packages, each with its version. Printable.
    pub packages: Vec<String>,
    /// What keeps npm from running any: its setting `ignore-scripts`, or the variable `npm_config_ignore_scripts`;
    /// `registry` where the registry has not approved them; `None` where npm asks for permission for each package.
    pub ignored_by: Option<String>,
}

impl ScriptsNotRun {
    /// Packages whose scripts npm's configuration forbids.
    pub(super) fn ignored(packages: Vec<String>, is_by_variable: bool) -> Self {
        Self { packages, ignored_by: Some(if is_by_variable { VARIABLE } else { SETTING }.to_owned()) }
    }

    /// Whether npm has run all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty()
    }

    /// Whether npm's configuration forbids them.
    #[must_use]
    pub fn are_forbidden_by_npm(&self) -> bool {
        self.ignored_by.as_deref().is_some_and(|by| by != REGISTRY)
    }

    /// What was not run, and why, as a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        let packages = self.packages.join(", ");
        let why = match self.ignored_by.as_deref() {
            None => String::new(),
            Some(REGISTRY) => {
                return format!("the registry has not approved the install scripts of {packages}, which were not run");
            }
            Some(VARIABLE) => format!(", because the variable `{VARIABLE}` forbids it"),
            Some(setting) => format!(", because npm's setting {} forbids it", quote(setting)),
        };
        format!("npm has not run the install scripts of {packages}{why}")
    }

    /// How to install an agent with its scripts; `None` if nothing forbids them.
    #[must_use]
    pub fn remedy(&self, id: &str) -> Option<String> {
        let forbidden_by = self.ignored_by.clone()?;
        if forbidden_by == REGISTRY {
            return Some("ask the maintainers of the registry to approve them".to_owned());
        }
        let install = format!("`acp-registry install {}`", escape(id));
        Some(if forbidden_by == VARIABLE {
            format!("unset {}, then run {install}", quote(&forbidden_by))
        } else {
            format!("run `npm config set {} false`, then {install}", escape(&forbidden_by))
        })
    }
}

/// The packages with an install script, each with its version, that are below a directory according to npm's own
/// records. Printable.
pub(super) fn listed(notes: &[u8], directory: &Path) -> Vec<String> {
    let Ok([packages]) = json::members(notes, ["packages"]) else { return Vec::new() };
    let packages: Option<Object<'_, PACKAGES>> = json::object(packages);
    let members = packages.into_iter().flat_map(|packages| packages.members);
    let named = members.filter_map(|(path, package)| {
        let [has, name, version] = json::read_members(Some(package), ["hasInstallScript", "name", "version"]);
        // Those for other systems are noted, too.
        let is_there = has?.get() == "true" && directory.join(&*path).is_dir();
        let name = json::text(name).unwrap_or_else(|| package_folder(&path).into());
        let version = json::text(version)?;
        is_there.then(|| printable(&format!("{name}@{version}")).into_owned())
    });
    named.take(NAMED).collect()
}

/// The packages, each with its version, whose install scripts npm has blocked, according to its stderr. Printable.
///
/// Since npm 12, scripts run only where `allowScripts` of the root `package.json` allows them; npm 11 gives the same
/// list with other words before it, and runs them.
pub(super) fn blocked(stderr: &str) -> Vec<String> {
    let mut lines = stderr.lines().filter_map(|line| line.trim().strip_prefix(MARK));
    if !lines.any(|line| line.contains("install scripts blocked")) {
        return Vec::new();
    }
    let packages = lines.take_while(|line| line.starts_with("   ")).filter_map(|line| line.split_once(" ("));
    packages.take(NAMED).map(|(package, _)| printable(package.trim()).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_scripts_are_listed_by_the_notes_of_npm() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["node_modules/a", "node_modules/a/node_modules/@s/b", "node_modules/c", "node_modules/plain"] {
            std::fs::create_dir_all(directory.path().join(path)).unwrap();
        }
        let notes = r#"{ "packages": {
            "node_modules/a": { "version": "1.0.0", "hasInstallScript": true },
            "node_modules/a/node_modules/@s/b": { "version": "2.0.0", "hasInstallScript": true },
            "node_modules/c": { "name": "alias", "version": "3.0.0", "hasInstallScript": true },
            "node_modules/plain": { "version": "1.0.0", "hasInstallScript": false },
            "node_modules/elsewhere": { "version": "1.0.0", "hasInstallScript": true, "optional": true } } }"#;
        assert_eq!(listed(notes.as_bytes(), directory.path()), ["a@1.0.0", "@s/b@2.0.0", "alias@3.0.0"]);
        for odd in ["", "[]", "{}", r#"{ "packages": [] }"#, r#"{ "packages": { "a": 1 } }"#] {
            assert_eq!(listed(odd.as_bytes(), directory.path()), [] as [&str; 0], "{odd}");
        }
    }

    #[test]
    fn only_approved_bytes_run_scripts_and_no_other_name_stands_for_them() {
        let list: NpmLock = serde_json::from_str(
            r#"{ "packages": {
                "node_modules/own": { "version": "1.0.0", "integrity": "sha512-o", "hasInstallScript": true },
                "node_modules/good": { "version": "2.0.0", "integrity": "sha512-g", "hasInstallScript": true },
                "node_modules/own/node_modules/bad": { "version": "3.0.0", "integrity": "sha512-b", "hasInstallScript": true },
                "node_modules/alias": { "name": "good", "version": "2.0.0", "integrity": "sha512-g", "hasInstallScript": true },
                "node_modules/plain": { "version": "1.0.0", "integrity": "sha512-p" } } }"#,
        )
        .unwrap();
        let approval = |approved: &[&str]| -> Approval {
            Approval::new(&list, ("own", "1.0.0"), &approved.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        let specs = |approved: &[&str]| approval(approved).specs.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(specs(&[]), "own@1.0.0");
        assert_eq!(specs(&["good@2.0.0 sha512-g"]), "alias@2.0.0 good@2.0.0 own@1.0.0");
        assert_eq!(specs(&["good@2.0.0 sha512-x", "bad@3.0.1 sha512-b", "bad@3.0.0"]), "own@1.0.0");
        assert!(approval(&[]).allows("node_modules/own") && !approval(&[]).allows("node_modules/good"));
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("node_modules/good")).unwrap();
        let not_run = approval(&[]).not_run(directory.path());
        assert_eq!(not_run.packages, ["good@2.0.0"]);
        assert!(not_run.remedy("p").is_some_and(|remedy| remedy.starts_with("ask the maintainers of the registry")));
        let message = "the registry has not approved the install scripts of good@2.0.0, which were not run";
        assert_eq!(not_run.message(), message);
        assert!(approval(&["good@2.0.0 sha512-g"]).not_run(directory.path()).is_empty());
        // A directory may have the name of an approved package, or of the agent's own: its place tells it from them.
        let mixed = r#"{ "packages": {
            "node_modules/own": { "version": "1.0.0", "integrity": "sha512-o", "hasInstallScript": true },
            "node_modules/a/node_modules/own": { "name": "evil", "version": "1.0.0", "integrity": "sha512-e", "hasInstallScript": true },
            "node_modules/good": { "version": "2.0.0", "integrity": "sha512-g", "hasInstallScript": true },
            "node_modules/a/node_modules/good": { "name": "evil", "version": "2.0.0", "integrity": "sha512-e", "hasInstallScript": true } } }"#;
        let mixed: NpmLock = serde_json::from_str(mixed).unwrap();
        let real = directory.path().canonicalize().unwrap();
        let real = Path::new(real.to_str().unwrap().trim_start_matches(r"\\?\"));
        let all =
            |more: &[&str]| -> Vec<PathBuf> { more.iter().map(|name| real.join("node_modules").join(name)).collect() };
        for (approved, expected) in [
            (vec![], all(&["own"])),
            (vec!["good@2.0.0 sha512-g"], all(&["good", "own"])),
            // What a host may have made of it: none of it is approved, and none of it reaches npm.
            (vec!["good@2.0.0 sha512-e", "../../good@2.0.0 sha512-g", "--all", "", "\u{1b}[2J"], all(&["own"])),
            (vec!["good@2.0.0 sha512-g\n", "evil@2.0.0 sha512-g", "good@2.0.0", "own@1.0.0 sha512-e"], all(&["own"])),
            (vec!["good@2.0.0 sha512-g"; 1000], all(&["good", "own"])),
        ] {
            let approved: Vec<String> = approved.into_iter().map(ToOwned::to_owned).collect();
            let found = Approval::new(&mixed, ("own", "1.0.0"), &approved);
            assert_eq!(found.paths(directory.path()).unwrap(), expected, "{approved:?}");
            assert!(!found.allows("node_modules/a/node_modules/own") && found.allows("node_modules/own"));
        }
    }

    #[test]
    fn the_remedy_is_for_what_forbids_the_scripts() {
        let told = |scripts: ScriptsNotRun| (scripts.message(), scripts.remedy("p"));
        let packages = vec!["a@1.0.0".to_owned(), "b@2.0.0".to_owned()];
        let begin = "npm has not run the install scripts of a@1.0.0, b@2.0.0";
        let asked = ScriptsNotRun { packages: packages.clone(), ignored_by: None };
        assert_eq!(told(asked), (begin.to_owned(), None));
        let (message, remedy) = told(ScriptsNotRun::ignored(packages.clone(), false));
        assert_eq!(message, format!("{begin}, because npm's setting `ignore-scripts` forbids it"));
        let expected = "run `npm config set ignore-scripts false`, then `acp-registry install p`";
        assert_eq!(remedy.unwrap().clone(), expected);
        let (message, remedy) = told(ScriptsNotRun::ignored(packages, true));
        assert_eq!(message, format!("{begin}, because the variable `npm_config_ignore_scripts` forbids it"));
        assert_eq!(remedy.unwrap().clone(), "unset `npm_config_ignore_scripts`, then run `acp-registry install p`");
    }

    #[test]
    fn what_npm_has_blocked_is_read_from_its_words() {
        let list = "npm warn install-scripts   esbuild@0.25.0 (postinstall: node install.js)\n\
                    npm warn install-scripts   @s/p@1.0.0 (preinstall: a (b))\n\
                    npm warn install-scripts\n\
                    npm warn install-scripts Run `npm install-scripts ls` to review\n";
        let of = |words: &str| blocked(&format!("npm warn x\nnpm warn install-scripts 2 packages {words}:\n{list}"));
        assert_eq!(
            of("had install scripts blocked because they are not covered by allowScripts"),
            ["esbuild@0.25.0", "@s/p@1.0.0"]
        );
        // npm 11 warns, and runs them.
        assert_eq!(of("have install scripts not yet covered by allowScripts"), [] as [&str; 0]);
        assert_eq!(blocked(""), [] as [&str; 0]);
        assert_eq!(blocked("npm warn install-scripts 1 package had install scripts blocked\n"), [] as [&str; 0]);
    }
}
