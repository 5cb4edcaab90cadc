//! A built tree, checked file by file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{Error, SUMS};
use crate::hex;
use crate::sys::fs::{ReadError, read_bounded};
use crate::text::quote;

/// The largest file that is published, in bytes.
const LIMIT: u64 = 256 << 20;

/// Files that a tree must have to be one.
const NEEDED: [&str; 1] = ["registry.json"];

/// A built tree whose files are what its list of digests says.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    files: BTreeMap<String, String>,
    sums: Vec<u8>,
}

impl Tree {
    /// Reads a tree, and compares every file with `SHA256SUMS`. What is not in that list is no part of it.
    ///
    /// # Errors
    /// [`Error::NoTree`], [`Error::Read`] and [`Error::Digest`], which name the file.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let no_tree = |why: String| Error::NoTree { path: directory.display().to_string(), why };
        let root = directory.canonicalize().map_err(|error| no_tree(error.to_string()))?;
        if !root.is_dir() {
            return Err(no_tree("it is no directory".to_owned()));
        }
        let sums = match read_bounded(&root.join(SUMS), &root, LIMIT) {
            Err(ReadError::NotFound) => return Err(no_tree(format!("there is no {SUMS}"))),
            other => other.map_err(|error| read_error(&root.join(SUMS), error))?,
        };
        let files = parse(&sums).map_err(no_tree)?;
        if let Some(missing) = NEEDED.iter().find(|name| !files.contains_key(**name)) {
            return Err(no_tree(format!("{SUMS} does not list {missing}")));
        }
        let tree = Self { root, files, sums };
        let names: Vec<&String> = tree.files.keys().collect();
        // The first in the list, whichever was found first.
        let wrong = names.par_iter().filter_map(|name| tree.content(name).err()).find_first(|_| true);
        wrong.map_or(Ok(tree), Err)
    }

    /// The names of all files with their SHA-256, but for the list of digests itself.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, digest)| (name.as_str(), digest.as_str()))
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The list of digests.
    #[must_use]
    pub fn sums(&self) -> &[u8] {
        &self.sums
    }

    /// The content of a file, which is compared with its digest once more.
    pub(super) fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.root.join(name);
        let bytes = read_bounded(&path, &self.root, LIMIT).map_err(|error| read_error(&path, error))?;
        if self.files.get(name).is_some_and(|digest| *digest == digest_of(&bytes)) {
            Ok(bytes)
        } else {
            Err(Error::Digest(path.display().to_string()))
        }
    }
}

fn read_error(path: &Path, error: ReadError) -> Error {
    Error::Read { path: path.display().to_string(), error }
}

/// SHA-256 of bytes.
pub(super) fn digest_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Reads a list in the form of `sha256sum`. Names are those of a tree, and lead nowhere else.
pub(super) fn parse(list: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let list = std::str::from_utf8(list).map_err(|error| format!("{SUMS}: {error}"))?;
    let mut files = BTreeMap::new();
    for (at, line) in list.lines().enumerate() {
        let entry = line.split_once("  ").filter(|(digest, name)| is_digest(digest) && is_name(name));
        let Some((digest, name)) = entry else {
            return Err(format!("line {} of {SUMS} is not a digest and the name of a file: {}", at + 1, quote(line)));
        };
        files.insert(name.to_owned(), digest.to_owned());
    }
    Ok(files)
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text can be the name of a published file: plain characters, and no way out.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && ![".", ".."].contains(&part)
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    name.len() <= 500 && name.split('/').all(is_plain) && ![SUMS, super::SIGNATURE].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let digest = "0".repeat(64);
        let line = |name: &str| parse(format!("{digest}  {name}\n").as_bytes());
        for name in ["registry.json", "_headers", "agents/a/index.html", "assets/x.1a-b.js", ".well-known/x"] {
            assert_eq!(line(name).unwrap().len(), 1, "{name}");
        }
        for name in ["", "/x", "a//b", "../x", "a/../b", "a/.", "a\\b", "a b", "é", "x\u{1b}", "SHA256SUMS", "C:x"] {
            assert!(line(name).unwrap_err().contains("line 1 of SHA256SUMS"), "{name:?}");
        }
        assert!(parse(b"0  x\n").is_err() && parse(b"\xff").is_err());
        assert!(parse(format!("{}  x", "G".repeat(64)).as_bytes()).is_err());
    }
}
