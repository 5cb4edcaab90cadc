//! Rules about Python packages.

pub(super) mod excluded_version;
pub(super) mod missing_hash;
pub(super) mod version_not_found;
pub(super) mod yanked;

use std::sync::Arc;

use crate::survey::Survey;
use acp_registry_sources::pypi::{Project, ProjectFile};

/// For examples: adds the Python project `example` with one file.
fn example(survey: &mut Survey, name: &str, has_hash: bool, yanked: Option<&str>) {
    let file = ProjectFile {
        name: name.to_owned(),
        has_hash,
        yanked: yanked.map(ToOwned::to_owned),
        ..ProjectFile::default()
    };
    survey.pypi.insert("example".to_owned(), Ok(Some(Arc::new(Project::from_files([file])))));
}
