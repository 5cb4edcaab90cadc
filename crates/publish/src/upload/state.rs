//! The state that one run of the publisher leaves for the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::headers::Headers;
use super::{Error, LATEST, Target, snapshot};
use acp_registry_core::json;
use acp_registry_core::sums::{self, SUMS, is_name};
use acp_registry_core::text::{printable, quote};

/// Where the state is stored.
pub(super) const STATE: &str = ".acp-registry/state.json";

/// The largest state that is read, in bytes: enough for about 400,000 files.
const STATE_LIMIT: u64 = 64 << 20;

/// The files and snapshots at a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    schema: u32,
    /// Whether no state was found. The only source is then the list of digests in `latest/`, if there is one.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// The snapshot that `latest/` was last completely updated from.
    pub(super) latest: Option<String>,
    /// The files of `latest/`, by their names there.
    pub(super) files: BTreeMap<String, File>,
    /// The snapshots that were started, by name.
    pub(super) snapshots: BTreeMap<String, Snapshot>,
}

/// A file of `latest/`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Fingerprint of the content and headers (see [`Headers::fingerprint`]); `None` while the file is being sent or
    /// removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<String>,
    /// Since when the file is no longer referenced, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stale_since: Option<i64>,
}

/// A snapshot that was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Snapshot {
    /// SHA-256 of its list of digests.
    pub(super) sums: String,
    /// When it was started, in seconds since 1970.
    pub(super) created: i64,
    /// Whether all of its files were sent.
    pub(super) is_complete: bool,
}

impl State {
    /// Reads the state. Without one, assumes that the files in the list of digests of `latest/` may exist.
    pub(super) async fn load(target: &Target) -> Result<Self, Error> {
        let place = target.shown(STATE);
        let wrong = |message: &str| Error::State { place: place.clone(), message: printable(message).into_owned() };
        if let Some(bytes) = target.get(STATE, STATE_LIMIT).await? {
            let state: Self = json::whole(&bytes).map_err(|error| wrong(&error.to_string()))?;
            if state.schema != 1 {
                return Err(wrong("another version of this program wrote it"));
            }
            return match state.strange_name() {
                Some(name) => Err(wrong(&format!("it names {}, which is not a valid name", quote(name)))),
                None => Ok(state),
            };
        }
        let mut files = BTreeMap::new();
        if let Some(list) = target.sums(LATEST).await? {
            // Another tool may have written the list, so its files are compared before they are trusted.
            files.extend(sums::parse(&list).unwrap_or_default().into_keys().map(|name| (name, File::default())));
            files.insert(SUMS.to_owned(), File::default());
        }
        Ok(Self { schema: 1, is_new: true, files, ..Self::default() })
    }

    /// A name that this program cannot have written. The state may have been tampered with, and names in it decide
    /// which files are removed.
    fn strange_name(&self) -> Option<&str> {
        let files = self.files.keys().filter(|name| !is_name(name));
        let snapshots = self.snapshots.keys().chain(&self.latest).filter(|name| snapshot::end_of_day(name).is_none());
        files.chain(snapshots).map(String::as_str).next()
    }

    /// Writes the state to the target.
    pub(super) async fn save(&self, target: &Target) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        target.put(STATE, bytes, &Headers::OWN, "").await
    }

    /// Marks the content of all files as unknown, so that they are compared again.
    pub(super) fn doubt(&mut self) {
        for file in self.files.values_mut() {
            file.form = None;
        }
    }
}
