//! The network: which addresses this program may connect to, and its HTTP client.
//!
//! * [`address`]: which addresses and hosts are refused; [`AllowedHosts`]: which of them a person has allowed nevertheless
//! * [`Client`]: requests, redirects, each of which is checked, and retries; [`Client::probe`], [`Client::document`], [`Client::understand`],
//!   [`Client::download`], [`Client::revalidate`]
//! * [`HostLimits`]: how many requests a host gets at a time
//! * [`Authorities`]: certificate authorities that the environment names
//! * [`Proxies`]: the proxy of each request, from the environment
//! * [`Credentials`]: secrets, each for its host
//! * [`Cache`]: answers that are kept for later runs
//! * [`FetchError`], [`Problem`]: what can go wrong

pub mod address;
mod allowed;
mod authorities;
mod cache;
mod change;
mod client;
mod credentials;
mod document;
mod download;
mod error;
mod hashing;
mod host;
mod memo;
mod probe;
mod proxy;
mod retry;
mod revalidate;
mod validators;

pub use allowed::{AllowedHosts, HostError};
pub use authorities::Authorities;
pub use cache::Cache;
pub use change::ChangeKind;
pub use client::Settings;
pub use client::{Client, plain_client};
pub use credentials::{Credentials, Secret};
pub use document::{Fetched, FetchedDocument};
pub use download::{Downloaded, Sink};
pub use error::{FetchError, Problem, remedy, shown};
pub use hashing::Hashing;
pub use host::HostLimits;
pub use memo::Understood;
pub use probe::Answer;
pub use proxy::{Proxies, Proxy};
pub use revalidate::Revalidated;
pub use validators::Validators;
