//! The state that one run of the publisher leaves for the next.
//!
//! The list of digests of the newest snapshot says what is in `latest/`. The state has only what differs from it: files
//! that are being sent or removed, and those that are no longer referenced.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::headers::{self, Headers};
use super::{Error, Gzip, LATEST, UploadTarget, snapshot, tree};
use acp_registry_plan::json;
use acp_registry_plan::sums::{self, SUMS, is_name};
use acp_registry_plan::text::{printable, quote};

/// Where the state is stored.
pub(super) const STATE: &str = ".acp-registry/state.json";

/// The largest state that is read, in bytes. While a tree of 100,000 agents is published for the first time, the state
/// has all of its 500,000 files, of 130 bytes each.
const STATE_LIMIT: u64 = 128 << 20;

/// The version of the form.
const SCHEMA: u32 = 1;

/// The files and snapshots at a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the target, each by its name in the stored form")]
pub(super) struct TargetState {
    schema: u32,
    /// Whether no state was found. The only source is then the list of digests in `latest/`, if there is one.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// The snapshot that `latest/` was last completely updated from.
    pub(super) latest: Option<String>,
    /// Identifies the headers that files of `latest/` were stored with; see [`headers::rules`].
    #[serde(default)]
    headers: String,
    /// Whether assets are stored compressed.
    #[serde(default)]
    gzip_assets: bool,
    /// Whether documents of the whole registry are stored compressed.
    #[serde(default)]
    gzip_documents: bool,
    /// Whether `latest/` has a signed statement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) signed: bool,
    /// The files of `latest/`, by their names there. Stored without those that are as `tree` says.
    pub(super) files: BTreeMap<String, LatestFile>,
    /// The snapshots that were started, by name.
    pub(super) snapshots: BTreeMap<String, Snapshot>,
    /// The names and digests of the files of the snapshot `latest`; empty until [`TargetState::load`] has read it.
    #[serde(skip)]
    pub(super) tree: BTreeMap<String, String>,
}

/// A file of `latest/`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LatestFile {
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

impl TargetState {
    /// Reads the state, and what is in `latest/`.
    pub(super) async fn load(target: &UploadTarget) -> Result<Self, Error> {
        let mut state = Self::read(target).await?;
        if let Some(tree) = state.newest(target).await? {
            state.tree = tree;
            state.expand();
        } else {
            // The snapshot is lost, and only the list in `latest/` says what may be there.
            if let Some(lost) = state.latest.take().and_then(|name| state.snapshots.get_mut(&name)) {
                lost.is_complete = false;
            }
            state.assume(target).await?;
        }
        state.headers = headers::rules();
        Ok(state)
    }

    /// Adds the files that are as the newest snapshot says.
    fn expand(&mut self) {
        // If another version of this program sends other headers, files are compared before they are trusted.
        let is_known = self.headers == headers::rules();
        let form = |(name, digest): (&String, &String)| is_known.then(|| form(name, digest, self.gzip()));
        let file = |entry: (&String, &String)| LatestFile { form: form(entry), stale_since: None };
        let mut files: BTreeMap<String, LatestFile> =
            self.tree.iter().map(|entry| (entry.0.clone(), file(entry))).collect();
        files.append(&mut self.files);
        self.files = files;
    }

    /// Reads the state as it is stored.
    pub(super) async fn read(target: &UploadTarget) -> Result<Self, Error> {
        let place = target.shown(STATE);
        let wrong = |message: &str| Error::State { place: place.clone(), message: printable(message).into_owned() };
        let Some(bytes) = target.get(STATE, STATE_LIMIT).await? else {
            return Ok(Self { schema: SCHEMA, is_new: true, ..Self::default() });
        };
        let state: Self = json::whole(&bytes).map_err(|error| wrong(&error.to_string()))?;
        if state.schema != SCHEMA {
            return Err(wrong("another version of this program wrote it"));
        }
        match state.strange_name() {
            Some(name) => Err(wrong(&format!("it names {}, which is not a valid name", quote(name)))),
            None => Ok(state),
        }
    }

    /// The names and digests of the files of the snapshot that `latest/` is made from; `None` if it is not known.
    async fn newest(&self, target: &UploadTarget) -> Result<Option<BTreeMap<String, String>>, Error> {
        let known = self.latest.as_ref().and_then(|name| Some((name, self.snapshots.get(name)?)));
        let Some((name, snapshot)) = known else { return Ok(None) };
        let list = target.sums(name).await?.filter(|list| tree::hex_digest(list) == snapshot.sums);
        let tree = list.and_then(|list| sums::parse(&list).ok());
        Ok(tree.map(|tree| with_sums(tree, &snapshot.sums)))
    }

    /// Assumes that the files in the list of digests of `latest/` may exist. Another tool may have written it.
    async fn assume(&mut self, target: &UploadTarget) -> Result<(), Error> {
        let Some(list) = target.sums(LATEST).await? else { return Ok(()) };
        for name in sums::parse(&list).unwrap_or_default().into_keys().chain([SUMS.to_owned()]) {
            self.files.entry(name).or_default();
        }
        Ok(())
    }

    /// A name that this program cannot have written. The state may have been tampered with, and names in it decide
    /// which files are removed.
    fn strange_name(&self) -> Option<&str> {
        let files = self.files.keys().filter(|name| !is_name(name));
        let snapshots = self.snapshots.keys().chain(&self.latest).filter(|name| snapshot::end_of_day(name).is_none());
        files.chain(snapshots).map(String::as_str).next()
    }

    /// Writes the state to the target.
    pub(super) async fn save(&self, target: &UploadTarget) -> Result<(), Error> {
        let is_usual = |name: &str, file: &LatestFile| {
            let digest = self.tree.get(name).filter(|_| file.stale_since.is_none());
            digest.is_some_and(|digest| file.form.as_ref() == Some(&form(name, digest, self.gzip())))
        };
        let unusual = self.files.iter().filter(|(name, file)| !is_usual(name, file));
        let mut files: BTreeMap<String, LatestFile> =
            unusual.map(|(name, file)| (name.clone(), file.clone())).collect();
        // These may have been removed.
        let missing = self.tree.keys().filter(|name| !self.files.contains_key(*name));
        files.extend(missing.map(|name| (name.clone(), LatestFile::default())));
        let stored = Self {
            schema: SCHEMA,
            latest: self.latest.clone(),
            headers: self.headers.clone(),
            gzip_assets: self.gzip_assets,
            gzip_documents: self.gzip_documents,
            signed: self.signed,
            files,
            snapshots: self.snapshots.clone(),
            ..Self::default()
        };
        let bytes = serde_json::to_vec(&stored).unwrap_or_default();
        target.put(STATE, bytes, &Headers::OWN, "").await
    }

    /// What is stored compressed.
    pub(super) fn gzip(&self) -> Gzip {
        Gzip { assets: self.gzip_assets, documents: self.gzip_documents }
    }

    /// Notes what is stored compressed from now on.
    pub(super) fn set_gzip(&mut self, gzip: Gzip) {
        (self.gzip_assets, self.gzip_documents) = (gzip.assets, gzip.documents);
    }

    /// Marks the content of all files as unknown, so that they are compared again.
    pub(super) fn doubt(&mut self) {
        for file in self.files.values_mut() {
            file.form = None;
        }
    }

    /// Notes that `latest/` holds a snapshot.
    pub(super) fn arrive(&mut self, snapshot: &str, tree: BTreeMap<String, String>, sums: &str) {
        self.latest = Some(snapshot.to_owned());
        self.tree = with_sums(tree, sums);
    }

    /// The digests of contents that are stored: those of the newest snapshot, which is never pruned.
    pub(super) fn contents(&self) -> Option<HashSet<&str>> {
        let newest = self.snapshots.get(self.latest.as_ref()?)?;
        let is_known = newest.is_complete && !self.tree.is_empty();
        is_known.then(|| tree::named(&self.tree).collect())
    }
}

fn with_sums(mut tree: BTreeMap<String, String>, sums: &str) -> BTreeMap<String, String> {
    tree.insert(SUMS.to_owned(), sums.to_owned());
    tree
}

fn form(name: &str, digest: &str, gzip: Gzip) -> String {
    Headers::for_latest(name, gzip).fingerprint(digest)
}
