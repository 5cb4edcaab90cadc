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
//! use acp_registry_client::install::{Installer, Progress};
//! use acp_registry_client::resolve::Plan;
//! use acp_registry_client::store::{Error, Launch, Order, Pin, Start, Store};
//! use acp_registry_host::process::Environment;
//!
//! /// Installs what a plan names, and puts a sandbox before it.
//! async fn installed(store: &Store, plan: &Plan, installer: &Installer) -> Result<Option<Launch>, Error> {
//!     let progress = |step| {
//!         if let Progress::Received(bytes) = step {
//!             // Move a bar by so many bytes.
//!         }
//!     };
//!     let (pin, start) = (Pin::Keep, Start::This);
//!     let order = Order { plan, installer, pin, start, progress: &progress, waiting: &|_| () };
//!     let version = store.install(&order).await?.version;
//!     // An interpreter, such as node, may be gone one day.
//!     let launch = version.launch(|| Environment::from_host(std::env::vars_os())).ok();
//!     Ok(launch.map(|launch| launch.behind("/usr/bin/bwrap", &["--ro-bind", "/", "/", "--"])))
//! }
//! ```

mod agent_lock;
mod change;
mod current;
mod document;
mod error;
mod examine;
mod find;
mod identity;
mod installing;
mod integrity;
mod interpreter;
mod leftovers;
mod places;
mod program;
mod receipt;
mod recognise;
mod removal;
mod size;
mod stamp;
mod trust;
mod version;

pub use change::VersionChange;
pub use current::Pin;
pub use error::Error;
pub(crate) use error::remove_by_hand;
pub(crate) use examine::Candidate;
pub use find::StoredAgent;
pub use installing::{InstallOrder, InstallOutcome, Start};
pub use integrity::Damage;
pub use interpreter::{StoredInterpreter, StoredShortfall};
pub use places::Store;
pub use program::ProgramState;
pub use receipt::Receipt;
pub use removal::{Freed, Removed};
pub use stamp::Stamp;
pub use version::{Launch, Version};
