//! The one HTTP client of the program.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{StatusCode, header, redirect};
use url::{Host, Url};

use super::{AllowedHosts, addr};

/// How long it may take until a connection stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long an answer may take, with its body.
const TOTAL_TIMEOUT: Duration = Duration::from_mins(2);

/// How many redirects are followed.
const HOP_LIMIT: usize = 10;

/// Fetches from public hosts by https, and from hosts that a person has allowed by name.
///
/// Every address is checked where the connection is made, so that a name cannot lead elsewhere between check and use;
/// redirects are followed by hand and checked in the same way.
#[derive(Debug, Clone)]
pub struct Client {
    allowed: AllowedHosts,
    /// For everybody: connects to public addresses only.
    guarded: reqwest::Client,
    /// For allowed hosts.
    open: reqwest::Client,
}

/// Why something was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address, or one that it redirects to, is none that this program speaks to.
    #[error("{url} is refused: {reason}; --allow-host lifts this for a host")]
    Refused {
        /// The address, without user info.
        url: String,
        /// Why.
        reason: &'static str,
    },
    /// The host could not be reached, or broke off.
    #[error("{url} cannot be fetched: {message}")]
    Network {
        /// The address, without user info.
        url: String,
        /// What went wrong, down to its cause.
        message: String,
    },
    /// The host answered with an error.
    #[error("{url} answers {status}")]
    Status {
        /// The address, without user info.
        url: String,
        /// The status of the answer.
        status: u16,
    },
    /// The answer is larger than it may be.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// The address, without user info.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// One redirect led to another.
    #[error("{url} redirects more than 10 times")]
    TooManyRedirects {
        /// The first address, without user info.
        url: String,
    },
    /// The system cannot do TLS.
    #[error("no HTTP client: {0}")]
    Setup(String),
}

impl Client {
    /// Makes a client. Proxies come from the environment, as everywhere; `proxy_hosts` are their names, which may be
    /// private.
    ///
    /// # Errors
    /// [`FetchError::Setup`] when the system offers no root certificates.
    pub fn new(allowed: AllowedHosts, proxy_hosts: &[String]) -> Result<Self, FetchError> {
        // Fails only when another part of the process has chosen a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = || {
            reqwest::Client::builder()
                .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(TOTAL_TIMEOUT)
                .redirect(redirect::Policy::none())
        };
        let guard = Arc::new(Guard { exempt: proxy_hosts.to_vec() });
        let build =
            |builder: reqwest::ClientBuilder| builder.build().map_err(|error| FetchError::Setup(causes(&error)));
        Ok(Self { allowed, guarded: build(base().dns_resolver(guard))?, open: build(base())? })
    }

    /// Fetches a file of at most `limit` bytes; `None` when the host says that there is none.
    ///
    /// # Errors
    /// [`FetchError`], each case by its own name.
    pub async fn get(&self, url: &Url, limit: u64) -> Result<Option<Vec<u8>>, FetchError> {
        let mut at = url.clone();
        for _ in 0..=HOP_LIMIT {
            let client = self.client_for(&at)?;
            let network = |error: reqwest::Error| FetchError::Network { url: shown(&at), message: causes(&error) };
            let mut answer = client.get(at.clone()).send().await.map_err(network)?;
            let status = answer.status();
            if status.is_redirection()
                && let Some(target) = answer.headers().get(header::LOCATION)
            {
                let target = target.to_str().ok().and_then(|target| at.join(target).ok());
                at = target.ok_or(FetchError::Status { url: shown(&at), status: status.as_u16() })?;
                continue;
            }
            if [StatusCode::NOT_FOUND, StatusCode::GONE].contains(&status) {
                return Ok(None);
            }
            if status != StatusCode::OK {
                return Err(FetchError::Status { url: shown(&at), status: status.as_u16() });
            }
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await.map_err(network)? {
                if (body.len() + chunk.len()) as u64 > limit {
                    return Err(FetchError::TooLarge { url: shown(&at), limit });
                }
                body.extend_from_slice(&chunk);
            }
            return Ok(Some(body));
        }
        Err(FetchError::TooManyRedirects { url: shown(url) })
    }

    fn client_for(&self, url: &Url) -> Result<&reqwest::Client, FetchError> {
        let refused = |reason| Err(FetchError::Refused { url: shown(url), reason });
        if self.allowed.allows(url) && ["https", "http"].contains(&url.scheme()) {
            return Ok(&self.open);
        }
        if url.scheme() != "https" {
            return refused("it does not begin with https://");
        }
        // An address in the place of a name reaches no resolver, so that it is looked at here.
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return refused("it has no host"),
        };
        if literal.is_some_and(|address| !addr::is_public(address)) {
            return refused("it is an address of a private network");
        }
        Ok(&self.guarded)
    }
}

/// Resolves names to public addresses only.
struct Guard {
    /// Hosts that may be anywhere: the proxies that the person's own system is configured with.
    exempt: Vec<String>,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_exempt = self.exempt.contains(&host);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> =
                found.iter().copied().filter(|address| is_exempt || addr::is_public(address.ip())).collect();
            if public.is_empty() && !found.is_empty() {
                return Err(format!("{host} is a host of a private network; --allow-host lifts this for a host").into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}

/// An address as messages show it: user info is a secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that can have no user info.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// An error with its causes: those of the network hide several layers down.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&part);
        }
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::new(AllowedHosts::default(), &[]).unwrap()
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn private_addresses_are_refused_before_anything_is_sent() {
        for url in
            ["http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "ftp://example.com/"]
        {
            let error = block_on(client().get(&Url::parse(url).unwrap(), 1)).unwrap_err();
            assert!(matches!(error, FetchError::Refused { .. }), "{url}: {error}");
        }
    }

    #[test]
    fn a_name_of_a_private_address_is_refused_at_the_connection() {
        let error = block_on(client().get(&Url::parse("https://localhost/").unwrap(), 1)).unwrap_err();
        assert!(error.to_string().contains("private network"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let error = block_on(client().get(&Url::parse("http://user:secret@example.com/").unwrap(), 1)).unwrap_err();
        assert!(error.to_string().contains("http://example.com/"), "{error}");
    }
}
