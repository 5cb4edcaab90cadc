//! Resolves names, and filters the addresses that may be connected to.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::OnceCell;

use super::addr;
use super::error::ResolveError;
use super::proxy::Proxies;

/// Resolves each name once.
pub(super) struct Resolver {
    names: Mutex<HashMap<String, Names>>,
    /// Whether IPv4 addresses come first: a proxy that speaks SOCKS 4 connects to no others.
    prefers_ipv4: bool,
}

/// The addresses of a name; none where there is no such name.
type Names = Arc<OnceCell<Vec<SocketAddr>>>;

/// Allows connections to public addresses only. The check is made for the connection itself, so that a name cannot
/// resolve to another address afterwards.
pub(super) struct Guard {
    pub(super) resolver: Arc<Resolver>,
    /// Hosts that may be private: the proxies of the person's system.
    pub(super) exempt: Vec<String>,
}

/// For hosts that may be private.
pub(super) struct Open {
    pub(super) resolver: Arc<Resolver>,
}

impl Resolver {
    pub(super) fn new(proxies: &Proxies) -> Self {
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
            found.retain(|address| is_exempt || addr::is_public(address.ip()));
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
