//! Which version of an agent is started.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::places::CURRENT;
use crate::json;
use crate::sys::fs::{PathError, ReadError, read_bounded};
use crate::sys::rename::write_durable;

/// The largest such file that is read, in bytes.
const LIMIT: u64 = 1 << 16;

/// What to do with the mark that keeps an agent at its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Leave it as it is.
    Keep,
    /// Keep the agent at its version from now on.
    Set,
    /// Let it be updated again.
    Clear,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Current {
    schema: u32,
    /// The name of the version's directory.
    pub(super) folder: String,
    pub(super) is_pinned: bool,
}

impl Current {
    pub(super) fn new(folder: String, is_pinned: bool) -> Self {
        Self { schema: 1, folder, is_pinned }
    }

    /// Reads which version of an agent is started; `None` when none is.
    pub(super) fn read(agent: &Path) -> Result<Option<Self>, Error> {
        let path = agent.join(CURRENT);
        let id = agent.file_name().unwrap_or_default().to_string_lossy();
        let damaged = |message: String| Error::Damaged { id: id.clone().into_owned(), path: path.clone(), message };
        let bytes = match read_bounded(&path, agent, LIMIT) {
            Ok(bytes) => bytes,
            Err(ReadError::NotFound) => return Ok(None),
            Err(ReadError::Io(error)) => return Err(PathError { path, error }.into()),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let current: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if current.schema != 1 {
            return Err(damaged(format!("form {} is of another version of this program", current.schema)));
        }
        let is_name = !current.folder.is_empty() && !current.folder.starts_with('.');
        if !is_name || current.folder.contains(['/', '\\']) {
            return Err(damaged("it names no version".to_owned()));
        }
        Ok(Some(current))
    }

    /// Swaps the version.
    pub(super) fn write(&self, agent: &Path) -> Result<(), Error> {
        Ok(write_durable(&agent.join(CURRENT), json::to_string(self).as_bytes())?)
    }
}
