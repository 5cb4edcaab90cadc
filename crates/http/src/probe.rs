//! Checks whether an address answers.

use std::time::{Duration, SystemTime};

use reqwest::header::{self, HeaderMap};
use reqwest::{Method, StatusCode};
use url::Url;

use super::client::{Client, Reply, Request, headers};
use super::error::{FetchError, Problem, shown};

/// How long a host may take until the headers of its answer are there.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long the whole check may take: attempts, redirects, and the waits that hosts ask for.
const TOTAL: Duration = Duration::from_mins(2);

/// An address that answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The addresses that redirected to the one that answered.
    pub hops: Vec<String>,
    /// From the last request to the headers of its answer, without the wait in this program's own queue.
    pub elapsed: Duration,
    /// The host's `Last-Modified`.
    pub last_modified: Option<SystemTime>,
}

impl Answer {
    fn of(reply: Reply) -> Self {
        let text = reply.response.headers().get(header::LAST_MODIFIED).and_then(|value| value.to_str().ok());
        let last_modified = text.and_then(|text| httpdate::parse_http_date(text).ok());
        Self { hops: reply.hops, elapsed: reply.elapsed, last_modified }
    }
}

impl Client {
    /// Checks an address without fetching its content: with HEAD and, if that is refused, with a GET of the first byte.
    ///
    /// # Errors
    /// [`FetchError`]; [`Problem::Status`] for every status from 400.
    pub async fn probe(&self, url: &Url) -> Result<Answer, FetchError> {
        let given_up = |_| Err(FetchError { url: shown(url), hops: Vec::new(), problem: Problem::Timeout });
        tokio::time::timeout(TOTAL, self.ask(url)).await.unwrap_or_else(given_up)
    }

    async fn ask(&self, url: &Url) -> Result<Answer, FetchError> {
        let mut request =
            Request { method: Method::HEAD, is_raw: true, ..Request::get(url, HeaderMap::new(), TIMEOUT) };
        let reply = self.send(&request).await?;
        if reply.response.status().is_success() {
            return Ok(Answer::of(reply));
        }
        drop(reply);
        // Many hosts do not support HEAD, or sign addresses for GET only; their answers vary.
        request.method = Method::GET;
        request.headers = headers(&[(header::RANGE, "bytes=0-0")]);
        let reply = self.send(&request).await?;
        let status = reply.response.status();
        // An empty file has no first byte.
        if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(Answer::of(reply));
        }
        Err(reply.fail(Problem::Status(status.as_u16())))
    }
}
