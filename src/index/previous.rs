//! An earlier published tree.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::check::{Options, Selection, check};
use crate::finding::Level;
use crate::manifest::Manifest;
use crate::registry::{Entry, ICON_LIMIT, Loaded, Registry, View};
use crate::sys::fs::{ReadError, read_bounded};

/// The largest index that is read, in bytes.
const INDEX_LIMIT: u64 = 256 << 20;

/// A published tree whose files can be read by name.
pub trait Published: Sync {
    /// The content of a file of the tree; `None` when there is no such file.
    ///
    /// # Errors
    /// [`PublishedError`] when nobody can tell whether there is.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError>;
}

/// Why a published tree cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {file} of the previous tree: {message}")]
pub struct PublishedError {
    /// The file.
    pub file: String,
    /// Why.
    pub message: String,
}

/// A published tree in a directory.
#[derive(Debug, Clone)]
pub struct Directory(pub PathBuf);

impl Published for Directory {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let failed =
            |error: &dyn std::fmt::Display| PublishedError { file: name.to_owned(), message: error.to_string() };
        let root = self.0.canonicalize().map_err(|error| failed(&format_args!("{}: {error}", self.0.display())))?;
        match read_bounded(&root.join(name), &root, INDEX_LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::NotFound) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Rules that an earlier form must still obey: whatever else is wrong with it was published before and does no more harm,
/// but a tree from elsewhere must not bring in what no manifest may.
const SAFETY: &[&str] = &[
    "distribution/reserved-env", "distribution/unsafe-cmd", "distribution/unsafe-package-spec",
    "distribution/unsafe-url", "manifest/id-mismatch", "manifest/schema", "manifest/text-control-characters",
    "manifest/unsafe-link",
];

/// The earlier indexes of all views.
pub(super) struct Earlier<'a> {
    tree: &'a dyn Published,
    views: BTreeMap<String, Vec<Value>>,
}

/// An agent as it was published earlier.
pub(super) struct Kept {
    pub(super) id: String,
    /// Its entry in each view that had one.
    pub(super) entries: BTreeMap<String, Value>,
    /// Its icon, if that is still in order.
    pub(super) icon: Option<String>,
}

impl<'a> Earlier<'a> {
    /// Reads the indexes; one that is not there has no entries.
    pub(super) fn load(tree: &'a dyn Published, views: &[View]) -> Result<Self, PublishedError> {
        let read = |view: &View| Ok((view.file.clone(), entries(tree, &view.file)?));
        Ok(Self { tree, views: views.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// The earlier form of an agent; `None` when there is none that may be published again.
    pub(super) fn keep(&self, id: &str, options: &Options<'_>) -> Result<Option<Kept>, PublishedError> {
        let of_id = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(id);
        let entries: BTreeMap<String, Value> = self
            .views
            .iter()
            .filter_map(|(file, entries)| Some((file.clone(), entries.iter().find(of_id)?.clone())))
            .filter(|(_, entry)| check_alone(id, entry, None, options).iter().all(|rule| !SAFETY.contains(rule)))
            .collect();
        let Some(entry) = entries.values().next() else { return Ok(None) };
        let icon = self.tree.read(&format!("{id}.svg"))?.filter(|bytes| bytes.len() as u64 <= ICON_LIMIT);
        let icon = icon.and_then(|bytes| String::from_utf8(bytes).ok());
        let icon = icon
            .filter(|icon| check_alone(id, entry, Some(icon), options).iter().all(|rule| !rule.starts_with("icon/")));
        Ok(Some(Kept { id: id.to_owned(), entries, icon }))
    }
}

fn entries(tree: &dyn Published, file: &str) -> Result<Vec<Value>, PublishedError> {
    let Some(bytes) = tree.read(file)? else { return Ok(Vec::new()) };
    let failed = |message: String| PublishedError { file: file.to_owned(), message };
    let mut index: Value = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
    match index.get_mut("agents").map(Value::take) {
        Some(Value::Array(agents)) => Ok(agents),
        _ => Err(failed("it has no array `agents`".to_owned())),
    }
}

/// The rules by which an entry, as a registry of its own, has errors.
fn check_alone(id: &str, entry: &Value, icon: Option<&String>, options: &Options<'_>) -> Vec<&'static str> {
    let manifest = Manifest::parse(entry.to_string()).map_or_else(Loaded::Broken, Loaded::Present);
    let icon = icon.map_or(Loaded::Missing, |icon| Loaded::Present(icon.clone()));
    let entry = Entry { id: id.to_owned(), manifest, icon };
    let registry = Registry {
        root: PathBuf::new(),
        entries: vec![entry],
        strays: Vec::new(),
        quarantine: Loaded::Missing,
        git_files: Vec::new(),
    };
    let checked = check(&registry, options, &Selection::Agents([id.to_owned()].into()));
    checked.findings.iter().filter(|finding| finding.level == Level::Error).map(|finding| finding.rule).collect()
}
