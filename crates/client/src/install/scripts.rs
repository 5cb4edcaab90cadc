//! Install scripts of npm packages that npm has not run.

use std::path::Path;

use acp_registry_plan::json::{self, Object};
use acp_registry_plan::text::{escape, printable, quote};
use serde::{Deserialize, Serialize};

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

/// The install scripts that npm has not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScriptsNotRun {
    /// The packages, each with its version. Printable.
    pub packages: Vec<String>,
    /// What keeps npm from running any: its setting `ignore-scripts`, or the variable `npm_config_ignore_scripts`;
    /// `None` where npm asks for permission for each package.
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

    /// What npm has not run, and why, as a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        let packages = self.packages.join(", ");
        let why = match self.ignored_by.as_deref() {
            None => String::new(),
            Some(VARIABLE) => format!(", because the variable `{VARIABLE}` forbids it"),
            Some(setting) => format!(", because npm's setting {} forbids it", quote(setting)),
        };
        format!("npm has not run the install scripts of {packages}{why}")
    }

    /// How to install an agent with its scripts; `None` if no setting forbids them.
    #[must_use]
    pub fn remedy(&self, id: &str) -> Option<String> {
        let forbidden_by = self.ignored_by.clone()?;
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
        let name = json::text(name).or_else(|| path.rsplit("node_modules/").next().map(Into::into))?;
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
