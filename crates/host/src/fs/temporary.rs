//! The directory for temporary files.

use std::env;
use std::path::{Path, PathBuf};

/// What to do if files cannot be made in [`temporary`].
pub const ANOTHER_TEMPORARY: &str = if cfg!(windows) {
    "name a directory that can be written with the variable TEMP"
} else {
    "name a directory that can be written with the variable TMPDIR"
};

/// The system's directory for temporary files, or the one that `TMPDIR` names. An empty `TMPDIR` counts as none.
#[must_use]
pub fn temporary() -> PathBuf {
    of(env::temp_dir())
}

/// The standard library takes an empty variable for a path, which would be the working directory.
fn of(named: PathBuf) -> PathBuf {
    if named.as_os_str().is_empty() { Path::new("/tmp").to_owned() } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_names_no_directory() {
        assert_eq!(of(PathBuf::new()), Path::new("/tmp"));
        assert_eq!(of("here".into()), Path::new("here"));
        assert!(!temporary().as_os_str().is_empty());
    }
}
