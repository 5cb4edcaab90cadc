//! The form in which a file is stored: headers and content encoding.

use super::Gzip;
use super::tree::{self, hex_digest};
use crate::contents::{CONTENTS, FIXED, caching, media_type};
use acp_registry_plan::sums::SIGNATURE;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read as _, Write as _};

/// A digest of the headers of all kinds of files of `latest/`. It changes when a version of this program sends others.
pub(super) fn rules() -> String {
    let all = Gzip { assets: true, documents: true };
    let forms = CONTENTS.iter().map(|kind| Headers::for_latest(kind.path, all).fingerprint(kind.path));
    hex_digest(forms.collect::<String>().as_bytes())
}

/// Whether a file is an index, `revoked.json`, the list of digests, the history or a sitemap: of the whole registry.
fn is_document(name: &str) -> bool {
    let is_sitemap = name == "sitemap.xml" || (name.starts_with("sitemap-") && !name.contains('/'));
    is_sitemap || name == "history.json" || (tree::is_kept_by_name(name) && name != SIGNATURE)
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
    pub(super) fn for_latest(name: &str, gzip: Gzip) -> Self {
        let is_encoded = (gzip.assets && name.starts_with("assets/")) || (gzip.documents && is_document(name));
        Self {
            content_type: media_type(name),
            cache_control: caching(name),
            content_encoding: is_encoded.then_some(GZIP),
        }
    }

    /// Headers of a file of a snapshot, which never changes.
    pub(super) fn for_snapshot(name: &str, gzip: Gzip) -> Self {
        Self { cache_control: FIXED, ..Self::for_latest(name, gzip) }
    }

    /// Headers of content that is stored by its digest: of no type, so that browsers do not show it as a page. It is encoded
    /// like the file in `latest/`, so that a store can copy it.
    pub(super) fn for_content(name: &str, gzip: Gzip) -> Self {
        Self { content_type: "application/octet-stream", ..Self::for_snapshot(name, gzip) }
    }

    /// Headers of the files in `.acp-registry/`, which only publishers read.
    pub(super) const OWN: Self =
        Self { content_type: "application/json", cache_control: "no-store", content_encoding: None };

    /// A digest of the content (given as `digest`) and the headers. It is stored with the object to detect changes of
    /// either.
    pub(super) fn fingerprint(&self, digest: &str) -> String {
        let encoding = self.content_encoding.unwrap_or_default();
        hex_digest([digest, self.content_type, self.cache_control, encoding].join("\n").as_bytes())
    }

    /// The bytes to store: compressed if the headers say so.
    pub(super) fn encode(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.content_encoding.is_none() {
            return bytes;
        }
        gzip(&bytes)
    }
}

/// The value of `Content-Encoding`. Every browser and HTTP library that decodes anything knows it.
pub(super) const GZIP: &str = "gzip";

/// The first bytes of what is compressed.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Compresses bytes.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The content of an object that a store has sent with this `Content-Encoding`; `None` if it is damaged or larger than
/// `limit`. A store may have decoded the object, and may name other encodings of the transport.
pub(super) fn decode(bytes: Vec<u8>, encoding: Option<&str>, limit: u64) -> Option<Vec<u8>> {
    let is_named = encoding.is_some_and(|names| names.split(',').any(|name| name.trim().eq_ignore_ascii_case(GZIP)));
    if !is_named || !bytes.starts_with(&MAGIC) {
        return Some(bytes);
    }
    let mut decoded = Vec::new();
    GzDecoder::new(&bytes[..]).take(limit.saturating_add(1)).read_to_end(&mut decoded).ok()?;
    (decoded.len() as u64 <= limit).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_encoded() {
        let all = Gzip { assets: true, documents: true };
        let documents = [
            "registry.json", "registry-for-editors.json", "SHA256SUMS", "sitemap.xml", "sitemap-2.xml", "history.json",
        ];
        for name in documents {
            assert_eq!(Headers::for_latest(name, all).content_encoding, Some("gzip"), "{name}");
            assert_eq!(Headers::for_latest(name, Gzip { documents: false, ..all }).content_encoding, None, "{name}");
            assert_eq!(Headers::for_content(name, all).content_encoding, Some("gzip"), "{name}");
        }
        // Clients read these of single agents, with any program, and a signature covers the bytes as they are.
        for name in [
            "SHA256SUMS.sig", "entries.json", "entries/registry/a.json", "entry-lists/12.json", "a.svg", "index.html",
            "agent.schema.json", "agents/a/sitemap.xml", "agents/a/registry.json",
        ] {
            assert_eq!(Headers::for_latest(name, all).content_encoding, None, "{name}");
        }
        let asset = Headers::for_latest("assets/catalog.1.json", Gzip { assets: true, documents: false });
        assert_eq!(asset.content_encoding, Some("gzip"));
        assert_eq!(Headers::for_latest("assets/catalog.1.json", Gzip::default()).content_encoding, None);
    }

    #[test]
    fn what_is_named_as_gzip_is_decoded_within_the_limit() {
        let text = b"{ \"agents\": [] }".repeat(1000);
        let encoded = gzip(&text);
        let limit = text.len() as u64;
        for named in ["gzip", "GZIP", "aws-chunked, gzip"] {
            assert_eq!(decode(encoded.clone(), Some(named), limit), Some(text.clone()), "{named}");
        }
        assert_eq!(decode(encoded.clone(), Some(GZIP), limit - 1), None);
        assert_eq!(decode(encoded[..encoded.len() - 9].to_vec(), Some(GZIP), limit), None);
        // An object of a media type, and one that the store has decoded.
        assert_eq!(decode(encoded.clone(), None, 7), Some(encoded.clone()));
        assert_eq!(decode(encoded.clone(), Some("aws-chunked"), 7), Some(encoded));
        assert_eq!(decode(text.clone(), Some(GZIP), limit), Some(text));
    }
}
