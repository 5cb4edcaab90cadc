//! Why an agent could not be started.

use super::TaskVerdict;
use acp_registry_client::install::{self, Source};
use acp_registry_host::fs::PathError;

/// Why an agent was not started.
pub(super) struct Stop {
    pub(super) verdict: TaskVerdict,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) remedy: Option<String>,
    pub(super) stderr: String,
    pub(super) is_source_down: bool,
    /// Whether the package runner of the distribution would not start it either.
    pub(super) is_not_startable: bool,
}

impl Stop {
    pub(super) fn error(reason: &'static str, message: &dyn std::fmt::Display) -> Self {
        let (message, stderr) = (message.to_string(), String::new());
        Self {
            verdict: TaskVerdict::Error,
            reason,
            message,
            remedy: None,
            stderr,
            is_source_down: false,
            is_not_startable: false,
        }
    }

    pub(super) fn install(error: &install::Error, source: &Source) -> Self {
        let verdict = if error.is_of_manifest() { TaskVerdict::Fail } else { TaskVerdict::Error };
        Self {
            verdict,
            reason: error.reason().as_str(),
            message: error.to_string(),
            remedy: error.remedy(),
            stderr: error.stderr().to_owned(),
            is_source_down: error.is_of_source(source.name()),
            is_not_startable: matches!(error, install::Error::NoCommand { .. }),
        }
    }
}

impl From<PathError> for Stop {
    fn from(error: PathError) -> Self {
        Self::error("install_failed", &format!("cannot make a temporary directory: {error}"))
    }
}
