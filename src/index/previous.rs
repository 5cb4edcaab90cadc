//! An earlier published tree.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::entry::{Icon, renewed};
use crate::check::schema;
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

/// The entries of one earlier index.
pub(super) struct Entries(Vec<Value>);

impl Entries {
    /// Reads an index; one that is not there has no entries.
    pub(super) fn read(tree: &dyn Published, file: &str) -> Result<Self, PublishedError> {
        let Some(bytes) = tree.read(file)? else { return Ok(Self(Vec::new())) };
        let failed = |message: String| PublishedError { file: file.to_owned(), message };
        let mut index: Value = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        match index.get_mut("agents").map(Value::take) {
            Some(Value::Array(agents)) => Ok(Self(agents)),
            _ => Err(failed("it has no array `agents`".to_owned())),
        }
    }

    /// The entry of an agent, if it still obeys the schema, with the icon's address of today.
    pub(super) fn get(&self, id: &str, icon: Icon<'_>) -> Option<Value> {
        let entry: &Map<String, Value> = self
            .0
            .iter()
            .filter_map(Value::as_object)
            .find(|entry| entry.get("id").and_then(Value::as_str) == Some(id))?;
        let entry = renewed(entry.clone(), icon);
        schema::is_agent(&entry).then_some(entry)
    }
}
