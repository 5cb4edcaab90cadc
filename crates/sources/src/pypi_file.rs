//! A file of a project in a Python package index.

use time::OffsetDateTime;

/// Maximum number of files of a project.
pub(super) const FILES: usize = 200_000;

/// One file of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    /// The name, which contains the version.
    pub name: String,
    /// Whether the index provides a digest.
    pub has_hash: bool,
    /// Why it should no longer be used, if it was yanked; empty if no reason is given.
    pub yanked: Option<String>,
    /// The supported versions of Python.
    pub requires_python: Option<String>,
    /// When it was uploaded, if known; HTML does not include it.
    pub uploaded: Option<OffsetDateTime>,
}

/// The error for a project with too many files.
pub(super) fn too_many() -> String {
    format!("it has more than {FILES} files, and no more are read")
}
