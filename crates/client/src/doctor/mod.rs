//! EXAMINE: what installed agents need, and whether they are what was installed; in words that say what to do.
//!
//! * [`surroundings`]: the runtimes, and the directory of installed agents
//! * [`installed`]: one agent as it lies there: receipts, programs, digests
//! * [`start`]: the handshake with one, in the same isolation as [`check`](acp_registry_protocol::handshake::check())
//! * [`explain`]: the result of a handshake, in plain words
//!
//! Nothing is changed or repaired here.

mod agent;
mod live;
mod root;
mod runtimes;

use std::path::Path;

use serde::Serialize;

pub use agent::installed;
pub use live::{explain, speak, start};

use crate::install::Kind;
use crate::store::{self, Store, Version};
use acp_registry_core::sys::process::Environment;
use acp_registry_core::text::printable;
use acp_registry_protocol::handshake::{Outcome, Reason};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Nothing that is installed suffers from it.
    Warning,
    /// Something does not work, or is not what it should be.
    Error,
}

impl Status {
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
pub struct Check {
    /// What was looked at, as a word that stays the same: `node`, `root`, `program` and the like.
    pub name: &'static str,
    /// How it is.
    pub status: Status,
    /// What was found, as a sentence. Printable.
    pub message: String,
    /// What to do about it. Printable.
    pub help: Option<String>,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, message: message.into(), help: None }
    }

    fn warning(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: Status::Warning, message: message.into(), help: Some(help.into()) }
    }

    fn error(name: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, status: Status::Error, message: message.into(), help: Some(help.into()) }
    }
}

/// One installed agent.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Examined {
    /// Its id.
    pub id: String,
    /// The version that is started, if that is known.
    pub version: Option<String>,
    /// The worst of all checks.
    pub status: Status,
    /// What was found.
    pub checks: Vec<Check>,
    /// The result of the handshake, if there was one.
    pub handshake: Option<Outcome>,
    /// The version that is started, if nothing is known that keeps it from starting.
    #[serde(skip)]
    pub startable: Option<Version>,
}

impl Examined {
    /// Whether it has failed in a way for which a changed file may be the reason. Of the files of packages only the sizes are
    /// known; all files of an archive are as they were.
    #[must_use]
    pub fn may_miss_files(&self) -> bool {
        let reason = self.handshake.as_ref().and_then(|outcome| outcome.reason);
        let is_package = self.startable.as_ref().is_some_and(|version| version.receipt.kind() != Some(Kind::Binary));
        let of_files = [Reason::Exited, Reason::SpawnFailed, Reason::InvalidResponse, Reason::AgentError];
        is_package && reason.is_some_and(|reason| of_files.contains(&reason))
    }

    /// Puts another remedy in the place of those that would repeat a repair that has failed.
    pub fn repair_has_failed(&mut self, help: Option<&str>) {
        let repairs = [store::remedy(&self.id), live::fix(&self.id)];
        for check in self.checks.iter_mut().filter(|check| check.status == Status::Error) {
            if check.help.as_ref().is_some_and(|given| repairs.iter().any(|repair| given.ends_with(repair))) {
                check.help = help.map(|help| printable(help).into_owned());
            }
        }
    }

    fn add(&mut self, check: Check) {
        self.status = self.status.max(check.status);
        self.checks.push(check);
    }
}

/// Looks at the runtimes that agents need, and at the directory of installed agents. `directory` is where the runtimes
/// are asked for their versions, which takes them up to 10 s each.
#[must_use]
pub fn surroundings(store: &Store, environment: &Environment, directory: &Path) -> Vec<Check> {
    let mut checks = runtimes::look(environment, directory);
    checks.push(root::look(store));
    checks
}
