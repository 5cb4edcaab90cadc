//! Finds the proxy of a request for messages: the HTTP client chooses it by the same rules, but does not report it.

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::Problem;

/// The variables that name proxies, in the order of their precedence. Windows does not tell lower-case names apart.
pub const VARIABLES: &[&str] = if cfg!(windows) {
    &["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"]
} else {
    &["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
};

/// The beginning of hyper's message about a proxy that refused a connection.
const TUNNEL: &str = "tunnel error: ";

/// The kinds of variables, by the addresses that they are for.
const KINDS: [&str; 3] = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];

/// The host of a proxy, and the variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProxy {
    /// For which addresses it is: `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`.
    kind: &'static str,
    /// The variable, as it is spelled.
    variable: String,
    /// The host.
    pub(super) host: String,
}

/// The proxies of an environment.
pub struct Proxies {
    matcher: Matcher,
    named: Vec<NamedProxy>,
}

impl Proxies {
    /// The proxies of this process and of the system.
    pub(super) fn new(named: Vec<NamedProxy>) -> Self {
        Self { matcher: Matcher::from_system(), named }
    }

    /// The proxies that programs with these variables use. `variable` returns the value for a name, with the name of the
    /// variable that has it.
    #[must_use]
    pub fn of_variables(variable: impl Fn(&str) -> Option<(String, String)>) -> Self {
        let get = |name: &str| either(&variable, name).map(|(_, value)| value).unwrap_or_default();
        let matcher = Matcher::builder().all(get("ALL_PROXY")).http(get("HTTP_PROXY")).https(get("HTTPS_PROXY"));
        Self { matcher: matcher.no(get("NO_PROXY")).build(), named: named(&variable) }
    }

    /// The problem, with the request's proxy if that may be the cause.
    pub(super) fn explain(&self, problem: Problem, url: &Url) -> Problem {
        let Some(proxy) = self.of(url) else { return problem };
        let message = match problem {
            Problem::Connection(message) => told(&message),
            Problem::NoSuchHost => "its name cannot be resolved".to_owned(),
            Problem::NoResolver(message) => format!("its name cannot be resolved now: {message}"),
            Problem::Timeout => "there is no answer in time".to_owned(),
            // A proxy that inspects connections has a certificate of its own.
            Problem::Tls(message) => return Problem::Tls(format!("{message}, through the proxy {proxy}")),
            Problem::Untrusted(message) => return Problem::Untrusted(format!("{message}, through the proxy {proxy}")),
            other => return other,
        };
        Problem::Proxy { proxy, message }
    }

    /// The problem where a proxy has answered instead of the host. The status 407 always comes from a proxy; over plain
    /// http, the statuses of gateways say that the proxy has not reached the host.
    pub(super) fn answered(&self, status: u16, url: &Url) -> Option<Problem> {
        let message = match status {
            407 => "it wants a name and a password (407)".to_owned(),
            502..=504 if url.scheme() == "http" => format!("the answer is {status}"),
            _ => return None,
        };
        self.of(url).map(|proxy| Problem::Proxy { proxy, message })
    }

    /// The address of the proxy for a request, without its secrets, and the variable that names it.
    #[must_use]
    pub fn of(&self, url: &Url) -> Option<String> {
        let proxy = self.matcher.intercept(&url.as_str().parse().ok()?)?;
        let uri = proxy.uri();
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let kinds = [if url.scheme() == "https" { KINDS[0] } else { KINDS[1] }, KINDS[2]];
        let is_it = |known: &&NamedProxy| kinds.contains(&known.kind) && known.host.trim_matches(['[', ']']) == host;
        let variable = self.named.iter().find(is_it).map(|known| known.variable.as_str());
        // Not its authority: in that, the part of a password that follows an `@` would remain.
        let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
        let address = format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host()?);
        Some(format!("{address} ({})", variable.unwrap_or("from the settings of the system")))
    }
}

/// The value for a name in capital or small letters, with the variable that has it.
fn either(variable: &impl Fn(&str) -> Option<(String, String)>, name: &str) -> Option<(String, String)> {
    variable(name).or_else(|| variable(&name.to_ascii_lowercase()))
}

fn named(variable: &impl Fn(&str) -> Option<(String, String)>) -> Vec<NamedProxy> {
    let set = KINDS.into_iter().filter_map(|kind| Some((kind, either(variable, kind)?)));
    set.filter_map(|(kind, (variable, value))| Some(NamedProxy { kind, variable, host: proxy_host(&value)? })).collect()
}

impl std::fmt::Debug for Proxies {
    /// Proxies have passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxies")
    }
}

/// What a proxy has done, read from hyper's message.
fn told(message: &str) -> String {
    let Some((_, tunnel)) = message.split_once(TUNNEL) else { return message.to_owned() };
    match tunnel {
        "proxy authorization required" => "it wants a name and a password (407)".to_owned(),
        "unsuccessful" => "it refuses to connect to that host".to_owned(),
        other => other.strip_prefix("failed to create underlying connection: ").unwrap_or(other).to_owned(),
    }
}

/// The host of a proxy; `None` where the address is not one that the HTTP client can use.
#[must_use]
pub fn proxy_host(address: &str) -> Option<String> {
    let has_scheme = address.contains("://");
    let url = Url::parse(&if has_scheme { address.to_owned() } else { format!("http://{address}") }).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    // A lone word is more likely a mistake than a host.
    let is_meant = has_scheme || url.port().is_some() || host.contains('.');
    (["http", "https"].contains(&url.scheme()) && is_meant).then(|| host.to_owned())
}

/// The proxies that these variables name, for [`Settings::proxies`](super::Settings::proxies).
///
/// # Errors
/// [`Problem::Variable`] for a value that names no proxy: the HTTP client ignores it, and sends past the proxy.
pub fn proxies(variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<NamedProxy>, Problem> {
    let set = VARIABLES.iter().filter_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)));
    set.map(|(name, value)| {
        if let Some(problem) = proxy_problem(name, &value) {
            return Err(Problem::Variable(problem));
        }
        let kind = KINDS.into_iter().find(|kind| kind.eq_ignore_ascii_case(name)).unwrap_or(KINDS[2]);
        Ok(NamedProxy { kind, variable: name.to_owned(), host: proxy_host(&value).unwrap_or_default() })
    })
    .collect()
}

/// Why the value of a variable does not name a proxy, as a sentence; `None` where it does, or is empty. Anything before an
/// `@` may be a password, and is not shown.
#[must_use]
pub fn proxy_problem(name: &str, value: &str) -> Option<String> {
    if value.is_empty() || proxy_host(value).is_some() {
        return None;
    }
    let shown = match value.rsplit_once('@') {
        Some((secret, rest)) => {
            let scheme = secret.split_once("://").map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
            format!("{scheme}…@{rest}")
        }
        None => value.to_owned(),
    };
    let shown: String = shown.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let what = "which is not the address of an HTTP proxy, such as http://proxy.example:3128";
    Some(format!("the environment variable {name} is `{shown}`, {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_client_can_use_is_a_proxy() {
        for (address, host) in [
            ("http://proxy.example:3128", Some("proxy.example")),
            ("https://user:secret@proxy.example", Some("proxy.example")),
            ("http://proxy", Some("proxy")),
            ("proxy:3128", Some("proxy")),
            ("10.0.0.1", Some("10.0.0.1")),
            ("nonsense", None),
            ("socks5://proxy.example:1080", None),
            ("ftp://proxy.example", None),
            ("http://", None),
            ("http//proxy.example", None),
            ("a b", None),
        ] {
            assert_eq!(proxy_host(address).as_deref(), host, "{address}");
            assert_eq!(proxy_problem("ALL_PROXY", address).is_none(), host.is_some(), "{address}");
        }
        assert_eq!(proxy_problem("ALL_PROXY", ""), None);
    }

    #[test]
    fn a_value_that_names_no_proxy_is_shown_without_its_secrets() {
        for (value, shown) in [
            ("nonsense", "`nonsense`"),
            ("ftp://me:secret@h.example:1", "`ftp://…@h.example:1`"),
            ("me:secr@et@h", "`…@h`"),
            ("a\u{1b}[31m b", "`a\u{fffd}[31m b`"),
        ] {
            let problem = proxy_problem("HTTPS_PROXY", value).unwrap();
            assert!(problem.starts_with("the environment variable HTTPS_PROXY is "), "{problem}");
            assert!(problem.contains(shown) && !problem.contains("secr"), "{problem}");
        }
    }

    #[test]
    fn a_proxy_is_named_for_what_it_did_itself() {
        let proxies = Proxies::of_variables(|name| match name {
            "HTTPS_PROXY" | "http_proxy" => Some((name.to_owned(), "http://me:sec@ret@proxy.example:3128".to_owned())),
            "NO_PROXY" => Some((name.to_owned(), "direct.example".to_owned())),
            _ => None,
        });
        let explain = |message: &str, url: &str| {
            proxies.explain(Problem::Connection(message.to_owned()), &Url::parse(url).unwrap()).to_string()
        };
        let through = "cannot be reached through the proxy http://proxy.example:3128 (HTTPS_PROXY): ";
        for (message, expected) in [
            ("client error (Connect): tunnel error: unsuccessful", "it refuses to connect to that host"),
            (
                "client error (Connect): tunnel error: proxy authorization required",
                "it wants a name and a password (407)",
            ),
            ("a: tunnel error: failed to create underlying connection: refused", "refused"),
            ("broken pipe", "broken pipe"),
        ] {
            assert_eq!(explain(message, "https://h.example/"), format!("{through}{expected}"));
        }
        assert_eq!(explain("x", "https://direct.example/"), "cannot be reached: x");
        let explained = |problem| proxies.explain(problem, &Url::parse("https://h.example/").unwrap()).to_string();
        assert_eq!(explained(Problem::Timeout), format!("{through}there is no answer in time"));
        let proxy = "through the proxy http://proxy.example:3128 (HTTPS_PROXY)";
        assert_eq!(explained(Problem::Tls("x".to_owned())), format!("cannot be reached safely: x, {proxy}"));
        assert!(explained(Problem::Untrusted("x".to_owned())).ends_with(&format!("(x, {proxy})")));
        assert_eq!(explained(Problem::Status(404)), "answers 404");
        let through = through.replace("HTTPS_PROXY", "http_proxy");
        let answered = |status: u16, url: &str| {
            proxies.answered(status, &Url::parse(url).unwrap()).map(|problem| problem.to_string())
        };
        assert_eq!(answered(407, "http://h.example/"), Some(format!("{through}it wants a name and a password (407)")));
        assert_eq!(answered(502, "http://h.example/"), Some(format!("{through}the answer is 502")));
        for (status, url) in [
            (502, "https://h.example/"),
            (500, "http://h.example/"),
            (403, "http://h.example/"),
            (407, "http://direct.example/"),
        ] {
            assert_eq!(answered(status, url), None, "{status} {url}");
        }
    }
}
