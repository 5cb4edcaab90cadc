//! How long caches may keep the files of a published tree.

use acp_registry_plan::entries::DISCOVERY;

/// `Cache-Control` of files whose names contain a digest of their content.
pub(crate) const FIXED: &str = "public, max-age=31536000, immutable";

/// `Cache-Control` of documents that clients read of single agents. A cache may answer with an old one for a minute while it
/// asks for a new one. More would let an old entry meet a new discovery document, and the client would read the whole index.
pub(crate) const ENTRY: &str = "public, max-age=300, stale-while-revalidate=60";

/// `Cache-Control` of all other files, which may change.
pub(crate) const SHORT: &str = "public, max-age=300";

/// `Cache-Control` of a file of a published tree, by its name.
pub(crate) fn caching(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("assets/") || name.starts_with("entry-lists/") => FIXED,
        _ if name == DISCOVERY || name.starts_with("entries/") => ENTRY,
        _ => SHORT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_digest_are_kept_for_a_year() {
        for (name, expected) in [
            ("assets/site.0a1b2c3d.css", FIXED),
            ("entry-lists/12.json", FIXED),
            ("entries.json", ENTRY),
            ("entries/registry/a.json", ENTRY),
            ("registry.json", SHORT),
            ("a.svg", SHORT),
            ("index.html", SHORT),
            ("agents/assets/index.html", SHORT),
            ("SHA256SUMS", SHORT),
        ] {
            assert_eq!(caching(name), expected, "{name}");
        }
    }
}
