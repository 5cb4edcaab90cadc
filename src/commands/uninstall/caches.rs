//! The caches of this program: how many bytes they hold, and how `gc` empties them.

use std::fs;
use std::path::PathBuf;

use acp_registry::host::fs::PathError;
use acp_registry::host::walk::files_below;
use acp_registry::http::Cache;
use acp_registry::index::Copies;
use acp_registry::install::PackageCache;

use crate::documents::Cached;
use crate::flags::network;
use crate::terminal::table::bytes;

/// The size of the caches of npm and uv above which `gc` removes them, in bytes.
const PACKAGES_LIMIT: u64 = 8 << 30;

/// Empties the caches, or with `is_all` unset those that are too large. A dry run changes nothing, and returns what would be
/// freed.
pub(crate) fn collect(is_all: bool, is_dry_run: bool) -> Result<Vec<Cached>, PathError> {
    let Some(directory) = network::cache_dir() else { return Ok(Vec::new()) };
    let packages = PackageCache::at(&directory);
    let limit = if is_all { 0 } else { PACKAGES_LIMIT };
    let freed_bytes = if is_dry_run { packages.surplus(limit)? } else { packages.shrink(limit)? };
    // Files vanish while packages are installed.
    let size = packages.surplus(0).unwrap_or_default();
    let mut caches = vec![Cached { name: "packages", size, freed_bytes }];
    let indexes = Copies::below(&directory).directory().to_owned();
    for (name, folders) in [("answers", Cache::folders(&directory).to_vec()), ("indexes", vec![indexes])] {
        let files: Vec<(PathBuf, u64)> = folders.iter().flat_map(|folder| files_below(folder)).flatten().collect();
        let is_freed = |path: &PathBuf| is_all && (is_dry_run || fs::remove_file(path).is_ok());
        let freed_bytes = files.iter().filter(|(path, _)| is_freed(path)).map(|(_, bytes)| bytes).sum();
        let size = files.iter().map(|(_, bytes)| bytes).sum::<u64>() - if is_dry_run { 0 } else { freed_bytes };
        caches.push(Cached { name, size, freed_bytes });
    }
    Ok(caches)
}

/// The number of bytes that the caches go on holding.
pub(crate) fn left(caches: &[Cached], is_dry_run: bool) -> u64 {
    caches.iter().map(|cache| cache.size - if is_dry_run { cache.freed_bytes } else { 0 }).sum()
}

/// What a cache holds, in words.
pub(crate) fn content(cache: &Cached) -> &'static str {
    match cache.name {
        "packages" => "packages kept by npm and uv",
        "indexes" => "copies of indexes",
        _ => "answers and archives of hosts",
    }
}

/// How many bytes each cache holds, and which command frees them.
pub(crate) fn holdings(caches: &[Cached]) -> String {
    let parts = caches.iter().filter(|cache| cache.size > 0);
    let parts: Vec<String> = parts.map(|cache| format!("{} {}", content(cache), bytes(cache.size))).collect();
    format!("caches hold {}; `acp-registry gc --cache` empties them", parts.join(", "))
}
