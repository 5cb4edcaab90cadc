//! The order in which files are sent, so that readers never find a reference to a missing file.
//!
//! New files can be sent at any time, because no published file refers to them yet: they come first. Existing files
//! follow; a file is sent after the files that it refers to, and the entry points of readers come last.

use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::sums::{SIGNATURE, SUMS};

/// The number of waves. A wave starts after the one before it has been sent completely.
pub(super) const WAVES: usize = 9;

/// The wave of `SHA256SUMS` in a snapshot, which marks the snapshot complete.
pub(super) const LAST: usize = WAVES - 1;

/// The wave of what a statement names, and of what these files lead to: the statement comes before it.
pub(super) const INDEXES: usize = 3;

/// The wave in which a file is sent. `is_new`: no file of this name is published yet.
pub(super) fn wave(name: &str, is_new: bool) -> usize {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match (folder, file) {
        // All pages link to the home page and it links to them. A new home page comes last, because readers enter
        // through it.
        ("", "index.html") if is_new => 7,
        ("", SUMS | SIGNATURE | "robots.txt") => 6,
        ("", "index.html" | "sitemap.xml") => 5,
        // Leads to entries and their lists. A reader who misses one reads the index instead, which is new by then.
        ("", "llms.txt" | DISCOVERY) => 4,
        ("", "registry.json") => 3,
        // A changed entry does not fit the earlier lists, so that it comes shortly before the new ones are named.
        _ if folder.starts_with("entries/") && !is_new => 3,
        // These refer to no other file: images, schemas, assets, and the data of one agent.
        _ if ["svg", "png"].contains(&ending)
            || folder == "assets"
            || file.ends_with(".schema.json")
            || file == "agent.json" =>
        {
            0
        }
        ("", "_headers" | "opensearch.xml") => 0,
        _ if is_new => 1,
        // Other indexes, feeds and the history.
        ("", _) if ending != "html" && !file.starts_with("sitemap-") => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_before_what_names_it() {
        let order = [
            ("a.svg", true),
            ("agents/a/index.html", true),
            ("agents/b/index.html", false),
            ("registry.json", true),
            ("index.html", true),
            ("SHA256SUMS", false),
        ];
        let waves: Vec<usize> = order.iter().map(|(name, is_new)| wave(name, *is_new)).collect();
        assert_eq!(waves, [0, 1, 2, 3, 7, 6]);
        for (name, is_new, expected) in [
            ("a.svg", false, 0),
            ("agents/a/badge.svg", true, 0),
            ("agents/a/preview.png", false, 0),
            ("assets/app.1234.js", true, 0),
            ("new.atom", true, 1),
            ("new.atom", false, 3),
            ("registry-preview.json", false, 3),
            ("entries.json", true, 4),
            ("entries.json", false, 4),
            ("entries/registry/agent.json", false, 3),
            ("entries/registry/a.json", true, 1),
            ("entry-lists/12.json", true, 1),
            ("agents/a/feed.atom", false, 2),
            ("404.html", false, 2),
            ("sitemap-1.xml", false, 2),
            ("sitemap.xml", true, 5),
            ("robots.txt", true, 6),
            ("llms.txt", true, 4),
            ("index.html", false, 5),
        ] {
            assert_eq!(wave(name, is_new), expected, "{name}");
        }
        assert!(waves.iter().all(|wave| *wave < LAST));
    }
}
