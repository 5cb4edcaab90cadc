//! Attestations of who has built a package or an archive, as npm registries and GitHub keep them. Their bundles are not
//! checked here.

use std::sync::Arc;

use acp_registry_http::Client;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::json::{self, List};
use serde_json::value::RawValue;
use url::Url;

use super::github::Github;
use super::npm::Registry;
use super::{SourceError, segment};

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
        let url = Url::parse(&format!("{base}-/npm/v1/attestations/{name}@{}", segment(version)))
            .map_err(|error| SourceError::malformed(base, EXPECTED, error))?;
        ask(client, &url, "application/json").await
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
        let url = Url::parse(&format!("{}{path}?per_page={ATTESTATIONS}", self.api))
            .map_err(|error| SourceError::malformed(&self.api, EXPECTED, error))?;
        ask(client, &url, "application/vnd.github+json").await
    }
}

async fn ask(client: &Client, url: &Url, accept: &str) -> Result<Option<Arc<Attestations>>, SourceError> {
    let read = |document: acp_registry_http::FetchedDocument| Attestations::parse(&document.body);
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
        let list: Option<List<'_, ATTESTATIONS>> = list.and_then(|list| serde_json::from_str(list.get()).ok());
        let list = list.ok_or("there is no array `attestations`")?;
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
}
