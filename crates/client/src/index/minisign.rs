//! Keys and signatures in the form of minisign, by which `minisign` and its relatives verify what this program signs, and
//! the other way round.
//!
//! A signature covers the `BLAKE2b` digest of a text (algorithm `ED`) or the text itself (`Ed`), and a comment. A file of
//! signatures may have several of them; foreign tools read the first one. Whether a signature fits a registry, and the error
//! if not: `trust.rs`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use blake2::{Blake2b512, Digest as _};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The bytes of a public key: an algorithm, the number of the key, the key.
const PUBLIC: usize = 2 + 8 + 32;

/// The bytes of a secret key, as `minisign -G -W` writes it.
const SECRET: usize = 2 + 2 + 2 + 32 + 8 + 8 + 8 + 64 + 32;

/// The most signatures that are tried of a file.
const SIGNATURES: usize = 8;

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    number: [u8; 8],
    key: [u8; 32],
}

/// The text is not a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a public key has 56 characters that begin with RW, as in a file *.pub of minisign")]
pub struct WrongKey;

/// Why a text is not a secret key that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongSecretKey {
    /// It is none.
    #[error("it is not the secret key of minisign")]
    Form,
    /// It has a password.
    #[error("it has a password: make one without, with `minisign -G -W`, or sign with `minisign` itself")]
    Encrypted,
}

/// A secret key. It is not shown.
pub struct SecretKey {
    number: [u8; 8],
    pair: Ed25519KeyPair,
}

/// The signatures of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signatures(Vec<Signature>);

/// A signature of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    is_of_digest: bool,
    number: [u8; 8],
    of_text: [u8; 64],
    comment: String,
    of_comment: [u8; 64],
}

impl PublicKey {
    /// Whether one of these signatures is a signature of the text by this key.
    #[must_use]
    pub fn verifies(&self, text: &[u8], signatures: &Signatures) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.key);
        let digest = Blake2b512::digest(text);
        signatures.0.iter().filter(|one| one.number == self.number).any(|one| {
            let signed = if one.is_of_digest { digest.as_slice() } else { text };
            key.verify(signed, &one.of_text).is_ok()
                && key.verify(&[&one.of_text[..], one.comment.as_bytes()].concat(), &one.of_comment).is_ok()
        })
    }
}

impl FromStr for PublicKey {
    type Err = WrongKey;

    /// The key alone, or the text of its file.
    fn from_str(text: &str) -> Result<Self, WrongKey> {
        let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let bytes: [u8; PUBLIC] = bytes(line).ok_or(WrongKey)?;
        let key = bytes.strip_prefix(b"Ed").and_then(|rest| rest.split_first_chunk());
        let (number, key) = key.ok_or(WrongKey)?;
        Ok(Self { number: *number, key: key.try_into().map_err(|_| WrongKey)? })
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode([&b"Ed"[..], &self.number, &self.key].concat()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SecretKey {
    /// Its public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey { number: self.number, key }
    }

    /// A file with the signature of a text.
    #[must_use]
    pub fn sign(&self, text: &[u8], comment: &str) -> String {
        let signature = self.pair.sign(&Blake2b512::digest(text));
        let of_comment = self.pair.sign(&[signature.as_ref(), comment.as_bytes()].concat());
        let signed = STANDARD.encode([&b"ED"[..], &self.number, signature.as_ref()].concat());
        let of_comment = STANDARD.encode(of_comment);
        format!("untrusted comment: signature\n{signed}\ntrusted comment: {comment}\n{of_comment}\n")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.public().fmt(f)
    }
}

impl FromStr for SecretKey {
    type Err = WrongSecretKey;

    /// The key alone, or the text of its file.
    fn from_str(text: &str) -> Result<Self, WrongSecretKey> {
        let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let bytes: [u8; SECRET] = bytes(line).ok_or(WrongSecretKey::Form)?;
        let (head, rest) = bytes.split_at(SECRET - 8 - 64 - 32);
        if !head.starts_with(b"Ed") {
            return Err(WrongSecretKey::Form);
        }
        if head[2..4] != [0, 0] {
            return Err(WrongSecretKey::Encrypted);
        }
        let (number, keys) = rest.split_first_chunk().ok_or(WrongSecretKey::Form)?;
        let pair = Ed25519KeyPair::from_seed_and_public_key(&keys[..32], &keys[32..64]);
        Ok(Self { number: *number, pair: pair.map_err(|_| WrongSecretKey::Form)? })
    }
}

impl Signatures {
    /// Parses a file of signatures; `None` if it has none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let found: Vec<Signature> = lines.chunks_exact(4).take(SIGNATURES).map_while(Signature::parse).collect();
        (!found.is_empty()).then_some(Self(found))
    }
}

impl Signature {
    fn parse(lines: &[&str]) -> Option<Self> {
        let [_, signature, comment, of_comment] = lines else { return None };
        let bytes: [u8; 74] = bytes(signature)?;
        let (algorithm, rest) = bytes.split_first_chunk::<2>()?;
        let (number, signature) = rest.split_first_chunk::<8>()?;
        Some(Self {
            is_of_digest: match algorithm {
                b"ED" => true,
                b"Ed" => false,
                _ => return None,
            },
            number: *number,
            of_text: signature.try_into().ok()?,
            comment: comment.strip_prefix("trusted comment: ")?.to_owned(),
            of_comment: self::bytes(of_comment)?,
        })
    }
}

/// The bytes of a text in base64, if it has this many.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A secret key as `minisign -G -W` writes it.
    fn key(seed: u8) -> SecretKey {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let keys = [&[seed; 8][..], &[seed; 32], pair.public_key().as_ref(), &[0; 32]].concat();
        let bytes = [&b"Ed\0\0B2"[..], &[0; 32 + 8 + 8], &keys].concat();
        format!("untrusted comment: secret key\n{}\n", STANDARD.encode(bytes)).parse().unwrap()
    }

    #[test]
    fn a_signature_is_of_one_key_one_text_and_one_comment() {
        let (one, other) = (key(1), key(2));
        let public: PublicKey = one.public().to_string().parse().unwrap();
        assert_eq!(public, one.public());
        assert!(public.to_string().starts_with("RW") && public.to_string().len() == 56);
        let file = one.sign(b"text", "a comment");
        let verifies = |key: &SecretKey, text: &str, file: &str| {
            Signatures::parse(file).is_some_and(|signatures| key.public().verifies(text.as_bytes(), &signatures))
        };
        assert!(verifies(&one, "text", &file));
        assert!(!verifies(&one, "texts", &file) && !verifies(&other, "text", &file));
        assert!(!verifies(&one, "text", &file.replace("a comment", "b comment")));
        // Of several signatures, any may be the one.
        assert!(verifies(&one, "text", &format!("{}{file}", other.sign(b"text", ""))));
        for broken in ["", "\n\n\n\n", &file[..file.len() / 2], &file.replace("trusted comment: a", "comment: a")] {
            assert_eq!(Signatures::parse(broken), None, "{broken}");
        }
    }

    /// Of minisign 0.11: a digest is signed, and with `-l` the text.
    #[test]
    fn what_minisign_has_made_is_read() {
        const SECRET: &str = "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAyPx2JXWPjz8KciuFRP93DB8Lj8\
                              xQKF0VxvTtvAnSKZ8XUnBVoTINdbWs79efsQks2YClq6CnDSwMtSxcyunachdfUk5vy74HAAAAAAAAAAAAAAAAAAAAAAAAAA\
                              AAAAAAAAAAAAAAAAA=";
        let key: PublicKey = "RWTI/HYldY+PP7Ws79efsQks2YClq6CnDSwMtSxcyunachdfUk5vy74H".parse().unwrap();
        for [signature, of_comment] in [
            [
                "RUTI/HYldY+PP5Y05UJd8Kkp6KrjCxxIKxzOodBEEayO56V3SN7Ij/oTIVs/DO6wIGHKXmabZeIpTQI9NvwkwjNC376Ypelhsww=",
                "5zWHv1KzovMQVk0Tlbnc4D0ymqssVpDhMG2OgjeLTTMLjtHpQE1vExT+SR83pkIBC23ObtiNCO4qChrLj2ZPBg==",
            ],
            [
                "RWTI/HYldY+PP36ETdwGqTdGbHHa7I578ouscd45dYFlUZ34UBRS3xDsaiuD+AfyCHHGS9RCZTxYCehdfRWeK9MprA3c90w/yQs=",
                "UZhrsGOgEtbbAD4z7pmj4v5ts5upYJ6cXpQkPx2JWzqtor6ExnqPUi/SJqxVTybgwwwIRiIlb4EGqAe3SQhEBg==",
            ],
        ] {
            let file = format!("untrusted comment: any\n{signature}\ntrusted comment: of a test\n{of_comment}\n");
            let signatures = Signatures::parse(&file).unwrap();
            assert!(key.verifies(b"a statement", &signatures) && !key.verifies(b"another", &signatures));
        }
        let secret: SecretKey = SECRET.parse().unwrap();
        assert_eq!(secret.public(), key);
    }

    #[test]
    fn a_secret_key_with_a_password_is_told_apart() {
        let bytes = [&b"EdScB2"[..], &[0; SECRET - 6]].concat();
        assert_eq!(STANDARD.encode(bytes).parse::<SecretKey>().unwrap_err(), WrongSecretKey::Encrypted);
        assert_eq!("RWQ".parse::<SecretKey>().unwrap_err(), WrongSecretKey::Form);
        assert_eq!("".parse::<PublicKey>(), Err(WrongKey));
        assert!(!format!("{:?}", key(1)).contains(&STANDARD.encode([1; 32])));
    }
}
