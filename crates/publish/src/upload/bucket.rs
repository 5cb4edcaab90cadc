//! A bucket of an S3-compatible store as a target.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use acp_registry_http::{self as http, AllowedHosts};
use acp_registry_plan::sums::is_name;
use acp_registry_plan::text::{printable, quote};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::{Error as PathError, Path};
use object_store::{
    Attribute, Attributes, BackoffConfig, GetOptions, GetResult, ObjectStore as _, ObjectStoreExt as _, PutMode,
    PutOptions, PutResult, RetryConfig,
};
use quick_xml::Reader;
use quick_xml::events::Event;
use tokio::sync::OnceCell;
use url::{Host, Url};

use super::Error;
use super::headers::{self, GZIP, Headers, gzip};
use super::tree::hex_digest;

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
    pub(super) client: Arc<AmazonS3>,
    pub(super) bucket: String,
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

    /// The error of a failed request, with a remedy where one is known.
    pub(super) fn fail(&self, name: &str, error: &object_store::Error) -> Error {
        let (message, remedy) = explain(error, &self.bucket);
        Error::Store { place: self.shown(name), message, remedy }
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

/// Returns the text of the first element of this name, at any depth; `None` if it is missing or the document breaks
/// off before its end.
pub(super) fn element_text(xml: &str, name: &str) -> Option<String> {
    let mut reader = Reader::from_str(xml);
    // A proxy may answer with an HTML page instead, which is rarely well-formed.
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == name.as_bytes() => break,
            Event::Empty(empty) if empty.local_name().as_ref() == name.as_bytes() => return Some(String::new()),
            Event::Eof => return None,
            _ => {}
        }
    }
    let mut text = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Text(part) => text.push_str(&part.decode().ok()?),
            Event::CData(part) => text.push_str(&part.decode().ok()?),
            Event::GeneralRef(part) => match part.resolve_char_ref().ok()? {
                Some(character) => text.push(character),
                None => text.push_str(quick_xml::escape::resolve_predefined_entity(&part.decode().ok()?)?),
            },
            Event::End(end) if end.local_name().as_ref() == name.as_bytes() => return Some(text.trim().to_owned()),
            Event::Eof => return None,
            _ => {}
        }
    }
}

fn explain(error: &object_store::Error, bucket: &str) -> (String, Option<String>) {
    let code = code(error);
    let named = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
    match error {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => (
            format!("the store refuses the key{named}"),
            Some("check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and what the key may do".into()),
        ),
        object_store::Error::InvalidPath { source } => {
            let key = match source {
                PathError::BadSegment { path, .. }
                | PathError::EmptySegment { path }
                | PathError::NonUnicode { path, .. } => quote(path),
                other => quote(&other.to_string()),
            };
            (
                format!("it holds {key}, which is not a valid name"),
                Some("remove it there, or give --to another prefix".to_owned()),
            )
        }
        _ if code.as_deref() == Some("NoSuchBucket") => {
            let remedy = "create it, or check AWS_ENDPOINT_URL and AWS_REGION".into();
            (format!("there is no bucket {}", quote(bucket)), Some(remedy))
        }
        _ => {
            let text = chain(error);
            // The last error of the chain is the cause; the others repeat it with more context.
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let last: String = printable(last).chars().take(300).collect();
            (format!("the request failed{named}: {last}"), None)
        }
    }
}

/// The error code in the store's response, for example `NoSuchKey`.
pub(super) fn code(error: &object_store::Error) -> Option<String> {
    let code = element_text(&chain(error), "Code")?;
    Some(printable(&code.chars().take(60).collect::<String>()).into_owned())
}

fn chain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut at: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = at {
        text.push_str(&format!("\n{error}"));
        at = error.source();
    }
    text
}

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

/// The largest number of objects that a folder may have.
const KEYS: usize = 1_000_000;

/// The largest total length of their names, in bytes.
const NAMES: usize = 128 << 20;

/// The largest number of pages; a store may send pages that are not full.
const PAGES: usize = 2_000;

/// Time limit for listing a folder.
const TIME: Duration = Duration::from_mins(15);

/// The names below a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// The files, with their modification times in seconds since 1970.
    pub(super) files: Vec<(String, i64)>,
    /// Names of the folders directly inside; only in a flat listing.
    pub(super) folders: Vec<String>,
}

impl Store {
    /// Lists all objects below a folder, or only its direct entries if `is_flat`.
    pub(super) async fn listing(&self, folder: &str, is_flat: bool) -> Result<FolderListing, Error> {
        match tokio::time::timeout(TIME, self.pages(folder, is_flat)).await {
            Ok(listed) => listed,
            Err(_) => Err(self.endless(folder, &format!("takes longer than {} minutes", TIME.as_secs() / 60))),
        }
    }

    async fn pages(&self, folder: &str, is_flat: bool) -> Result<FolderListing, Error> {
        let below = self.below(folder);
        let mut listing = FolderListing::default();
        // The tokens that were seen, as digests, because a store may send tokens of any length.
        let mut tokens = HashSet::new();
        let mut length = 0;
        let mut token: Option<String> = None;
        for _ in 0..PAGES {
            let options = PaginatedListOptions {
                delimiter: is_flat.then_some("/".into()),
                page_token: token.take(),
                ..PaginatedListOptions::default()
            };
            let prefix = Some(below.as_str()).filter(|below| !below.is_empty());
            let page = self.client.list_paginated(prefix, options).await.map_err(|error| self.fail(folder, &error))?;
            let files = page.result.objects.iter().filter_map(|meta| {
                let name = meta.location.as_ref().strip_prefix(&below)?;
                length += name.len();
                Some((name.to_owned(), meta.last_modified.timestamp()))
            });
            listing.files.extend(files);
            let folders = page.result.common_prefixes.iter().filter_map(|path| path.filename());
            listing.folders.extend(folders.inspect(|name| length += name.len()).map(ToOwned::to_owned));
            if length > NAMES {
                return Err(self.endless(folder, &format!("has more than {NAMES} bytes of names")));
            }
            if listing.files.len() + listing.folders.len() > KEYS {
                return Err(self.endless(folder, &format!("has more than {KEYS} objects")));
            }
            let Some(next) = page.page_token else { return Ok(listing) };
            if !tokens.insert(hex_digest(next.as_bytes())) {
                return Err(self.endless(folder, "repeats a NextContinuationToken"));
            }
            token = Some(next);
        }
        Err(self.endless(folder, &format!("has more than {PAGES} pages")))
    }

    fn endless(&self, folder: &str, why: &str) -> Error {
        let remedy = Some("give --to a prefix of its own, or ask the operator of the store".to_owned());
        Error::Store { place: self.shown(folder), message: format!("the store's list {why}"), remedy }
    }
}

/// The content of an object, its `ETag` and its attributes.
type StoredObject = (Vec<u8>, Option<String>, Attributes);

impl Store {
    /// Reads the content of an object, of at most `limit` bytes; `None` if it does not exist.
    pub(super) async fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get_with_version(name, limit).await?.map(|(bytes, _)| bytes))
    }

    /// Reads the content of an object, with its `ETag`.
    pub(super) async fn get_with_version(
        &self,
        name: &str,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, Option<String>)>, Error> {
        let Some((bytes, tag, attributes)) = self.get_as_stored(name, limit).await? else { return Ok(None) };
        let encoding = attributes.get(&Attribute::ContentEncoding).map(AsRef::as_ref);
        let content = headers::decode(bytes, encoding, limit);
        let bytes = content.ok_or_else(|| self.unusable(name, format!("is damaged, or larger than {limit} bytes")))?;
        Ok(Some((bytes, tag)))
    }

    fn unusable(&self, name: &str, message: String) -> Error {
        Error::Store { place: self.shown(name), message, remedy: Some("remove it there".into()) }
    }

    /// Reads an object without decoding it, with its `ETag`, which identifies the version.
    async fn get_as_stored(&self, name: &str, limit: u64) -> Result<Option<StoredObject>, Error> {
        let Some(found) = self.find(name, false).await? else { return Ok(None) };
        let too_large = || self.unusable(name, format!("is larger than {limit} bytes"));
        if found.meta.size > limit {
            return Err(too_large());
        }
        let (tag, attributes) = (found.meta.e_tag.clone(), found.attributes.clone());
        let mut pieces = found.into_stream();
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.try_next().await.map_err(|error| self.fail(name, &error))? {
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Some((bytes, tag, attributes)))
    }

    /// Asks for an object, or only for its headers; `None` if it does not exist.
    pub(super) async fn find(&self, name: &str, head: bool) -> Result<Option<GetResult>, Error> {
        let options = GetOptions { head, ..GetOptions::default() };
        match self.client.get_opts(&self.path(name), options).await {
            Ok(found) => Ok(Some(found)),
            Err(error @ object_store::Error::NotFound { .. }) if code(&error).as_deref() != Some("NoSuchBucket") => {
                Ok(None)
            }
            Err(error) => Err(self.fail(name, &error)),
        }
    }

    /// Whether the object exists in this form: its recorded fingerprint is equal or, for an object of another tool and if it is
    /// doubted, its bytes and headers are.
    pub(super) async fn holds(
        &self,
        name: &str,
        bytes: &[u8],
        headers: &Headers,
        (form, is_doubted): (&str, bool),
    ) -> Result<bool, Error> {
        let Some(found) = self.find(name, true).await? else { return Ok(false) };
        let said = |attribute: &Attribute| found.attributes.get(attribute).map(AsRef::as_ref);
        let known = said(&FORM);
        if known.is_some_and(|known| known != form || !is_doubted) {
            return Ok(known == Some(form));
        }
        let is_alike = found.meta.size == bytes.len() as u64
            && said(&Attribute::ContentType) == Some(headers.content_type)
            && said(&Attribute::CacheControl) == Some(headers.cache_control)
            && said(&Attribute::ContentEncoding) == headers.content_encoding;
        if !is_alike {
            return Ok(false);
        }
        // An `ETag` is a digest of the content in some stores only, and the fingerprint is what a publisher has said of it.
        Ok(self.get_as_stored(name, found.meta.size).await?.is_some_and(|(found, ..)| found == bytes))
    }
}

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
            assert!(matches!(parse(wrong).unwrap_err(), Error::Target { .. }), "{wrong}");
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

    #[test]
    fn an_element_is_found_however_it_is_written() {
        let before = "Client error with status 404 Not Found: ";
        for (answer, expected) in [
            ("<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Key>a&amp;b</Key></Error>", Some("NoSuchKey")),
            ("<e:Error xmlns:e='x'><e:Code a='b'>\n  NoSuchKey\n</e:Code></e:Error>", Some("NoSuchKey")),
            ("<Error><!-- <Code>No</Code> --><Code><![CDATA[NoSuchKey]]></Code></Error>", Some("NoSuchKey")),
            ("<Error><Code>No&#x53;uch&#75;ey</Code></Error>", Some("NoSuchKey")),
            ("<Error><Code/></Error>", Some("")),
            ("<Error><Message>&lt;Code>No&lt;/Code></Message></Error>", None),
            ("<Error><Code>NoSuchKey", None),
            ("<html><p><br></body><Code>NoSuchKey</Code>", Some("NoSuchKey")),
            ("busy & closed", None),
            ("", None),
        ] {
            assert_eq!(element_text(answer, "Code").as_deref(), expected, "{answer}");
            assert_eq!(element_text(&format!("{before}{answer}"), "Code").as_deref(), expected, "{answer}");
        }
    }
}
