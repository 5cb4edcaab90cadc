//! How the index of a place is read.

use super::copies::Copies;
use super::trust::Trust;
use url::Url;

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
        self.copies.as_ref().and_then(|copies| copies.checked(url)).is_some_and(|copy| copy.is_fresh)
    }
}
