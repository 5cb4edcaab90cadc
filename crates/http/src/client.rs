//! The HTTP client of the program: redirects, retries and limits for each host. It also sends requests that change something
//! to a source that a person has configured, and checks whether an address answers.

use std::collections::HashMap;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use acp_registry_plan::digest::Sha256;
use acp_registry_plan::text::printable;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode, header, redirect};
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};
use url::{Host as UrlHost, Url};

use super::cache::Memo;
use super::error::{FetchError, NO_HOST, Problem, ResolveError, shown, without_user_info};
use super::host_limits::{HostLimits, Hosts};
use super::{AllowedHosts, Authorities, Cache, Credentials, Proxies, address, host_limits};

/// How many redirects are followed.
const HOP_LIMIT: usize = 10;

/// Fetches from public hosts by https, and from hosts that a person has allowed by name.
///
/// Every address is checked when the connection is made. Redirects are followed here, not by the library, and checked
/// in the same way. Must be used inside a tokio runtime.
#[derive(Debug)]
pub struct Client {
    clients: OnceLock<Result<Clients, Problem>>,
    hosts: Hosts,
    answers: AtomicU64,
    answers_by_name: AtomicU64,
    pub(super) settings: Settings,
    pub(super) memo: Memo,
}

#[derive(Debug)]
struct Clients {
    /// For documents, which may come compressed.
    decoding: Pair,
    /// For downloads, whose bytes are not decoded.
    raw: Pair,
}

/// Two clients that connect to different hosts.
#[derive(Debug)]
struct Pair {
    /// For all other hosts: connects to public addresses only.
    guarded: reqwest::Client,
    /// For allowed hosts.
    open: reqwest::Client,
}

/// What is sent to one address, again after each redirect.
#[derive(Debug, Clone)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) url: &'a Url,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    /// Whether the body is left undecoded.
    pub(super) is_raw: bool,
    /// Whether this goes to a source that a person has configured, not to an address in a manifest.
    pub(super) is_to_source: bool,
    /// Whether the secret of the address is sent as to a source: the person has named the address.
    pub(super) sends_secret: bool,
    /// The body, as JSON. A request with a body changes something. It is not repeated, since its answer may have been
    /// lost after the change, and does not follow redirects.
    pub(super) body: Option<String>,
}

impl<'a> Request<'a> {
    /// A request for the content of an address that a manifest or a person names.
    pub(super) fn get(url: &'a Url, headers: HeaderMap, timeout: Duration) -> Self {
        Self {
            method: Method::GET,
            url,
            headers,
            timeout,
            is_raw: false,
            is_to_source: false,
            sends_secret: false,
            body: None,
        }
    }
}

/// An answer whose body has not been read yet. The request counts as running for the limits of its host until this is
/// dropped.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) response: Response,
    /// The addresses that redirected here.
    pub(super) hops: Vec<String>,
    /// The address that answered, after redirects.
    pub(super) url: Url,
    /// From sending the last request to its headers.
    pub(super) elapsed: Duration,
    _permit: OwnedSemaphorePermit,
}

impl Reply {
    pub(super) fn fail(&self, problem: Problem) -> FetchError {
        FetchError { url: shown(&self.url), hops: self.hops.clone(), problem }
    }

    /// The body, of at most `limit` bytes.
    pub(super) async fn body(&mut self, limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.response.chunk().await.map_err(|error| self.fail(Problem::of(&error)))? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(self.fail(Problem::TooLarge { limit }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

impl Client {
    /// Makes a client, which reads the certificate authorities of the system before its first request: an installation
    /// from the cache sends none, and would spend a quarter of its time on them.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            clients: OnceLock::new(),
            hosts: Hosts::new(settings.host_limits),
            answers: AtomicU64::new(0),
            answers_by_name: AtomicU64::new(0),
            memo: Memo::default(),
            settings,
        }
    }

    /// Reads the certificate authorities now, for a caller that judges others by their answers: that this machine has none
    /// must not count as their failure.
    ///
    /// # Errors
    /// [`Problem::Setup`] when the system offers none.
    pub fn prepare(&self) -> Result<(), Problem> {
        self.clients().map(|_| ())
    }

    fn clients(&self) -> Result<&Clients, Problem> {
        self.clients.get_or_init(|| Clients::new(&self.settings)).as_ref().map_err(Clone::clone)
    }

    /// The proxies of its requests.
    pub fn proxies(&self) -> &Proxies {
        &self.settings.proxies
    }

    /// How many requests have been answered, with any status.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// How many of them came from hosts that are known by a public name.
    pub fn answers_by_name(&self) -> u64 {
        self.answers_by_name.load(Ordering::Relaxed)
    }

    fn count(&self, url: &Url) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        if matches!(url.host(), Some(UrlHost::Domain(name)) if !address::is_private(name)) {
            self.answers_by_name.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether this client may send requests to an address. The addresses of a host name are checked later.
    pub fn may_ask(&self, url: &Url) -> bool {
        self.is_open(url, false).is_ok()
    }

    /// Whether requests to this address of a source have a secret.
    pub fn has_secret(&self, url: &Url) -> bool {
        self.settings.credentials.header(url).is_some()
    }

    /// A file of an earlier run, by its address and SHA-256; the caller hashes it again before using it.
    pub fn cached_file(&self, url: &Url, sha256: Sha256) -> Option<PathBuf> {
        self.settings.cache.as_ref()?.file(url, sha256)
    }

    /// Keeps a file for a later run. One that cannot be kept is fetched again.
    pub fn keep_file(&self, url: &Url, sha256: Sha256, file: &File) {
        if let Some(cache) = &self.settings.cache
            && let Err(error) = cache.keep(url, sha256, file)
        {
            tracing::debug!("{} is not kept: {error}", shown(url));
        }
    }

    /// Sends a request and follows redirects; every other status is returned.
    pub(super) async fn send(&self, request: &Request<'_>) -> Result<Reply, FetchError> {
        let mut at = request.url.clone();
        let mut hops = Vec::new();
        loop {
            let fail =
                |problem: Problem, hops: &[String]| FetchError { url: shown(&at), hops: hops.to_owned(), problem };
            let (response, elapsed, permit) =
                self.attempt(request, &at, hops.is_empty()).await.map_err(|problem| fail(problem, &hops))?;
            let status = response.status();
            if request.body.is_some() || !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(Reply { response, hops, url: at, elapsed, _permit: permit });
            }
            let target = response.headers().get(header::LOCATION);
            let target = target.and_then(|target| std::str::from_utf8(target.as_bytes()).ok());
            let Some(target) = target.and_then(|target| at.join(target).ok()) else {
                return Err(fail(Problem::BadRedirect(status.as_u16()), &hops));
            };
            if hops.len() == HOP_LIMIT {
                let url = shown(request.url);
                return Err(FetchError { url, hops: Vec::new(), problem: Problem::TooManyRedirects(HOP_LIMIT) });
            }
            hops.push(shown(&at));
            at = target;
        }
    }

    /// Sends a request to one address, and repeats it after problems that may pass.
    async fn attempt(
        &self,
        request: &Request<'_>,
        url: &Url,
        is_first_hop: bool,
    ) -> Result<(Response, Duration, OwnedSemaphorePermit), Problem> {
        let client = self.client_for(url, request.is_raw, request.is_to_source)?;
        let proxy = self.settings.proxies.choose(url)?;
        let host = self.hosts.of(url);
        let mut attempt = 1;
        loop {
            let is_last = attempt >= self.settings.attempts || request.body.is_some();
            let permit = host.enter().await?;
            let mut builder = client
                .request(request.method.clone(), without_user_info(url))
                .timeout(request.timeout)
                .headers(request.headers.clone());
            if (request.is_to_source || request.sends_secret)
                && is_first_hop
                && let Some(secret) = self.settings.credentials.header(url)
            {
                builder = builder.header(header::AUTHORIZATION, secret.clone());
            }
            if let Some(body) = &request.body {
                builder = builder.header(header::CONTENT_TYPE, "application/json").body(body.clone());
            }
            let sent = Instant::now();
            let wait = match builder.send().await {
                Ok(response) => {
                    let elapsed = sent.elapsed();
                    let of_proxy = proxy.as_ref().and_then(|proxy| proxy.answered(response.status().as_u16(), url));
                    tracing::debug!(
                        "{} {} answers {} after {elapsed:?}",
                        request.method,
                        shown(url),
                        response.status()
                    );
                    if of_proxy.is_none() {
                        self.count(url);
                    }
                    let status = response.status();
                    host.answered(status != StatusCode::TOO_MANY_REQUESTS);
                    let pause = host_limits::wanted_pause(status, response.headers());
                    let can_wait = pause.is_none_or(|pause| host.asks_for(pause));
                    let is_limit = pause.is_some() && status == StatusCode::FORBIDDEN;
                    if !is_limit && !host_limits::is_transient(status) && of_proxy.is_none() {
                        return Ok((response, elapsed, permit));
                    }
                    if let Some(pause) = pause.filter(|_| !can_wait || is_last) {
                        return Err(Problem::RateLimited { wait: pause.wait() });
                    }
                    if is_last || of_proxy.is_some() {
                        return of_proxy.map_or(Ok((response, elapsed, permit)), Err);
                    }
                    // The queue of a host that has named a time holds back all its requests.
                    pause.map_or_else(|| host_limits::backoff(self.settings.backoff, attempt), |_| Duration::ZERO)
                }
                Err(error) => {
                    let problem = Problem::of(&error);
                    let is_late = problem == Problem::Timeout;
                    let problem = proxy.as_ref().map_or(problem.clone(), |proxy| proxy.explain(problem));
                    tracing::debug!("{} {} {problem}", request.method, shown(url));
                    // Timeouts are not retried.
                    if is_last || !problem.may_pass() || is_late {
                        if error.is_connect() {
                            host.went_down(&problem);
                        }
                        return Err(problem);
                    }
                    host_limits::backoff(self.settings.backoff, attempt)
                }
            };
            drop(permit);
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    fn client_for(&self, url: &Url, is_raw: bool, is_to_source: bool) -> Result<&reqwest::Client, Problem> {
        let is_open = self.is_open(url, is_to_source)?;
        let clients = self.clients()?;
        let pair = if is_raw { &clients.raw } else { &clients.decoding };
        Ok(if is_open { &pair.open } else { &pair.guarded })
    }

    fn is_open(&self, url: &Url, is_to_source: bool) -> Result<bool, Problem> {
        is_open(url, self.settings.allowed.allows(url) || (is_to_source && self.settings.sources.allows(url)))
    }
}

impl Clients {
    fn new(settings: &Settings) -> Result<Self, Problem> {
        let tls = tls(settings)?;
        let base = |is_raw| builder(settings, is_raw, &tls);
        let resolver = Arc::new(Resolver::new(&settings.proxies));
        let guard = Arc::new(Guard::new(resolver.clone(), &settings.proxies));
        let open = Arc::new(Open { resolver });
        let build = |builder: reqwest::ClientBuilder| builder.build().map_err(|e| Problem::Setup(e.to_string()));
        let pair = |is_raw| {
            let guarded = build(base(is_raw).dns_resolver(guard.clone()))?;
            Ok(Pair { guarded, open: build(base(is_raw).dns_resolver(open.clone()))? })
        };
        Ok(Self { decoding: pair(false)?, raw: pair(true)? })
    }
}

/// Whether an address is on a host that may be private, because a person has allowed it.
///
/// # Errors
/// [`Problem::Refused`] for an address that is not allowed: not https, or of a private network.
fn is_open(url: &Url, is_allowed: bool) -> Result<bool, Problem> {
    if is_allowed && ["https", "http"].contains(&url.scheme()) {
        return Ok(true);
    }
    if url.scheme() != "https" {
        return Err(Problem::Refused("it does not begin with https://"));
    }
    // An IP address is not resolved, so that it is checked here.
    let literal = match url.host() {
        Some(UrlHost::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(UrlHost::Ipv6(address)) => Some(IpAddr::V6(address)),
        // Behind a proxy, names are not resolved either.
        Some(UrlHost::Domain(name)) if address::is_private(name) => {
            return Err(Problem::Refused("it is a host of a private network"));
        }
        Some(UrlHost::Domain(_)) => None,
        None => return Err(Problem::Refused(NO_HOST)),
    };
    if literal.is_some_and(|address| !address::is_public(address)) {
        return Err(Problem::Refused("it is an address of a private network"));
    }
    Ok(false)
}

/// Gives up work on an address that takes longer than this, with all its requests and waits.
pub(super) async fn in_time<T>(
    limit: Duration,
    url: &Url,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let given_up = |_| Err(FetchError { url: shown(url), hops: Vec::new(), problem: Problem::Timeout });
    tokio::time::timeout(limit, work).await.unwrap_or_else(given_up)
}

/// Whether an answer has the whole document: also one that a proxy has changed (203), as those of companies do.
pub(super) fn is_whole(status: StatusCode) -> bool {
    [StatusCode::OK, StatusCode::NON_AUTHORITATIVE_INFORMATION].contains(&status)
}

/// A client for a library that sends its own requests to this host, which a person has configured: it connects to any host,
/// follows no redirects, and does not decode bodies. Proxies and certificates are those of [`Client`].
///
/// # Errors
/// [`Problem::Setup`] when the system offers no root certificates, [`Problem::Variable`] when a variable names no proxy.
pub fn plain_client(settings: &Settings, host: &Url) -> Result<reqwest::Client, Problem> {
    settings.proxies.choose(host)?;
    let open = Arc::new(Open { resolver: Arc::new(Resolver::new(&settings.proxies)) });
    let builder = builder(settings, true, &tls(settings)?).dns_resolver(open);
    builder.build().map_err(|error| Problem::Setup(error.to_string()))
}

/// A client for long conversations with one server, which a person has named: under the same rules for addresses, and
/// this machine by http besides. Answers have no time limit and are not decoded, redirects are not followed, and no
/// request is sent twice. `version` is the only version of HTTP that it speaks: HTTP/1.1 for a WebSocket, or HTTP/2.
///
/// # Errors
/// [`Problem::Refused`] for an address that is not allowed, else like [`plain_client`].
pub fn conversation_client(
    settings: &Settings,
    url: &Url,
    version: Option<reqwest::Version>,
) -> Result<reqwest::Client, Problem> {
    let is_loopback = match url.host() {
        Some(UrlHost::Ipv4(address)) => address.is_loopback(),
        Some(UrlHost::Ipv6(address)) => address.is_loopback(),
        Some(UrlHost::Domain(name)) => name == "localhost",
        None => false,
    };
    let is_open = is_open(url, is_loopback || settings.allowed.allows(url))?;
    // A proxy may be another machine, which would read what is sent, and has another loopback than this one.
    let proxies = if is_loopback { Proxies::default() } else { settings.proxies.clone() };
    proxies.choose(url)?;
    let mut tls = tls(settings)?;
    if version == Some(reqwest::Version::HTTP_11) {
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    }
    let resolver = Arc::new(Resolver::new(&proxies));
    let unlimited =
        Settings { proxies: proxies.clone(), idle_timeout: Duration::from_hours(24 * 365), ..settings.clone() };
    let base = builder(&unlimited, true, &tls)
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .http2_keep_alive_interval(ALIVE)
        .http2_keep_alive_timeout(ALIVE)
        .http2_keep_alive_while_idle(true);
    let base = match version {
        Some(reqwest::Version::HTTP_11) => base.http1_only(),
        Some(reqwest::Version::HTTP_2) => base.http2_prior_knowledge(),
        _ => base,
    };
    let base = if is_open {
        base.dns_resolver(Arc::new(Open { resolver }))
    } else {
        base.dns_resolver(Arc::new(Guard::new(resolver, &proxies)))
    };
    base.build().map_err(|error| Problem::Setup(error.to_string()))
}

/// How often a server of a conversation is asked whether it is there, by HTTP/2, and how long it may take to answer.
const ALIVE: Duration = Duration::from_secs(20);

fn builder(settings: &Settings, is_raw: bool, tls: &rustls::ClientConfig) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .redirect(redirect::Policy::none())
        .proxy(make_proxy(settings.proxies.clone()))
        .gzip(!is_raw)
        .tls_backend_preconfigured(tls.clone())
}

/// The same choice as for messages. Requests whose variable names no proxy are not sent.
fn make_proxy(proxies: Proxies) -> reqwest::Proxy {
    reqwest::Proxy::custom(move |url| Some(proxies.choose(url).ok()??.url))
}

/// TLS with the certificate authorities of the system, or with those that the environment names. Reading them is slow, so that all clients share them.
fn tls(settings: &Settings) -> Result<rustls::ClientConfig, Problem> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let setup = |error: rustls::Error| Problem::Setup(error.to_string());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(setup)?;
    let config = match &settings.authorities {
        Some(authorities) => config.with_root_certificates(authorities.read(usize::MAX)?),
        None => config.with_platform_verifier().map_err(setup)?,
    };
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Headers from pairs that this program has written itself.
pub(super) fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    let pairs = pairs.iter().filter_map(|(name, value)| Some((name.clone(), HeaderValue::from_str(value).ok()?)));
    pairs.collect()
}

/// Resolves each name once.
struct Resolver {
    names: Mutex<HashMap<String, Names>>,
    /// Whether IPv4 addresses come first: a proxy that speaks SOCKS 4 connects to no others.
    prefers_ipv4: bool,
}

/// The addresses of a name; none where there is no such name.
type Names = Arc<OnceCell<Vec<SocketAddr>>>;

/// Allows connections to public addresses only. The check is made for the connection itself, so that a name cannot
/// resolve to another address afterwards.
struct Guard {
    resolver: Arc<Resolver>,
    /// Hosts that may be private: the proxies of the person's system.
    exempt: Vec<String>,
}

impl Guard {
    fn new(resolver: Arc<Resolver>, proxies: &Proxies) -> Self {
        Self { resolver, exempt: proxies.urls().filter_map(|url| Some(url.host_str()?.to_owned())).collect() }
    }
}

/// For hosts that may be private.
struct Open {
    resolver: Arc<Resolver>,
}

impl Resolver {
    fn new(proxies: &Proxies) -> Self {
        Self { names: Mutex::default(), prefers_ipv4: proxies.urls().any(|proxy| proxy.scheme() == "socks4") }
    }

    async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        // An IPv6 address that goes to a SOCKS proxy has brackets.
        let name = name.trim_matches(['[', ']']);
        let names =
            self.names.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone();
        let mut found = names.get_or_try_init(|| lookup(name)).await?.clone();
        if self.prefers_ipv4 {
            found.sort_by_key(SocketAddr::is_ipv6);
        }
        if found.is_empty() { Err(ResolveError::Unknown) } else { Ok(found) }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.resolver.clone();
        let is_exempt = self.exempt.iter().any(|exempt| exempt == name.as_str());
        Box::pin(async move {
            let mut found = resolver.resolve(name.as_str()).await?;
            found.retain(|address| is_exempt || address::is_public(address.ip()));
            if found.is_empty() { Err(ResolveError::Private.into()) } else { Ok(boxed(found)) }
        })
    }
}

impl Resolve for Open {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.resolver.clone();
        Box::pin(async move { Ok(boxed(resolver.resolve(name.as_str()).await?)) })
    }
}

fn boxed(addresses: Vec<SocketAddr>) -> Addrs {
    Box::new(addresses.into_iter())
}

async fn lookup(host: &str) -> Result<Vec<SocketAddr>, ResolveError> {
    match tokio::net::lookup_host((host, 0)).await {
        Ok(found) => Ok(found.collect()),
        // The system's resolver returns no code, only a message, whose words for "try again later" are the same on all
        // systems.
        Err(error) if error.to_string().to_ascii_lowercase().contains("temporary") => {
            Err(ResolveError::Temporary(error.to_string()))
        }
        Err(_) => Ok(Vec::new()),
    }
}

/// How a [`Client`] behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Hosts that may be private, and may be reached without https.
    pub allowed: AllowedHosts,
    /// The proxies of requests, whose hosts may be private; there are none by default, see [`Proxies::new`].
    pub proxies: Proxies,
    /// The certificate authorities that the environment names; with `None`, those of the system are trusted.
    pub authorities: Option<Authorities>,
    /// Package registries and the like that a person has configured: they may be private, may be reached without https,
    /// and get their secrets. This holds only for requests to the sources themselves
    /// ([`Client::document`](super::Client::document)), never for addresses in a manifest.
    pub sources: AllowedHosts,
    /// The secrets of the sources, each for its host.
    pub credentials: Credentials,
    /// Where answers are kept from one run to the next.
    pub cache: Option<Cache>,
    /// Limits for one host.
    pub host_limits: HostLimits,
    /// How long it may take until a connection is open.
    pub connect_timeout: Duration,
    /// How long a host may send no bytes.
    pub idle_timeout: Duration,
    /// For how long a download may be slower than 16 KiB/s.
    pub slow_timeout: Duration,
    /// How long an answer may take, with its body; downloads of archives have [`Settings::download_timeout`].
    pub total_timeout: Duration,
    /// How long a download may take.
    pub download_timeout: Duration,
    /// How often a request is sent at most, after problems that may pass.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each further one.
    pub backoff: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed: AllowedHosts::default(),
            proxies: Proxies::default(),
            authorities: None,
            sources: AllowedHosts::default(),
            credentials: Credentials::default(),
            cache: None,
            host_limits: HostLimits::default(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            slow_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(2),
            download_timeout: Duration::from_mins(30),
            attempts: 3,
            backoff: Duration::from_millis(500),
        }
    }
}

/// The largest answer that is read, in bytes.
const ANSWER_LIMIT: u64 = 2 << 20;

impl Client {
    /// Sends a change as JSON, once, with the source's secret; the answer is read as JSON.
    ///
    /// # Errors
    /// [`FetchError`]. When no answer has come, the change may have been made all the same.
    pub async fn change(&self, method: Method, url: &Url, body: &Value) -> Result<Value, FetchError> {
        let accept = headers(&[(header::ACCEPT, "application/json")]);
        let request = Request {
            method,
            is_to_source: true,
            body: Some(body.to_string()),
            ..Request::get(url, accept, self.settings.total_timeout)
        };
        let mut reply = self.send(&request).await?;
        let status = reply.response.status();
        if !status.is_success() {
            let answer = reply.body(ANSWER_LIMIT).await.unwrap_or_default();
            let status = status.as_u16();
            let explained = |message| Problem::Explained { status, message };
            return Err(reply.fail(explanation(&answer).map_or(Problem::Status(status), explained)));
        }
        let text = reply.body(ANSWER_LIMIT).await?;
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }
}

/// Maximum length of an explanation, in bytes.
const EXPLANATION: usize = 500;

/// Why a host refuses a change, if it answers as GitHub does: `message`, and that of each of the `errors`.
fn explanation(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let errors = answer["errors"].as_array().into_iter().flatten().map(|error| error["message"].as_str());
    let all = std::iter::once(answer["message"].as_str()).chain(errors).flatten();
    let text = all.map(|message| message.trim_end_matches('.')).collect::<Vec<_>>().join("; ");
    let text = &text[..text.floor_char_boundary(EXPLANATION)];
    (!text.is_empty()).then(|| printable(text).into_owned())
}

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
    /// Whether the host calls it an HTML page.
    pub is_page: bool,
}

impl Answer {
    fn of(reply: Reply) -> Self {
        let text = |name| reply.response.headers().get(name).and_then(|value| value.to_str().ok());
        let last_modified = text(header::LAST_MODIFIED).and_then(|text| httpdate::parse_http_date(text).ok());
        let is_page = text(header::CONTENT_TYPE).is_some_and(|text| text.starts_with("text/html"));
        Self { hops: reply.hops, elapsed: reply.elapsed, last_modified, is_page }
    }
}

impl Client {
    /// Checks an address without fetching its content: with HEAD and, if that is refused, with a GET of the first byte.
    ///
    /// # Errors
    /// [`FetchError`]; [`Problem::Status`] for every status from 400.
    pub async fn probe(&self, url: &Url) -> Result<Answer, FetchError> {
        in_time(TOTAL, url, self.ask(url)).await
    }

    /// The size of a file of a source, in bytes, if the host says so in its answer to HEAD.
    ///
    /// # Errors
    /// [`FetchError`], unless the host answers.
    pub async fn size_at_source(&self, url: &Url) -> Result<Option<u64>, FetchError> {
        let headers = headers(&[(header::ACCEPT_ENCODING, "identity")]);
        let request = Request {
            method: Method::HEAD,
            is_raw: true,
            is_to_source: true,
            ..Request::get(url, headers, self.settings.total_timeout)
        };
        let reply = self.send(&request).await?;
        let length = reply.response.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        Ok(length.filter(|_| reply.response.status().is_success()).and_then(|length| length.parse().ok()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    fn problem(url: &str) -> Problem {
        let client = Client::new(Settings::default());
        block_on(client.get(&Url::parse(url).unwrap(), 1)).unwrap_err().problem
    }

    #[test]
    fn private_addresses_are_refused_before_anything_is_sent() {
        for url in
            ["http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "ftp://example.com/"]
        {
            assert!(matches!(problem(url), Problem::Refused(_)), "{url}");
        }
    }

    #[test]
    fn conversations_leave_this_machine_by_https_only() {
        let refused = |url: &str, allowed: &[&str]| {
            let allowed = AllowedHosts::parse(allowed).unwrap();
            let settings = Settings { allowed, ..Settings::default() };
            conversation_client(&settings, &Url::parse(url).unwrap(), None).is_err()
        };
        for url in ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "https://agents.example.com/acp"] {
            assert!(!refused(url, &[]), "{url}");
        }
        for url in ["http://agents.example.com/", "http://10.0.0.1/", "https://10.0.0.1/", "https://agent.local/"] {
            assert!(refused(url, &[]), "{url}");
        }
        assert!(!refused("http://10.0.0.1/", &["10.0.0.1"]));
        // This machine is reached without a proxy, so that no variable can be wrong.
        let proxies = Proxies::new(&|name| (name == "ALL_PROXY").then(|| "no proxy".to_owned()));
        let settings = Settings { proxies, ..Settings::default() };
        let problem = |url: &str| conversation_client(&settings, &Url::parse(url).unwrap(), None).err();
        assert_eq!(problem("http://127.0.0.1:1/"), None);
        assert!(matches!(problem("https://agents.example.com/"), Some(Problem::Variable(_))));
    }

    #[test]
    fn a_name_of_a_private_address_is_refused_at_the_connection() {
        assert_eq!(problem("https://localhost/"), Problem::Refused("it is a host of a private network"));
    }
}
