//! The cryptography of sigstore's crates by ring, which the program has anyway. It only verifies.

use ring::digest::{Context, SHA256, SHA384, SHA512};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use sigstore_verify::crypto::{CryptoProvider, Error, HashContext, SigningScheme, install_default_provider};
use sigstore_verify::types::HashAlgorithm;

/// Makes sigstore's crates use ring, unless the program that holds this library has chosen something else.
pub(super) fn install() {
    let _ = install_default_provider(&Ring);
}

#[derive(Debug)]
struct Ring;

struct Hash(Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>, Error> {
        let known = match algorithm {
            HashAlgorithm::Sha2256 => &SHA256,
            HashAlgorithm::Sha2384 => &SHA384,
            HashAlgorithm::Sha2512 => &SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.to_string())),
        };
        Ok(Box::new(Hash(Context::new(known))))
    }

    fn verify_raw(&self, scheme: SigningScheme, key: &[u8], data: &[u8], signature: &[u8]) -> Result<(), Error> {
        let known: &'static dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            SigningScheme::RsaPssSha256 => &RSA_PSS_2048_8192_SHA256,
            SigningScheme::RsaPssSha384 => &RSA_PSS_2048_8192_SHA384,
            SigningScheme::RsaPssSha512 => &RSA_PSS_2048_8192_SHA512,
            SigningScheme::RsaPkcs1Sha256 => &RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.name().to_owned())),
        };
        let verified = UnparsedPublicKey::new(known, key).verify(data, signature);
        verified.map_err(|_| Error::Verification(format!("the {} signature is not of this key", scheme.name())))
    }

    /// ring verifies messages only. Attestations of packages are messages; bare digests are signed for files.
    fn verify_prehashed(&self, scheme: SigningScheme, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), Error> {
        Err(Error::UnsupportedAlgorithm(format!("{} of a digest", scheme.name())))
    }
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

    use super::*;

    #[test]
    fn only_the_signature_of_the_key_over_the_message_is_accepted() {
        let random = SystemRandom::new();
        let key = || {
            let text = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, text.as_ref(), &random).unwrap()
        };
        let (own, other) = (key(), key());
        let signature = own.sign(&random, b"message").unwrap();
        let verify = |scheme, key: &EcdsaKeyPair, message: &[u8]| {
            Ring.verify_raw(scheme, key.public_key().as_ref(), message, signature.as_ref())
        };
        assert!(verify(SigningScheme::EcdsaP256Sha256, &own, b"message").is_ok());
        assert!(verify(SigningScheme::EcdsaP256Sha256, &own, b"another").is_err());
        assert!(verify(SigningScheme::EcdsaP256Sha256, &other, b"message").is_err());
        assert!(verify(SigningScheme::EcdsaP256Sha384, &own, b"message").is_err());
        assert!(verify(SigningScheme::MlDsa44, &own, b"message").is_err());
        assert!(Ring.verify_prehashed(SigningScheme::EcdsaP256Sha256, &[], &[], &[]).is_err());
    }

    #[test]
    fn hashes_have_the_values_of_the_standard() {
        let abc = |algorithm| {
            let mut hash = Ring.hash(algorithm).unwrap();
            hash.update(b"a");
            hash.update(b"bc");
            hash.finalize()[..4].to_vec()
        };
        assert_eq!(abc(HashAlgorithm::Sha2256), [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(abc(HashAlgorithm::Sha2384), [0xcb, 0x00, 0x75, 0x3f]);
        assert_eq!(abc(HashAlgorithm::Sha2512), [0xdd, 0xaf, 0x35, 0xa1]);
    }
}
