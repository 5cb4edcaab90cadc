//! Lists files that differ from a revision.
//!
//! `git diff` would run the filters that attributes name, such as that of git-lfs, on files with changed timestamps. So
//! git only compares the revision with the index here, and this program compares the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Error, Repository, read_blobs};
use crate::fs::{open_bounded, read_bounded};

/// Files larger than this, in bytes, are compared by digest.
const COMPARED_LIMIT: u64 = 1 << 20;

/// A file in the index.
struct Tracked<'a> {
    mode: &'a str,
    blob: &'a str,
    path: String,
}

/// Lists the paths below `directory`, relative to it, that differ between a revision and the working tree, including
/// untracked files that are not ignored.
///
/// # Errors
/// Returns [`Error`] if git is not installed, `directory` is not in a work tree, or the revision does not exist.
pub fn changed_paths(directory: &Path, revision: &str) -> Result<BTreeSet<String>, Error> {
    let repository = Repository::around(directory)?;
    let tree = format!("{revision}^{{tree}}");
    let tree =
        repository.output("rev-parse", &["--verify", "--end-of-options", &tree]).map_err(|error| match error {
            Error::Failed { message, .. } => Error::Revision { revision: revision.to_owned(), message },
            error => error,
        })?;
    let tree = String::from_utf8_lossy(&tree);
    let tree = tree.trim();
    let diff = ["--cached", "--no-renames", "--name-only", "--relative", "-z", tree, "--", "."];
    let mut changed = paths(&repository.output("diff-index", &diff)?);
    changed.extend(paths(&repository.output("ls-files", &["--others", "--exclude-standard", "-z", "--", "."])?));

    let index = repository.output("ls-files", &["--stage", "-t", "-z", "--", "."])?;
    let mut by_blob: BTreeMap<&str, Vec<Tracked<'_>>> = BTreeMap::new();
    for line in index.split(|&b| b == 0).filter(|line| !line.is_empty()) {
        let broken =
            || Error::Answer { command: "ls-files", message: "it is not in the form that was asked for".into() };
        let tab = line.iter().position(|&b| b == b'\t').ok_or_else(broken)?;
        let path = String::from_utf8_lossy(&line[tab + 1..]).into_owned();
        let head = std::str::from_utf8(&line[..tab]).map_err(|_| broken())?;
        let [tag, mode, blob, stage] = head.split(' ').collect::<Vec<_>>()[..] else { return Err(broken()) };
        // Files outside a sparse checkout are missing on purpose.
        if tag == "S" || changed.contains(&path) {
            continue;
        }
        let tracked = Tracked { mode, blob, path };
        if stage != "0" || differs_at_once(&repository, &tracked)? {
            changed.insert(tracked.path);
        } else if is_compared(&repository, &tracked) {
            by_blob.entry(blob).or_default().push(tracked);
        }
    }
    let names: BTreeSet<&str> = by_blob.keys().copied().collect();
    if !names.is_empty() {
        read_blobs(&repository, &names, COMPARED_LIMIT, |blob, bytes| {
            let same = |tracked: &Tracked<'_>| is_same(repository.directory(), tracked, bytes);
            if let Some(all) = by_blob.get_mut(blob) {
                all.retain(|tracked| !same(tracked));
            }
        })?;
    }
    changed.extend(by_blob.into_values().flatten().map(|tracked| tracked.path));
    Ok(changed)
}

fn paths(bytes: &[u8]) -> BTreeSet<String> {
    let paths = bytes.split(|&b| b == 0).filter(|path| !path.is_empty());
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

/// Whether a file differs from the index, as far as can be told without its blob.
fn differs_at_once(repository: &Repository, tracked: &Tracked<'_>) -> Result<bool, Error> {
    let path = repository.directory().join(&tracked.path);
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Ok(true) };
    Ok(match tracked.mode {
        // Git is not run in submodules; a checked-out one may have changed.
        "160000" => fs::read_dir(&path).is_ok_and(|mut items| items.next().is_some()),
        // On systems without symbolic links, git writes their targets to regular files.
        "120000" => !metadata.is_symlink() && (cfg!(unix) || !metadata.is_file()),
        _ if !metadata.is_file() => true,
        _ if metadata.len() > COMPARED_LIMIT => {
            let Ok((file, _)) = open_bounded(&path, repository.top(), u64::MAX) else { return Ok(true) };
            digest(repository, file)? != tracked.blob
        }
        _ => false,
    })
}

/// Whether the file must be compared with its blob.
fn is_compared(repository: &Repository, tracked: &Tracked<'_>) -> bool {
    let length = || fs::symlink_metadata(repository.directory().join(&tracked.path)).map(|metadata| metadata.len());
    tracked.mode != "160000" && length().is_ok_and(|length| length <= COMPARED_LIMIT)
}

/// The blob id of a file's contents, without filters.
fn digest(repository: &Repository, file: File) -> Result<String, Error> {
    let output = repository.call("hash-object", &["--stdin"]).output(file, 1 << 10)?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

fn is_same(directory: &Path, tracked: &Tracked<'_>, blob: &[u8]) -> bool {
    let path = directory.join(&tracked.path);
    if tracked.mode == "120000"
        && let Ok(target) = fs::read_link(&path)
    {
        return target.as_os_str().as_encoded_bytes() == blob;
    }
    let read: io::Result<Vec<u8>> = read_bounded(&path, directory, COMPARED_LIMIT).map_err(io::Error::other);
    read.is_ok_and(|bytes| bytes == blob || (!blob.contains(&b'\r') && with_unix_lines(&bytes) == blob))
}

/// Git may be configured to check out files with CR LF, which is not a change.
fn with_unix_lines(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            out.push(byte);
        }
    }
    out
}
