//! EDIT: changing a file of a registry, unless another program has changed it meanwhile.

use std::path::PathBuf;

use acp_registry_core::registry::Registry;
use acp_registry_core::source::{Edit, apply};
use acp_registry_core::sys::fs::{PathError, read_bounded, write_atomic};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not what was read.
    #[error("{} has changed meanwhile; run again", .0.display())]
    Changed(PathBuf),
    /// It cannot be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Writes a file of a registry anew with these changes of the text that was loaded.
///
/// # Errors
/// [`EditError`]; the file is then as it was.
pub fn write(registry: &Registry, file: &str, edits: &[Edit]) -> Result<(), EditError> {
    let path = registry.root.join(file);
    let text = registry.text(file).unwrap_or_default();
    // Between reading and now another program may have changed it.
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
