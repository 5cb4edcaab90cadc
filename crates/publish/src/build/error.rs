//! Errors of [`build()`](super::build()).

use std::path::PathBuf;

use crate::site::SiteError;
use crate::tree::{BuildError, PublishedError, RenderError};
use acp_registry_client::index::FormError;
use acp_registry_plan::remedy::Remedy;

/// Why a registry cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capability snapshot or the history cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The tree cannot be built.
    #[error(transparent)]
    Tree(#[from] BuildError),
    /// The earlier tree cannot be read.
    #[error(transparent)]
    Previous(#[from] PublishedError),
    /// The history of the earlier tree cannot be continued.
    #[error("{file} of the previous tree {message}")]
    History {
        /// The invalid file of the earlier tree.
        file: &'static str,
        /// What is wrong, as the rest of a sentence that begins with the file.
        message: String,
    },
    /// The new index cannot be compared with the earlier one.
    #[error("the new registry.json {0}")]
    Index(FormError),
    /// The site cannot be read from the index.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A page of the site cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl Error {
    /// What the user can do about it.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Document(error) => error.remedy().into(),
            Self::Tree(error) => error.remedy(),
            Self::Previous(error) => error.remedy(),
            Self::History { .. } => "use another published tree, or a history in a file".into(),
            Self::Index(_) | Self::Site(_) | Self::Render(_) => {
                "leave the site out, and report this as a bug of acp-registry".into()
            }
        }
    }
}

/// A capability snapshot or a history cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", path.display())]
pub struct DocumentError {
    /// Which document it is.
    pub document: SiteDocument,
    /// The path of the document.
    pub path: PathBuf,
    /// What is wrong, appended to the path in messages.
    pub(super) why: String,
}

/// A document that the site is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteDocument {
    /// The capability snapshot.
    Capabilities,
    /// The history.
    History,
}

impl DocumentError {
    /// What the user can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        "correct the file, or use another"
    }
}
