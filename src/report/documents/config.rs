use serde::Serialize;
use serde_json::{Map, Value};

use super::IndexOrigin;

/// Members of `config`.
#[derive(Debug, Serialize)]
pub struct Config<'a> {
    /// The client.
    pub client: &'a str,
    /// The agent.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The version that is started now, where that is known.
    pub version: Option<&'a str>,
    /// Whether it is installed.
    pub installed: bool,
    /// The language of the settings.
    pub language: &'a str,
    /// The file that they belong in.
    pub file: Option<&'a str>,
    /// The settings.
    pub settings: &'a str,
    /// What they start: `program`, `package` or `run`.
    pub starts: &'static str,
    /// The program that they name.
    pub program: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Its variables.
    pub env: Map<String, Value>,
    /// The index, where one could be read.
    pub index: Option<IndexOrigin>,
}
