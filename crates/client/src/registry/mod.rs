//! LOAD: a registry directory: its agents and its quarantine list.
//!
//! Loading never fails because of one entry: unreadable entries are kept with the reason, which the checks report.

mod git_files;
mod load;
mod quarantine;

pub use load::{AgentFolder, DEFAULT_BASE_URL, ICON_LIMIT, LoadError, Loaded, MANIFEST_LIMIT, Registry, Stray};
pub use quarantine::{Hold, Quarantine};
