//! Errors of looking for updates.

use acp_registry_http::{FetchError, Problem};
use acp_registry_sources::SourceError;
use serde::Deserialize;

/// Why an agent could not be updated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// What failed. May contain hostile text, so it must be escaped before printing.
    pub message: String,
}

/// At which step a bump has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A source did not answer, or its answer was invalid.
    SourceUnavailable,
    /// A source limits the rate of requests.
    RateLimited,
    /// A source does not have the package or repository.
    NotFound,
    /// No version is offered by all sources.
    VersionsDisagree,
    /// The manifest's version is higher than all offered ones.
    Downgrade,
    /// The new version has no archive for one of the manifest's platforms.
    AssetMissing,
    /// The manifest cannot be read or edited.
    Manifest,
    /// The updated manifest breaks a rule.
    ValidationFailed,
    /// The new version fails the handshake.
    HandshakeFailed,
    /// The update could not be written, committed or proposed.
    NotWritten,
}

impl ErrorKind {
    /// The name used in reports.
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

    /// A short description for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::SourceUnavailable => "a source gives no usable answer",
            Self::RateLimited => "a source limits requests",
            Self::NotFound => "not found",
            Self::VersionsDisagree => "no version is available from every source",
            Self::Downgrade => "the manifest is ahead of its sources",
            Self::AssetMissing => "an archive is missing",
            Self::Manifest => "the manifest cannot be changed",
            Self::ValidationFailed => "the update breaks a rule",
            Self::HandshakeFailed => "the new version fails its check",
            Self::NotWritten => "the update was not written",
        }
    }

    /// Whether a source could not be asked, so that nothing is known about the agent.
    pub fn is_outage(self) -> bool {
        matches!(self, Self::SourceUnavailable | Self::RateLimited)
    }

    /// Whether the agent was looked at, and its update does not work.
    pub fn is_of_update(self) -> bool {
        matches!(self, Self::AssetMissing | Self::ValidationFailed | Self::HandshakeFailed | Self::NotWritten)
    }

    /// Creates an error of this kind.
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
            // GitHub uses 403 for rate limits where others use 429.
            Problem::RateLimited { .. } | Problem::Status(403 | 429) => ErrorKind::RateLimited,
            Problem::Status(404 | 410) => ErrorKind::NotFound,
            _ => ErrorKind::SourceUnavailable,
        };
        kind.because(error.to_string())
    }
}
