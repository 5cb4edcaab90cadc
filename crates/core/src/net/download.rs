//! Large answers, received in pieces.

use std::io;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap, HeaderValue};
use url::Url;

use super::client::{Client, Reply, Request, headers};
use super::error::{FetchError, Problem, shown};

/// The slowest accepted download, in bytes per second.
const SLOWEST: u64 = 16 << 10;

/// Where the pieces of a download go.
pub trait Sink: Send {
    /// The host has answered; `length` is how many bytes it announces.
    fn begin(&mut self, length: Option<u64>);

    /// Takes the next piece.
    ///
    /// # Errors
    /// The error of the operating system, which ends the download.
    fn take(&mut self, piece: &[u8]) -> io::Result<()>;
}

/// A download that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// The addresses that redirected to the one that answered.
    pub hops: Vec<String>,
    /// From the request to the headers of its answer.
    pub elapsed: Duration,
    /// How many bytes there were.
    pub length: u64,
}

impl Client {
    /// Fetches a file of at most `limit` bytes into a sink, without decoding it.
    ///
    /// A download that is cut off is resumed, if the host supports that; the sink gets each byte once.
    ///
    /// # Errors
    /// [`FetchError`]; the bytes in the sink are then incomplete.
    pub async fn download(&self, url: &Url, limit: u64, sink: &mut dyn Sink) -> Result<Downloaded, FetchError> {
        let timeout = self.settings.download_timeout;
        let given_up = |_| Err(FetchError { url: shown(url), hops: Vec::new(), problem: Problem::Timeout });
        tokio::time::timeout(timeout, self.pull(url, limit, sink)).await.unwrap_or_else(given_up)
    }

    async fn pull(&self, url: &Url, limit: u64, sink: &mut dyn Sink) -> Result<Downloaded, FetchError> {
        let timeout = self.settings.download_timeout;
        let identity = headers(&[(header::ACCEPT_ENCODING, "identity")]);
        let mut request = Request { is_raw: true, ..Request::get(url, identity, timeout) };
        let mut reply = self.send(&request).await?;
        let status = reply.response.status();
        if status != StatusCode::OK {
            return Err(reply.fail(Problem::Status(status.as_u16())));
        }
        let (hops, elapsed) = (reply.hops.clone(), reply.elapsed);
        let announced = reply.response.content_length();
        if announced.is_some_and(|length| length > limit) {
            return Err(reply.fail(Problem::TooLarge { limit }));
        }
        sink.begin(announced);
        let validator = strong_validator(reply.response.headers());
        let mut received = 0;
        let mut attempt = 1;
        loop {
            let error = match self.receive(&mut reply, limit, sink, &mut received).await {
                Ok(()) if announced.is_none_or(|length| length == received) => {
                    return Ok(Downloaded { hops, elapsed, length: received });
                }
                Ok(()) => reply.fail(Problem::Incomplete { received, announced: announced.unwrap_or_default() }),
                Err(error) => error,
            };
            let Some(validator) = validator.clone().filter(|_| can_go_on(&error.problem)) else { return Err(error) };
            if attempt == self.settings.attempts {
                return Err(error);
            }
            attempt += 1;
            drop(reply);
            request.headers.extend(headers(&[(header::RANGE, &format!("bytes={received}-"))]));
            request.headers.insert(header::IF_RANGE, validator);
            reply = self.send(&request).await?;
            let start = format!("bytes {received}-");
            let range = reply.response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
            if reply.response.status() != StatusCode::PARTIAL_CONTENT || !range.is_some_and(|r| r.starts_with(&start)) {
                return Err(error);
            }
        }
    }

    async fn receive(
        &self,
        reply: &mut Reply,
        limit: u64,
        sink: &mut dyn Sink,
        received: &mut u64,
    ) -> Result<(), FetchError> {
        let (mut since, mut until_now) = (Instant::now(), *received);
        loop {
            let chunk = match reply.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                Err(error) => return Err(reply.fail(Problem::of(&error))),
            };
            *received += chunk.len() as u64;
            if *received > limit {
                return Err(reply.fail(Problem::TooLarge { limit }));
            }
            sink.take(&chunk).map_err(|error| reply.fail(Problem::Disk(error.to_string())))?;
            // A very slow archive would delay all others for as long as a download may take.
            let elapsed = since.elapsed();
            if elapsed >= self.settings.slow_timeout {
                if u128::from(*received - until_now) < u128::from(SLOWEST) * elapsed.as_millis() / 1000 {
                    return Err(reply.fail(Problem::TooSlow));
                }
                (since, until_now) = (Instant::now(), *received);
            }
        }
    }
}

/// Whether the download can be resumed: the sink has taken all bytes so far.
fn can_go_on(problem: &Problem) -> bool {
    problem.may_pass() && *problem != Problem::TooSlow
}

/// The validator that proves that a second answer continues the first.
fn strong_validator(headers: &HeaderMap) -> Option<HeaderValue> {
    let etag = headers.get(header::ETAG).filter(|etag| !etag.as_bytes().starts_with(b"W/"));
    etag.or_else(|| headers.get(header::LAST_MODIFIED)).cloned()
}
