//! Which version of an agent is started.

use std::path::Path;

use acp_registry_host::fs::{PathError, ReadError, read_bounded, write_durable};
use acp_registry_plan::json;
use acp_registry_plan::manifest::AgentId;
use serde::{Deserialize, Serialize};

use super::Error;
use super::directory::{CURRENT, Store};

/// The largest such file that is read, in bytes.
const CURRENT_LIMIT: u64 = 1 << 16;

/// What to do with the mark that keeps an agent at its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinChange {
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
        let bytes = match read_bounded(&path, agent, CURRENT_LIMIT) {
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

impl Store {
    /// Makes the newest intact version of an agent the current one, if the file that names it is missing, cannot be
    /// read, or names a missing version. Returns the version; `None` when there is a current version, even a damaged
    /// one, or no other version.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub async fn restore_current(
        &self,
        id: &AgentId,
        waiting: &(dyn Fn(&str) + Sync),
    ) -> Result<Option<String>, Error> {
        let agent = self.directory(id);
        if !agent.is_dir() || agent.is_symlink() {
            return Ok(None);
        }
        let _lock = self.lock(id, &format!("repairing {id}"), waiting).await?;
        let current = Current::read(&agent).ok().flatten();
        if current.as_ref().is_some_and(|current| agent.join(&current.folder).exists()) {
            return Ok(None);
        }
        let mut versions = self.versions(id)?;
        versions.retain(|version| version.is_for_here() && version.seems_intact());
        // All of these times are in UTC and in seconds.
        let Some(newest) = versions.into_iter().max_by(|a, b| a.receipt.installed_at.cmp(&b.receipt.installed_at))
        else {
            return Ok(None);
        };
        let is_pinned = current.is_some_and(|current| current.is_pinned);
        Current::new(newest.folder(), is_pinned).write(&agent)?;
        Ok(Some(newest.receipt.version))
    }
}
