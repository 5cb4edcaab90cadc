//! LOAD: a registry directory, its agents, its quarantine list and its configuration.
//!
//! * [`Registry`]: everything that lies in the directory, each file read once
//! * [`Config`]: what `registry.toml` says
//!
//! Loading never fails because of one entry: what cannot be read is kept with its reason, for the checks to report.

mod bump_config;
mod config;
mod git_files;
mod load;
mod quarantine;
mod schemas;
mod site;
mod view;

pub use bump_config::{BumpSource, Feed};
pub use config::{AgentConfig, ArchiveLimits, Config, ConfigError, DEFAULT_BASE_URL, LevelSetting, check_base_url};
pub use load::{Entry, ICON_LIMIT, ID_LIMIT, LoadError, Loaded, MANIFEST_LIMIT, Registry, Stray};
pub use quarantine::{Hold, Quarantine, date, today};
pub use schemas::Schemas;
pub use site::{AgentFile, SiteConfig};
pub use view::{AgentChanges, View};
