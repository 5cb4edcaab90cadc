use serde::Serialize;
use serde_json::{Map, Value};

use super::IndexOrigin;

/// Members of `config`.
#[derive(Debug, Serialize)]
pub struct Config<'a> {
    /// The id of the client.
    pub client: &'a str,
    /// The id of the agent.
    pub id: &'a str,
    /// The display name of the agent.
    pub name: &'a str,
    /// The version that the settings start today, if known.
    pub version: Option<&'a str>,
    /// Whether the agent is installed.
    pub installed: bool,
    /// The language that the settings are written in.
    pub language: &'a str,
    /// The file that the settings belong in, if known.
    pub file: Option<&'a str>,
    /// The text of the settings.
    pub settings: &'a str,
    /// What the settings start: `program`, `package` or `run`.
    pub starts: &'static str,
    /// The program that the settings start.
    pub program: &'a str,
    /// The arguments of the program.
    pub args: &'a [String],
    /// The environment variables that the settings set.
    pub env: Map<String, Value>,
    /// The index, if one could be read.
    pub index: Option<IndexOrigin>,
}
