//! Reads the history of files, and which files differ from a revision.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{Error, Repository};
use crate::fs::{open_bounded, read_bounded};

/// Maximum number of commits in a log.
pub const COMMIT_LIMIT: usize = 20_000;

/// Maximum size of git's output, in bytes: about 400,000 changes.
const SIZE_LIMIT: u64 = 64 << 20;

/// The history of some files of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The first-parent commits that change one of the files, newest first.
    pub commits: Vec<Commit>,
    /// Why earlier commits are missing, if they are.
    pub cut: Option<Cut>,
}

/// Why a log does not start with the first commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The clone is shallow. If the log contains a commit without parents, the clone starts there, and its files
    /// existed before.
    Shallow,
    /// There are more than [`COMMIT_LIMIT`] commits, or too many changes.
    Long,
}

/// A commit with its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Commit time, in seconds since the Unix epoch.
    pub time: i64,
    /// Whether it has no parents in this clone.
    pub is_root: bool,
    /// The files that it changes.
    pub changes: Vec<FileChange>,
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Path relative to the directory.
    pub path: String,
    /// Id of the new blob; `None` if the file was deleted.
    pub blob: Option<String>,
    /// Whether the file was added.
    pub is_new: bool,
}

/// Reads the history of the files below `directory` that match a pattern such as `*/x.json`, in one pass.
///
/// A merge counts as one change, at the time of the merge.
///
/// # Errors
/// Returns [`Error`] if git is not installed, `directory` is not in a work tree, or there are no commits.
pub fn log(directory: &Path, pattern: &str) -> Result<Log, Error> {
    let repository = Repository::around(directory)?;
    let is_shallow = repository.output("rev-parse", &["--is-shallow-repository"])?.starts_with(b"true");
    let count = format!("--max-count={}", COMMIT_LIMIT + 1);
    let pattern = format!(":(glob){pattern}");
    let arguments = [
        "--first-parent", "-m", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-show-signature", "--no-decorate", "--no-notes", "--relative", "-z", "--format=%x01%ct%x02%P", &count,
        "HEAD", "--", &pattern,
    ];
    let (mut commits, mut is_long) = (Vec::new(), false);
    repository.call("log", &arguments).talk(io::empty(), |answer| {
        let mut bytes = Vec::new();
        Read::take(&mut *answer, SIZE_LIMIT).read_to_end(&mut bytes)?;
        // Git fails if its output is not read completely.
        is_long = io::copy(answer, &mut io::sink())? > 0;
        let parsed = if is_long { parse_log(whole_commits(&bytes)) } else { parse_log(&bytes) };
        commits = parsed.ok_or_else(|| io::Error::other("it is not in the form that was asked for"))?;
        Ok(())
    })?;
    is_long |= commits.len() > COMMIT_LIMIT;
    commits.truncate(COMMIT_LIMIT);
    let cut = if is_long { Some(Cut::Long) } else { is_shallow.then_some(Cut::Shallow) };
    Ok(Log { commits, cut })
}

/// The log without its last commit, which may be incomplete.
fn whole_commits(bytes: &[u8]) -> &[u8] {
    let last = bytes.windows(2).rposition(|pair| pair == b"\0\x01");
    &bytes[..last.map_or(0, |at| at + 1)]
}

fn parse_log(bytes: &[u8]) -> Option<Vec<Commit>> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut tokens = bytes.split(|&b| b == 0).map(|token| token.strip_prefix(b"\n").unwrap_or(token));
    while let Some(token) = tokens.next() {
        if let Some(head) = token.strip_prefix(b"\x01") {
            let (time, parents) = std::str::from_utf8(head).ok()?.split_once('\x02')?;
            let is_root = parents.trim().is_empty();
            commits.push(Commit { time: time.parse().ok()?, is_root, changes: Vec::new() });
        } else if let Some(raw) = token.strip_prefix(b":") {
            // Modes, blobs and status: `100644 100644 OLD NEW M`.
            let mut fields = std::str::from_utf8(raw).ok()?.split(' ').skip(3);
            let (new, status) = (fields.next()?, fields.next()?);
            let path = String::from_utf8_lossy(tokens.next()?).into_owned();
            let blob = (status != "D").then(|| new.to_owned());
            commits.last_mut()?.changes.push(FileChange { path, blob, is_new: status == "A" });
        } else if !token.is_empty() {
            return None;
        }
    }
    Some(commits)
}

/// Reads blobs, and calls `visit` with the id and content of each, in the order of `names`. Blobs larger than `limit`,
/// in bytes, and missing ones are skipped.
///
/// # Errors
/// Returns [`Error`] if git is not installed or fails.
pub fn blobs(
    directory: &Path,
    names: &BTreeSet<&str>,
    limit: u64,
    visit: impl FnMut(&str, &[u8]),
) -> Result<(), Error> {
    read_blobs(&Repository::around(directory)?, names, limit, visit)
}

/// Like [`blobs`], for an opened repository.
pub(super) fn read_blobs(
    repository: &Repository,
    names: &BTreeSet<&str>,
    limit: u64,
    mut visit: impl FnMut(&str, &[u8]),
) -> Result<(), Error> {
    let mut input = Vec::with_capacity(names.len() * 41);
    for name in names {
        input.extend_from_slice(name.as_bytes());
        input.push(b'\n');
    }
    repository.call("cat-file", &["--batch", "--buffer"]).talk(input.as_slice(), |answer| {
        let mut answer = BufReader::with_capacity(1 << 16, answer);
        let (mut head, mut bytes) = (Vec::new(), Vec::new());
        loop {
            head.clear();
            // A header consists of an id, a type and a size.
            if answer.by_ref().take(1 << 12).read_until(b'\n', &mut head)? == 0 {
                return Ok(());
            }
            let head = String::from_utf8_lossy(&head);
            let mut fields = head.split_whitespace();
            let (Some(name), Some(kind)) = (fields.next(), fields.next()) else {
                return Err(io::Error::other("a blob without a name"));
            };
            let Some(size) = fields.next().and_then(|size| size.parse::<u64>().ok()) else { continue };
            if size > limit {
                io::copy(&mut answer.by_ref().take(size + 1), &mut io::sink())?;
                continue;
            }
            bytes.clear();
            answer.by_ref().take(size + 1).read_to_end(&mut bytes)?;
            if bytes.pop() != Some(b'\n') {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            if kind == "blob" {
                visit(name, &bytes);
            }
        }
    })
}

/// Files larger than this, in bytes, are compared by digest.
const COMPARED_LIMIT: u64 = 1 << 20;

/// A file in the index.
struct Tracked<'a> {
    mode: &'a str,
    blob: &'a str,
    path: String,
}

/// Lists the paths below `directory`, relative to it, that differ between a revision and the working tree, including
/// untracked files that are not ignored, and all links, for what they lead to may differ.
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
            let same = |tracked: &Tracked<'_>| is_same(&repository.directory, tracked, bytes);
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
    let path = repository.directory.join(&tracked.path);
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Ok(true) };
    Ok(match tracked.mode {
        // Git is not run in submodules; a checked-out one may have changed.
        "160000" => fs::read_dir(&path).is_ok_and(|mut items| items.next().is_some()),
        "120000" => true,
        _ if !metadata.is_file() => true,
        _ if metadata.len() > COMPARED_LIMIT => {
            let Ok((file, _)) = open_bounded(&path, &repository.top, u64::MAX) else { return Ok(true) };
            digest(repository, file)? != tracked.blob
        }
        _ => false,
    })
}

/// Whether the file must be compared with its blob.
fn is_compared(repository: &Repository, tracked: &Tracked<'_>) -> bool {
    let length = || fs::symlink_metadata(repository.directory.join(&tracked.path)).map(|metadata| metadata.len());
    tracked.mode != "160000" && length().is_ok_and(|length| length <= COMPARED_LIMIT)
}

/// The blob id of a file's contents, without filters.
fn digest(repository: &Repository, file: File) -> Result<String, Error> {
    let output = repository.call("hash-object", &["--stdin"]).output(file, 1 << 10)?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

fn is_same(directory: &Path, tracked: &Tracked<'_>, blob: &[u8]) -> bool {
    let path = directory.join(&tracked.path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_was_cut_off_is_left_out() {
        let whole = b"\x012\x02abc\0\n:0 1 0 22 A\0a/x\0";
        for tail in [&b"\x01"[..], b"\x011\x02\0", b"\x011\x02\0:0 1 0 3", b"\x011\x02\0:0 1 0 33 A\0a/y"] {
            let bytes = [&whole[..], tail].concat();
            assert_eq!(parse_log(whole_commits(&bytes)), parse_log(whole), "{tail:?}");
        }
        assert_eq!(parse_log(whole_commits(&whole[..20])), Some(Vec::new()));
    }

    #[test]
    fn a_log_is_read_commit_by_commit() {
        let bytes = b"\x012\x02abc\0\n:100644 100644 1 22 M\0a/x\0:100644 000000 1 0 D\0b/\xff\0\x011\x02\0\x010\x02\0\n:0 1 0 33 A\0a/x\0";
        let commits = parse_log(bytes).unwrap();
        let changes = [("a/x", Some("22".to_owned())), ("b/\u{fffd}", None)];
        let changes = changes.map(|(path, blob)| FileChange { path: path.to_owned(), blob, is_new: false });
        assert_eq!(commits[0], Commit { time: 2, is_root: false, changes: changes.into() });
        assert!(commits[2].changes[0].is_new);
        assert_eq!((commits[1].is_root, commits[1].changes.len(), commits.len()), (true, 0, 3));
        for broken in [&b"x"[..], b"\x01x\x02\0", b":1 1 1 2 M\0a\0", b"\x011\x02\0:1 1 1 2 M", b"\x011\x02\0:1 1\0a\0"]
        {
            assert_eq!(parse_log(broken), None, "{broken:?}");
        }
    }
}
