//! A bucket of an S3-compatible store as a target.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use acp_registry_http::{self as http, AllowedHosts};
use acp_registry_plan::sums::is_name;
use acp_registry_plan::text::quote;
use async_trait::async_trait;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutResult, RetryConfig,
};
use tokio::sync::OnceCell;
use url::{Host, Url};

use super::Error;
use super::answer::element_text;
use super::headers::Headers;
use super::refusal::store_error;

/// How long to wait while the store sends no data. It sends none during an upload, and connections can be slow.
const IDLE: Duration = Duration::from_mins(5);

/// Object metadata with the fingerprint of the content and headers that this program sent.
pub(super) const FORM: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("acp-registry-form"));

/// The location of a bucket and the credentials for it. It is not `Debug`, because it holds a secret.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
#[derive(Clone)]
pub struct Bucket {
    /// `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    pub address: String,
    /// The endpoint of the store; `None` for AWS in the region.
    pub endpoint: Option<Url>,
    /// The name of the region.
    pub region: String,
    /// The access key id.
    pub key_id: String,
    /// The secret access key.
    pub secret: String,
    /// The session token of temporary credentials.
    pub token: Option<String>,
    /// Network settings. An endpoint without https must be on this machine or among the allowed hosts.
    pub net: http::Settings,
}

/// A bucket as a target.
#[derive(Debug)]
pub struct Store {
    client: Arc<AmazonS3>,
    bucket: String,
    prefix: String,
    /// Sends the requests that `object_store` does not have.
    pub(super) connection: Bounded,
    pub(super) endpoint: String,
    pub(super) region: String,
    /// Whether the store copies objects, once that was tried.
    pub(super) can_copy: OnceCell<bool>,
}

impl Store {
    /// Opens a bucket. Sends no request yet.
    pub(super) fn open(bucket: Bucket) -> Result<Self, Error> {
        let (name, prefix) = parse(&bucket.address)?;
        let endpoint = bucket.endpoint.map(|endpoint| check(endpoint, &bucket.net.allowed)).transpose()?;
        let settings = http::Settings { idle_timeout: IDLE, ..bucket.net };
        let own = format!("https://s3.{}.amazonaws.com", bucket.region);
        let endpoint = endpoint.map_or(own, |endpoint| endpoint.as_str().trim_end_matches('/').to_owned());
        let host = Url::parse(&endpoint).map_err(|error| refused(&error))?;
        let client = http::plain_client(&settings, &host).map_err(|error| refused(&error))?;
        let backoff = BackoffConfig { max_backoff: Duration::from_secs(5), ..BackoffConfig::default() };
        let retry = RetryConfig { max_retries: 5, backoff, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&name)
            .with_region(&bucket.region)
            .with_access_key_id(bucket.key_id)
            .with_secret_access_key(bucket.secret)
            .with_retry(retry)
            // Not every store supports deleting many objects in one request.
            .with_disable_bulk_delete(true)
            .with_http_connector(Connector(client.clone()));
        if let Some(token) = bucket.token {
            builder = builder.with_token(token);
        }
        let connection = Bounded(client);
        let builder = builder.with_endpoint(&endpoint);
        let client = Arc::new(builder.build().map_err(|error| refused(&error))?);
        let (region, can_copy) = (bucket.region, OnceCell::new());
        Ok(Self { client, bucket: name, prefix, connection, endpoint, region, can_copy })
    }

    pub(super) fn bucket(&self) -> &str {
        &self.bucket
    }

    pub(super) fn client(&self) -> &AmazonS3 {
        &self.client
    }

    pub(super) fn shown(&self, name: &str) -> String {
        format!("s3://{}/{}", self.bucket, self.key(name))
    }

    pub(super) fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    pub(super) fn path(&self, name: &str) -> Path {
        Path::from(self.key(name))
    }

    /// The common prefix of the keys of all objects in a folder.
    pub(super) fn below(&self, folder: &str) -> String {
        let key = self.key(folder);
        if key.is_empty() { key } else { format!("{}/", key.trim_end_matches('/')) }
    }

    pub(super) fn fail(&self, name: &str, error: &object_store::Error) -> Error {
        store_error(self.shown(name), error, &self.bucket)
    }

    pub(super) async fn put(&self, name: &str, bytes: Vec<u8>, headers: &Headers, form: &str) -> Result<(), Error> {
        let put = self.put_as(name, bytes, headers, form, PutMode::Overwrite);
        put.await.map(drop).map_err(|error| self.fail(name, &error))
    }

    /// Writes an object with a precondition. A failed precondition is left to the caller.
    pub(super) async fn put_as(
        &self,
        name: &str,
        bytes: Vec<u8>,
        headers: &Headers,
        form: &str,
        mode: PutMode,
    ) -> object_store::Result<PutResult> {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::ContentType, headers.content_type.into());
        attributes.insert(Attribute::CacheControl, headers.cache_control.into());
        if let Some(encoding) = headers.content_encoding {
            attributes.insert(Attribute::ContentEncoding, encoding.into());
        }
        if !form.is_empty() {
            attributes.insert(FORM, form.to_owned().into());
        }
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        self.client.put_opts(&self.path(name), bytes.into(), options).await
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Error> {
        match self.client.delete(&self.path(name)).await {
            Err(error) if !matches!(error, object_store::Error::NotFound { .. }) => Err(self.fail(name, &error)),
            _ => Ok(()),
        }
    }

    pub(super) async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        Ok(self.list_dated(folder).await?.into_iter().map(|(name, _)| name).collect())
    }

    /// The objects below a folder, with their modification times.
    pub(super) async fn list_dated(&self, folder: &str) -> Result<Vec<(String, i64)>, Error> {
        Ok(self.listing(folder, false).await?.files)
    }

    pub(super) async fn folders(&self) -> Result<Vec<String>, Error> {
        Ok(self.listing("", true).await?.folders)
    }

    /// When an object was last modified, in seconds since 1970; `None` if it does not exist.
    pub(super) async fn modified(&self, name: &str) -> Result<Option<i64>, Error> {
        Ok(self.find(name, true).await?.map(|found| found.meta.last_modified.timestamp()))
    }
}

/// Parses an address into the bucket and the prefix.
fn parse(address: &str) -> Result<(String, String), Error> {
    let wrong = || Error::Target {
        message: format!("{} is not the address of a bucket", quote(address)),
        remedy: "write s3://BUCKET or s3://BUCKET/PREFIX, with letters, digits, `.`, `_` and `-`".into(),
    };
    let rest = address.strip_prefix("s3://").ok_or_else(wrong)?.trim_end_matches('/');
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if !is_name(bucket) || !(prefix.is_empty() || is_name(prefix)) {
        return Err(wrong());
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

/// Refuses endpoints without https, because keys would be sent in clear, except loopback addresses and allowed hosts.
fn check(endpoint: Url, allowed: &AllowedHosts) -> Result<Url, Error> {
    let is_here = match endpoint.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let is_fine = match endpoint.scheme() {
        "https" => true,
        "http" => is_here || allowed.allows(&endpoint),
        _ => false,
    };
    let is_plain = endpoint.username().is_empty() && endpoint.password().is_none() && endpoint.query().is_none();
    if is_fine && is_plain {
        return Ok(endpoint);
    }
    let why = if is_fine { "has more than a host and a path" } else { "is refused: it does not begin with https://" };
    let shown = http::shown(&endpoint);
    let message = format!("the endpoint {shown} {why}");
    let remedy = if is_fine {
        "set AWS_ENDPOINT_URL to an address without a name, a password and a query".into()
    } else {
        "set AWS_ENDPOINT_URL to an https address, or name the host with --allow-host HOST[:PORT]".into()
    };
    Err(Error::Target { message, remedy })
}

/// An error of the settings, most of which come from environment variables.
fn refused(error: &dyn std::fmt::Display) -> Error {
    Error::Target { message: error.to_string(), remedy: "check --to and the variables AWS_*".to_owned() }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_bucket_and_a_plain_prefix() {
        let both = |bucket: &str, prefix: &str| (bucket.to_owned(), prefix.to_owned());
        for (address, expected) in
            [("s3://b", both("b", "")), ("s3://my-bucket/", both("my-bucket", "")), ("s3://b/a/v1/", both("b", "a/v1"))]
        {
            assert_eq!(parse(address).unwrap(), expected);
        }
        for wrong in
            ["s3://", "s3:///x", "s3://b/../x", "s3://b//x", "s3://b/a b", "s3://u:p@b/x", "gs://b", "s3://b?x"]
        {
            assert!(parse(wrong).unwrap_err().is_of_usage(), "{wrong}");
        }
    }

    #[test]
    fn keys_go_by_https_or_stay_here() {
        let allowed = AllowedHosts::parse(["minio.example:9000"]).unwrap();
        let is_fine = |url: &str| check(Url::parse(url).unwrap(), &allowed).is_ok();
        for fine in [
            "https://x.example", "http://127.0.0.1:9000", "http://[::1]:1/", "http://localhost:9",
            "http://minio.example:9000/",
        ] {
            assert!(is_fine(fine), "{fine}");
        }
        for wrong in [
            "http://x.example", "http://minio.example:9001", "ftp://localhost", "https://u:p@x.example",
            "http://10.0.0.1",
        ] {
            assert!(!is_fine(wrong), "{wrong}");
        }
    }
}
