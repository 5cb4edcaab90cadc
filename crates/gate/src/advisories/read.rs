//! Reads exports of advisories: one JSON document, a list, a document on each line, or a zip of such files.

use std::fs;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

use acp_registry_archive::{Limits, read_zip};
use acp_registry_host::fs::{ReadError, open_bounded};

use super::SourceProblem;
use super::osv::{Document, Malice};

/// Maximum size of a source, in bytes, and of all files in it when they are unpacked.
pub(super) const SOURCE_LIMIT: u64 = 512 << 20;
const UNPACKED_LIMIT: u64 = 4 << 30;

/// Maximum size of a file of JSON, in bytes.
const JSON_LIMIT: u64 = 256 << 20;

/// Maximum number of files in a source.
const FILES: u64 = 1_000_000;

/// Maximum depth of folders.
const DEPTH: usize = 16;

/// Maximum number of problems that are kept of a source.
const PROBLEMS: usize = 10;

/// What a zip begins with, with and without files in it.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// What was read of a source.
#[derive(Debug, Default)]
pub(super) struct Export {
    pub(super) malice: Vec<Malice>,
    pub(super) problems: Vec<SourceProblem>,
    bytes: u64,
    files: u64,
}

impl Export {
    /// Reads a file, or the files in a directory, below `root`.
    pub(super) fn read(root: &Path, name: &str) -> Self {
        let mut export = Self::default();
        if root.join(name).is_dir() {
            export.directory(root, name, DEPTH);
        } else {
            export.file(root, name);
        }
        export.finish(name)
    }

    /// Reads what a host has sent.
    pub(super) fn answer(name: &str, bytes: &[u8]) -> Self {
        let mut export = Self::default();
        export.take(name, Cursor::new(bytes));
        export.finish(name)
    }

    /// A source without a file says nothing of any package, as after a download that has failed.
    fn finish(mut self, name: &str) -> Self {
        if self.files == 0 && self.problems.is_empty() {
            self.fail(name, "it has no advisories");
        }
        self
    }

    fn fail(&mut self, file: &str, problem: impl Into<String>) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(SourceProblem { file: file.to_owned(), problem: problem.into() });
        }
    }

    /// Whether another file of this size may be read.
    fn count(&mut self, file: &str, length: u64) -> bool {
        (self.bytes, self.files) = (self.bytes.saturating_add(length), self.files + 1);
        if self.bytes > UNPACKED_LIMIT {
            self.fail(file, format!("with it, the source has more than {UNPACKED_LIMIT} bytes"));
        } else if self.files > FILES {
            self.fail(file, format!("with it, the source has more than {FILES} files"));
        } else {
            return true;
        }
        false
    }

    fn directory(&mut self, root: &Path, name: &str, depth: usize) {
        let items = fs::read_dir(root.join(name)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut items = match items {
            Ok(items) => items,
            Err(error) => return self.fail(name, ReadError::from(error).to_string()),
        };
        items.sort_by_key(fs::DirEntry::file_name);
        for item in items {
            let file = format!("{name}/{}", item.file_name().to_string_lossy());
            if item.file_type().is_ok_and(|kind| kind.is_symlink()) && root.join(&file).is_dir() {
                self.fail(&file, "it is a link to a folder, which is not followed");
            } else if item.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth == 0 {
                    self.fail(&file, format!("folders are nested more than {DEPTH} levels deep"));
                } else {
                    self.directory(root, &file, depth - 1);
                }
            } else if has_ending(&file, &[".json", ".jsonl", ".ndjson", ".zip"]) {
                self.file(root, &file);
            }
            if self.bytes > UNPACKED_LIMIT || self.files > FILES {
                return;
            }
        }
    }

    fn file(&mut self, root: &Path, name: &str) {
        match open_bounded(&root.join(name), root, SOURCE_LIMIT) {
            Ok((file, _)) => self.take(name, file),
            Err(error) => self.fail(name, error.to_string()),
        }
    }

    fn take<R: Read + Seek>(&mut self, name: &str, mut source: R) {
        let mut head = Vec::new();
        let begun = source.by_ref().take(4).read_to_end(&mut head).and_then(|_| source.rewind());
        if let Err(error) = begun {
            return self.fail(name, ReadError::Io(error).to_string());
        }
        if ZIP.contains(&head.as_slice()) {
            return self.zip(name, source);
        }
        let mut text = Vec::new();
        if let Err(error) = source.take(JSON_LIMIT + 1).read_to_end(&mut text) {
            return self.fail(name, ReadError::Io(error).to_string());
        }
        self.json(name, &text);
    }

    fn zip<R: Read + Seek>(&mut self, name: &str, source: R) {
        let unpacked = UNPACKED_LIMIT.saturating_sub(self.bytes);
        let limits = Limits { compressed: SOURCE_LIMIT, unpacked, entries: FILES, ..Limits::default() };
        let read = read_zip(source, &limits, JSON_LIMIT, &mut |path, text| {
            if has_ending(path, &[".json"]) {
                self.json(&format!("{name}/{path}"), text);
            }
        });
        if let Err(error) = read {
            self.fail(name, error.sentence());
        }
    }

    fn json(&mut self, name: &str, text: &[u8]) {
        let length = text.len() as u64;
        if !self.count(name, length) {
            return;
        }
        if length > JSON_LIMIT {
            return self.fail(name, format!("it is larger than {JSON_LIMIT} bytes"));
        }
        let start = text.iter().find(|byte| !byte.is_ascii_whitespace());
        match start {
            None => self.fail(name, "it is empty"),
            Some(b'[') => match serde_json::from_slice::<Vec<Document>>(text) {
                Ok(documents) => documents.into_iter().for_each(|document| self.document(name, document)),
                Err(error) => self.fail(name, format!("it is not a list of OSV advisories: {error}")),
            },
            Some(_) => {
                for document in serde_json::Deserializer::from_slice(text).into_iter::<Document>() {
                    match document {
                        Ok(document) => self.document(name, document),
                        Err(error) => return self.fail(name, format!("it is not an OSV advisory: {error}")),
                    }
                }
            }
        }
    }

    fn document(&mut self, name: &str, document: Document) {
        match document.malice() {
            Ok(malice) => self.malice.extend(malice),
            Err(problem) => self.fail(name, problem),
        }
    }
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}
