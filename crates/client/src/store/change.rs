//! How what is offered under the number of an installed version differs from it.

use crate::install::Kind;
use acp_registry_plan::remedy::{Action, Remedy};
use acp_registry_plan::text::quote;

/// How what is offered under the number of an installed version differs from what was installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionChange {
    /// The index, or the lock file, states another digest.
    #[error("its archive had the SHA-256 {known} when it was installed, and is now said to have {}", quote(now))]
    Digest {
        /// SHA-256 of the installed archive.
        known: String,
        /// What is stated now.
        now: String,
    },
    /// The index stated a digest, and states none now.
    #[error("its archive had the SHA-256 {known} in the index when it was installed, and now has no SHA-256 there")]
    NoDigest {
        /// SHA-256 of the installed archive.
        known: String,
    },
    /// There is no digest to compare, and the place of the bytes is another one.
    #[error(
        "its {what} was {} when it was installed, and is now {}, without a digest that proves it the same",
        quote(known),
        quote(now)
    )]
    Place {
        /// Which part of the place.
        what: &'static str,
        /// The one that was installed.
        known: String,
        /// What is stated now.
        now: String,
    },
    /// The host or the package registry sent other bytes.
    #[error("its {what} was {} when it was installed, and is {} as it comes now", quote(known), quote(now))]
    Bytes {
        /// Which value is compared.
        what: &'static str,
        /// The value of the installed bytes.
        known: String,
        /// The value of the received bytes.
        now: String,
    },
    /// It would be installed from another kind of distribution, which was not asked for.
    #[error("it is installed as {}, and is offered as {} now", known.as_str(), now.as_str())]
    Kind {
        /// The kind that is installed.
        known: Kind,
        /// The kind that would be.
        now: Kind,
    },
}

impl VersionChange {
    /// What people can do who want the change. Printable.
    pub(super) fn remedy(&self, id: &str) -> Remedy {
        let begin = match self {
            Self::Kind { now, .. } => Remedy::from(Action::InstallAs(now.as_str())).then("; or "),
            _ => Remedy::from(
                "tell the agent's publisher, for a version is never replaced; if you trust what comes now, ",
            ),
        };
        begin.then(Action::Uninstall(id.to_owned())).then(" first")
    }
}
