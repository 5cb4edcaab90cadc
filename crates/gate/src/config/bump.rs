//! How the configuration says where newer versions of an agent are found.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::Deserialize;

/// Where newer versions of one agent are found, where that is neither a package registry nor GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BumpSource {
    /// For the stable channel.
    pub stable: Option<Feed>,
    /// For the preview channel.
    pub preview: Option<Feed>,
}

/// A publisher's own list of versions: a JSON document, or a JSON value on each line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Feed {
    /// Its address.
    pub url: String,
    /// JSON pointer to the list of records in a document; without one, each line is a record.
    pub records: Option<String>,
    /// Only the last records are read, so many; without it, all are, and a feed of more than 200,000 is an error.
    pub last: Option<NonZeroUsize>,
    /// JSON pointer to the version in a record.
    pub version: String,
    /// JSON pointer to the platform that a record is for; without one, each record is for all platforms.
    pub platform: Option<String>,
    /// JSON pointer to the archive's address in a record; `{platform}` in it is the platform's name.
    pub archive: String,
    /// JSON pointer to the archive's SHA-256, likewise.
    pub sha256: Option<String>,
    /// What the feed calls platforms, by their names in manifests.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

impl BumpSource {
    /// Checks what the form cannot say.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub(super) fn check(&self, id: &str) -> Result<(), String> {
        for feed in self.stable.iter().chain(&self.preview) {
            acp_registry_core::net::address::parse(&feed.url)
                .map_err(|error| format!("the feed {:?} of the agent {id:?} {error}", feed.url))?;
            let pointers = [
                feed.records.as_ref(),
                Some(&feed.version),
                feed.platform.as_ref(),
                Some(&feed.archive),
                feed.sha256.as_ref(),
            ];
            if let Some(pointer) =
                pointers.into_iter().flatten().find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
            {
                return Err(format!(
                    "{pointer:?} in the feed of the agent {id:?} must be a JSON pointer, such as \"/version\""
                ));
            }
            if feed.platform.is_none() && !feed.archive.contains("{platform}") {
                return Err(format!(
                    "the feed of the agent {id:?} must name the platform: with `platform`, or with {{platform}} in `archive`"
                ));
            }
        }
        Ok(())
    }
}
