//! Files that make git treat a folder as a repository.

use std::path::Path;

/// Entries by which git recognizes or configures a repository.
const NAMES: [&str; 6] = ["HEAD", "commondir", "config", "objects", "packed-refs", "refs"];

/// Whether an entry with this name may belong to a repository. Ignores case, as some file systems do.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The entries that make git treat a registry's folder as a repository. Empty if there is no `HEAD`.
pub(super) fn in_folder(folder: &Path) -> Vec<&'static str> {
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if !is_there("HEAD") {
        return Vec::new();
    }
    NAMES.into_iter().filter(|name| is_there(name)).collect()
}
