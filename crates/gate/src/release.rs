//! The page of a release, by the archives that it has.

use serde_json::Value;

/// Maximum length of an address, in bytes.
const LIMIT: usize = 1000;

/// The page of the GitHub release that an archive is part of.
pub fn release_page(archive: &str) -> Option<String> {
    let url = url::Url::parse(archive).ok().filter(|url| archive.len() <= LIMIT && is_github(url))?;
    let parts: Vec<&str> = url.path_segments()?.collect();
    match parts[..] {
        [owner, name, "releases", "download", tag, _] => {
            Some(format!("https://github.com/{owner}/{name}/releases/tag/{tag}"))
        }
        _ => None,
    }
}

/// The page of the GitHub release whose archives an entry, or a manifest, names.
pub fn release_page_of_entry(entry: &Value) -> Option<String> {
    let targets = entry.pointer("/distribution/binary")?.as_object()?;
    targets.values().find_map(|target| release_page(target.get("archive")?.as_str()?))
}

/// Whether an address is the page of a release, as [`release_page`] returns it.
pub fn is_release_page(address: &str) -> bool {
    let url = url::Url::parse(address).ok().filter(|url| address.len() <= LIMIT && is_github(url));
    let parts = url.as_ref().and_then(|url| Some(url.path_segments()?.collect::<Vec<&str>>()));
    matches!(parts.as_deref(), Some([_, _, "releases", "tag", _]))
}

fn is_github(url: &url::Url) -> bool {
    url.scheme() == "https"
        && url.host_str() == Some("github.com")
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_archive_leads_to_its_release() {
        for (archive, page) in [
            (
                "https://github.com/o/r/releases/download/v1.0.0/a.tar.gz",
                Some("https://github.com/o/r/releases/tag/v1.0.0"),
            ),
            (
                "https://github.com/o/r/releases/download/a%401.0.0/a.tar.gz",
                Some("https://github.com/o/r/releases/tag/a%401.0.0"),
            ),
            ("https://github.com/o/r/archive/v1.0.0.tar.gz", None),
            ("https://example.com/o/r/releases/download/v1.0.0/a.tar.gz", None),
            ("http://github.com/o/r/releases/download/v1/a.zip", None),
            ("https://u:p@github.com/o/r/releases/download/v1/a.zip", None),
        ] {
            assert_eq!(release_page(archive).as_deref(), page, "{archive}");
            assert!(page.is_none_or(is_release_page), "{archive}");
        }
        for page in ["javascript:alert(1)", "https://evil.example/o/r/releases/tag/v1", "https://github.com/o/r"] {
            assert!(!is_release_page(page), "{page}");
        }
        let entry = json!({ "distribution": { "binary": {
            "linux-x86_64": { "archive": "https://h.example/a.zip" },
            "darwin-aarch64": { "archive": "https://github.com/o/r/releases/download/v1/a.zip" },
        } } });
        assert_eq!(release_page_of_entry(&entry).as_deref(), Some("https://github.com/o/r/releases/tag/v1"));
        assert_eq!(release_page_of_entry(&json!({ "distribution": { "npx": {} } })), None);
    }
}
