//! The contents of files that snapshots name, each once, by its digest.
//!
//! A snapshot keeps its indexes in its own folder. Everything else that its `SHA256SUMS` names is here.

use super::{CONTENT, Error, UploadTarget};
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::sums::{SIGNATURE, SUMS, is_digest};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::BTreeMap;

/// Where the content with a digest is stored.
pub(super) fn path(digest: &str) -> String {
    format!("{CONTENT}/{}/{digest}", digest.get(..2).unwrap_or_default())
}

/// Whether a file of a tree is stored in the folder of a snapshot, not by its digest.
///
/// These are the indexes: files that views can have, which are read at a versioned address.
pub(super) fn is_kept_by_name(name: &str) -> bool {
    let is_index = !name.contains('/')
        && name.rsplit_once('.').is_some_and(|(_, ending)| ending == "json")
        && !name.ends_with(".schema.json")
        && !["history.json", DISCOVERY].contains(&name);
    is_index || [SUMS, SIGNATURE].contains(&name)
}

/// The digests of the contents that a list of digests names.
pub(super) fn named(list: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    list.iter().filter(|(name, _)| !is_kept_by_name(name)).map(|(_, digest)| digest.as_str())
}

/// The digests of all stored contents, with the times of [`UploadTarget::list_dated`]. Other files below the folder are not listed:
/// they were not published.
pub(super) async fn list(target: &UploadTarget, jobs: usize) -> Result<BTreeMap<String, i64>, Error> {
    let one = async |start: u8| {
        let folder = format!("{CONTENT}/{start:02x}");
        let files = target.list_dated(&folder).await?;
        let own = files.into_iter().filter(move |(name, _)| is_digest(name) && name.starts_with(&folder[8..]));
        Ok::<_, Error>(stream::iter(own.map(Ok)))
    };
    stream::iter((0..=u8::MAX).map(one)).buffered(jobs.max(1)).try_flatten().try_collect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_kept_by_name() {
        for name in ["registry.json", "registry-for-editors.json", "agents.json", SUMS, SIGNATURE] {
            assert!(is_kept_by_name(name), "{name}");
        }
        for name in ["entries.json", "history.json", "agent.schema.json", "a/registry.json", "a.svg", "json"] {
            assert!(!is_kept_by_name(name), "{name}");
        }
        assert_eq!(path(&"ab".repeat(32)), format!("content/ab/{}", "ab".repeat(32)));
    }
}
