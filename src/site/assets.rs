//! Style, scripts and the icon of the site. Names hold a digest, so that a copy once fetched stays good.

use sha2::{Digest, Sha256};

const FILES: [(&str, &str, &str); 5] = [
    ("style", "css", include_str!("assets/style.css")),
    ("theme", "js", include_str!("assets/theme.js")),
    ("search", "js", include_str!("assets/search.js")),
    ("page", "js", include_str!("assets/page.js")),
    ("icon", "svg", include_str!("assets/icon.svg")),
];

/// Paths of the files, relative to the root of the site.
#[derive(Debug, Default)]
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) theme: String,
    pub(super) search: String,
    pub(super) page: String,
    pub(super) icon: String,
}

impl Assets {
    /// The paths, and the files themselves.
    pub(super) fn all() -> (Self, Vec<(String, Vec<u8>)>) {
        let files = FILES.map(|(stem, ending, text)| (hashed(stem, ending, text.as_bytes()), text.as_bytes().to_vec()));
        let [style, theme, search, page, icon] = [0, 1, 2, 3, 4].map(|at: usize| files[at].0.clone());
        (Self { style, theme, search, page, icon }, files.into())
    }
}

/// A path that changes with the content.
pub(super) fn hashed(stem: &str, ending: &str, bytes: &[u8]) -> String {
    let digest = crate::hex(&Sha256::digest(bytes));
    format!("assets/{stem}.{}.{ending}", digest.get(..12).unwrap_or_default())
}
