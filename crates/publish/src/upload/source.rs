//! Where the files come from that are put into `latest/`: a built tree, or a snapshot at the target.

use std::collections::BTreeMap;

use super::tree::{FILE_LIMIT, INDEX, hex_digest, is_index};
use super::{BuiltTree, Error, UploadTarget, content};
use acp_registry_plan::sums::{self, SIGNATURE, SIGNATURE_LIMIT, SUMS};

/// The files of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum TreeSource<'a> {
    Tree(&'a BuiltTree),
    Snapshot(&'a KeptSnapshot<'a>),
}

/// A snapshot at a target, of either form: with all files in its folder, or with contents that it shares with others.
#[derive(Debug)]
pub(super) struct KeptSnapshot<'a> {
    target: &'a UploadTarget,
    name: &'a str,
    files: BTreeMap<String, String>,
    sums: Vec<u8>,
}

impl TreeSource<'_> {
    /// Names and digests of all files, without `SHA256SUMS`.
    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Tree(tree) => tree.digests(),
            Self::Snapshot(kept) => &kept.files,
        }
    }

    /// The content of `SHA256SUMS`.
    pub(super) fn sums(&self) -> &[u8] {
        match self {
            Self::Tree(tree) => tree.sums(),
            Self::Snapshot(kept) => &kept.sums,
        }
    }

    /// Whether a file of this name is part of the tree.
    pub(super) fn has(&self, name: &str) -> bool {
        name == SUMS || self.files().contains_key(name)
    }

    /// Reads a file, and verifies its digest.
    pub(super) async fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        match self {
            Self::Tree(tree) => tree.content(name),
            Self::Snapshot(kept) => kept.content(name).await,
        }
    }
}

impl<'a> KeptSnapshot<'a> {
    /// Reads the list of digests of a snapshot. `known` is the list's own digest, if it is recorded.
    pub(super) async fn read(target: &'a UploadTarget, name: &'a str, known: Option<&str>) -> Result<Self, Error> {
        let place = || target.shown(&format!("{name}/{SUMS}"));
        let Some(sums) = target.sums(name).await? else { return Err(Error::NoSnapshot(target.shown(name))) };
        if known.is_some_and(|known| known != hex_digest(&sums)) {
            return Err(Error::Altered(place()));
        }
        let files = sums::parse(&sums).map_err(|why| Error::Unreadable { place: place(), why })?;
        let kept = Self { target, name, files, sums };
        if !kept.files.contains_key(INDEX) || !is_index(&kept.content(INDEX).await?) {
            return Err(Error::Unreadable { place: place(), why: format!("it does not list {INDEX} with agents") });
        }
        Ok(kept)
    }

    /// The signature of its list of digests, if it has one.
    pub(super) async fn signature(&self) -> Result<Option<Vec<u8>>, Error> {
        self.target.get(&format!("{}/{SIGNATURE}", self.name), SIGNATURE_LIMIT).await
    }

    /// Reads a file from the snapshot's folder or from the shared contents.
    async fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        let digest = self.files.get(name).map_or("", String::as_str);
        let own = format!("{}/{name}", self.name);
        let mut places = [content::path(digest), own];
        if content::is_kept_by_name(name) {
            places.reverse();
        }
        let mut failed = Error::Missing(self.target.shown(&places[0]));
        for place in &places {
            match self.target.get(place, FILE_LIMIT).await? {
                Some(bytes) if hex_digest(&bytes) == digest => return Ok(bytes),
                Some(_) => failed = Error::Altered(self.target.shown(place)),
                None => {}
            }
        }
        Err(failed)
    }
}
