//! The `[bump]` tables of `registry.toml`: feeds that list newer versions.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::Deserialize;

/// The feeds of one agent that is published neither in a package registry nor on GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BumpSource {
    /// The feed of the stable channel.
    pub stable: Option<Feed>,
    /// The feed of the preview channel.
    pub preview: Option<Feed>,
}

/// A publisher's list of versions: one JSON document, or one JSON value per line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Feed {
    /// URL of the feed.
    pub url: String,
    /// JSON pointer to the array of records in the document. Without it, each line is a record.
    pub records: Option<String>,
    /// Read only this many records, from the end. Without it, all records are read, and more than 200,000 are an error.
    pub last: Option<NonZeroUsize>,
    /// JSON pointer to the version in a record.
    pub version: String,
    /// JSON pointer to the platform of a record. Without it, each record applies to all platforms.
    pub platform: Option<String>,
    /// JSON pointer to the archive's URL in a record; `{platform}` in it is replaced by the platform's name in the
    /// feed.
    pub archive: String,
    /// JSON pointer to the archive's SHA-256; `{platform}` is replaced as in `archive`.
    pub sha256: Option<String>,
    /// The feed's names for platforms, keyed by the names used in manifests.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

impl BumpSource {
    /// Checks what deserialization does not: the URL, the form of JSON pointers, and that the platform is named.
    ///
    /// # Errors
    /// Returns the problem, and what to write instead, as a message.
    pub(super) fn check(&self, id: &str) -> Result<(), String> {
        for feed in self.stable.iter().chain(&self.preview) {
            acp_registry_http::address::parse(&feed.url)
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
