//! Copies objects within a store, so that large documents are sent once.

use object_store::aws::AwsAuthorizer;
use object_store::client::{HttpRequest, HttpRequestBody, HttpService as _};
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};

use super::answer::element_text;
use super::bucket::Store;
use super::headers::Headers;
use super::state::STATE;

/// Objects of at least this size are copied; others are sent again, which takes as many requests.
pub(super) const LARGE: usize = 256 << 10;

/// Where a copy is tried. A store that does not know copies would write an empty object.
const TRIAL: &str = ".acp-registry/copy.json";

impl Store {
    /// Copies an object that this run has sent, with other headers. Returns `false` if that is not possible; the object
    /// must then be sent.
    pub(super) async fn copy(&self, from: &str, to: &str, headers: &Headers, form: &str) -> bool {
        let can_copy = async {
            let can_copy = self.try_copy(STATE, TRIAL, &Headers::OWN, "").await.is_some();
            // A failure is ignored: the object is small, and the next run replaces it.
            let _ = self.remove(TRIAL).await;
            can_copy
        };
        *self.can_copy.get_or_init(|| can_copy).await && self.try_copy(from, to, headers, form).await.is_some()
    }

    /// `object_store` copies objects with their headers only, so this request is written here.
    async fn try_copy(&self, from: &str, to: &str, headers: &Headers, form: &str) -> Option<()> {
        let place = |name: &str| format!("/{}/{}", self.bucket(), self.key(name));
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("{}{}", self.endpoint, place(to)).parse().ok()?;
        let source = place(from);
        let encoding = headers.content_encoding.unwrap_or_default();
        let named = [
            ("x-amz-copy-source", source.as_str()),
            ("x-amz-metadata-directive", "REPLACE"),
            ("content-type", headers.content_type),
            ("cache-control", headers.cache_control),
            ("content-encoding", encoding),
            ("x-amz-meta-acp-registry-form", form),
        ];
        for (name, value) in named.into_iter().filter(|(_, value)| !value.is_empty()) {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
        }
        let credential = self.client().credentials().get_credential().await.ok()?;
        AwsAuthorizer::new(&credential, "s3", &self.region).try_authorize(&mut request, None).ok()?;
        let response = self.connection.call(request).await.ok()?;
        let is_done = response.status().is_success();
        let body = response.into_body().bytes().await.ok()?;
        // A store that has begun to answer can only report a failure in the text.
        let result = String::from_utf8_lossy(&body);
        (is_done && result.contains("CopyObjectResult") && element_text(&result, "ETag").is_some()).then_some(())
    }
}
