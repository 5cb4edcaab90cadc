//! Interpreters of agents, and which Node.js has a version that a package accepts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_archive::Program;
use acp_registry_host::command::answer;
use acp_registry_host::fs::{open_file, read_bounded, write_atomic_from};
use acp_registry_host::owner;
use acp_registry_host::process::Environment;
use acp_registry_plan::json;
use acp_registry_plan::text::escape;
use semver::{Comparator, Version, VersionReq};
use serde::{Deserialize, Serialize};

use super::cache::FileState;
use super::places::lasting;

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
    /// Where it was when the agent was installed; `None` where it was not there, and has to be before the agent starts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "acp_registry_plan::json::optional_path"
    )]
    pub program: Option<PathBuf>,
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
        Self { name: "sh".to_owned(), program: Some(program), flags: Vec::new(), version: None, wanted: None }
    }

    /// The first Node.js of an environment whose version meets a range, or else `first`, with its version, if it is there.
    pub(super) fn node(
        environment: &Environment,
        first: Option<(PathBuf, Option<String>)>,
        range: Option<&str>,
        flags: Vec<String>,
    ) -> Self {
        let wanted = range.filter(|range| is_met(range, "0.0.0") == Some(false)).map(ToOwned::to_owned);
        let (program, version) = first.map_or((None, None), |(program, version)| (Some(program), version));
        let mut node = Self { name: "node".to_owned(), program, flags, version, wanted };
        if let Some(Shortfall { wanted, .. }) = node.shortfall()
            && let Some((better, version)) = better_node(environment, node.program.as_deref(), &wanted)
        {
            (node.program, node.version) = (Some(better), Some(version));
        }
        node.program = node.program.map(|program| lasting(program, node.version.as_deref(), environment));
        node
    }

    /// How it falls short of what the package requires; many packages run all the same.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let (wanted, found) = self.wanted.clone().zip(self.version.clone())?;
        let is_short = is_met(&wanted, &found) == Some(false);
        is_short.then(|| Shortfall { runtime: "Node.js", wanted, found, place: self.program.clone() })
    }

    /// The interpreter that starts the agent now: this one, or another one of the environment if this one is gone, or falls
    /// short and the other does not. The error is the name of the missing interpreter.
    pub(crate) fn find(&self, environment: impl FnOnce() -> Environment) -> Result<PathBuf, String> {
        let kept = || self.program.clone().filter(|program| program.is_file());
        if self.shortfall().is_none()
            && let Some(program) = kept()
        {
            return Ok(program);
        }
        let environment = environment();
        let better = self.wanted.as_ref().and_then(|wanted| better_node(&environment, self.program.as_deref(), wanted));
        let program = better.map(|(program, _)| program).or_else(kept).or_else(|| environment.find(&self.name));
        program.ok_or_else(|| self.name.clone())
    }

    /// Records the interpreter that [`Self::find`] finds. Returns whether it is another one, or the same that now meets, or
    /// no longer meets, what the package requires.
    pub(crate) fn follow(&mut self, environment: &Environment) -> bool {
        let was_short = self.shortfall().is_some();
        let Ok(program) = self.find(|| environment.clone()) else { return false };
        if self.program.as_ref() == Some(&program) && !was_short {
            return false;
        }
        let version = node_version(&program);
        let before = std::mem::replace(self, Self { program: Some(program), version, ..self.clone() });
        before.program != self.program || was_short != self.shortfall().is_some()
    }
}

/// The first Node.js whose version meets the range, and that version: `known`, or one of the environment.
fn better_node(environment: &Environment, known: Option<&Path>, range: &str) -> Option<(PathBuf, String)> {
    let mut others: Vec<PathBuf> = environment.find_all("node").filter(|path| Some(path.as_path()) != known).collect();
    let mut seen = std::collections::HashSet::new();
    others.retain(|path| seen.insert(path.clone()));
    // The receipt may be from another user, and name any program.
    let own = known.filter(|known| is_own_node(known)).map(Path::to_owned);
    let mut all = own.into_iter().chain(others.into_iter().take(CANDIDATES));
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
    Some(version.strip_prefix('v').unwrap_or(version).to_owned()).filter(|version| is_version(version))
}

/// Whether a program may have said this of its version; a receipt takes no other text.
fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

/// The version that a Node.js has printed, for as long as its file is the same: it takes as long to start as a small package
/// to be put in place.
#[derive(Serialize, Deserialize)]
struct KeptVersion {
    #[serde(serialize_with = "acp_registry_plan::json::path")]
    program: PathBuf,
    file: FileState,
    version: String,
}

/// The largest file of a [`KeptVersion`] that is read, in bytes.
const KEPT_LIMIT: u64 = 1 << 16;

/// The least size of a Node.js that has its own code, in bytes. A smaller program starts another one, or has it in a library.
const WHOLE: u64 = 10 << 20;

/// Like [`node_version`], but keeps the answer in the file `kept`. A program that starts another one is always asked: those of
/// version managers answer for the working directory.
pub(super) fn kept_node_version(program: &Path, kept: &Path) -> Option<String> {
    let real = program.canonicalize().ok().filter(|real| real.file_stem().is_some_and(|name| name == "node"));
    let Some((real, file)) = real.and_then(|real| Some((real.clone(), open_file(&real).ok()?))) else {
        return node_version(program);
    };
    if !matches!(Program::examine(&file), Program::Elf { .. } | Program::MachO { .. } | Program::Pe { .. }) {
        return node_version(program);
    }
    let metadata = file.metadata().ok()?;
    if metadata.len() < WHOLE {
        return node_version(program);
    }
    let state = FileState::from(&metadata);
    let bytes = kept.parent().and_then(|folder| read_bounded(kept, folder, KEPT_LIMIT).ok());
    let known = bytes.and_then(|bytes| json::whole::<KeptVersion>(&bytes).ok());
    let is_same = |known: &KeptVersion| known.program == real && known.file == state && is_version(&known.version);
    if let Some(known) = known.filter(is_same) {
        return Some(known.version);
    }
    let version = node_version(program)?;
    let answer = KeptVersion { program: real, file: state, version };
    // It is asked again where it cannot be kept.
    let _ = write_atomic_from(kept.parent()?, kept, json::to_string(&answer).as_bytes());
    Some(answer.version)
}

/// The longest range that is read, in bytes.
const RANGE_LIMIT: usize = 1000;

/// Whether a version is in a range of npm: `>=20`, `^18.2 || >=20.1.0`, `18 - 22`, `22.x`; `None` for what is neither.
fn is_met(range: &str, version: &str) -> Option<bool> {
    if range.len() > RANGE_LIMIT {
        return None;
    }
    // Without its prerelease, see [`alternative`].
    let Version { major, minor, patch, .. } = Version::parse(version.strip_prefix('v').unwrap_or(version)).ok()?;
    let alternatives: Vec<VersionReq> = range.split("||").map(alternative).collect::<Option<_>>()?;
    Some(alternatives.iter().any(|alternative| alternative.matches(&Version::new(major, minor, patch))))
}

/// A part of a range between `||`.
fn alternative(part: &str) -> Option<VersionReq> {
    let hyphen = match part.split_once(" - ").map(|(from, to)| (from.trim(), to.trim())) {
        Some((from, to)) if [from, to].iter().all(|side| side.split_whitespace().count() == 1) => {
            Some(format!(">={from} <={to}"))
        }
        Some(_) => return None,
        None => None,
    };
    let (mut comparators, mut operator) = (Vec::new(), "");
    for word in hyphen.as_deref().unwrap_or(part).split_whitespace() {
        let number = word.trim_start_matches(['<', '>', '=', '^', '~']);
        if number.len() < word.len() {
            operator = &word[..word.len() - number.len()];
        }
        if number.is_empty() {
            // The number follows after a blank.
            continue;
        }
        // A prerelease or a build is compared as its release, since Node.js uses none.
        let number = number.strip_prefix('v').unwrap_or(number).split(['-', '+']).next()?;
        let operator = match std::mem::take(&mut operator) {
            // For Rust, a number alone means those that are compatible with it.
            "" => "=",
            "~>" => "~",
            operator => operator,
        };
        let comparator = match (operator, ["*", "x", "X"].contains(&number)) {
            // Nothing is lower or higher than all versions.
            ("<" | ">", true) => "<0.0.0".to_owned(),
            (_, true) => continue,
            (_, false) => format!("{operator}{number}"),
        };
        comparators.push(Comparator::parse(&comparator).ok()?);
    }
    operator.is_empty().then_some(VersionReq { comparators })
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
            assert_eq!(better_node(&nowhere, Some(&program), ">=20").is_some(), is_asked, "{name} {mode:o}");
            assert_eq!(fs::remove_file(marker).is_ok(), is_asked, "{name} {mode:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_answer_is_kept_until_the_program_is_another_and_scripts_are_always_asked() {
        use std::fs::{self, File, Permissions};
        use std::os::unix::fs::PermissionsExt as _;
        use std::time::UNIX_EPOCH;

        let folder = tempfile::tempdir().unwrap();
        let (node, kept) = (folder.path().join("node"), folder.path().join("node.json"));
        let keep = |program: &Path| {
            let real = program.canonicalize().unwrap();
            let file = FileState::from(&real.metadata().unwrap());
            let answer = KeptVersion { program: real, file, version: "1.2.3".to_owned() };
            fs::write(&kept, json::to_string(&answer)).unwrap();
        };
        let says = || kept_node_version(&node, &kept);
        // A program that is no Node.js: its answer is another one.
        fs::copy("/bin/sh", &node).unwrap();
        keep(&node);
        assert_ne!(says().as_deref(), Some("1.2.3"), "it is too small");
        File::options().write(true).open(&node).unwrap().set_len(WHOLE).unwrap();
        assert_ne!(says().as_deref(), Some("1.2.3"));
        keep(&node);
        assert_eq!(says().as_deref(), Some("1.2.3"));
        let text = fs::read_to_string(&kept).unwrap();
        fs::write(&kept, text.replace("1.2.3", "1.2.3\\u001b[2J")).unwrap();
        assert_eq!(says(), None, "it is no version");
        fs::write(&kept, text).unwrap();
        File::options().write(true).open(&node).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_ne!(says().as_deref(), Some("1.2.3"));
        fs::write(&kept, "{").unwrap();
        assert_ne!(says().as_deref(), Some("1.2.3"));

        fs::write(&node, "#!/bin/sh\necho v20.0.0\n").unwrap();
        fs::set_permissions(&node, Permissions::from_mode(0o755)).unwrap();
        keep(&node);
        assert_eq!(says().as_deref(), Some("20.0.0"));
        // A link of that name to the program of a version manager.
        let manager = folder.path().join("manager");
        fs::rename(&node, &manager).unwrap();
        std::os::unix::fs::symlink(&manager, &node).unwrap();
        keep(&node);
        assert_eq!(says().as_deref(), Some("20.0.0"));
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

    #[test]
    fn ranges_are_read_as_npm_reads_them() {
        for (range, inside, outside) in [
            (">=22", &["22.0.0", "24.1.0"][..], &["20.20.2", "21.9.9"][..]),
            (">= 22.1", &["22.1.0"], &["22.0.9"]),
            ("^18.2 || >=20.1.0", &["18.2.0", "18.99.0", "20.1.0"], &["18.1.0", "19.0.0", "20.0.9"]),
            ("^20.17.0 || >=22.9.0", &["20.20.2", "22.9.0"], &["21.0.0", "22.8.0"]),
            ("18 - 22", &["18.0.0", "22.9.9"], &["17.9.9", "23.0.0"]),
            ("20.x", &["20.0.0", "20.20.2"], &["21.0.0", "19.0.0"]),
            ("~20.3", &["20.3.9"], &["20.4.0"]),
            ("~20", &["20.9.0"], &["21.0.0"]),
            ("^0.12.1", &["0.12.9"], &["0.13.0", "1.0.0"]),
            (">18 <22", &["19.0.0", "21.9.0"], &["18.9.0", "22.0.0"]),
            ("<=20", &["20.9.9", "4.0.0"], &["21.0.0"]),
            ("22.4.1", &["22.4.1"], &["22.4.2"]),
            ("*", &["0.0.1", "99.0.0"], &[]),
            ("<*", &[], &["0.0.0", "20.0.0"]),
            ("> x || 20", &["20.1.0"], &["18.0.0"]),
            ("", &["0.0.1"], &[]),
            (">=v18.0.0-0", &["18.0.0"], &["17.0.0"]),
        ] {
            for version in inside {
                assert_eq!(is_met(range, version), Some(true), "{range} {version}");
            }
            for version in outside {
                assert_eq!(is_met(range, version), Some(false), "{range} {version}");
            }
        }
        for odd in ["latest", "lts/*", ">=a", "1.2.3.4", "20 ||| x", ">=", "20 - x.y.z.a", "=>", "18 20 - 22", "18 - "]
        {
            assert_eq!(is_met(odd, "20.0.0"), None, "{odd}");
        }
        assert_eq!(is_met(">=20", "20"), None);
        assert_eq!(is_met(&"1 ".repeat(1000), "1.0.0"), None);
        assert_eq!(is_met("99999999999999999999", "1.0.0"), None);
    }
}
