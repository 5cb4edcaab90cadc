//! Small answers, read as a whole: each once in a run, and from the cache if the host says that nothing has changed. Callers
//! that keep documents themselves ask whether these have changed.

use std::any::{Any, TypeId};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, header};
use url::Url;

use super::cache::{Understood, Validators};
use super::client::{Client, Reply, Request, headers, is_whole};
use super::error::{FetchError, Problem};

/// An answer as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDocument {
    /// The body, decoded.
    pub body: Vec<u8>,
    /// The media type without parameters, in lower case; empty where the host names none.
    pub media_type: String,
}

/// The answer to a request for a document; `None` when there is no such document.
pub type Fetched = Result<Option<FetchedDocument>, FetchError>;

/// A document with the headers of its answer; the error is an answer without one.
pub(super) type Whole = Result<(FetchedDocument, HeaderMap), Reply>;

impl Client {
    /// Fetches a file of at most `limit` bytes; `None` when the host says that there is none.
    ///
    /// # Errors
    /// [`FetchError`], with the redirects and the [`Problem`].
    pub async fn get(&self, url: &Url, limit: u64) -> Result<Option<Vec<u8>>, FetchError> {
        let document = self.fetch(url, "*/*", limit, false).await?;
        Ok(document.map(|document| document.body))
    }

    /// Asks a source that a person has configured, with its secret if it has one (see [`Settings::sources`]). With a cache,
    /// the host is asked only whether the document has changed.
    ///
    /// # Errors
    /// [`FetchError`], with the redirects and the [`Problem`].
    ///
    /// [`Settings::sources`]: super::Settings::sources
    pub async fn document(&self, url: &Url, accept: &str, limit: u64) -> Fetched {
        self.fetch(url, accept, limit, true).await
    }

    /// Asks like [`Self::document`], but once in the life of the client, and keeps the result of `read` instead of the
    /// answer, which may be large. The result must depend only on the address, the media types and `T`.
    ///
    /// # Errors
    /// [`FetchError`], with the redirects and the [`Problem`]; the inner error is that of `read`.
    pub async fn understand<T: Any + Send + Sync>(
        &self,
        url: &Url,
        accept: &str,
        limit: u64,
        read: impl FnOnce(FetchedDocument) -> Result<T, String>,
    ) -> Understood<T> {
        let key = (url.to_string(), accept.to_owned(), TypeId::of::<T>());
        let cell = self.memo.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let ask = async || {
            let Some(document) = self.document(url, accept, limit).await? else { return Ok(None) };
            Ok(Some(read(document).map(|found| Arc::new(found) as _)))
        };
        let found = cell.get_or_init(ask).await.clone()?;
        // The type is a part of the key.
        let typed = |found: Arc<dyn Any + Send + Sync>| found.downcast().map_err(|_| String::new());
        Ok(found.map(|found| found.and_then(typed)))
    }

    async fn fetch(&self, url: &Url, accept: &str, limit: u64, is_to_source: bool) -> Fetched {
        let secret = if is_to_source { self.settings.credentials.fingerprint(url) } else { String::new() };
        let key = [url.as_str(), accept, &secret].join("\n");
        let stored = self.settings.cache.as_ref().and_then(|cache| cache.load(&key));
        let mut pairs = vec![(header::ACCEPT, accept)];
        pairs.extend(stored.iter().flat_map(|stored| stored.validators.conditions()));
        let request = Request { is_to_source, ..Request::get(url, headers(&pairs), self.settings.total_timeout) };
        match self.ask_for(&request, limit).await? {
            Ok((document, headers)) => {
                if let Some(cache) = &self.settings.cache {
                    cache.store(&key, &document.media_type, &document.body, &headers);
                }
                Ok(Some(document))
            }
            Err(reply) => match (reply.response.status(), stored) {
                (StatusCode::NOT_MODIFIED, Some(stored)) => {
                    Ok(Some(FetchedDocument { body: stored.body, media_type: stored.media_type }))
                }
                (StatusCode::NOT_FOUND | StatusCode::GONE, _) => Ok(None),
                (status, _) => Err(reply.fail(Problem::Status(status.as_u16()))),
            },
        }
    }

    /// Asks for a document of at most `limit` bytes, and asks again when its body is cut off.
    pub(super) async fn ask_for(&self, request: &Request<'_>, limit: u64) -> Result<Whole, FetchError> {
        let mut attempt = 1;
        loop {
            let reply = self.send(request).await?;
            if !is_whole(reply.response.status()) {
                return Ok(Err(reply));
            }
            match read(reply, limit).await {
                Err(error) if is_worth_another(&error.problem) && attempt < self.settings.attempts => attempt += 1,
                document => return document.map(Ok),
            }
        }
    }
}

/// Whether a body that was cut off may be complete the next time. Timeouts are not retried.
fn is_worth_another(problem: &Problem) -> bool {
    problem.may_pass() && *problem != Problem::Timeout
}

async fn read(mut reply: Reply, limit: u64) -> Result<(FetchedDocument, HeaderMap), FetchError> {
    let body = reply.body(limit).await?;
    let headers = reply.response.headers().clone();
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok((FetchedDocument { body, media_type }, headers))
}

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
    let lines = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let control = lines.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let mut directives = control.split(',').map(str::trim);
    // Neither is to be used without a request.
    if directives.clone().any(|directive| ["no-store", "no-cache"].contains(&directive)) {
        return Some(Duration::ZERO);
    }
    directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok()).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_says_how_long_a_copy_serves() {
        for (lines, seconds) in [
            (&[][..], None),
            (&["public, max-age=300"], Some(300)),
            (&["public", "Max-Age=300"], Some(300)),
            (&["no-store"], Some(0)),
            (&["max-age=300, No-Cache"], Some(0)),
            (&["max-age=300", "no-store"], Some(0)),
            (&["no-transform"], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::CACHE_CONTROL, line.parse().unwrap());
            }
            assert_eq!(max_age(&headers), seconds.map(Duration::from_secs), "{lines:?}");
        }
    }
}
