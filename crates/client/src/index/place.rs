//! Where an index is.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use acp_registry_http::{Client, Problem, shown};
use acp_registry_plan::text::{quote, without_secrets};
use url::Url;

use super::copies::Copies;
use super::trust::Trust;
use crate::registry::DEFAULT_BASE_URL;

/// Where an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexLocation {
    /// An address; that of a folder means the `registry.json` in it.
    Url(Url),
    /// A file, a published tree, or a registry checkout.
    Path(PathBuf),
    /// A text that is neither. No index can be read, but installed agents can be used.
    Unusable(WrongPlace),
}

/// A text is neither an address nor a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is neither the address of an index nor a path", quote(&without_secrets(.0)))]
pub struct WrongPlace(String);

impl Default for IndexLocation {
    /// The index of the public registry.
    fn default() -> Self {
        let text = format!("{DEFAULT_BASE_URL}/registry.json");
        Url::parse(&text).map_or_else(|_| Self::Path(text.into()), Self::Url)
    }
}

impl IndexLocation {
    /// The place of a file beside the index, as text: an address without secrets, or a path.
    #[must_use]
    pub(super) fn beside(&self, name: &str) -> Option<String> {
        match self {
            Self::Url(url) => {
                let mut file = url.join(name).ok()?;
                // They are not part of where it is; these cannot fail for an address with a host.
                let _ = (file.set_username(""), file.set_password(None));
                Some(file.to_string())
            }
            Self::Path(path) => {
                let folder = if path.is_dir() { path.as_path() } else { path.parent()? };
                Some(folder.canonicalize().ok()?.join(name).to_str()?.to_owned())
            }
            Self::Unusable(_) => None,
        }
    }
}

impl FromStr for IndexLocation {
    type Err = WrongPlace;

    fn from_str(text: &str) -> Result<Self, WrongPlace> {
        let wrong = || WrongPlace(text.to_owned());
        if text.trim().is_empty() {
            return Err(wrong());
        }
        if !text.contains("://") {
            return Ok(Self::Path(text.into()));
        }
        let mut url = Url::parse(text).map_err(|_| wrong())?;
        match url.scheme() {
            "https" | "http" => {
                // A published tree.
                if url.path().ends_with('/') {
                    url.set_path(&format!("{}registry.json", url.path()));
                }
                Ok(Self::Url(url))
            }
            // With a host, Windows would read from there, and send it the person's credentials.
            "file" if url.host().is_none() => url.to_file_path().map(Self::Path).map_err(|()| wrong()),
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for IndexLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => f.write_str(&shown(url)),
            Self::Path(path) => path.display().fmt(f),
            Self::Unusable(WrongPlace(text)) => f.write_str(&quote(&without_secrets(text))),
        }
    }
}

/// How an index is read.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Where copies of indexes are kept; nowhere when this is `None`.
    pub copies: Option<Copies>,
    /// Whether requests are forbidden.
    pub is_offline: bool,
    /// Whether the host is asked even if the copy is fresh.
    pub refresh: bool,
    /// Where this machine remembers who signs which registry; signatures are not looked at when this is `None`.
    pub trust: Option<Trust>,
}

impl LoadOptions {
    /// Whether there is a copy that may be used without a request.
    pub(super) fn has_fresh_copy(&self, url: &Url) -> bool {
        self.copies.as_ref().and_then(|copies| copies.head(url)).is_some_and(|head| head.is_fresh())
    }
}

/// Reads the index at a place, and what its registry publishes beside it.
pub struct IndexReader<'a> {
    /// Where the index is.
    pub place: &'a IndexLocation,
    /// How it is read.
    pub options: LoadOptions,
    /// Makes the HTTP client; called only if a request is needed.
    pub client: Box<dyn Fn() -> Result<Arc<Client>, Problem> + Send + Sync + 'a>,
}

impl<'a> IndexReader<'a> {
    /// A reader that sends nothing.
    #[must_use]
    pub fn offline(place: &'a IndexLocation, options: LoadOptions) -> Self {
        let options = LoadOptions { is_offline: true, refresh: false, ..options };
        Self { place, options, client: Box::new(|| Err(Problem::Refused("nothing may be sent"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart() {
        assert!(
            matches!(IndexLocation::default(), IndexLocation::Url(url) if url.as_str().ends_with("/registry/v1/latest/registry.json"))
        );
        assert_eq!("a/b".parse(), Ok(IndexLocation::Path("a/b".into())));
        #[cfg(unix)]
        assert_eq!("file:///a%20b".parse(), Ok(IndexLocation::Path("/a b".into())));
        for wrong in ["", " ", "ftp://h.example/", "https://", "file://host.example/x"] {
            assert!(wrong.parse::<IndexLocation>().is_err(), "{wrong:?}");
        }
        for tree in ["https://h.example", "https://h.example/", "https://h.example/v1/latest/"] {
            let place: IndexLocation = tree.parse().unwrap();
            assert_eq!(place.to_string(), format!("{}/registry.json", tree.trim_end_matches('/')));
        }
        let secret: IndexLocation = "https://u:secret@h.example/r.json?token=1".parse().unwrap();
        assert_eq!(secret.to_string(), "https://h.example/r.json?…");
    }
}
