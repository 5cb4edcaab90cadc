//! The entries of agents as files of their own, and the digests that lead to them; see [`acp_registry_plan::entries`].

use std::collections::BTreeMap;

use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{
    DISCOVERY, Discovery, DiscoveryView, EMPTY, GROUPS, LIST_PATH, LISTS, SCHEMA_VERSION, slots,
};

/// The pattern of the addresses of a view's entries.
fn pattern(view: &str) -> String {
    // The names of indexes end in `.json`, so that different views have different folders.
    format!("entries/{}/{{id}}.json", view.strip_suffix(".json").unwrap_or(view))
}

/// The file name of an agent's entry.
pub(super) fn name(view: &str, id: &str) -> String {
    pattern(view).replace("{id}", id)
}

/// The discovery document of a tree, and the lists that it leads to.
pub(super) struct DiscoveryFiles {
    document: Discovery,
    lists: BTreeMap<String, Vec<u8>>,
}

impl DiscoveryFiles {
    /// `revoked` is the digest of the list of recalled versions, if there is one.
    pub(super) fn new(base_url: &str, revoked: Option<Sha256>) -> Self {
        let url = format!("{base_url}/{DISCOVERY}");
        let revoked = revoked.map(|digest| digest.to_string());
        let document = Discovery { schema: SCHEMA_VERSION, url, lists: LIST_PATH, views: BTreeMap::new(), revoked };
        Self { document, lists: BTreeMap::new() }
    }

    /// Adds the view with this index, and with entries of these ids and digests.
    pub(super) fn add<'a>(&mut self, view: &str, index: Sha256, entries: impl Iterator<Item = (&'a str, Sha256)>) {
        let mut agents: Vec<BTreeMap<&str, String>> = vec![BTreeMap::new(); GROUPS * LISTS];
        for (id, digest) in entries {
            let (group, list) = slots(id);
            agents[group * LISTS + list].insert(id, digest.to_string());
        }
        // Most lists of a small registry.
        let empty = Sha256::of(EMPTY).to_string();
        let group = |lists: &[BTreeMap<&str, String>]| {
            let mut keep =
                |list: &BTreeMap<_, _>| if list.is_empty() { empty.clone() } else { self.keep(list).to_string() };
            let digests: Vec<String> = lists.iter().map(&mut keep).collect();
            self.keep(&digests).to_string()
        };
        let groups = agents.chunks(LISTS).map(group).collect();
        let view_of = DiscoveryView { sha256: index.to_string(), entry: pattern(view), groups };
        self.document.views.insert(view.to_owned(), view_of);
    }

    /// Adds a group or a list, and returns its digest.
    fn keep(&mut self, list: &impl serde::Serialize) -> Sha256 {
        let text = line(list);
        let digest = Sha256::of(&text);
        if text != EMPTY {
            self.lists.insert(LIST_PATH.replace("{sha256}", &digest.to_string()), text.into_bytes());
        }
        digest
    }

    /// The discovery document and the lists, by file name.
    pub(super) fn files(self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.lists;
        files.insert(DISCOVERY.to_owned(), line(&self.document).into_bytes());
        files
    }
}

/// Serializes to one line: lists are read by programs, and indentation would add a fifth to their size.
fn line(value: &impl serde::Serialize) -> String {
    // These types have nothing that JSON cannot represent.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_plan::entries::{LIST_LIMIT, View, entry_in, list_in};

    /// The entry that a reader of the files is led to.
    fn find(files: &BTreeMap<String, Vec<u8>>, view: &str, id: &str) -> Option<(String, Sha256)> {
        let view = View::parse(&files[DISCOVERY], view).unwrap()?;
        let id = id.parse().unwrap();
        let read = |digest: Sha256| {
            let bytes = files.get(&view.list_path(digest)).map_or(EMPTY.as_bytes(), Vec::as_slice);
            assert!(Sha256::of(bytes) == digest && bytes.len() as u64 <= LIST_LIMIT);
            bytes
        };
        let list = read(list_in(read(view.group(&id)), &id).unwrap());
        Some((view.entry_path(&id), entry_in(list, &id).unwrap()?))
    }

    #[test]
    fn a_reader_is_led_to_every_entry_and_to_no_other() {
        let ids: Vec<String> = (0..1000).map(|number| format!("agent-{number}")).collect();
        let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
        discovery.add("registry.json", Sha256::of("1"), ids.iter().map(|id| (id.as_str(), Sha256::of(id))));
        discovery.add("few.json", Sha256::of("2"), [("a", Sha256::of("a"))].into_iter());
        let files = discovery.files();
        for id in &ids {
            let expected = (format!("entries/registry/{id}.json"), Sha256::of(id));
            assert_eq!(find(&files, "registry.json", id), Some(expected));
        }
        assert_eq!(find(&files, "registry.json", "other"), None);
        assert_eq!(find(&files, "few.json", "a").unwrap().0, "entries/few/a.json");
        assert_eq!((find(&files, "few.json", "agent-1"), find(&files, "other.json", "a")), (None, None));
        assert!(files.keys().all(|name| acp_registry_plan::sums::is_name(name)));
    }

    #[test]
    fn what_one_agent_takes_does_not_grow_with_the_registry() {
        let size = |agents: usize| {
            let ids: Vec<String> = (0..agents).map(|number| format!("agent-{number}")).collect();
            let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
            discovery.add("registry.json", Sha256::of("1"), ids.iter().map(|id| (id.as_str(), Sha256::of(id))));
            let files = discovery.files();
            let lists = files.values().map(Vec::len).max().unwrap();
            (files[DISCOVERY].len(), lists)
        };
        let ((small, _), (large, longest)) = (size(1), size(5000));
        assert_eq!(small, large);
        assert_eq!(longest, large);
    }

    #[test]
    fn one_change_changes_two_lists() {
        let of = |changed: &str| {
            let ids: Vec<String> = (0..5000).map(|number| format!("agent-{number}")).collect();
            let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
            let digest = |id: &str| Sha256::of(if id == changed { "changed" } else { id });
            discovery.add("registry.json", Sha256::of(changed), ids.iter().map(|id| (id.as_str(), digest(id))));
            discovery.files()
        };
        let (before, after) = (of(""), of("agent-7"));
        let new = after.iter().filter(|(name, bytes)| before.get(*name) != Some(*bytes));
        assert_eq!(new.count(), 3);
    }
}
