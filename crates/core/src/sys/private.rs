//! Directories that only their owner may look into.

use std::path::Path;
use std::{fs, io};

/// Makes a directory, and those above it that are missing, for their owner alone. One that is there stays as it is.
///
/// # Errors
/// What the operating system says.
pub fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
