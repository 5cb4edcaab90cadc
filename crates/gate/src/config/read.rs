//! `registry.toml`: rule levels, feeds, and everything else that a registry sets.
//!
//! `schemas/registry.toml.schema.json` describes the same for editors; a test holds the two together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bump::{BumpSource, Feed};
use super::schemas::Schemas;
use super::site::SiteConfig;
use super::view::View;
use acp_registry_core::archive::Limits;
use acp_registry_core::manifest::Channel;
use acp_registry_core::net;
use acp_registry_core::sys::fs::{ReadError, read_bounded};

/// The largest configuration that is read, in bytes.
const CONFIG_LIMIT: u64 = 1 << 20;

/// The configuration of a registry.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Address under which the published tree will be found, without a slash at its end.
    pub base_url: Option<String>,
    /// Level by rule name.
    pub rules: BTreeMap<String, LevelSetting>,
    /// What is different for single agents, by id.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The schemas that are published, where they are not this program's.
    pub schemas: Schemas,
    /// How much archives may ask for.
    pub archive_limits: ArchiveLimits,
    /// Where newer versions of agents are found, by id.
    pub bump: BTreeMap<String, BumpSource>,
    /// Agents that are not published, with the reason, by id; their folders may be there or not.
    pub withdrawn: BTreeMap<String, String>,
    /// The catalog site.
    pub site: SiteConfig,
    /// The published views; empty for one `registry.json` of the stable channel.
    #[serde(rename = "view")]
    pub views: Vec<View>,
}

/// How much archives may ask for, where that differs from the usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ArchiveLimits {
    /// The largest archive, in bytes.
    pub compressed: Option<u64>,
    /// The most that one may unpack to, in bytes.
    pub unpacked: Option<u64>,
    /// The most entries.
    pub entries: Option<u64>,
    /// How many times its own size one may unpack to.
    pub ratio: Option<u64>,
}

impl ArchiveLimits {
    /// All limits: the usual ones where the registry sets none.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            compressed: self.compressed.unwrap_or(usual.compressed),
            unpacked: self.unpacked.unwrap_or(usual.unpacked),
            entries: self.entries.unwrap_or(usual.entries),
            ratio: self.ratio.unwrap_or(usual.ratio),
            ..usual
        }
    }
}

/// What is different for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentConfig {
    /// Level by rule name; it counts for more than that of [`Config::rules`].
    pub rules: BTreeMap<String, LevelSetting>,
}

/// The level of a rule as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelSetting {
    /// Report as an error.
    Deny,
    /// Report as a warning.
    Warn,
    /// Do not run.
    Allow,
}

/// Why a configuration is not used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: ReadError,
    },
    /// It is not TOML, or not of this form.
    #[error("{} is not a registry configuration:\n{message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the lines of the file around it.
        message: String,
    },
    /// It contradicts itself.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to write instead.
        message: String,
    },
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// [`ConfigError`]; [`ReadError::NotFound`] in it when there is no such file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let read = || -> Result<Vec<u8>, ReadError> {
            let real = path.canonicalize()?;
            read_bounded(&real, Path::new("/"), CONFIG_LIMIT)
        };
        let bytes = read().map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        Self::parse(path, &String::from_utf8_lossy(&bytes))
    }

    /// Parses a configuration; `path` is only for messages.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] and [`ConfigError::Invalid`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self = toml::from_str(text)
            .map_err(|error| ConfigError::Syntax { path: path.to_owned(), message: error.to_string() })?;
        config.check().map_err(|message| ConfigError::Invalid { path: path.to_owned(), message })?;
        for address in
            config.base_url.iter_mut().chain(config.views.iter_mut().filter_map(|view| view.base_url.as_mut()))
        {
            *address = address.trim_end_matches('/').to_owned();
        }
        Ok(config)
    }

    /// The published views, at least `registry.json`.
    #[must_use]
    pub fn views(&self) -> Vec<View> {
        if self.views.is_empty() { vec![View::named("registry.json")] } else { self.views.clone() }
    }

    /// The feed that lists the versions of a channel of an agent, if the configuration names one.
    #[must_use]
    pub fn feed(&self, id: &str, channel: Channel) -> Option<&Feed> {
        let source = self.bump.get(id)?;
        match channel {
            Channel::Stable => source.stable.as_ref(),
            Channel::Preview => source.preview.as_ref(),
        }
    }

    /// Members that views set in entries: a manifest must not set them itself.
    pub fn set_keys(&self) -> impl Iterator<Item = &str> {
        let changes = self.views.iter().flat_map(|view| view.agents.values());
        changes.flat_map(|changes| changes.set.keys()).map(String::as_str)
    }

    fn check(&self) -> Result<(), String> {
        for address in self.base_url.iter().chain(self.views.iter().filter_map(|view| view.base_url.as_ref())) {
            check_base_url(address)?;
        }
        for (id, source) in &self.bump {
            source.check(id)?;
        }
        self.site.check()?;
        for path in self.schemas.agent.iter().chain(&self.schemas.registry) {
            let is_inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if path.is_empty() || !is_inside {
                return Err(format!("the schema {path:?} must be a path below the registry directory"));
            }
        }
        let mut names = BTreeSet::new();
        for view in &self.views {
            view.check()?;
            if !names.insert(view.file.to_ascii_lowercase()) {
                return Err(format!("two views have the file name {:?}; each needs its own", view.file));
            }
        }
        if !self.views.is_empty() && !names.contains("registry.json") {
            return Err("one view must have the file name \"registry.json\", which clients read".to_owned());
        }
        Ok(())
    }
}

/// Checks that a text can be put before `/<id>.svg`.
///
/// # Errors
/// What is wrong with it.
pub fn check_base_url(address: &str) -> Result<(), String> {
    let parsed = net::address::parse(address).map_err(|error| format!("the base URL {address:?} {error}"))?;
    let is_plain = address.bytes().all(|b| b.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&b));
    if !is_plain || parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(format!("the base URL {address:?} must be an address without query, fragment and odd characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("registry.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn contradictions_are_named() {
        for (text, part) in [
            ("[[view]]\nfile = \"../x.json\"", "plain file name"),
            ("[[view]]\nfile = \"agent.schema.json\"", "plain file name"),
            ("[[view]]\nfile = \"a.svg\"", "plain file name"),
            ("[[view]]\nfile = \"a.json\"", "one view must have the file name"),
            ("[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"Registry.json\"", "two views"),
            ("[[view]]\nfile = \"registry.json\"\nextra = { agents = 1 }", "cannot set `agents`"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.set.id = 1", "cannot change `id`"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.append-args.bun = []", "knows `binary`"),
            ("[[view]]\nfile = \"registry.json\"\nchannel = \"beta\"", "unknown variant"),
            ("base-url = \"ftp://x\"", "does not begin with"),
            ("base-url = \"https:x.example\"", "does not begin with"),
            ("base-url = \"https://u:p@x.example\"", "user info"),
            ("base-url = \"https://x.example/a b\"", "odd characters"),
            ("base-url = \"https://x.example/?q\"", "without query"),
            ("[[view]]\nfile = \"registry.json\"\nformat-version = \"1\"", "three numbers"),
            ("[[view]]\nfile = \"registry.json\"\nextra = { d = 1979-05-27 }", "no dates"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.set.n = nan", "no number"),
            ("[[view]]\nfile = \"Agent.Schema.json\"", "plain file name"),
            ("colour = 1", "unknown field"),
            ("schemas.agent = \"../agent.schema.json\"", "below the registry directory"),
            ("schemas.registry = \"/etc/passwd\"", "below the registry directory"),
            ("schemas.index = \"a.json\"", "unknown field"),
            ("agents.x.rules.\"icon/size\" = \"off\"", "unknown variant"),
            ("agents.x.levels = {}", "unknown field"),
            (
                "bump.x.stable = { url = \"ftp://h\", version = \"/v\", archive = \"/{platform}\" }",
                "does not begin with",
            ),
            ("bump.x.stable = { url = \"https://h\", version = \"v\", archive = \"/{platform}\" }", "a JSON pointer"),
            ("bump.x.preview = { url = \"https://h\", version = \"/v\", archive = \"/a\" }", "must name the platform"),
            ("bump.x.beta = {}", "unknown field"),
            ("archive-limits.size = 1", "unknown field"),
            ("archive-limits.entries = -1", "invalid value"),
            ("rules.\"icon/size\" = \"error\"", "unknown variant"),
            ("[[view", "not a registry configuration"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part) && error.starts_with("registry.toml"), "{text}: {error}");
        }
    }

    #[test]
    fn without_views_there_is_one() {
        let config = parse("base-url = \"https://host.example/r/\"").unwrap();
        assert_eq!(config.base_url.as_deref(), Some("https://host.example/r"));
        assert_eq!(config.views(), [View::named("registry.json")]);
    }
}
