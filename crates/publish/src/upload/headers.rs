//! The form in which a file is stored: headers and content encoding.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::tree::digest_of;
use crate::site::caching::{FIXED, caching};
use crate::site::{CONTENTS, media_type};

/// A digest of the headers of all kinds of files of `latest/`. It changes when a version of this program sends others.
pub(super) fn rules() -> String {
    let forms = CONTENTS.iter().map(|kind| Headers::of_latest(kind.path, true).fingerprint(kind.path));
    digest_of(forms.collect::<String>().as_bytes())
}

/// Response headers that a store is told to send with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) content_type: &'static str,
    pub(super) cache_control: &'static str,
    pub(super) content_encoding: Option<&'static str>,
}

impl Headers {
    /// Headers of a file of `latest/`, by its name there.
    pub(super) fn of_latest(name: &str, gzip_assets: bool) -> Self {
        let is_asset = name.starts_with("assets/");
        Self {
            content_type: media_type(name),
            cache_control: caching(name),
            content_encoding: (is_asset && gzip_assets).then_some("gzip"),
        }
    }

    /// Headers of a file of a snapshot, which never changes.
    pub(super) fn of_snapshot(name: &str, gzip_assets: bool) -> Self {
        Self { cache_control: FIXED, ..Self::of_latest(name, gzip_assets) }
    }

    /// Headers of content that is stored by its digest: of no type, so that browsers do not show it as a page.
    pub(super) const CONTENT: Self =
        Self { content_type: "application/octet-stream", cache_control: FIXED, content_encoding: None };

    /// Headers of the files in `.acp-registry/`, which only publishers read.
    pub(super) const OWN: Self =
        Self { content_type: "application/json", cache_control: "no-store", content_encoding: None };

    /// A digest of the content (given as `digest`) and the headers. It is stored with the object to detect changes of
    /// either.
    pub(super) fn fingerprint(&self, digest: &str) -> String {
        let encoding = self.content_encoding.unwrap_or_default();
        digest_of([digest, self.content_type, self.cache_control, encoding].join("\n").as_bytes())
    }

    /// The bytes to store: compressed if the headers say so.
    pub(super) fn encode(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.content_encoding.is_none() {
            return bytes;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail.
        let _ = encoder.write_all(&bytes);
        encoder.finish().unwrap_or_default()
    }
}
