//! How much space files take.

use std::fs;
use std::path::Path;

/// The bytes of all files below a directory, as far as they can be seen.
pub(super) fn size(directory: &Path) -> u64 {
    let mut size = 0;
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for item in fs::read_dir(directory).into_iter().flatten().flatten() {
            match item.metadata() {
                Ok(metadata) if metadata.is_dir() => waiting.push(item.path()),
                Ok(metadata) if metadata.is_file() => size += metadata.len(),
                _ => {}
            }
        }
    }
    size
}
