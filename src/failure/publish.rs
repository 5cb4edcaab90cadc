//! Converts errors of building, serving and publishing into failures with an exit code, an error code and a remedy.

use acp_registry::build::{self, DocumentError, PlaceError, SiteDocument};
use acp_registry::site::SiteError;
use acp_registry::tree::{BuildError, PublishedError, TreeError};
use acp_registry::upload;

use crate::failure::code::Code;
use crate::failure::{Failure, remedies};

impl From<build::Error> for Failure {
    fn from(error: build::Error) -> Self {
        use build::Error;
        match error {
            Error::Document(error) => error.into(),
            Error::Tree(error) => error.into(),
            Error::Previous(error) => error.into(),
            Error::Site(error) => error.into(),
            Error::Render(error) => Self::unable(error).help(remedies::SITE),
            Error::History { .. } => Self::unable(error).help(remedies::HISTORY),
            error => Self::unable(error).help(remedies::SITE),
        }
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        let flag = match error.document {
            SiteDocument::Capabilities => "--capabilities",
            SiteDocument::History => "--history",
        };
        Self::usage(error).help(format!("correct the file, or name another with {flag}"))
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        let help = error.remedy();
        let failure = match error {
            PlaceError::Address { .. } => Self::usage(error),
            PlaceError::Client(_) | PlaceError::Runtime(_) => Self::unable(error),
        };
        failure.remedy(help.as_ref())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let help = remedies::build_remedy(&error);
        let failure = match error {
            BuildError::Findings { .. } | BuildError::NoPrevious { .. } => Self::findings(error),
            BuildError::Empty(_) | BuildError::Withdrawn(_) | BuildError::View { .. } => Self::usage(error),
            BuildError::Schema { .. } => Self::usage(error).code(Code::InvalidConfiguration),
            BuildError::Previous(_) | BuildError::Render(_) => Self::unable(error),
        };
        failure.help(help)
    }
}

impl From<PublishedError> for Failure {
    fn from(error: PublishedError) -> Self {
        let help = error.remedy.clone();
        Self::unable(error).help(remedies::PREVIOUS).remedy(help.as_ref())
    }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Self {
        Self::unable(error).help(remedies::SITE)
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let help = remedies::tree_remedy(&error);
        let failure = match error {
            TreeError::Path(_) | TreeError::Render(_) => Self::unable(error),
            _ => Self::usage(error),
        };
        failure.help(help)
    }
}

impl From<upload::Error> for Failure {
    fn from(error: upload::Error) -> Self {
        let help = remedies::publish_remedy(&error);
        let failure = if error.is_of_integrity() {
            Self::refused(error)
        } else if error.is_of_usage() {
            Self::usage(error)
        } else {
            Self::unable(error)
        };
        failure.help(help)
    }
}
