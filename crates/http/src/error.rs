//! Why something was not fetched.

use acp_registry_plan::failure::Failure;
use std::error::Error;
use std::io;
use std::time::Duration;

use url::Url;

use acp_registry_host::fs::{SPACE, is_full};

/// Why something was not fetched, and at which address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if matches!(problem, Problem::Variable(_)) { String::new() } else { format!("{url} ") })]
pub struct FetchError {
    /// The address that did not answer as it should: the first one, or one that it redirects to. Without user info, and
    /// without its query, which may hold a signature.
    pub url: String,
    /// The addresses that redirected to it.
    pub hops: Vec<String>,
    /// What went wrong.
    pub problem: Problem,
}

impl FetchError {
    /// What to do about it, where that does not depend on the request.
    pub fn remedy(&self) -> Option<String> {
        let url = Url::parse(&self.url).ok();
        match (url.as_ref().and_then(Url::host_str), &self.problem) {
            (Some(host), Problem::Refused(why)) if *why != NO_HOST => Some(remedy::allow(Some(host))),
            _ => self.problem.remedy(),
        }
    }
}

/// Why an address without a host is refused.
pub(super) const NO_HOST: &str = "it has no host";

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// This program does not speak to such addresses: not https, or of a private network.
    #[error("is refused: {0}")]
    Refused(&'static str),
    /// The name of the host has no address, as far as this machine can tell.
    #[error("cannot be reached: this machine cannot resolve the name of its host")]
    NoSuchHost,
    /// No names can be resolved now.
    #[error("cannot be reached: this machine cannot resolve names now: {0}")]
    NoResolver(String),
    /// The host's certificate is not valid, or it does not speak TLS.
    #[error("cannot be reached safely: {0}")]
    Tls(String),
    /// No authority that this machine trusts has signed the host's certificate.
    #[error("cannot be reached safely: no authority that this machine trusts has signed its certificate ({0})")]
    Untrusted(String),
    /// No connection, or one that broke before the answer.
    #[error("cannot be reached: {}", plain(.0))]
    Connection(String),
    /// The connection broke within the answer.
    #[error("breaks off: {0}")]
    Broken(String),
    /// The proxy of the environment gave no connection or a broken one, or answered itself.
    #[error("cannot be reached through the proxy {proxy}: {message}")]
    Proxy {
        /// Its address, without secrets, and where it is set.
        proxy: String,
        /// What went wrong.
        message: String,
    },
    /// No answer in time.
    #[error("does not answer in time")]
    Timeout,
    /// The bytes come too slowly.
    #[error("sends less than 16 KiB a second")]
    TooSlow,
    /// The host limits the rate of requests for longer than this program waits.
    #[error("limits the rate of requests for another {} s", wait.as_secs())]
    RateLimited {
        /// For how long.
        wait: Duration,
    },
    /// The host answered with an error.
    #[error("answers {0}")]
    Status(u16),
    /// The host refused a change, and said why.
    #[error("answers {status}: {message}")]
    Explained {
        /// The status.
        status: u16,
        /// What the host says. Printable.
        message: String,
    },
    /// The answer is larger than it may be.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The body is shorter or longer than the host announced.
    #[error("ends after {received} of {announced} bytes")]
    Incomplete {
        /// How many bytes came.
        received: u64,
        /// How many should have come.
        announced: u64,
    },
    /// A second answer does not begin as the first one did.
    #[error("has changed while it was fetched")]
    Changed,
    /// One redirect led to another.
    #[error("redirects more than {0} times")]
    TooManyRedirects(usize),
    /// A redirect that leads nowhere.
    #[error("answers {0} without an address to go to")]
    BadRedirect(u16),
    /// The answer could not be kept on disk.
    #[error("cannot be stored: {message}")]
    Disk {
        /// The error of the system.
        message: String,
        /// Whether the disk or the quota is full.
        is_full: bool,
    },
    /// The system cannot do TLS.
    #[error("cannot be fetched: there is no HTTP client: {0}")]
    Setup(String),
    /// A variable of the environment that says how to reach hosts has a value that cannot be used. A sentence of its own.
    #[error("{0}")]
    Variable(String),
}

impl Problem {
    /// What came could not be written.
    pub fn disk(error: &io::Error) -> Self {
        Self::Disk { message: error.to_string(), is_full: is_full(error) }
    }

    /// What to do about it, where that does not depend on the request.
    pub fn remedy(&self) -> Option<String> {
        let known = match self {
            Self::Refused(why) if *why != NO_HOST => return Some(remedy::allow(None)),
            Self::NoSuchHost => Some(remedy::HOST),
            Self::NoResolver(_) => Some(remedy::NETWORK),
            Self::Proxy { .. } => Some(remedy::PROXY),
            Self::Broken(_) | Self::Incomplete { .. } | Self::Changed => Some(remedy::AGAIN),
            Self::Disk { is_full: true, .. } => Some(SPACE),
            Self::Variable(_) => Some(remedy::VARIABLE),
            Self::Untrusted(_) => Some(remedy::AUTHORITY),
            Self::Setup(_) => Some(remedy::AUTHORITIES),
            _ => None,
        };
        known.map(String::from)
    }

    /// Whether the host or the network has a problem that may pass: it says nothing about what was asked for.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoResolver(_)
            | Self::Connection(_)
            | Self::Broken(_)
            | Self::Proxy { .. }
            | Self::Timeout
            | Self::TooSlow
            | Self::RateLimited { .. }
            | Self::Changed
            | Self::Incomplete { .. } => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500..=599),
            _ => false,
        }
    }

    /// Whether the host fails for every request: it cannot be reached from here, does not answer in time, or says so itself.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::NoSuchHost
            | Self::NoResolver(_)
            | Self::Tls(_)
            | Self::Untrusted(_)
            | Self::Connection(_)
            | Self::Broken(_)
            | Self::Proxy { .. }
            | Self::Variable(_)
            | Self::Timeout
            | Self::TooSlow
            | Self::RateLimited { .. } => true,
            Self::Status(status) => matches!(status, 502..=504),
            _ => false,
        }
    }

    /// Whether the host has answered, with any status.
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Status(_)
                | Self::Explained { .. }
                | Self::RateLimited { .. }
                | Self::TooLarge { .. }
                | Self::Incomplete { .. }
                | Self::TooManyRedirects(_)
                | Self::BadRedirect(_)
        )
    }

    pub(super) fn of(error: &reqwest::Error) -> Self {
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(cause) = next {
            if let Some(resolution) = cause.downcast_ref::<ResolveError>() {
                return match resolution {
                    ResolveError::Private => Self::Refused("it is a host of a private network"),
                    ResolveError::Unknown => Self::NoSuchHost,
                    ResolveError::Temporary(message) => Self::NoResolver(message.clone()),
                };
            }
            if let Some(error) = cause.downcast_ref::<rustls::Error>() {
                let message = causes(cause);
                return if is_of_authority(error) { Self::Untrusted(message) } else { Self::Tls(message) };
            }
            // An error of the system hides the one that it was made from.
            next = match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => cause.source(),
            };
        }
        match causes(error) {
            _ if error.is_timeout() => Self::Timeout,
            message if error.is_body() || error.is_decode() => Self::Broken(message),
            message => Self::Connection(message),
        }
    }
}

/// What the system says of a connection, without the words that the HTTP library puts before it.
fn plain(message: &str) -> &str {
    let message = message.strip_prefix("client error (Connect): ").unwrap_or(message);
    message.strip_prefix("tcp connect error: ").unwrap_or(message)
}

/// Whether a certificate is refused only because its authority is unknown.
fn is_of_authority(error: &rustls::Error) -> bool {
    use rustls::{CertificateError, Error};

    matches!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer))
}

/// What to do about problems of the network.
pub mod remedy {
    /// A name has no address: it is wrong, or the machine has no network.
    pub const HOST: &str =
        "check the network and the name server of this machine; if other hosts can be reached, correct the address";
    /// No name can be resolved.
    pub const NETWORK: &str = "check the network and the name server of this machine";
    /// A variable of the environment cannot be used.
    pub const VARIABLE: &str = "correct or unset it";
    /// A connection broke.
    pub const AGAIN: &str = "try again";
    /// The proxy of the environment does not work.
    pub const PROXY: &str =
        "check that proxy, or correct or unset the variable that names it (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY)";

    /// An authority is not trusted.
    pub const AUTHORITY: &str = "if your network or the host has an authority of its own, add it to the certificate \
        authorities of the system, or set SSL_CERT_FILE to a file with it and all others that you trust";
    /// There are no authorities.
    pub const AUTHORITIES: &str =
        "install your system's certificate authorities, often the package `ca-certificates`, or set SSL_CERT_FILE";

    /// An address is not https, or of a private network.
    pub(crate) fn allow(host: Option<&str>) -> String {
        match host {
            None => "if you trust its host, name that with --allow-host".to_owned(),
            Some(host) => format!("if you trust its host, run it again with `--allow-host {host}`"),
        }
    }
}

/// Why a name has no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResolveError {
    #[error("a host of a private network")]
    Private,
    #[error("no host of this name")]
    Unknown,
    #[error("{0}")]
    Temporary(String),
}

/// An address as messages show it: user info is a secret, and so is the signature in many a query.
pub fn shown(url: &Url) -> String {
    let mut url = without_user_info(url);
    url.set_fragment(None);
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    url.to_string().replace("?%E2%80%A6", "?…")
}

/// The address without user info, which would be sent as a secret: secrets come from [`Credentials`](super::Credentials) only.
pub(super) fn without_user_info(url: &Url) -> Url {
    let mut url = url.clone();
    // Both fail only for addresses that cannot have user info.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// An error with its causes, of which the network errors are several layers down. The outermost error is left out: it
/// names the address, which the caller shows without secrets.
fn causes(error: &dyn Error) -> String {
    let mut text = String::new();
    let mut next = error.source().or(Some(error));
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

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let help = error.remedy();
        Self::unable(error).help_if(help)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let help = problem.remedy();
        Self::unable(problem).help_if(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_host_is_named_as_it_would_be_allowed() {
        let refused = |url: &str| FetchError {
            url: url.to_owned(),
            hops: Vec::new(),
            problem: Problem::Refused("it does not begin with https://"),
        };
        let known = refused("http://127.0.0.1:9/a?…").remedy().unwrap();
        assert_eq!(known, remedy::allow(Some("127.0.0.1")));
        assert_eq!(known.clone(), "if you trust its host, run it again with `--allow-host 127.0.0.1`");
        assert_eq!(refused("x").remedy(), Some(remedy::allow(None)));
        assert_eq!(FetchError { problem: Problem::Timeout, ..refused("http://h.example/") }.remedy(), None);
    }

    #[test]
    fn secrets_are_not_shown() {
        for (url, expected) in [
            ("https://user:secret@h.example/a?sig=secret#secret", "https://h.example/a?…"),
            ("https://secret@h.example/", "https://h.example/"),
            ("http://h.example:8080/a", "http://h.example:8080/a"),
        ] {
            assert_eq!(shown(&Url::parse(url).unwrap()), expected);
        }
    }
}
