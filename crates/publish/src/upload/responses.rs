//! Limits the size of responses of a store, and refuses pages of a list that are cut off.

use async_trait::async_trait;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use super::answer::element_text;

/// The largest successful response that is not a listing, in bytes.
pub(super) const ANSWER: usize = 256 << 20;

/// The largest page of a listing, in bytes: 1000 keys of at most 1024 bytes, some of them escaped, fit into it.
const PAGE: usize = 16 << 20;

/// The largest error response, in bytes.
const TROUBLE: usize = 1 << 20;

/// Makes the `object_store` library use this program's HTTP client, with its certificates and limits.
#[derive(Debug)]
pub(super) struct Connector(pub(super) reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Bounded(self.0.clone())))
    }
}

/// An HTTP client that limits the size of responses.
#[derive(Debug)]
pub(super) struct Bounded(pub(super) reqwest::Client);

#[async_trait]
impl HttpService for Bounded {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_list = request.uri().query().is_some_and(|query| query.contains("list-type=2"));
        let (parts, body) = HttpService::call(&self.0, request).await?.into_parts();
        let limit = match (parts.status.is_success(), is_list) {
            (false, _) => TROUBLE,
            (true, true) => PAGE,
            (true, false) => ANSWER,
        };
        let mut body =
            HttpResponseBody::new(BodyExt::map_err(Limited::new(body, limit), move |error| http_error(error, limit)));
        if is_list && parts.status.is_success() {
            let bytes = body.bytes().await?;
            refuse_half(&bytes)?;
            body = bytes.into();
        }
        Ok(HttpResponse::from_parts(parts, body))
    }
}

fn http_error(error: Box<dyn std::error::Error + Send + Sync>, limit: usize) -> HttpError {
    if error.is::<LengthLimitError>() {
        return HttpError::new(HttpErrorKind::Decode, Wrong(format!("its response is larger than {limit} bytes")));
    }
    match error.downcast::<HttpError>() {
        Ok(error) => *error,
        Err(error) => HttpError::new_boxed(HttpErrorKind::Unknown, error),
    }
}

/// Refuses a truncated page without a continuation token, which the library would take for the last page.
fn refuse_half(page: &[u8]) -> Result<(), HttpError> {
    let text = String::from_utf8_lossy(page);
    let goes_on = element_text(&text, "IsTruncated").as_deref() == Some("true");
    if goes_on && element_text(&text, "NextContinuationToken").is_none_or(|token| token.is_empty()) {
        let wrong = Wrong("its list is truncated, but has no NextContinuationToken".to_owned());
        return Err(HttpError::new(HttpErrorKind::Decode, wrong));
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Wrong(String);
