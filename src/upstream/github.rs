//! Releases on GitHub.

use std::borrow::Cow;

use serde_json::Value;
use url::Url;

use super::{SourceError, segment};
use crate::net::Client;

/// Where the public GitHub answers programs.
pub const DEFAULT_API: &str = "https://api.github.com/";

const ACCEPT: &str = "application/vnd.github+json";

/// What a good answer is, for messages.
const EXPECTED: &str = "a release";

/// The largest answer that is read, in bytes.
const LIMIT: u64 = 32 << 20;

/// A GitHub: the public one, or a company's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Github {
    /// Base of its programming interface; its path ends with a slash.
    pub api: Url,
}

/// A release as an address names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseId {
    /// Owner of the repository.
    pub owner: String,
    /// Name of the repository.
    pub repository: String,
    /// The release's tag.
    pub tag: String,
}

/// A published release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// Its files.
    pub assets: Vec<Asset>,
    /// When it was published, by RFC 3339.
    pub published: Option<String>,
}

/// A file of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asset {
    /// Its name, the last part of its address.
    pub name: String,
    /// Its SHA-256 as GitHub computed it when the file was uploaded, in lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Whether it has been uploaded as a whole.
    pub is_complete: bool,
}

impl Github {
    /// Reads the base address of a programming interface.
    #[must_use]
    pub fn new(api: &str) -> Option<Self> {
        let url = Url::parse(&format!("{}/", api.trim().trim_end_matches('/'))).ok()?;
        (["https", "http"].contains(&url.scheme()) && url.host_str().is_some()).then_some(Self { api: url })
    }

    /// The release and the file's name, if an address is that of a release's file here or on the public GitHub.
    #[must_use]
    pub fn asset_of(&self, url: &Url) -> Option<(ReleaseId, String)> {
        let host = url.host_str()?;
        let own = self.api.host_str()?;
        let is_own = host == own.strip_prefix("api.").unwrap_or(own) && (own != host || url.port() == self.api.port());
        if !is_own && host != "github.com" {
            return None;
        }
        let decoded = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8().ok().map(Cow::into_owned);
        let parts: Vec<String> = url.path_segments()?.map(decoded).collect::<Option<_>>()?;
        let [owner, repository, releases, download, tag @ .., file] = parts.as_slice() else { return None };
        if releases != "releases" || download != "download" || tag.is_empty() || file.is_empty() {
            return None;
        }
        // Tags may have slashes in them.
        let id = ReleaseId { owner: owner.clone(), repository: repository.clone(), tag: tag.join("/") };
        Some((id, file.clone()))
    }

    /// Asks for a release; `None` when there is none with this tag.
    ///
    /// # Errors
    /// [`SourceError`] when GitHub cannot be asked, or does not answer like itself.
    pub async fn release(&self, client: &Client, id: &ReleaseId) -> Result<Option<Release>, SourceError> {
        let tag = id.tag.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        let path = format!("repos/{}/{}/releases/tags/{tag}", segment(&id.owner), segment(&id.repository));
        let url = Url::parse(&format!("{}{path}", self.api))
            .map_err(|error| SourceError::malformed(&self.api, EXPECTED, error))?;
        let Some(document) = client.document(&url, ACCEPT, LIMIT).await? else { return Ok(None) };
        Release::parse(&document.body).map(Some).map_err(|error| SourceError::malformed(&url, EXPECTED, error))
    }
}

impl Release {
    /// Reads a release.
    ///
    /// # Errors
    /// What is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let assets = value.get("assets").and_then(Value::as_array).ok_or("there is no array `assets`")?;
        let asset = |asset: &Value| {
            let text = |key: &str| asset.get(key).and_then(Value::as_str);
            let digest = text("digest").and_then(|digest| digest.strip_prefix("sha256:"));
            let sha256 = digest.filter(|digest| digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
            Some(Asset {
                name: text("name")?.to_owned(),
                sha256: sha256.map(str::to_ascii_lowercase),
                is_complete: text("state").is_none_or(|state| state == "uploaded"),
            })
        };
        let published = value.get("published_at").and_then(Value::as_str).map(ToOwned::to_owned);
        Ok(Self { assets: assets.iter().filter_map(asset).collect(), published })
    }

    /// The file of this name.
    #[must_use]
    pub fn asset(&self, name: &str) -> Option<&Asset> {
        self.assets.iter().find(|asset| asset.name == name && asset.is_complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asset(api: &str, url: &str) -> Option<String> {
        let (id, file) = Github::new(api).unwrap().asset_of(&Url::parse(url).unwrap())?;
        Some(format!("{} {} {} {file}", id.owner, id.repository, id.tag))
    }

    #[test]
    fn files_of_releases_are_known_by_their_addresses() {
        for (url, expected) in [
            ("https://github.com/o/r/releases/download/v1/a.zip", Some("o r v1 a.zip")),
            ("https://github.com/o/r/releases/download/pkg/v1/a%2Bb.zip", Some("o r pkg/v1 a+b.zip")),
            ("https://github.com/o/r/releases/download/%40s%2Fp%401/a", Some("o r @s/p@1 a")),
            ("https://github.com/o/r/releases/download/a.zip", None),
            ("https://github.com/o/r/releases/download/v1/", None),
            ("https://github.com/o/r/archive/v1.zip", None),
            ("https://evil.example/o/r/releases/download/v1/a.zip", None),
            ("https://github.com.evil.example/o/r/releases/download/v1/a.zip", None),
        ] {
            assert_eq!(asset(DEFAULT_API, url).as_deref(), expected, "{url}");
        }
        let own = "https://git.example/api/v3";
        assert!(asset(own, "https://git.example/o/r/releases/download/v1/a").is_some());
        assert!(asset(own, "https://github.com/o/r/releases/download/v1/a").is_some());
        assert!(asset("http://127.0.0.1:8080", "http://127.0.0.1:9090/o/r/releases/download/v1/a").is_none());
        for odd in ["", "ftp://h.example", "api"] {
            assert_eq!(Github::new(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_release_is_read_whatever_its_members_are() {
        let digest = "AB".repeat(32);
        let text = format!(
            r#"{{"assets":[{{"name":"a","digest":"sha256:{digest}","state":"uploaded"}},
                {{"name":"b","digest":"sha256:short","state":"starter"}},{{"name":7}},{{"name":"c","digest":null}}]}}"#
        );
        let release = Release::parse(text.as_bytes()).unwrap();
        assert_eq!(release.asset("a").unwrap().sha256.as_deref(), Some("ab".repeat(32).as_str()));
        assert_eq!(release.asset("b"), None);
        assert_eq!(release.asset("c").unwrap().sha256, None);
        for odd in ["", "[]", "{}", "{\"assets\":{}}"] {
            assert!(Release::parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
