//! Interpreters of agents, and which Node.js has a version that a package accepts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::npm_range::is_met;
use super::places::lasting;
use acp_registry_host::command::answer;
use acp_registry_host::owner;
use acp_registry_host::process::Environment;
use acp_registry_plan::text::escape;
use serde::{Deserialize, Serialize};

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

/// An interpreter that starts a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Interpreter {
    /// Its name, by which it is found again when it has moved.
    pub name: String,
    /// Where it was when the agent was installed.
    pub program: PathBuf,
    /// Its flags, which come before the program's file.
    pub flags: Vec<String>,
    /// The version that it printed when the agent was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that the package requires; `None` where every version meets them, or this program cannot read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

impl Interpreter {
    /// The shell `sh`.
    pub(super) fn shell(program: PathBuf) -> Self {
        Self { name: "sh".to_owned(), program, flags: Vec::new(), version: None, wanted: None }
    }

    /// The first Node.js of an environment whose version meets a range, or else `first`, with its version.
    pub(super) fn node(
        environment: &Environment,
        (first, version): (PathBuf, Option<String>),
        range: Option<&str>,
        flags: Vec<String>,
    ) -> Self {
        let wanted = range.filter(|range| is_met(range, "0.0.0") == Some(false)).map(ToOwned::to_owned);
        let mut node = Self { name: "node".to_owned(), program: first, flags, version, wanted };
        if let Some(Shortfall { wanted, .. }) = node.shortfall()
            && let Some((better, version)) = better_node(environment, &node.program, &wanted)
        {
            (node.program, node.version) = (better, Some(version));
        }
        node.program = lasting(node.program, node.version.as_deref(), environment);
        node
    }

    /// How it falls short of what the package requires; many packages run all the same.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let (wanted, found) = self.wanted.clone().zip(self.version.clone())?;
        let is_short = is_met(&wanted, &found) == Some(false);
        is_short.then(|| Shortfall { runtime: "Node.js", wanted, found, place: Some(self.program.clone()) })
    }

    /// The interpreter that starts the agent now: this one, or another one of the environment if this one is gone, or falls
    /// short and the other does not. The error is the name of the missing interpreter.
    pub(crate) fn find(&self, environment: impl FnOnce() -> Environment) -> Result<PathBuf, String> {
        let kept = || self.program.is_file().then(|| self.program.clone());
        if self.shortfall().is_none()
            && let Some(program) = kept()
        {
            return Ok(program);
        }
        let environment = environment();
        let better = self.wanted.as_ref().and_then(|wanted| better_node(&environment, &self.program, wanted));
        let program = better.map(|(program, _)| program).or_else(kept).or_else(|| environment.find(&self.name));
        program.ok_or_else(|| self.name.clone())
    }

    /// Records the interpreter that [`Self::find`] finds. Returns whether it is another one, or the same that now meets, or
    /// no longer meets, what the package requires.
    pub(crate) fn follow(&mut self, environment: &Environment) -> bool {
        let was_short = self.shortfall().is_some();
        let Ok(program) = self.find(|| environment.clone()) else { return false };
        if program == self.program && !was_short {
            return false;
        }
        let version = node_version(&program);
        let before = std::mem::replace(self, Self { program, version, ..self.clone() });
        before.program != self.program || was_short != self.shortfall().is_some()
    }
}

/// The first Node.js whose version meets the range, and that version: `known`, or one of the environment.
fn better_node(environment: &Environment, known: &Path, range: &str) -> Option<(PathBuf, String)> {
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
pub(super) fn node_version(program: &Path) -> Option<String> {
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
