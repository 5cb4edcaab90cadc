//! Writes files of a registry, unless another program has changed them since they were read.

use std::path::PathBuf;

use acp_registry_client::registry::Registry;
use acp_registry_host::fs::{PathError, read_bounded, write_atomic};
use acp_registry_plan::position::{Edit, apply};

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file changed since it was read.
    #[error("{} has changed meanwhile; run again", .0.display())]
    Changed(PathBuf),
    /// The file could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Applies `edits` to the loaded text of `file`, and replaces the file with the result.
///
/// # Errors
/// Returns [`EditError::Changed`] if the file on disk is no longer the loaded text, and [`EditError::Path`] if writing
/// fails. In both cases the file is left unchanged.
pub fn write(registry: &Registry, file: &str, edits: &[Edit]) -> Result<(), EditError> {
    let path = registry.root.join(file);
    let text = registry.text(file).unwrap_or_default();
    // Another program may have changed the file since it was loaded.
    if read_bounded(&path, &registry.root, text.len() as u64).ok().as_deref() != Some(text.as_bytes()) {
        return Err(EditError::Changed(path));
    }
    Ok(write_atomic(&path, apply(text, edits).as_bytes())?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_has_changed_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/agent.json");
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(&file, "{}").unwrap();
        let registry = Registry::load(folder.path()).unwrap();
        fs::write(&file, "{ }").unwrap();
        let error = write(&registry, "a/agent.json", &[]).unwrap_err();
        assert!(error.to_string().ends_with("agent.json has changed meanwhile; run again"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{ }");
    }
}
