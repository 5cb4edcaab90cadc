//! Files that make git take a folder for a repository.

use std::path::Path;

/// What lies in a repository of git, by which it is known, or configured.
const NAMES: [&str; 6] = ["HEAD", "commondir", "config", "objects", "packed-refs", "refs"];

/// Whether something of this name in a folder belongs to a repository. Some systems do not tell cases apart.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// What lies in a folder of a registry that git takes for a repository: there is none without `HEAD`.
pub(super) fn in_folder(folder: &Path) -> Vec<&'static str> {
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if !is_there("HEAD") {
        return Vec::new();
    }
    NAMES.into_iter().filter(|name| is_there(name)).collect()
}
