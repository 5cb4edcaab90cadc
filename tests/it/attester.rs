//! A certificate authority, logs and signer as sigstore has them, for attestations that tests make.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, PublicKeyData as _, SanType, SerialNumber, SigningKey as _,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

/// The arc of the extensions that say for which workflow a certificate was issued.
const FULCIO: [u64; 9] = [1, 3, 6, 1, 4, 1, 57264, 1, 0];

/// The embedded timestamps of certificate logs.
const TIMESTAMPS: [u64; 10] = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];

/// An instance of sigstore.
pub(crate) struct Sigstore {
    authority: Issuer<'static, KeyPair>,
    certificate: Vec<u8>,
    authority_key: Vec<u8>,
    log: KeyPair,
    certificate_log: KeyPair,
}

/// What is attested, by whom, and how it is signed.
#[derive(Clone)]
pub(crate) struct Attestation {
    pub(crate) subjects: Value,
    pub(crate) predicate: String,
    pub(crate) issuer: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) repository_id: Option<String>,
    pub(crate) workflow: Option<String>,
    pub(crate) runner: String,
    /// What the certificate may be used for.
    pub(crate) usage: ExtendedKeyUsagePurpose,
    /// When the certificate was issued, and for how long.
    pub(crate) issued: OffsetDateTime,
    pub(crate) lifetime: Duration,
    /// When the log has recorded the attestation.
    pub(crate) logged: OffsetDateTime,
    pub(crate) is_logged: bool,
}

impl Attestation {
    /// What a workflow of a repository on GitHub has attested of these subjects.
    pub(crate) fn new(repository: &str, subjects: Value) -> Self {
        let issued = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() - Duration::HOUR;
        Self {
            subjects,
            predicate: "https://slsa.dev/provenance/v1".to_owned(),
            issuer: Some("https://token.actions.githubusercontent.com".to_owned()),
            repository: Some(format!("https://github.com/{repository}")),
            repository_id: Some("1".to_owned()),
            workflow: Some(format!("https://github.com/{repository}/.github/workflows/release.yml@refs/tags/v1")),
            runner: "github-hosted".to_owned(),
            usage: ExtendedKeyUsagePurpose::CodeSigning,
            issued,
            lifetime: Duration::minutes(10),
            logged: issued + Duration::minutes(1),
            is_logged: true,
        }
    }
}

impl Sigstore {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        let certificate = params.self_signed(&key).unwrap().der().to_vec();
        let authority_key = key.subject_public_key_info();
        let authority = Issuer::new(params, key);
        let (log, certificate_log) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        Self { authority, certificate, authority_key, log, certificate_log }
    }

    /// Its certificates and keys, in the form of `trusted_root.json`.
    pub(crate) fn root(&self) -> Value {
        let since = json!({ "start": "2020-01-01T00:00:00Z" });
        let log = |key: &KeyPair, host: &str| {
            let spki = key.subject_public_key_info();
            json!([{
                "baseUrl": format!("https://{host}.example"), "hashAlgorithm": "SHA2_256",
                "publicKey": { "rawBytes": text(&spki), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": since },
                "logId": { "keyId": text(&digest(&spki)) },
            }])
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": log(&self.log, "log"),
            "certificateAuthorities": [{
                "subject": { "organization": "tests", "commonName": "tests" }, "uri": "https://ca.example",
                "certChain": { "certificates": [{ "rawBytes": text(&self.certificate) }] }, "validFor": since,
            }],
            "ctlogs": log(&self.certificate_log, "ct"),
        })
    }

    /// Attests it, by a key that is not used again.
    pub(crate) fn sign(&self, attestation: &Attestation) -> Value {
        let key = KeyPair::generate().unwrap();
        let certificate = self.certify(attestation, &key);
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1", "subject": attestation.subjects,
            "predicateType": attestation.predicate, "predicate": {},
        });
        let payload = statement.to_string();
        let kind = "application/vnd.in-toto+json";
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        let signature = text(&key.sign(signed.as_bytes()).unwrap());
        let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", text(&certificate));
        let body = json!({
            "apiVersion": "0.0.1", "kind": "dsse",
            "spec": {
                "envelopeHash": { "algorithm": "sha256", "value": "0".repeat(64) },
                "payloadHash": { "algorithm": "sha256", "value": hex(&digest(payload.as_bytes())) },
                "signatures": [{ "signature": signature, "verifier": text(pem.as_bytes()) }],
            },
        });
        let entries =
            if attestation.is_logged { json!([self.record(&body.to_string(), attestation.logged)]) } else { json!([]) };
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": { "certificate": { "rawBytes": text(&certificate) }, "tlogEntries": entries },
            "dsseEnvelope": { "payload": text(payload.as_bytes()), "payloadType": kind, "signatures": [{ "sig": signature }] },
        })
    }

    /// The certificate of a workflow, with the timestamp of the certificate log.
    fn certify(&self, attestation: &Attestation, key: &KeyPair) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.serial_number = Some(SerialNumber::from(1));
        params.distinguished_name = DistinguishedName::new();
        (params.not_before, params.not_after) = (attestation.issued, attestation.issued + attestation.lifetime);
        params.extended_key_usages = vec![attestation.usage.clone()];
        let name = attestation.workflow.as_deref().unwrap_or("https://github.com/");
        params.subject_alt_names = vec![SanType::URI(name.try_into().unwrap())];
        let claims = [
            (8, &attestation.issuer),
            (9, &attestation.workflow),
            (11, &Some(attestation.runner.clone())),
            (12, &attestation.repository),
            (15, &attestation.repository_id),
            (18, &attestation.workflow),
        ];
        for (number, claim) in claims {
            let Some(claim) = claim else { continue };
            let oid = FULCIO.map(|part| if part == 0 { number } else { part });
            params.custom_extensions.push(CustomExtension::from_oid_content(&oid, der(0x0c, claim.as_bytes())));
        }
        let whole = params.clone().signed_by(key, &self.authority).unwrap();
        let time = u64::try_from(attestation.issued.unix_timestamp()).unwrap() * 1000;
        let body = first(content(whole.der()));
        let mut signed = vec![0, 0];
        signed.extend(time.to_be_bytes());
        signed.extend([0, 1]);
        signed.extend(digest(&self.authority_key));
        signed.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
        signed.extend(body);
        signed.extend([0, 0]);
        let signature = self.certificate_log.sign(&signed).unwrap();
        let mut stamp = vec![0];
        stamp.extend(digest(&self.certificate_log.subject_public_key_info()));
        stamp.extend(time.to_be_bytes());
        stamp.extend([0, 0, 4, 3]);
        stamp.extend(long(&signature));
        let list = long(&long(&stamp));
        params.custom_extensions.push(CustomExtension::from_oid_content(&TIMESTAMPS, der(4, &list)));
        params.signed_by(key, &self.authority).unwrap().der().to_vec()
    }

    /// The entry of a log that has no others.
    fn record(&self, body: &str, time: OffsetDateTime) -> Value {
        let id = digest(&self.log.subject_public_key_info());
        let (body64, seconds) = (text(body.as_bytes()), time.unix_timestamp());
        let promise = json!({ "body": body64, "integratedTime": seconds, "logID": hex(&id), "logIndex": 0 });
        let root = digest(&[&[0], body.as_bytes()].concat());
        let note = format!("log.example - 1\n1\n{}\n", text(&root));
        let hint = [&id[..4], &self.log.sign(note.as_bytes()).unwrap()].concat();
        json!({
            "logIndex": "0", "logId": { "keyId": text(&id) }, "kindVersion": { "kind": "dsse", "version": "0.0.1" },
            "integratedTime": seconds.to_string(), "canonicalizedBody": body64,
            "inclusionPromise": { "signedEntryTimestamp": text(&self.log.sign(promise.to_string().as_bytes()).unwrap()) },
            "inclusionProof": {
                "logIndex": "0", "treeSize": "1", "rootHash": text(&root), "hashes": [],
                "checkpoint": { "envelope": format!("{note}\n\u{2014} log.example {}\n", text(&hint)) },
            },
        })
    }
}

/// The trusted root, closed for certificates and entries after a time.
pub(crate) fn until(mut root: Value, time: OffsetDateTime) -> Value {
    root["certificateAuthorities"][0]["validFor"]["end"] = time.format(&Rfc3339).unwrap().into();
    root
}

pub(crate) fn text(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes after their length in two bytes.
fn long(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// A value of DER.
fn der(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap();
    let head: &[u8] = if length < 128 { &[tag, length] } else { &[tag, 0x81, length] };
    [head, bytes].concat()
}

/// The length of the head of a value of DER, and that of its content.
fn lengths(der: &[u8]) -> (usize, usize) {
    let count = usize::from(der[1]);
    if count < 128 {
        return (2, count);
    }
    let bytes = &der[2..2 + (count - 128)];
    (2 + bytes.len(), bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

fn content(der: &[u8]) -> &[u8] {
    let (head, length) = lengths(der);
    &der[head..head + length]
}

/// The first of several values, with its head.
fn first(der: &[u8]) -> &[u8] {
    let (head, length) = lengths(der);
    &der[..head + length]
}
