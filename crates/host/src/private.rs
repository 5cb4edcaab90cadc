//! Creates directories that only their owner can read.

use std::path::Path;
use std::{fs, io};

/// Creates a directory and its missing parents, private to their owner. Existing directories are not changed.
///
/// # Errors
/// Returns the error of the operating system.
pub fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
