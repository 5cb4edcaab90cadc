//! Lists the files below a directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::fs::PathError;

/// Lists all regular files below a directory, with their sizes in bytes. Links are not followed.
///
/// # Errors
/// Returns [`PathError`] if a directory or file cannot be read.
pub fn files_below(directory: &Path) -> Result<Vec<(PathBuf, u64)>, PathError> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for item in fs::read_dir(&directory).map_err(PathError::at(&directory))? {
            let item = item.map_err(PathError::at(&directory))?;
            let kind = item.file_type().map_err(PathError::at(&directory))?;
            if kind.is_dir() {
                waiting.push(item.path());
            } else if kind.is_file() {
                let size = item.metadata().map_err(PathError::at(&directory))?.len();
                files.push((item.path(), size));
            }
        }
    }
    Ok(files)
}
