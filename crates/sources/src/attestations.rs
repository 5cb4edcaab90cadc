//! Attestations of who has built a package or an archive, as npm registries, Python package indexes (PEP 740) and GitHub keep
//! them. Their bundles are not checked here.

use std::sync::Arc;

use acp_registry_http::Client;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::json;
use serde_json::value::RawValue;
use url::Url;

use super::github::Github;
use super::npm::Registry;
use super::pypi::{PackageIndex, Wheel, normalized, page};
use super::{SourceError, address, segment};

/// Maximum number of attestations of one artifact; the first are read.
const ATTESTATIONS: usize = 64;

/// Maximum size of one bundle, in bytes; a larger one is not read.
const BUNDLE_LIMIT: usize = 1 << 20;

/// Maximum size of a response, in bytes.
const ANSWER_LIMIT: u64 = 8 << 20;

/// The expected response, for messages.
const EXPECTED: &str = "a list of attestations";

/// The bundles about an artifact, each as JSON text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attestations {
    /// The bundles, in the order of the response.
    pub bundles: Vec<String>,
    /// How many others were not read: too large, too many, or kept elsewhere.
    pub unread: usize,
}

impl Registry {
    /// Fetches the attestations of a package's version; `None` if there are none. The address that the registry itself names
    /// for them is not used: a mirror would name that of another host.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn attestations(
        &self,
        client: &Client,
        name: &str,
        version: &str,
    ) -> Result<Option<Arc<Attestations>>, SourceError> {
        let base = self.base(name);
        // The slash after a scope is part of the name.
        let name = name.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        let url = format!("{base}-/npm/v1/attestations/{name}@{}", segment(version));
        let url = address(&url, base, EXPECTED)?;
        ask(client, &url, "application/json", Attestations::parse).await
    }
}

impl PackageIndex {
    /// Fetches the attestations of a wheel of a version; `None` if there are none. The address that the index names for them
    /// counts if it is of the index's own origin: a mirror may name that of another host. Otherwise, indexes at `simple/` have
    /// them next to it, and of others, nothing is known.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn attestations(
        &self,
        client: &Client,
        (name, version): (&str, &str),
        wheel: &Wheel,
    ) -> Result<Option<Arc<Attestations>>, SourceError> {
        let page = page(&self.base, name)?;
        let named = wheel.attestations.as_ref().and_then(|address| page.join(address).ok());
        let url = match (named.filter(|url| url.origin() == page.origin()), self.base.as_str().strip_suffix("simple/"))
        {
            (Some(url), _) => url,
            (None, Some(root)) => {
                let [name, version, file] = [&*normalized(name), version, &wheel.file].map(segment);
                address(&format!("{root}integrity/{name}/{version}/{file}/provenance"), &self.base, EXPECTED)?
            }
            (None, None) => return Ok(None),
        };
        ask(client, &url, "application/vnd.pypi.integrity.v1+json, application/json", Attestations::parse_python).await
    }
}

impl Github {
    /// Fetches the attestations that workflows of a repository have made of an archive; `None` if there are none.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn attestations(
        &self,
        client: &Client,
        (owner, repository): (&str, &str),
        sha256: Sha256,
    ) -> Result<Option<Arc<Attestations>>, SourceError> {
        let path = format!("repos/{}/{}/attestations/sha256:{sha256}", segment(owner), segment(repository));
        let url = address(&format!("{}{path}?per_page={ATTESTATIONS}", self.api), &self.api, EXPECTED)?;
        ask(client, &url, "application/vnd.github+json", Attestations::parse).await
    }
}

async fn ask(
    client: &Client,
    url: &Url,
    accept: &str,
    parse: fn(&[u8]) -> Result<Attestations, String>,
) -> Result<Option<Arc<Attestations>>, SourceError> {
    let read = |document: acp_registry_http::FetchedDocument| parse(&document.body);
    let found = super::ask(client, url, accept, ANSWER_LIMIT, EXPECTED, read).await?;
    Ok(found.filter(|found| *found.as_ref() != Attestations::default()))
}

impl Attestations {
    /// Parses a response.
    ///
    /// # Errors
    /// Returns what is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let [list] = json::members(bytes, ["attestations"]).map_err(|error| error.to_string())?;
        let list = super::list::<ATTESTATIONS>(list).ok_or("there is no array `attestations`")?;
        let mut found = Self { unread: usize::from(list.is_longer), ..Self::default() };
        for one in &list.items {
            let [bundle] = json::read_members(Some(one), ["bundle"]);
            match bundle.map(RawValue::get).filter(|text| text.len() <= BUNDLE_LIMIT && text.starts_with('{')) {
                Some(bundle) => found.bundles.push(bundle.to_owned()),
                None => found.unread += 1,
            }
        }
        Ok(found)
    }

    /// Parses the response of a Python package index, whose attestations have the parts of bundles under other names.
    ///
    /// # Errors
    /// Returns what is missing.
    pub fn parse_python(bytes: &[u8]) -> Result<Self, String> {
        let [list] = json::members(bytes, ["attestation_bundles"]).map_err(|error| error.to_string())?;
        let list = super::list::<ATTESTATIONS>(list).ok_or("there is no array `attestation_bundles`")?;
        let mut found = Self { unread: usize::from(list.is_longer), ..Self::default() };
        for by_publisher in &list.items {
            let [attestations] = json::read_members(Some(by_publisher), ["attestations"]);
            let Some(attestations) = super::list::<ATTESTATIONS>(attestations) else { continue };
            found.unread += usize::from(attestations.is_longer);
            for one in &attestations.items {
                match bundle(one).filter(|text| text.len() <= BUNDLE_LIMIT && found.bundles.len() < ATTESTATIONS) {
                    Some(bundle) => found.bundles.push(bundle),
                    None => found.unread += 1,
                }
            }
        }
        Ok(found)
    }
}

/// The bundle with the parts of an attestation of PEP 740.
fn bundle(attestation: &RawValue) -> Option<String> {
    let [material, envelope] = json::read_members(Some(attestation), ["verification_material", "envelope"]);
    let [certificate, entries] = json::read_members(material, ["certificate", "transparency_entries"]);
    let [statement, signature] = json::read_members(envelope, ["statement", "signature"]);
    let bundle = serde_json::json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": { "certificate": { "rawBytes": certificate? }, "tlogEntries": entries? },
        "dsseEnvelope": {
            "payload": statement?, "payloadType": "application/vnd.in-toto+json", "signatures": [{ "sig": signature? }],
        },
    });
    Some(bundle.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bundles_that_can_be_read_are_taken() {
        let large = format!("{{\"x\":\"{}\"}}", "x".repeat(BUNDLE_LIMIT));
        let text = format!(
            r#"{{"attestations":[{{"bundle":{{"a":1}}}},{{"bundle":null,"bundle_url":"https://h.example/"}},{{}},7,
                {{"bundle":{large}}},{{"bundle":"text"}},{{"predicateType":"p","bundle":{{"b":2}}}}]}}"#
        );
        let found = Attestations::parse(text.as_bytes()).unwrap();
        assert_eq!((found.bundles, found.unread), (vec!["{\"a\":1}".to_owned(), "{\"b\":2}".to_owned()], 5));
        let many = vec!["{\"bundle\":{}}"; ATTESTATIONS + 1].join(",");
        let found = Attestations::parse(format!("{{\"attestations\":[{many}]}}").as_bytes()).unwrap();
        assert_eq!((found.bundles.len(), found.unread), (ATTESTATIONS, 1));
        for odd in ["", "[]", "{}", "{\"attestations\":{}}", "{\"attestations\":null}"] {
            assert!(Attestations::parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }

    #[test]
    fn the_parts_of_a_python_attestation_become_a_bundle() {
        let one = r#"{ "version": 1, "verification_material": { "certificate": "c", "transparency_entries": [{ "a": 1 }] },
                       "envelope": { "statement": "p", "signature": "s" } }"#;
        let text = format!(
            r#"{{ "version": 1, "attestation_bundles": [ {{ "publisher": {{}}, "attestations": [{one}, {{}}, 7] }}, {{}}, 7,
                 {{ "attestations": [{one}] }} ] }}"#
        );
        let found = Attestations::parse_python(text.as_bytes()).unwrap();
        assert_eq!((found.bundles.len(), found.unread), (2, 2));
        let bundle: serde_json::Value = serde_json::from_str(&found.bundles[0]).unwrap();
        assert_eq!(bundle["verificationMaterial"]["tlogEntries"][0]["a"], 1);
        assert_eq!(
            (&bundle["dsseEnvelope"]["payload"], &bundle["dsseEnvelope"]["signatures"][0]["sig"]),
            (&"p".into(), &"s".into())
        );
        let many = format!("{{\"attestations\":[{}]}}", vec![one; ATTESTATIONS].join(","));
        let found =
            Attestations::parse_python(format!("{{\"attestation_bundles\":[{many},{many}]}}").as_bytes()).unwrap();
        assert_eq!((found.bundles.len(), found.unread), (ATTESTATIONS, ATTESTATIONS));
        for odd in ["", "[]", "{}", "{\"attestation_bundles\":{}}"] {
            assert!(Attestations::parse_python(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
