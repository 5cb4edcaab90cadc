//! Errors of adding an agent.

use std::path::PathBuf;

use acp_registry_host::fs::PathError;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::remedy::Remedy;
use acp_registry_sources::SourceError;

/// Why an agent could not be added.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The id is invalid or reserved.
    #[error("{message}")]
    Id {
        /// What is wrong.
        message: String,
        /// How to fix it, if known.
        remedy: Option<Remedy>,
        /// A similar valid id.
        near: Option<String>,
    },
    /// A file or folder with this name exists in the registry.
    #[error("{} is there already; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// The source did not answer, or its answer was invalid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The source's URL is unknown.
    #[error("{0}")]
    UnknownSource(String),
    /// The source does not have the package, project or repository.
    #[error("{message}")]
    NoPackage {
        /// What is missing.
        message: String,
        /// How to fix it.
        remedy: &'static str,
    },
    /// The source does not have the version or release.
    #[error("{message}")]
    NoVersion {
        /// What is missing.
        message: String,
        /// The newest version, if known.
        newest: Option<String>,
    },
    /// The source contains nothing that can be an agent.
    #[error("{message}")]
    Unfit {
        /// What is wrong.
        message: String,
        /// How to fix it, unless the message says so.
        remedy: Option<Remedy>,
    },
    /// The digest of a downloaded file is not the one that GitHub states.
    #[error("{url} has the SHA-256 {found}, where GitHub says {known}; nothing was written")]
    DigestMismatch {
        /// URL of the file.
        url: String,
        /// SHA-256 as stated by GitHub.
        known: Sha256,
        /// SHA-256 of the downloaded file.
        found: Sha256,
    },
    /// The folder could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Error {
    /// Creates [`Error::Unfit`] without a remedy.
    pub(super) fn unfit(message: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), remedy: None }
    }

    /// Creates [`Error::Unfit`] with a remedy.
    pub(super) fn unfit_with(message: impl Into<String>, remedy: impl Into<Remedy>) -> Self {
        Self::Unfit { message: message.into(), remedy: Some(remedy.into()) }
    }
}
