//! Reads `registry.toml`.
//!
//! * [`Config`]: rule levels, views, version feeds, the site

mod bump;
mod previews;
mod read;
mod schemas;
mod site;
mod view;

pub use bump::{BumpSource, Feed};
pub use previews::{PreviewSetting, Previews};
pub use read::{AgentConfig, ArchiveLimits, Config, ConfigError, ExamineConfig, LevelSetting, check_base_url};
pub use schemas::Schemas;
pub use site::{AgentFile, SiteConfig};
pub use view::{AgentChanges, View};
