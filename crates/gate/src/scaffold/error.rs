//! Why there is no new agent.

use std::path::PathBuf;

use acp_registry_core::sys::fs::PathError;
use acp_registry_core::upstream::SourceError;

/// Why there is no new agent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The id is none, or not a good one.
    #[error("{message}")]
    Id {
        /// Why.
        message: String,
        /// What helps, where that is known.
        remedy: Option<String>,
        /// A good id that was probably meant.
        near: Option<String>,
    },
    /// There is something of this name in the registry.
    #[error("{} is there already; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// The source was not asked, or its answer is none.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The address of the source is not known.
    #[error("{0}")]
    UnknownSource(String),
    /// The source has no such package, project or repository.
    #[error("{message}")]
    NoPackage {
        /// What is missing.
        message: String,
        /// What helps.
        remedy: &'static str,
    },
    /// The source has no such version or release.
    #[error("{message}")]
    NoVersion {
        /// What is missing.
        message: String,
        /// The newest version, where that is known.
        newest: Option<String>,
    },
    /// Nothing in the source can become an agent.
    #[error("{message}")]
    Unfit {
        /// Why.
        message: String,
        /// What helps, where that is not part of the message.
        remedy: Option<String>,
    },
    /// What came is not what GitHub says it is.
    #[error("{url} has the SHA-256 {found}, where GitHub says {known}; nothing was written")]
    DigestMismatch {
        /// Where it came from.
        url: String,
        /// What GitHub says.
        known: String,
        /// What came.
        found: String,
    },
    /// The folder cannot be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Error {
    /// An [`Error::Unfit`] whose message says what helps.
    pub(super) fn unfit(message: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), remedy: None }
    }

    /// An [`Error::Unfit`] with what helps.
    pub(super) fn unfit_with(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), remedy: Some(remedy.into()) }
    }
}
