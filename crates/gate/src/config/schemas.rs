//! Schemas that a registry publishes in place of the built-in ones.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use acp_registry_client::registry::MANIFEST_LIMIT;
use acp_registry_host::fs::{ReadError, read_bounded};

/// Schema files of a registry, published byte for byte. Manifests are still checked against the built-in schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Schemas {
    /// Path of the file published as `agent.schema.json`, relative to the registry directory.
    pub agent: Option<String>,
    /// Path of the file published as `registry.schema.json`, relative to the registry directory.
    pub registry: Option<String>,
}

impl Schemas {
    /// Reads one of these files, and checks that it is a JSON object.
    ///
    /// # Errors
    /// Returns what is wrong with the file, worded to follow its name: "does not exist".
    pub fn read(root: &Path, path: &str) -> Result<Vec<u8>, String> {
        let bytes = read_bounded(&root.join(path), root, MANIFEST_LIMIT).map_err(|error| match error {
            ReadError::NotFound => "does not exist".to_owned(),
            error => error.to_string(),
        })?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(_)) => Ok(bytes),
            Ok(_) => Err("is not a JSON object".to_owned()),
            Err(error) => Err(format!("is not JSON: {error}")),
        }
    }
}
