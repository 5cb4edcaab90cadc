//! How a host names a version of a document.

use reqwest::header::{self, HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};

/// The names of a version of a document; each is empty where the host has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`
    pub etag: String,
    /// `Last-Modified`
    pub last_modified: String,
}

impl Validators {
    /// The validators of an answer.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
        let text = |name| text(name).unwrap_or_default().to_owned();
        Self { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
    }

    /// The headers that ask whether another version holds now.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (HeaderName, &str)> {
        let pairs = [(header::IF_NONE_MATCH, self.etag.as_str()), (header::IF_MODIFIED_SINCE, &self.last_modified)];
        pairs.into_iter().filter(|(_, value)| !value.is_empty())
    }
}
