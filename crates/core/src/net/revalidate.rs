//! Documents that the caller keeps, asked for again.

use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::{Client, Request, headers};
use super::document::{is_worth_another, read};
use super::error::{FetchError, Problem};

/// What a host calls one version of a document; empty where it has no name for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`
    pub etag: String,
    /// `Last-Modified`
    pub last_modified: String,
}

/// Answer to the question whether a document has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revalidated {
    /// The document; `None` when it is still the one that the caller has.
    pub body: Option<Vec<u8>>,
    /// What the host calls the version that holds now.
    pub validators: Validators,
    /// For how long the host says that this will not change.
    pub max_age: Option<Duration>,
}

impl Client {
    /// Fetches a file of at most `limit` bytes, unless it is still the one that the caller has.
    ///
    /// # Errors
    /// [`FetchError`], with the way and the [`Problem`].
    pub async fn revalidate(
        &self,
        url: &Url,
        limit: u64,
        known: Option<&Validators>,
    ) -> Result<Revalidated, FetchError> {
        let known = known.cloned().unwrap_or_default();
        let mut pairs = vec![(header::ACCEPT, "*/*")];
        pairs.extend([(header::IF_NONE_MATCH, known.etag.as_str()), (header::IF_MODIFIED_SINCE, &known.last_modified)]);
        pairs.retain(|(_, value)| !value.is_empty());
        let request = Request {
            method: Method::GET,
            url,
            headers: headers(&pairs),
            timeout: self.settings.total_timeout,
            is_raw: false,
            is_to_source: false,
            body: None,
        };
        let mut attempt = 1;
        loop {
            let reply = self.send(&request).await?;
            let status = reply.response.status();
            let max_age = max_age(reply.response.headers());
            if status == StatusCode::NOT_MODIFIED {
                return Ok(Revalidated { body: None, validators: known, max_age });
            }
            if status != StatusCode::OK {
                return Err(reply.fail(Problem::Status(status.as_u16())));
            }
            match read(reply, limit).await {
                Err(error) if is_worth_another(&error.problem) && attempt < self.settings.attempts => attempt += 1,
                Err(error) => return Err(error),
                Ok((document, answer)) => {
                    let text = |name| answer.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
                    let text = |name| text(name).unwrap_or_default().to_owned();
                    let validators =
                        Validators { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) };
                    return Ok(Revalidated { body: Some(document.body), validators, max_age });
                }
            }
        }
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let control = headers.get(header::CACHE_CONTROL)?.to_str().ok()?.to_ascii_lowercase();
    let mut directives = control.split(',').map(str::trim);
    directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok()).map(Duration::from_secs)
}
