use serde::Serialize;
use serde_json::{Map, Value};

use crate::documents::IndexOrigin;

/// Members of `config`.
#[derive(Debug, Serialize)]
pub(crate) struct Config<'a> {
    /// The id of the client.
    pub(crate) client: &'a str,
    /// The id of the agent.
    pub(crate) id: &'a str,
    /// The display name of the agent.
    pub(crate) name: &'a str,
    /// The version that the settings start today, if known.
    pub(crate) version: Option<&'a str>,
    /// Whether the agent is installed.
    pub(crate) installed: bool,
    /// The language that the settings are written in.
    pub(crate) language: &'a str,
    /// The file that the settings belong in, if known.
    pub(crate) file: Option<&'a str>,
    /// The text of the settings.
    pub(crate) settings: &'a str,
    /// What the settings start: `program`, `package` or `run`.
    pub(crate) starts: &'static str,
    /// The program that the settings start.
    pub(crate) program: &'a str,
    /// The arguments of the program.
    pub(crate) args: &'a [String],
    /// The environment variables that the settings set.
    pub(crate) env: Map<String, Value>,
    /// The index, if one could be read.
    pub(crate) index: Option<IndexOrigin>,
}
