//! Objects that are stored compressed with gzip.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

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
