//! Reads `registry.toml`.
//!
//! * [`Config`]: rule levels, views, version feeds, the site

mod read;
mod site;
mod view;

pub use read::{
    AdvisoriesConfig, AgentConfig, ArchiveLimits, BumpSource, Config, ConfigError, ExamineConfig, Feed, HoldConfig,
    NpmConfig, Schemas, check_base_url,
};
pub use site::{AgentFile, PreviewSetting, Previews, SiteConfig};
pub use view::{AgentChanges, DOCUMENTS, View};
