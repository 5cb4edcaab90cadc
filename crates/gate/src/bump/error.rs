//! Why nothing is known of an agent's newer versions, or why one was not taken in.

use acp_registry_core::net::{FetchError, Problem};
use acp_registry_core::upstream::SourceError;

/// Why an agent was not brought up to date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of trouble it is.
    pub kind: ErrorKind,
    /// What happened, for people. It may quote hostile text: escape it.
    pub message: String,
}

/// A kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// A source did not answer, or not as it should.
    SourceUnavailable,
    /// A source wants to be left alone.
    RateLimited,
    /// A source knows nothing of the package or repository.
    NotFound,
    /// There is no version that all sources offer.
    VersionsDisagree,
    /// The manifest's version is above all that are offered.
    Downgrade,
    /// The newer version has no archive where one should be.
    AssetMissing,
    /// The manifest cannot be read, or cannot be changed by a program.
    Manifest,
    /// The changed manifest breaks a rule.
    ValidationFailed,
    /// The newer version does not pass the handshake.
    HandshakeFailed,
    /// The change could not be written, committed or proposed.
    NotWritten,
}

/// All kinds.
const ALL: [ErrorKind; 10] = [
    ErrorKind::SourceUnavailable,
    ErrorKind::RateLimited,
    ErrorKind::NotFound,
    ErrorKind::VersionsDisagree,
    ErrorKind::Downgrade,
    ErrorKind::AssetMissing,
    ErrorKind::Manifest,
    ErrorKind::ValidationFailed,
    ErrorKind::HandshakeFailed,
    ErrorKind::NotWritten,
];

impl ErrorKind {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceUnavailable => "source_unavailable",
            Self::RateLimited => "rate_limited",
            Self::NotFound => "not_found",
            Self::VersionsDisagree => "versions_disagree",
            Self::Downgrade => "downgrade",
            Self::AssetMissing => "asset_missing",
            Self::Manifest => "manifest",
            Self::ValidationFailed => "validation_failed",
            Self::HandshakeFailed => "handshake_failed",
            Self::NotWritten => "not_written",
        }
    }

    /// What happened, in general, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::SourceUnavailable => "a source does not answer as it should",
            Self::RateLimited => "a source limits requests",
            Self::NotFound => "not found",
            Self::VersionsDisagree => "no version is offered everywhere",
            Self::Downgrade => "the manifest is ahead of its sources",
            Self::AssetMissing => "an archive is missing",
            Self::Manifest => "the manifest cannot be changed",
            Self::ValidationFailed => "the update breaks a rule",
            Self::HandshakeFailed => "the new version fails its check",
            Self::NotWritten => "the update was not written",
        }
    }

    /// The kind of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether nothing can be said of the agent, because a source could not be asked.
    #[must_use]
    pub fn is_outage(self) -> bool {
        matches!(self, Self::SourceUnavailable | Self::RateLimited)
    }

    /// An error of this kind.
    pub fn because(self, message: impl Into<String>) -> Error {
        Error { kind: self, message: message.into() }
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Fetch(error) => error.into(),
            SourceError::Malformed { .. } => ErrorKind::SourceUnavailable.because(error.to_string()),
        }
    }
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Self {
        let kind = match error.problem {
            // GitHub says 403 where others say 429.
            Problem::RateLimited { .. } | Problem::Status(403 | 429) => ErrorKind::RateLimited,
            Problem::Status(404 | 410) => ErrorKind::NotFound,
            _ => ErrorKind::SourceUnavailable,
        };
        kind.because(error.to_string())
    }
}
