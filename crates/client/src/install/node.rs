//! Chooses a Node.js whose version a package accepts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::npm_range::is_met;
use acp_registry_core::sys::command::answer;
use acp_registry_core::sys::owner;
use acp_registry_core::sys::process::Environment;
use acp_registry_core::text::quote;

/// How long a runtime may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many programs of one name are asked for their versions.
const CANDIDATES: usize = 8;

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
        let word = |text: &str| quote(text).trim_matches('`').to_owned();
        write!(f, "needs {} {}, found {}", self.runtime, word(&self.wanted), word(&self.found))?;
        match &self.place {
            Some(place) => write!(f, " at {}", quote(&place.display().to_string()).trim_matches('`')),
            None => Ok(()),
        }
    }
}

/// Chooses among the Node.js programs in `PATH` the first that meets a range, or else the first. The second part says
/// how the chosen one falls short; a range that this program cannot read counts as met.
pub(super) fn choose_node(
    environment: &Environment,
    first: PathBuf,
    range: Option<&str>,
) -> (PathBuf, Option<Shortfall>) {
    let Some(range) = range.filter(|range| is_met(range, "0.0.0") == Some(false)) else { return (first, None) };
    let Some(found) = version_of(&first).filter(|version| is_met(range, version) == Some(false)) else {
        return (first, None);
    };
    if let Some(better) = better_node(environment, &first, range) {
        return (better, None);
    }
    let (wanted, place) = (range.to_owned(), Some(first.clone()));
    (first, Some(Shortfall { runtime: "Node.js", wanted, found, place }))
}

/// The first Node.js whose version meets the range: `known`, or one in `PATH`.
pub(crate) fn better_node(environment: &Environment, known: &Path, range: &str) -> Option<PathBuf> {
    let others = environment.find_all("node").filter(|path| path != known).take(CANDIDATES);
    // The receipt may be from another user, and name any program.
    let mut all = is_own_node(known).then(|| known.to_owned()).into_iter().chain(others);
    all.find(|path| version_of(path).is_some_and(|version| is_met(range, &version) == Some(true)))
}

/// Whether a program is called `node`, and no other user can change or replace it.
fn is_own_node(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "node")
        && std::iter::once(program).chain(program.parent()).all(|path| owner::problem(path).is_none())
}

/// The version that a runtime prints, without the `v`.
fn version_of(program: &Path) -> Option<String> {
    let text = answer(program.to_str()?, &["--version"], program.parent()?, PATIENCE).ok()?;
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
