//! The schemas that a registry publishes in place of this program's.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use acp_registry_core::registry::MANIFEST_LIMIT;
use acp_registry_core::sys::fs::{ReadError, read_bounded};

/// Schema files of the registry, published byte for byte. Manifests are checked by this program's own rules all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Schemas {
    /// Path of the file published as `agent.schema.json`, relative to the registry directory.
    pub agent: Option<String>,
    /// Path of the file published as `registry.schema.json`.
    pub registry: Option<String>,
}

impl Schemas {
    /// The bytes of one of these files, which is published as it is.
    ///
    /// # Errors
    /// What is wrong with it, as the rest of a sentence.
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
