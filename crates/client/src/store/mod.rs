//! STORE: installed agents below one directory, versions side by side.
//!
//! ```text
//! <root>/agents/<id>/
//!   current                 which version is started; a small file, swapped as a whole
//!   <version>-<digest>/     one version; the digest is over what says where its bytes come from
//!     receipt.json          written last: what has none does not exist
//!     files.json            digests and sizes of what was installed
//!     in-use                locked by those who run the version
//!     files/                what was installed
//!   .new-…                  being installed; removed by the next run unless a process works on it;
//!                           what a repair has put aside in it is put back
//! <root>/agents/.<id>.lock  held while something above is changed
//! ```
//!
//! * [`Store`]: installs, finds, removes
//! * [`Version`], [`Receipt`]: one installed version
//!
//! A running agent is never changed: an update installs a version beside it and swaps `current`. An interruption at any
//! point leaves either the old state or the new one.
//!
//! ```no_run
//! use acp_registry_client::install::{Installer, Progress, Start};
//! use acp_registry_client::resolve::Plan;
//! use acp_registry_client::store::{Error, InstallOrder, MakeCurrent, PinChange, Store};
//! use acp_registry_host::process::Environment;
//!
//! /// Installs what a plan names, and puts a sandbox before it.
//! async fn installed(store: &Store, plan: &Plan, installer: &Installer) -> Result<Option<Start>, Error> {
//!     let progress = |step| {
//!         if let Progress::Received(bytes) = step {
//!             // Move a bar by so many bytes.
//!         }
//!     };
//!     let (pin, make_current) = (PinChange::Keep, MakeCurrent::Always);
//!     let (again, waiting) = (false, &|_: &str| ());
//!     let order = InstallOrder { plan, installer, pin, make_current, again, progress: &progress, waiting };
//!     let version = store.install(&order).await?.version;
//!     // An interpreter, such as node, may be gone one day.
//!     let start = version.find_start(|| Environment::from_host(std::env::vars_os())).ok();
//!     Ok(start.map(|start| start.behind("/usr/bin/bwrap", &["--ro-bind", "/", "/", "--"])))
//! }
//! ```

mod directory;
mod error;
mod find;
mod installing;
mod integrity;
mod leftovers;
mod receipt;
mod removal;
mod version;

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::PathError;
use acp_registry_host::lock::{self, Acquisition, Lock};
use acp_registry_plan::manifest::AgentId;
use serde::{Deserialize, Serialize};

use self::directory::Current;
use self::find::names;
use self::leftovers::{foreign, is_version};

pub(crate) use directory::PATIENCE;
pub use directory::{PinChange, Store, Waiting};
pub use error::{Error, VersionChange};
pub(crate) use error::{remove_by_hand, repair_command};
pub(crate) use find::LostVersion;
pub use find::StoredAgent;
pub use installing::{InstallOrder, InstallOutcome, MakeCurrent};
pub use integrity::Damage;
pub use receipt::Receipt;
pub use removal::{Freed, Removed};
pub use version::Version;
pub(crate) use version::{LINK, is_same};

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

impl Store {
    /// Refuses to start a version whose program is not what was installed, or could be changed by other people. The bytes of
    /// the program are read only if its times differ from those of the receipt.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::OtherProgram`], or [`Error::Damaged`] when the digests cannot be read.
    pub fn vouch_for(&self, version: &Version) -> Result<(), Error> {
        self.refuse_foreign(Some(version))?;
        if Stamp::of(&version.program()).is_ok_and(|stamp| stamp == version.receipt.program_stamp) {
            return Ok(());
        }
        // The times differ in a copy or a restored backup as well, but not the bytes.
        if !version.has_its_program()? {
            return Err(Error::OtherProgram { id: version.receipt.id.to_string(), program: version.program() });
        }
        self.note_times(version);
        Ok(())
    }

    /// Records the new times of an unchanged program in its receipt, so that its bytes need not be read again. Does
    /// nothing if the store cannot be written, or another process changes the agent.
    fn note_times(&self, version: &Version) {
        if let Ok(Acquisition::Mine(_lock)) =
            Lock::ask(&self.lock_file(&version.receipt.id), "noting the times of a program")
            && let Ok(Some(mut current)) = Version::read(&version.directory)
            && let Ok(stamp) = Stamp::of(&current.program())
        {
            current.receipt.program_stamp = stamp;
            // This only saves time in the next run.
            let _ = current.write_receipt();
        }
    }
}

/// The times of a file that the system changes when the file is written to, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When its content was changed last; any program can set this.
    modified: i64,
    /// When its content or metadata was changed last. A program can set this only by changing the clock.
    changed: i64,
}

impl Stamp {
    /// The stamp of a file.
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&path.metadata()?))
    }
}

#[cfg(unix)]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        let nanoseconds = |time: io::Result<std::time::SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
        };
        Self { modified: nanoseconds(metadata.modified()), changed: nanoseconds(metadata.created()) }
    }
}
