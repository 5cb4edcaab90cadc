//! Reads `registry.toml`.
//!
//! * [`Config`]: rule levels, views, version feeds, the site

mod read;
mod site;
mod view;

pub use read::Schemas;
pub use read::{AgentConfig, ArchiveLimits, Config, ConfigError, ExamineConfig, LevelSetting, check_base_url};
pub use read::{BumpSource, Feed};
pub use site::{AgentFile, SiteConfig};
pub use site::{PreviewSetting, Previews};
pub use view::{AgentChanges, View};
