//! Requests with a body to a source that a person has configured: they change something, or are long questions.

use reqwest::Method;
use reqwest::header;
use serde_json::Value;
use url::Url;

use super::client::{Client, Request, headers};
use super::error::{FetchError, Problem};

/// The largest answer that is read, in bytes.
const ANSWER_LIMIT: u64 = 2 << 20;

/// How something is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A new thing.
    Post,
    /// A part of a thing.
    Patch,
}

impl Client {
    /// Sends a change as JSON, once, with the source's secret; the answer is read as JSON.
    ///
    /// # Errors
    /// [`FetchError`]. When no answer has come, the change may have been made all the same.
    pub async fn change(&self, kind: ChangeKind, url: &Url, body: &Value) -> Result<Value, FetchError> {
        let accept = headers(&[(header::ACCEPT, "application/json")]);
        let request = Request {
            method: match kind {
                ChangeKind::Post => Method::POST,
                ChangeKind::Patch => Method::PATCH,
            },
            is_to_source: true,
            body: Some(body.to_string()),
            ..Request::get(url, accept, self.settings.total_timeout)
        };
        let mut reply = self.send(&request).await?;
        let status = reply.response.status();
        if !status.is_success() {
            return Err(reply.fail(Problem::Status(status.as_u16())));
        }
        let mut text = Vec::new();
        while let Some(piece) = reply.response.chunk().await.map_err(|error| reply.fail(Problem::of(&error)))? {
            if (text.len() + piece.len()) as u64 > ANSWER_LIMIT {
                return Err(reply.fail(Problem::TooLarge { limit: ANSWER_LIMIT }));
            }
            text.extend_from_slice(&piece);
        }
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }
}
