//! DIAGNOSE: what installed agents need, whether they are unchanged, and what to do about problems.
//!
//! * [`surroundings`]: the runtimes, and the directory of installed agents
//! * [`installed`]: one agent on disk: receipts, programs, digests
//! * [`start`]: the handshake with one, in the same isolation as [`check`](acp_registry_protocol::handshake::check())
//! * [`explain`]: the result of a handshake, explained
//!
//! Nothing is changed or repaired here.

mod agent;
mod handshake;

use std::io;
use std::path::Path;
use std::time::Duration;

use acp_registry_host::command::answer;
use acp_registry_host::fs::{ANOTHER_TEMPORARY, without_path};
use acp_registry_host::process::Environment;
use acp_registry_plan::failure::Failure;
use acp_registry_plan::revocations::Revocation;
use acp_registry_plan::text::{escape, printable};
use acp_registry_protocol::handshake::{FailReason, Outcome};
pub use agent::{installed, obstacle};
pub use handshake::{explain, speak, start};
use serde::Serialize;

use crate::install::{Kind, remedy};
use crate::store::{Error, Store, Version, remove_by_hand, repair_command};

/// The state of something that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// A problem that affects no installed agent.
    Warning,
    /// Something does not work, or is not what it should be.
    Error,
}

impl CheckStatus {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The name of the check, which does not change between versions: `node`, `root`, `program` and the like.
    pub name: &'static str,
    /// The state.
    pub status: CheckStatus,
    /// What was found, as a sentence. Printable.
    pub message: String,
    /// What to do about it. Printable.
    pub help: Option<String>,
}

impl Diagnosis {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Ok, message: message.into(), help: None }
    }

    fn warning(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Warning, message: message.into(), help: Some(help.into()) }
    }

    fn error(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Error, message: message.into(), help: Some(help.into()) }
    }
}

/// One installed agent.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DiagnosedAgent {
    /// Its id.
    pub id: String,
    /// The version that is started, if that is known.
    pub version: Option<String>,
    /// The worst of all checks.
    pub status: CheckStatus,
    /// What was found.
    pub checks: Vec<Diagnosis>,
    /// The result of the handshake, if there was one.
    pub handshake: Option<Outcome>,
    /// The version that is started, if no check has found a reason why it cannot start.
    #[serde(skip)]
    pub startable: Option<Version>,
}

impl DiagnosedAgent {
    /// Whether a changed file may be why it failed. Only the sizes of a package's files are known, so that a change may
    /// go unnoticed; the digests of an archive's files show every change.
    #[must_use]
    pub fn may_miss_files(&self) -> bool {
        let reason = self.handshake.as_ref().and_then(|outcome| outcome.reason);
        let is_package = self.startable.as_ref().is_some_and(|version| version.receipt.source.kind() != Kind::Binary);
        let of_files =
            [FailReason::Exited, FailReason::SpawnFailed, FailReason::InvalidResponse, FailReason::AgentError];
        is_package && reason.is_some_and(|reason| of_files.contains(&reason))
    }

    /// Replaces remedies that would repeat a repair that has failed.
    pub fn repair_has_failed(&mut self, help: Option<&str>) {
        let command = repair_command(&self.id);
        for check in self.checks.iter_mut().filter(|check| check.status == CheckStatus::Error) {
            if check.help.as_ref().is_some_and(|given| given.contains(&command)) {
                check.help = help.map(|help| printable(help).into_owned());
            }
        }
    }

    /// Adds what the registry has recalled, as far as this machine knows.
    pub(crate) fn add_revocation(&mut self, revocation: &Revocation, refusal: Option<Failure>) {
        let status = if refusal.is_some() { CheckStatus::Error } else { CheckStatus::Warning };
        if refusal.is_some() {
            self.startable = None;
        }
        let help = refusal.and_then(|failure| failure.advice());
        self.add(Diagnosis { name: "revocation", status, message: revocation.to_string(), help });
    }

    fn add(&mut self, check: Diagnosis) {
        self.status = self.status.max(check.status);
        self.checks.push(check);
    }
}

/// Looks at the runtimes that agents need, and at the directory of installed agents. The runtimes are asked for their
/// versions in `temporary`, the directory for temporary files, which takes them up to 10 s each.
#[must_use]
pub fn surroundings(store: &Store, environment: &Environment, temporary: &Path) -> Vec<Diagnosis> {
    let mut checks = match cannot_be_written(temporary) {
        None => look_at_runtimes(environment, temporary),
        Some(problem) => vec![problem],
    };
    checks.push(look_at_root(store));
    checks
}

/// Whether agents can be started on this machine, according to the checks of [`surroundings`].
#[must_use]
pub fn can_start(checks: &[Diagnosis]) -> bool {
    checks.iter().all(|check| check.name != TEMPORARY || check.status < CheckStatus::Error)
}

/// How long a runtime may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Program, what it is for, and how to get it.
const RUNTIMES: [(&str, &str, &str); 3] = [
    ("node", "agents from npm start only with a Node.js that an installation has recorded", remedy::NODE),
    ("npm", "agents from npm cannot be installed", remedy::NODE),
    ("uv", "agents from the Python package index cannot be installed", remedy::UV),
];

/// Looks for every runtime, and asks it for its version.
fn look_at_runtimes(environment: &Environment, directory: &Path) -> Vec<Diagnosis> {
    RUNTIMES.map(|runtime| look_for(runtime, environment, directory)).into()
}

fn look_for(
    (name, loss, help): (&'static str, &str, &'static str),
    environment: &Environment,
    directory: &Path,
) -> Diagnosis {
    let Some(path) = environment.find(name) else {
        return Diagnosis::warning(name, format!("is not in PATH: {loss}"), help);
    };
    let path = path.display().to_string();
    let place = printable(&path);
    let error = |message: String| {
        let message = format!("{place} --version {message}");
        Diagnosis::error(name, message, format!("see what `{place} --version` says, and install it again"))
    };
    // npm is a script that the Node.js in `PATH` runs.
    let variable = environment.path().map(|(_, value)| value);
    let text = match answer(&path, &["--version"], directory, PATIENCE, variable) {
        Ok(text) => text,
        Err(cause) => return error(cause.to_string()),
    };
    // A batch file may echo its own lines before.
    let Some(version) = text.lines().map(str::trim).rfind(|line| !line.is_empty()) else {
        return error("prints nothing".to_owned());
    };
    Diagnosis::ok(name, format!("{}, {place}", escape(version)))
}

/// Whether agents can be installed in a store, found out by writing to it: its mode alone does not tell. Other people
/// must not be able to write there.
fn look_at_root(store: &Store) -> Diagnosis {
    if let Err(Error::Foreign { path, problem }) = store.refuse_foreign(None) {
        let shown = path.display().to_string();
        return Diagnosis::error("root", format!("{} {problem}", printable(&shown)), remove_by_hand());
    }
    let root = store.root();
    let shown = root.display().to_string();
    let shown = printable(&shown);
    // It is made with the first agent.
    let there = root.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    let is_there = there == Some(root);
    let written = there.map_or(Err(io::ErrorKind::NotFound.into()), write_below);
    match written {
        Ok(()) if is_there => Diagnosis::ok("root", format!("{shown} can be written")),
        Ok(()) => Diagnosis::ok("root", format!("{shown} is not there yet; it is made with the first agent")),
        Err(error) => {
            let message = format!("agents cannot be installed in {shown}: {}", printable(&error.to_string()));
            let help = "make it writable, or name another with --root or ACP_REGISTRY_ROOT";
            Diagnosis::error("root", message, help)
        }
    }
}

/// The name of the check of the directory for temporary files.
pub(super) const TEMPORARY: &str = "temporary";

/// The check of the directory for temporary files, if nothing can be installed or started without another one.
pub(super) fn cannot_be_written(temporary: &Path) -> Option<Diagnosis> {
    let error = write_below(temporary).err()?;
    let shown = temporary.display().to_string();
    let message = format!("temporary files cannot be made in {}: {}", printable(&shown), printable(&error.to_string()));
    Some(Diagnosis::error(TEMPORARY, message, ANOTHER_TEMPORARY))
}

fn write_below(folder: &Path) -> io::Result<()> {
    // Without a name where the system can, so that a killed run leaves nothing.
    tempfile::tempfile_in(folder).map(drop).map_err(without_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_place_for_agents_is_written_to_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let look = |path: &str| look_at_root(&Store::at(folder.path().join(path)).unwrap());
        assert_eq!(look("").status, CheckStatus::Ok);
        let check = look("new/place");
        assert_eq!(check.status, CheckStatus::Ok);
        assert!(check.message.ends_with("is made with the first agent"), "{}", check.message);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(cannot_be_written(folder.path()).is_none());
        let check = cannot_be_written(&folder.path().join("none")).unwrap();
        let shown = folder.path().join("none").display().to_string();
        assert!(
            check.message.starts_with(&format!("temporary files cannot be made in {shown}: ")),
            "{}",
            check.message
        );
        assert_eq!(check.message.matches(&shown).count(), 1, "{}", check.message);
        let check = look("file/place");
        assert_eq!(check.status, CheckStatus::Error);
        assert!(check.message.starts_with("agents cannot be installed in "), "{}", check.message);
    }
}
