//! SHA-256 of bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// A SHA-256 digest, shown as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sha256([u8; 32]);

/// The text is not a SHA-256 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest has 64 hexadecimal digits")]
pub struct InvalidDigest;

impl Sha256 {
    /// Computes the digest of bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first digits, at most 64, for short names.
    #[must_use]
    pub fn first(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }
}

/// Computes the digest of bytes that arrive in pieces.
#[derive(Debug, Clone, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds the next piece.
    pub fn update(&mut self, piece: impl AsRef<[u8]>) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    #[must_use]
    pub fn finish(self) -> Sha256 {
        Sha256(self.0.finalize().into())
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Sha256 {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl FromStr for Sha256 {
    type Err = InvalidDigest;

    /// Accepts upper-case and lower-case digits.
    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (pairs, rest) = text.as_bytes().as_chunks();
        let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(InvalidDigest)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Trees have tens of thousands of them: one call for all digits takes a tenth of the time of one for each byte.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        for (place, digit) in text.iter_mut().zip(digits) {
            *place = DIGITS[usize::from(digit)];
        }
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Compares with a text, ignoring the case of its digits.
impl PartialEq<str> for Sha256 {
    fn eq(&self, text: &str) -> bool {
        text.parse() == Ok(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_64_digits_of_either_case() {
        let short = &EMPTY[1..];
        let (long, sign, wide) = (format!("{EMPTY}0"), format!("+{short}"), format!("{}é", &EMPTY[2..]));
        for text in ["", short, &long, &sign, &wide, &EMPTY.replace('e', "g")] {
            assert_eq!(text.parse::<Sha256>(), Err(InvalidDigest), "{text}");
        }
        let digest = Sha256::of("");
        assert_eq!((digest.to_string().as_str(), digest.first(12).as_str()), (EMPTY, &EMPTY[..12]));
        assert!(digest == *EMPTY && digest == *EMPTY.to_uppercase() && digest != *"");
    }

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut hasher = Hasher::default();
        hasher.update("some");
        hasher.update("thing");
        assert_eq!(hasher.finish(), Sha256::of("something"));
    }
}
