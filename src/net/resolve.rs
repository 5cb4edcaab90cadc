//! Names to addresses, and which of them may be connected to.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::addr;
use super::error::ResolveError;

/// Resolves names to public addresses only, at the connection itself: no name can lead elsewhere between check and use.
pub(super) struct Guard {
    /// Hosts that may be anywhere: the proxies that the person's own system is configured with.
    pub(super) exempt: Vec<String>,
}

/// Resolves names for hosts that may be anywhere.
pub(super) struct Open;

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_exempt = self.exempt.contains(&host);
        Box::pin(async move {
            let found = lookup(&host).await?;
            let public: Vec<SocketAddr> =
                found.into_iter().filter(|address| is_exempt || addr::is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(ResolveError::Private.into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}

impl Resolve for Open {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses: Addrs = Box::new(lookup(name.as_str()).await?.into_iter());
            Ok(addresses)
        })
    }
}

/// All addresses of a host, at least one.
async fn lookup(host: &str) -> Result<Vec<SocketAddr>, ResolveError> {
    match tokio::net::lookup_host((host, 0)).await {
        Ok(found) => {
            let found: Vec<SocketAddr> = found.collect();
            if found.is_empty() { Err(ResolveError::Unknown) } else { Ok(found) }
        }
        // The system's resolver gives no code, only its words: those for "ask again later" are the same everywhere.
        Err(error) if error.to_string().to_ascii_lowercase().contains("temporary") => {
            Err(ResolveError::Temporary(error.to_string()))
        }
        Err(_) => Err(ResolveError::Unknown),
    }
}
