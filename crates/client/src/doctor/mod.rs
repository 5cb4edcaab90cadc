//! EXAMINE: what installed agents need, whether they are unchanged, and what to do about problems.
//!
//! * [`surroundings`]: the runtimes, and the directory of installed agents
//! * [`installed`]: one agent on disk: receipts, programs, digests
//! * [`start`]: the handshake with one, in the same isolation as [`check`](acp_registry_protocol::handshake::check())
//! * [`explain`]: the result of a handshake, explained
//!
//! Nothing is changed or repaired here.

mod agent;
mod handshake;
mod root;
mod runtimes;

use acp_registry_plan::text::printable;
use std::path::Path;

use acp_registry_host::process::Environment;
use acp_registry_protocol::handshake::{FailReason, Outcome};
use serde::Serialize;

use crate::install::Kind;
use crate::store::repair_command;
use crate::store::{Store, Version};

pub use agent::{installed, obstacle};
pub use handshake::{explain, speak, start};

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

    fn add(&mut self, check: Diagnosis) {
        self.status = self.status.max(check.status);
        self.checks.push(check);
    }
}

/// Looks at the runtimes that agents need, and at the directory of installed agents. The runtimes are asked for their
/// versions in `temporary`, the directory for temporary files, which takes them up to 10 s each.
#[must_use]
pub fn surroundings(store: &Store, environment: &Environment, temporary: &Path) -> Vec<Diagnosis> {
    let mut checks = match root::cannot_be_written(temporary) {
        None => runtimes::look(environment, temporary),
        Some(problem) => vec![problem],
    };
    checks.push(root::look(store));
    checks
}

/// Whether agents can be started on this machine, according to the checks of [`surroundings`].
#[must_use]
pub fn can_start(checks: &[Diagnosis]) -> bool {
    checks.iter().all(|check| check.name != root::TEMPORARY || check.status < CheckStatus::Error)
}
