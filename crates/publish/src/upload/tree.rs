//! A built tree whose files are verified against `SHA256SUMS`, and where they are stored: a snapshot has its indexes and
//! `revoked.json` in its own folder, and everything else that it lists is stored once, by its digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;

use super::Error;
use acp_registry_gate::config::DOCUMENTS;
use acp_registry_host::fs::{ReadError, linked_folder, read_bounded};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::index::INDEX;
use acp_registry_plan::json;
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::statement::mark;
use acp_registry_plan::sums::{self, SIGNATURE, SUMS, SUMS_LIMIT};

/// The largest file that is published, in bytes.
pub(super) const FILE_LIMIT: u64 = 256 << 20;

/// The addresses in an index or a schema.
#[derive(Default, Deserialize)]
struct Addresses {
    #[serde(default)]
    agents: Vec<AgentAddresses>,
    #[serde(rename = "$id")]
    id: Option<String>,
}

#[derive(Deserialize)]
struct AgentAddresses {
    icon: Option<String>,
}

/// A built tree whose files match its `SHA256SUMS`.
#[derive(Debug)]
pub struct BuiltTree {
    root: PathBuf,
    files: BTreeMap<String, String>,
    sums: Vec<u8>,
    /// Files that are published otherwise than they were built.
    changed: BTreeMap<String, Vec<u8>>,
}

impl BuiltTree {
    /// Reads a tree, and verifies every file listed in its `SHA256SUMS`. Other files are not part of it.
    ///
    /// # Errors
    /// [`Error::NoTree`], [`Error::Read`] and [`Error::Digest`], each with the path.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let no_tree = |why: String| Error::NoTree { path: directory.display().to_string(), why };
        let root = directory.canonicalize().map_err(|error| no_tree(error.to_string()))?;
        if !root.is_dir() {
            return Err(no_tree("it is not a directory".to_owned()));
        }
        let sums = match read_bounded(&root.join(SUMS), &root, SUMS_LIMIT) {
            Err(ReadError::NotFound) => return Err(no_tree(format!("there is no {SUMS}"))),
            other => other.map_err(|error| read_error(&root.join(SUMS), error))?,
        };
        let files = sums::parse(&sums).map_err(no_tree)?;
        if !files.contains_key(INDEX) {
            return Err(no_tree(format!("{SUMS} does not list {INDEX}")));
        }
        let tree = Self { root, files, sums, changed: BTreeMap::new() };
        if !is_index(&tree.content(INDEX)?) {
            return Err(no_tree(format!("{INDEX} is not an index: it must be a JSON object with a list `agents`")));
        }
        if tree.is_without_address()? {
            return Err(Error::NoAddress(directory.display().to_string()));
        }
        let names: Vec<&String> = tree.files.keys().collect();
        // The first error by name, independent of which thread finds one first.
        let wrong = names.par_iter().filter_map(|name| tree.content(name).err()).find_first(|_| true);
        wrong.map_or(Ok(tree), Err)
    }

    /// The same tree, whose indexes and discovery document say that the registry signs, so that clients ask for its
    /// statement.
    pub(super) fn signed(&self) -> Result<Self, Error> {
        let (mut files, mut changed) = (self.files.clone(), BTreeMap::new());
        let mut change = |name: &str, text: Vec<u8>| {
            let digest = hex_digest(&text);
            changed.insert(name.to_owned(), text);
            files.insert(name.to_owned(), digest.clone()).map(|before| (before, digest))
        };
        let mut digests = Vec::new();
        for name in self.files.keys().filter(|name| is_signed_by_name(name) && **name != DISCOVERY && **name != REVOKED)
        {
            let text = mark(&self.content(name)?);
            digests.extend(text.and_then(|text| change(name, text)));
        }
        if self.files.contains_key(DISCOVERY) {
            let text = String::from_utf8_lossy(&self.content(DISCOVERY)?).into_owned();
            let text = digests.iter().fold(text, |text, (before, now)| text.replace(before.as_str(), now));
            mark(text.as_bytes()).and_then(|text| change(DISCOVERY, text));
        }
        let sums = files.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect::<String>().into_bytes();
        Ok(Self { root: self.root.clone(), files, sums, changed })
    }

    /// Whether its icons and schemas have relative addresses, because `base-url` was not set.
    fn is_without_address(&self) -> Result<bool, Error> {
        let addresses = |name: &str| {
            let is_there = self.files.contains_key(name);
            let content = if is_there { self.content(name)? } else { Vec::new() };
            Ok::<Addresses, Error>(serde_json::from_slice(&content).unwrap_or_default())
        };
        let (index, schema) = (addresses(INDEX)?, addresses("agent.schema.json")?);
        let all = index.agents.into_iter().map(|agent| agent.icon).chain([schema.id]);
        Ok(all.flatten().any(|address| address.starts_with("./")))
    }

    /// The SHA-256 digests of all files by name, except that of `SHA256SUMS` itself.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The canonical path of the tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The content of `SHA256SUMS`.
    pub fn sums(&self) -> &[u8] {
        &self.sums
    }

    /// Reads a file, and verifies its digest again.
    pub(super) fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        if let Some(changed) = self.changed.get(name) {
            return Ok(changed.clone());
        }
        let path = self.root.join(name);
        if let Some(link) = linked_folder(&self.root, name) {
            return Err(read_error(&link, ReadError::Outside));
        }
        let bytes = read_bounded(&path, &self.root, FILE_LIMIT).map_err(|error| read_error(&path, error))?;
        if self.files.get(name).is_some_and(|digest| *digest == hex_digest(&bytes)) {
            Ok(bytes)
        } else {
            Err(Error::Digest(path.display().to_string()))
        }
    }
}

/// Whether a file of a tree is stored in the folder of a snapshot, not by its digest.
///
/// These are the indexes (files that views can have, which are read at a versioned address), `revoked.json`, the list of digests
/// and its signature.
pub(super) fn is_kept_by_name(name: &str) -> bool {
    let is_index = !name.contains('/')
        && name.rsplit_once('.').is_some_and(|(_, ending)| ending == "json")
        && !name.ends_with(".schema.json")
        && !DOCUMENTS.contains(&name)
        && name != DISCOVERY;
    is_index || [SUMS, SIGNATURE].contains(&name)
}

/// The digests of the contents that a list of digests names.
pub(super) fn named(list: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    list.iter().filter(|(name, _)| !is_kept_by_name(name)).map(|(_, digest)| digest.as_str())
}

/// Whether a statement names a file: an index, `entries.json` or `revoked.json`.
pub(super) fn is_signed_by_name(name: &str) -> bool {
    (is_kept_by_name(name) && ![SUMS, SIGNATURE].contains(&name)) || name == DISCOVERY
}

fn read_error(path: &Path, error: ReadError) -> Error {
    Error::Read { path: path.display().to_string(), error }
}

/// Whether a text is a JSON object with an array `agents`. The elements are not checked.
pub(super) fn is_index(text: &[u8]) -> bool {
    let members = json::members(text, ["agents"]);
    members.is_ok_and(|[agents]| agents.is_some_and(|agents| agents.get().starts_with('[')))
}

/// SHA-256 of `bytes` in hexadecimal.
pub(super) fn hex_digest(bytes: &[u8]) -> String {
    Sha256::of(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_an_object_with_a_list() {
        for index in [r#"{"agents":[]}"#, r#" { "version": 1, "agents" : [7, {}] } "#] {
            assert!(is_index(index.as_bytes()), "{index}");
        }
        for other in ["", "{}", "[]", "[[]]", r#"{"agents":{}}"#, r#"{"agents":["#, r#"{"agents":[]} x"#, "\u{ff}"] {
            assert!(!is_index(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn indexes_are_kept_by_name() {
        for name in ["registry.json", "registry-for-editors.json", "agents.json", SUMS, SIGNATURE] {
            assert!(is_kept_by_name(name), "{name}");
        }
        for name in
            ["entries.json", "history.json", "facets.json", "agent.schema.json", "a/registry.json", "a.svg", "json"]
        {
            assert!(!is_kept_by_name(name), "{name}");
        }
    }
}
