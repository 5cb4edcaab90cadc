//! The contents of files that snapshots name, each once, by its digest.
//!
//! A snapshot keeps its indexes in its own folder. Everything else that its `SHA256SUMS` names is here.

use std::collections::BTreeMap;

use super::CONTENT;
use acp_registry_gate::config::DOCUMENTS;
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::sums::{SIGNATURE, SUMS};

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
        && !DOCUMENTS.contains(&name)
        && name != DISCOVERY;
    is_index || [SUMS, SIGNATURE].contains(&name)
}

/// The digests of the contents that a list of digests names.
pub(super) fn named(list: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    list.iter().filter(|(name, _)| !is_kept_by_name(name)).map(|(_, digest)| digest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_kept_by_name() {
        for name in ["registry.json", "registry-for-editors.json", "agents.json", SUMS, SIGNATURE] {
            assert!(is_kept_by_name(name), "{name}");
        }
        for name in
            ["entries.json", "history.json", "facets.json", "agent.schema.json", "a/registry.json", "a.svg", "json"]
        {
            assert!(!is_kept_by_name(name), "{name}");
        }
        assert_eq!(path(&"ab".repeat(32)), format!("content/ab/{}", "ab".repeat(32)));
    }
}
