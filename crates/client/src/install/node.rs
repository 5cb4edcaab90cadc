//! Chooses a Node.js whose version a package accepts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::npm_range::is_met;
use super::places::lasting;
use acp_registry_host::command::answer;
use acp_registry_host::owner;
use acp_registry_host::process::Environment;
use acp_registry_plan::text::escape;

/// How long a runtime may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many programs of one name are asked for their versions.
const CANDIDATES: usize = 16;

/// A runtime whose version a package does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortfall {
    /// The runtime's name, as people write it.
    pub runtime: &'static str,
    /// The versions that the package requires.
    pub wanted: String,
    /// The version that was found.
    pub found: String,
    /// Its path; `None` where that is not known.
    pub place: Option<PathBuf>,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |text: &str| escape(text);
        write!(f, "needs {} {}, found {}", self.runtime, word(&self.wanted), word(&self.found))?;
        match &self.place {
            Some(place) => write!(f, " at {}", escape(&place.display().to_string())),
            None => Ok(()),
        }
    }
}

/// A Node.js that was chosen for a package.
pub(super) struct NodeChoice {
    pub(super) program: PathBuf,
    /// The version that it prints.
    pub(super) version: Option<String>,
    /// The range that the package requires; `None` where every version meets it, or this program cannot read it.
    pub(super) wanted: Option<String>,
    /// How the chosen one falls short of it.
    pub(super) shortfall: Option<Shortfall>,
}

/// Chooses among the Node.js programs of an environment the first that meets a range, or else the first. A range that
/// this program cannot read counts as met.
pub(super) fn choose_node(environment: &Environment, first: PathBuf, range: Option<&str>) -> NodeChoice {
    let wanted = range.filter(|range| is_met(range, "0.0.0") == Some(false)).map(ToOwned::to_owned);
    let version = node_version(&first);
    let unmet = wanted.clone().zip(version.clone()).filter(|(range, version)| is_met(range, version) == Some(false));
    let (program, version, shortfall) = match unmet {
        None => (first, version, None),
        Some((wanted, found)) => {
            if let Some((better, version)) = better_node(environment, &first, &wanted) {
                (better, Some(version), None)
            } else {
                let place = Some(first.clone());
                (first, version, Some(Shortfall { runtime: "Node.js", wanted, found, place }))
            }
        }
    };
    let program = lasting(program, version.as_deref(), environment);
    NodeChoice { program, version, wanted, shortfall }
}

/// The first Node.js whose version meets the range, and that version: `known`, or one of the environment.
pub(crate) fn better_node(environment: &Environment, known: &Path, range: &str) -> Option<(PathBuf, String)> {
    let mut others: Vec<PathBuf> = environment.find_all("node").filter(|path| path != known).collect();
    let mut seen = std::collections::HashSet::new();
    others.retain(|path| seen.insert(path.clone()));
    // The receipt may be from another user, and name any program.
    let mut all = is_own_node(known).then(|| known.to_owned()).into_iter().chain(others.into_iter().take(CANDIDATES));
    all.find_map(|path| {
        let version = node_version(&path).filter(|version| is_met(range, version) == Some(true))?;
        Some((path, version))
    })
}

/// Whether a program is called `node`, and no other user can change or replace it.
fn is_own_node(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "node")
        && std::iter::once(program).chain(program.parent()).all(|path| owner::problem(path).is_none())
}

/// The version that a runtime prints, without the `v`.
pub(crate) fn node_version(program: &Path) -> Option<String> {
    let text = answer(program.to_str()?, &["--version"], program.parent()?, PATIENCE, None).ok()?;
    let version = text.lines().next()?.trim();
    Some(version.strip_prefix('v').unwrap_or(version).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_a_node_that_others_cannot_change_is_asked() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let nowhere = Environment::from_host([]);
        for (name, mode, is_asked) in [("node", 0o755, true), ("evil", 0o755, false), ("node", 0o777, false)] {
            let (program, marker) = (folder.path().join(name), folder.path().join("asked"));
            let _ = fs::remove_file(&program);
            fs::write(&program, "#!/bin/sh\n: > asked\necho v20.0.0\n").unwrap();
            fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
            assert_eq!(better_node(&nowhere, &program, ">=20").is_some(), is_asked, "{name} {mode:o}");
            assert_eq!(fs::remove_file(marker).is_ok(), is_asked, "{name} {mode:o}");
        }
    }

    #[test]
    fn what_is_there_and_what_is_wanted_are_said() {
        let mut shortfall = Shortfall {
            runtime: "Node.js",
            wanted: ">=22".into(),
            found: "20.20.2".into(),
            place: Some("/bin/node".into()),
        };
        assert_eq!(shortfall.to_string(), "needs Node.js >=22, found 20.20.2 at /bin/node");
        (shortfall.wanted, shortfall.place) = ("\u{1b}[2J".into(), None);
        assert_eq!(shortfall.to_string(), "needs Node.js \\u{1b}[2J, found 20.20.2");
    }
}
