//! What a file is sent as: its headers, and its bytes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::tree::digest_of;
use crate::site::media_type;

/// How long others may keep a file that never changes under its name.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// How long others may keep a file of the newest tree.
const SHORT: &str = "public, max-age=300";

/// The headers with which a store should hand out a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) content_type: &'static str,
    pub(super) cache_control: &'static str,
    pub(super) content_encoding: Option<&'static str>,
}

impl Headers {
    /// For a file of the newest tree, by its name there.
    pub(super) fn of_latest(name: &str, gzip_assets: bool) -> Self {
        // What is below this folder has other names when it changes.
        let is_asset = name.starts_with("assets/");
        Self {
            content_type: media_type(name),
            cache_control: if is_asset { FOR_EVER } else { SHORT },
            content_encoding: (is_asset && gzip_assets).then_some("gzip"),
        }
    }

    /// For a file of a snapshot.
    pub(super) fn of_snapshot(name: &str, gzip_assets: bool) -> Self {
        Self { cache_control: FOR_EVER, ..Self::of_latest(name, gzip_assets) }
    }

    /// For what only publishers need.
    pub(super) const OWN: Self =
        Self { content_type: "application/json", cache_control: "no-store", content_encoding: None };

    /// What tells this file, sent like this, from every other: a digest.
    pub(super) fn fingerprint(&self, digest: &str) -> String {
        let encoding = self.content_encoding.unwrap_or_default();
        digest_of([digest, self.content_type, self.cache_control, encoding].join("\n").as_bytes())
    }

    /// The bytes as they are stored.
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
