//! Which proxy a request goes through, for messages: the HTTP client chooses it by the same rules, and does not tell.

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::Problem;

/// The proxies of the environment and of the system.
pub(super) struct Proxies(Matcher);

impl Proxies {
    pub(super) fn new() -> Self {
        Self(Matcher::from_system())
    }

    /// The same problem, with the proxy that was to be gone through, if that may be why.
    pub(super) fn explain(&self, problem: Problem, url: &Url) -> Problem {
        let Some(proxy) = self.of(url) else { return problem };
        let message = match problem {
            Problem::Connection(message) => message,
            Problem::NoSuchHost => "its name cannot be resolved".to_owned(),
            other => return other,
        };
        Problem::Proxy { proxy, message }
    }

    /// The address of the proxy for a request, without its secrets.
    fn of(&self, url: &Url) -> Option<String> {
        let proxy = self.0.intercept(&url.as_str().parse().ok()?)?;
        let uri = proxy.uri();
        Some(format!("{}://{}", uri.scheme_str().unwrap_or("http"), uri.authority()?))
    }
}

impl std::fmt::Debug for Proxies {
    /// Proxies have passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxies")
    }
}
