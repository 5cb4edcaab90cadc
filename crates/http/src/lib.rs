//! The network: which addresses this program may connect to, and its HTTP client.
//!
//! * [`address`]: which addresses and hosts are refused; [`AllowedHosts`]: which of them a person has allowed nevertheless
//! * [`Client`]: requests, redirects, each of which is checked, and retries; [`Client::probe`], [`Client::size_at_source`], [`Client::document`], [`Client::understand`],
//!   [`Client::download`], [`Client::revalidate`]
//! * [`HostLimits`]: how many requests a host gets at a time, which answers are asked for again, and after how long
//! * [`Authorities`]: certificate authorities that the environment names
//! * [`Proxies`]: the proxy of each request, from the environment
//! * [`Credentials`]: secrets, each for its host
//! * [`Cache`]: answers that are kept for later runs
//! * [`FetchError`], [`Problem`]: what can go wrong

pub mod address;
mod authorities;
mod cache;
mod client;
mod credentials;
mod document;
mod download;
mod error;
mod host_limits;
mod proxy;

pub use address::{AllowedHosts, HostError};
pub use authorities::Authorities;
pub use cache::{Cache, Understood, Validators};
pub use client::{Answer, Client, Settings, conversation_client, plain_client};
pub use credentials::{Credentials, Secret};
pub use document::{Fetched, FetchedDocument, Revalidated};
pub use download::{Downloaded, Hashing, Sink};
pub use error::{FetchError, Problem, remedy, shown};
pub use host_limits::HostLimits;
pub use proxy::{Proxies, Proxy};
pub use reqwest::Method;
