//! A trial of whether a store keeps encodings.

use super::Error;
use super::bucket::Store;
use super::encoding::{GZIP, gzip};
use super::headers::Headers;

/// Where an encoded object is tried.
const TRIAL: &str = ".acp-registry/encoding.json";

impl Store {
    /// Whether readers get an encoded object with its `Content-Encoding`, or decoded. If a store loses the header, they would
    /// read compressed bytes as the content.
    pub(super) async fn keeps_encodings(&self) -> Result<bool, Error> {
        const CONTENT: &[u8] = b"{}";
        let headers = Headers { content_encoding: Some(GZIP), ..Headers::OWN };
        self.put(TRIAL, gzip(CONTENT), &headers, "").await?;
        let found = self.get(TRIAL, 1 << 10).await?;
        self.remove(TRIAL).await?;
        Ok(found.as_deref() == Some(CONTENT))
    }
}
