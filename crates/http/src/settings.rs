//! How the client behaves.

use std::time::Duration;

use super::host::HostLimits;
use super::{AllowedHosts, Authorities, Cache, Credentials, Proxies};

/// How a [`Client`](super::Client) behaves.
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
