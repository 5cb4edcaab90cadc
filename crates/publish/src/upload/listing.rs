//! Lists the objects in a bucket page by page, within limits.
use std::collections::HashSet;
use std::time::Duration;

use object_store::list::{PaginatedListOptions, PaginatedListStore as _};

use super::Error;
use super::bucket::Store;
use super::tree::hex_digest;

/// The largest number of objects that a folder may have.
const KEYS: usize = 1_000_000;

/// The largest total length of their names, in bytes.
const NAMES: usize = 128 << 20;

/// The largest number of pages; a store may send pages that are not full.
const PAGES: usize = 2_000;

/// Time limit for listing a folder.
const TIME: Duration = Duration::from_mins(15);

/// The names below a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// The files, with their modification times in seconds since 1970.
    pub(super) files: Vec<(String, i64)>,
    /// Names of the folders directly inside; only in a flat listing.
    pub(super) folders: Vec<String>,
}

impl Store {
    /// Lists all objects below a folder, or only its direct entries if `is_flat`.
    pub(super) async fn listing(&self, folder: &str, is_flat: bool) -> Result<FolderListing, Error> {
        match tokio::time::timeout(TIME, self.pages(folder, is_flat)).await {
            Ok(listed) => listed,
            Err(_) => Err(self.endless(folder, &format!("takes longer than {} minutes", TIME.as_secs() / 60))),
        }
    }

    async fn pages(&self, folder: &str, is_flat: bool) -> Result<FolderListing, Error> {
        let below = self.below(folder);
        let mut listing = FolderListing::default();
        // The tokens that were seen, as digests, because a store may send tokens of any length.
        let mut tokens = HashSet::new();
        let mut length = 0;
        let mut token: Option<String> = None;
        for _ in 0..PAGES {
            let options = PaginatedListOptions {
                delimiter: is_flat.then_some("/".into()),
                page_token: token.take(),
                ..PaginatedListOptions::default()
            };
            let prefix = Some(below.as_str()).filter(|below| !below.is_empty());
            let page =
                self.client().list_paginated(prefix, options).await.map_err(|error| self.fail(folder, &error))?;
            let files = page.result.objects.iter().filter_map(|meta| {
                let name = meta.location.as_ref().strip_prefix(&below)?;
                length += name.len();
                Some((name.to_owned(), meta.last_modified.timestamp()))
            });
            listing.files.extend(files);
            let folders = page.result.common_prefixes.iter().filter_map(|path| path.filename());
            listing.folders.extend(folders.inspect(|name| length += name.len()).map(ToOwned::to_owned));
            if length > NAMES {
                return Err(self.endless(folder, &format!("has more than {NAMES} bytes of names")));
            }
            if listing.files.len() + listing.folders.len() > KEYS {
                return Err(self.endless(folder, &format!("has more than {KEYS} objects")));
            }
            let Some(next) = page.page_token else { return Ok(listing) };
            if !tokens.insert(hex_digest(next.as_bytes())) {
                return Err(self.endless(folder, "repeats a NextContinuationToken"));
            }
            token = Some(next);
        }
        Err(self.endless(folder, &format!("has more than {PAGES} pages")))
    }

    fn endless(&self, folder: &str, why: &str) -> Error {
        let remedy = Some("give --to a prefix of its own, or ask the operator of the store".to_owned());
        Error::Store { place: self.shown(folder), message: format!("the store's list {why}"), remedy }
    }
}
