//! Asks whether documents that the caller keeps have changed.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap};
use url::Url;

use super::client::{Client, Request, headers};
use super::error::{FetchError, Problem};
use super::validators::Validators;

/// The answer to the question whether a document has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revalidated {
    /// The document; `None` when it is still the one that the caller has.
    pub body: Option<Vec<u8>>,
    /// How the host names the current version.
    pub validators: Validators,
    /// How long the document may be used without a request, if the host says so.
    pub max_age: Option<Duration>,
}

impl Client {
    /// Fetches a file of at most `limit` bytes, unless it is still the one that the caller has. The person has named its
    /// address or that of the tree that it is in, so that their [`Credentials`](super::Credentials) for it are sent.
    ///
    /// # Errors
    /// [`FetchError`], with the redirects and the [`Problem`].
    pub async fn revalidate(
        &self,
        url: &Url,
        limit: u64,
        known: Option<&Validators>,
    ) -> Result<Revalidated, FetchError> {
        let known = known.cloned().unwrap_or_default();
        let mut pairs = vec![(header::ACCEPT, "*/*")];
        pairs.extend(known.conditions());
        let request = Request { sends_secret: true, ..Request::get(url, headers(&pairs), self.settings.total_timeout) };
        match self.ask_for(&request, limit).await? {
            Ok((document, headers)) => Ok(Revalidated {
                body: Some(document.body),
                validators: Validators::of(&headers),
                max_age: max_age(&headers),
            }),
            Err(reply) if reply.response.status() == StatusCode::NOT_MODIFIED => {
                let max_age = max_age(reply.response.headers());
                Ok(Revalidated { body: None, validators: known, max_age })
            }
            Err(reply) => Err(reply.fail(Problem::Status(reply.response.status().as_u16()))),
        }
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let control = headers.get(header::CACHE_CONTROL)?.to_str().ok()?.to_ascii_lowercase();
    let mut directives = control.split(',').map(str::trim);
    directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok()).map(Duration::from_secs)
}
