//! Large answers, received in pieces, with their digest where it is wanted.

use std::io;
use std::io::Write;
use std::time::{Duration, Instant};

use acp_registry_plan::digest::{Hasher, Sha256};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{StatusCode, header};
use url::Url;

use super::client::{Client, Reply, Request, headers, in_time, is_whole};
use super::error::{FetchError, Problem};

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
    /// A download that is cut off goes on where it was, if the host can prove that the file is the same; else the file is
    /// fetched again, and must begin with the same bytes. The sink gets each byte once.
    ///
    /// # Errors
    /// [`FetchError`]; the bytes in the sink are then incomplete.
    pub async fn download(&self, url: &Url, limit: u64, sink: &mut dyn Sink) -> Result<Downloaded, FetchError> {
        in_time(self.settings.download_timeout, url, self.pull(url, limit, sink, false)).await
    }

    /// Fetches like [`Self::download`] from a source that a person has configured, with its secret if it has one (see
    /// [`Settings::sources`]).
    ///
    /// # Errors
    /// [`FetchError`]; the bytes in the sink are then incomplete.
    ///
    /// [`Settings::sources`]: super::Settings::sources
    pub async fn download_from_source(
        &self,
        url: &Url,
        limit: u64,
        sink: &mut dyn Sink,
    ) -> Result<Downloaded, FetchError> {
        in_time(self.settings.download_timeout, url, self.pull(url, limit, sink, true)).await
    }

    async fn pull(
        &self,
        url: &Url,
        limit: u64,
        sink: &mut dyn Sink,
        is_to_source: bool,
    ) -> Result<Downloaded, FetchError> {
        let timeout = self.settings.download_timeout;
        let identity = headers(&[(header::ACCEPT_ENCODING, "identity")]);
        let mut request = Request { is_raw: true, is_to_source, ..Request::get(url, identity, timeout) };
        let mut reply = self.send(&request).await?;
        let status = reply.response.status();
        if !is_whole(status) {
            return Err(reply.fail(Problem::Status(status.as_u16())));
        }
        let (hops, elapsed) = (reply.hops.clone(), reply.elapsed);
        let announced = reply.response.content_length();
        if announced.is_some_and(|length| length > limit) {
            return Err(reply.fail(Problem::TooLarge { limit }));
        }
        sink.begin(announced);
        let validator = strong_validator(reply.response.headers());
        let (mut received, mut again) = (Received::default(), None);
        let mut attempt = 1;
        loop {
            let error = match self.receive(&mut reply, limit, sink, &mut received, again.take()).await {
                Ok(()) if announced.is_none_or(|length| length == received.length) => {
                    return Ok(Downloaded { hops, elapsed, length: received.length });
                }
                Ok(()) => {
                    let announced = announced.unwrap_or_default();
                    reply.fail(Problem::Incomplete { received: received.length, announced })
                }
                Err(error) => error,
            };
            if !can_go_on(&error.problem) || attempt == self.settings.attempts {
                return Err(error);
            }
            attempt += 1;
            drop(reply);
            let start = format!("bytes {}-", received.length);
            if let Some(validator) = validator.clone().filter(|_| received.length > 0) {
                request.headers.extend(headers(&[(header::RANGE, &start.replace(' ', "="))]));
                request.headers.insert(header::IF_RANGE, validator);
            }
            reply = self.send(&request).await?;
            let range = reply.response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
            match reply.response.status() {
                StatusCode::PARTIAL_CONTENT if range.is_some_and(|range| range.starts_with(&start)) => {}
                status if is_whole(status) => again = Some(Received::default()),
                _ => return Err(error),
            }
        }
    }

    /// Receives an answer to its end. `again` counts the bytes that the sink has already.
    async fn receive(
        &self,
        reply: &mut Reply,
        limit: u64,
        sink: &mut dyn Sink,
        received: &mut Received,
        mut again: Option<Received>,
    ) -> Result<(), FetchError> {
        let (mut since, mut here, mut until_now) = (Instant::now(), 0, 0);
        loop {
            let chunk = match reply.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                Err(error) => return Err(reply.fail(Problem::of(&error))),
            };
            here += chunk.len() as u64;
            let mut piece = &chunk[..];
            if let Some(begun) = &mut again {
                let left = usize::try_from(received.length - begun.length).unwrap_or(usize::MAX);
                let (known, rest) = piece.split_at(piece.len().min(left));
                begun.add(known);
                if begun.length == received.length {
                    if begun.hasher.clone().finish() != received.hasher.clone().finish() {
                        return Err(reply.fail(Problem::Changed));
                    }
                    again = None;
                }
                piece = rest;
            }
            received.add(piece);
            if received.length > limit {
                return Err(reply.fail(Problem::TooLarge { limit }));
            }
            sink.take(piece).map_err(|error| reply.fail(Problem::disk(&error)))?;
            // A very slow archive would delay all others for as long as a download may take.
            let elapsed = since.elapsed();
            if elapsed >= self.settings.slow_timeout {
                if u128::from(here - until_now) < u128::from(SLOWEST) * elapsed.as_millis() / 1000 {
                    return Err(reply.fail(Problem::TooSlow));
                }
                (since, until_now) = (Instant::now(), here);
            }
        }
    }
}

/// What has come of a file.
#[derive(Default)]
struct Received {
    length: u64,
    hasher: Hasher,
}

impl Received {
    fn add(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        self.hasher.update(piece);
    }
}

/// Whether the download can go on: the sink has taken all bytes so far.
fn can_go_on(problem: &Problem) -> bool {
    problem.may_pass() && ![Problem::TooSlow, Problem::Changed].contains(problem)
}

/// The validator that proves that a second answer continues the first.
fn strong_validator(headers: &HeaderMap) -> Option<HeaderValue> {
    let etag = headers.get(header::ETAG).filter(|etag| !etag.as_bytes().starts_with(b"W/"));
    etag.or_else(|| headers.get(header::LAST_MODIFIED)).cloned()
}

/// Takes a download to a writer, and computes its digest.
#[derive(Debug)]
pub struct Hashing<W> {
    to: W,
    hasher: Hasher,
}

impl<W> Hashing<W> {
    /// To this writer; [`io::sink`] where only the digest is of interest.
    pub fn to(to: W) -> Self {
        Self { to, hasher: Hasher::default() }
    }

    /// The digest of everything that was taken.
    pub fn digest(self) -> Sha256 {
        self.finish().1
    }

    /// The writer, and the digest of everything that it got.
    pub fn finish(self) -> (W, Sha256) {
        (self.to, self.hasher.finish())
    }
}

impl<W: Write + Send> Sink for Hashing<W> {
    fn begin(&mut self, _length: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.to.write_all(piece)?;
        self.hasher.update(piece);
        Ok(())
    }
}
