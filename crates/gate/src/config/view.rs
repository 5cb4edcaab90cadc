//! The `[[view]]` tables of `registry.toml`: the published indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use acp_registry_plan::manifest::Channel;

/// Documents of the published tree about the registry as a whole, beside its indexes.
pub const DOCUMENTS: [&str; 3] = ["history.json", "examinations.json", "facets.json"];

/// Other file names of the published tree that are not available to views.
const TAKEN: [&str; 4] = ["agent.schema.json", "registry.schema.json", "entries.json", "statement.json"];

/// One published index.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct View {
    /// File name in the published tree.
    pub file: String,
    /// `version` of the index.
    #[serde(default = "default_format_version")]
    pub format_version: String,
    /// Base URL of this view's icons; defaults to [`base_url`](super::Config::base_url).
    #[serde(default)]
    pub base_url: Option<String>,
    /// The channel to publish.
    #[serde(default = "default_channel", deserialize_with = "channel")]
    pub channel: Channel,
    /// Whether packages keep members that the public format does not have, see
    /// [`extension`](acp_registry_plan::manifest::extension).
    #[serde(default)]
    pub package_extensions: bool,
    /// Ids of agents to leave out.
    #[serde(default)]
    pub exclude: BTreeSet<String>,
    /// Changes to single entries, by agent id.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentChanges>,
    /// Additional members of the index, written after `agents` in the order of the file.
    #[serde(default, deserialize_with = "plain")]
    pub extra: Map<String, Value>,
}

/// Changes that a view makes to one entry.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentChanges {
    /// Members to append to the entry, in the order of the file.
    #[serde(deserialize_with = "plain")]
    pub set: Map<String, Value>,
    /// Arguments to append to a distribution's, keyed by `binary`, `npx` or `uvx`.
    pub append_args: BTreeMap<String, Vec<String>>,
}

fn default_format_version() -> String {
    "1.0.0".to_owned()
}

fn default_channel() -> Channel {
    Channel::Stable
}

fn channel<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Channel, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Name {
        Stable,
        Preview,
    }
    Ok(match Name::deserialize(deserializer)? {
        Name::Stable => Channel::Stable,
        Name::Preview => Channel::Preview,
    })
}

/// Rejects TOML values without an exact equivalent in JSON (dates, NaN and infinity), since they would be published as
/// something else.
fn plain<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    fn convert(value: toml::Value) -> Result<Value, String> {
        Ok(match value {
            toml::Value::String(text) => Value::String(text),
            toml::Value::Integer(number) => Value::from(number),
            toml::Value::Boolean(flag) => Value::Bool(flag),
            toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
                Some(number) => Value::Number(number),
                None => return Err(format!("{number} cannot be written in JSON")),
            },
            toml::Value::Datetime(date) => return Err(format!("JSON has no dates; write \"{date}\"")),
            toml::Value::Array(items) => Value::Array(items.into_iter().map(convert).collect::<Result<_, _>>()?),
            toml::Value::Table(table) => Value::Object(to_json(table)?),
        })
    }
    fn to_json(table: toml::Table) -> Result<Map<String, Value>, String> {
        table.into_iter().map(|(key, value)| Ok((key, convert(value)?))).collect()
    }
    to_json(toml::Table::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl View {
    /// A view of the stable channel with unchanged entries of all agents.
    pub fn named(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            format_version: default_format_version(),
            base_url: None,
            channel: Channel::Stable,
            package_extensions: false,
            exclude: BTreeSet::new(),
            agents: BTreeMap::new(),
            extra: Map::new(),
        }
    }

    /// Checks that the view can be published.
    ///
    /// # Errors
    /// Returns what is wrong, as a message.
    pub(super) fn check(&self) -> Result<(), String> {
        let file = self.file.as_str();
        let is_plain = file.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) && !file.starts_with('.');
        if !is_plain
            || Path::new(file).extension().is_none_or(|ending| ending != "json")
            || TAKEN.iter().chain(&DOCUMENTS).any(|taken| file.eq_ignore_ascii_case(taken))
        {
            return Err(format!(
                "the view file {file:?} must be a plain file name that ends in `.json`, other than {}",
                [&TAKEN[..], &DOCUMENTS].concat().join(", ")
            ));
        }
        let parts: Vec<&str> = self.format_version.split('.').collect();
        if parts.len() < 3 || !parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!(
                "the format version {:?} of {file:?} must be three numbers, such as 1.0.0",
                self.format_version
            ));
        }
        for reserved in ["version", "agents"] {
            if self.extra.contains_key(reserved) {
                return Err(format!("`extra` of the view {file:?} cannot set `{reserved}`, which the build writes"));
            }
        }
        for changes in self.agents.values() {
            if let Some(kind) =
                changes.append_args.keys().find(|kind| !["binary", "npx", "uvx"].contains(&kind.as_str()))
            {
                return Err(format!("`append-args` takes `binary`, `npx` or `uvx`, not {kind:?}"));
            }
            for reserved in ["id", "version", "distribution", "icon", "preview"] {
                if changes.set.contains_key(reserved) {
                    return Err(format!("`set` cannot change `{reserved}`, which comes from the manifest"));
                }
            }
        }
        Ok(())
    }
}
