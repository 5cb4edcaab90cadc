//! Everything that is there of an agent, sound or not.

use std::path::PathBuf;

use super::current::Current;
use super::find::names;
use super::recognise::{foreign, is_version};
use super::{Error, Store, Version, leftovers};
use acp_registry_host::fs::PathError;
use acp_registry_host::lock;
use acp_registry_plan::manifest::AgentId;

/// A directory that may hold a version.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// The directory's name.
    pub folder: String,
    /// Its version; `None` when it has no receipt.
    pub version: Result<Option<Version>, Error>,
    /// Whether this program has made all of it, and removes it when it is no longer needed.
    pub is_ours: bool,
}

/// Everything that is there of an agent.
#[derive(Debug)]
pub(crate) struct Remains {
    /// The name of the directory whose version is started; `None` when there is none.
    pub current: Result<Option<String>, Error>,
    /// All directories that may hold versions, in the order of their names.
    pub versions: Vec<Candidate>,
    /// Files beside them without a receipt that this program did not make; they are kept.
    pub foreign: Vec<PathBuf>,
    /// Leftovers of interrupted runs; empty while another process changes the agent.
    pub leftovers: Vec<PathBuf>,
    /// Whether a version can be put back whose repair was interrupted.
    pub is_restorable: bool,
}

impl Store {
    /// Examines all files of an agent of [`Store::ids`]. Changes nothing.
    ///
    /// # Errors
    /// [`PathError`] when its directory cannot be read; problems in it are part of the result.
    pub(crate) fn examine(&self, id: &AgentId) -> Result<Remains, PathError> {
        let directory = self.directory(id);
        let folders = names(&directory)?.into_iter().filter(|name| !name.starts_with('.'));
        let found = folders.map(|folder| {
            let place = directory.join(&folder);
            Candidate { version: Version::read(&place), is_ours: is_version(&place), folder }
        });
        // A version with something beside its receipt is a version all the same.
        let versions: Vec<Candidate> =
            found.filter(|found| found.is_ours || !matches!(found.version, Ok(None))).collect();
        let mut foreign = foreign(&directory)?;
        foreign.retain(|path| versions.iter().all(|found| path.file_name() != Some(found.folder.as_ref())));
        let is_held = lock::is_used(&self.lock_file(id));
        let leftovers = if is_held { Vec::new() } else { leftovers::list(&directory)? };
        Ok(Remains {
            current: Current::read(&directory).map(|current| current.map(|current| current.folder)),
            versions,
            foreign,
            is_restorable: leftovers.iter().any(|left| !leftovers::restorable(&directory, left).is_empty()),
            leftovers,
        })
    }
}
