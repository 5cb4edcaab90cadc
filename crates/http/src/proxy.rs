//! Chooses the proxy of a request: the HTTP client, package managers and `doctor` all ask here.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::{Position, Url};

use super::Problem;

/// The beginning of hyper's message about a proxy that refused a connection.
const TUNNEL: &str = "tunnel error: ";

/// The port of SOCKS proxies whose address has none.
const SOCKS_PORT: u16 = 1080;

/// Settings of npm that override the variables of the system, most important first.
const OF_NPM: [(&str, &str); 4] = [
    ("HTTPS_PROXY", "npm_config_https_proxy"),
    ("HTTPS_PROXY", "npm_config_proxy"),
    ("HTTP_PROXY", "npm_config_proxy"),
    ("NO_PROXY", "npm_config_noproxy"),
];

/// The proxies of an environment, and the hosts that are asked without one.
#[derive(Clone, Default)]
pub struct Proxies {
    https: Option<Variable>,
    http: Option<Variable>,
    /// The items of `NO_PROXY`.
    exempt: Vec<String>,
    /// The proxies in the settings of the system, for what no variable decides.
    system: Option<Arc<Matcher>>,
}

/// A variable that names a proxy. Its value may have a password.
#[derive(Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    value: String,
}

/// The proxy of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its address, with its password.
    pub(super) url: Url,
    /// The variable that names it; `None` for one of the system's settings.
    variable: Option<String>,
}

impl Proxies {
    /// The proxies that these variables name and, where they name none, those of the system's settings on macOS and Windows.
    pub fn new(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        Self::read(&[], variable)
    }

    /// The proxies of npm; `None` if it has no settings of its own for them.
    pub fn for_npm(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        OF_NPM.iter().any(|(_, own)| variable(own).is_some()).then(|| Self::read(&OF_NPM, variable))
    }

    fn read(own: &[(&str, &str)], variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |kind: &str| {
            let own = own.iter().filter(|(of, _)| *of == kind).map(|(_, name)| (*name).to_owned());
            let mut names = own.chain([kind.to_owned(), kind.to_ascii_lowercase()]);
            names.find_map(|name| {
                // Where a server starts this program for a request (CGI), that variable is a header of the request.
                if name == "HTTP_PROXY" && variable("REQUEST_METHOD").is_some() {
                    return None;
                }
                let value = variable(&name)?.trim().to_owned();
                (!value.is_empty()).then_some(Variable { name, value })
            })
        };
        let all = set("ALL_PROXY");
        let exempt = set("NO_PROXY").map(|listed| listed.value).unwrap_or_default();
        let exempt = exempt.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty());
        Self {
            https: set("HTTPS_PROXY").or_else(|| all.clone()),
            http: set("HTTP_PROXY").or(all),
            exempt: exempt.map(ToOwned::to_owned).collect(),
            system: cfg!(any(windows, target_os = "macos")).then(|| Arc::new(Matcher::from_system())),
        }
    }

    /// The proxy for a request; `None` if it is sent without one.
    ///
    /// # Errors
    /// [`Problem::Variable`] if the variable that applies to the request does not name a proxy.
    pub fn choose(&self, url: &Url) -> Result<Option<Proxy>, Problem> {
        if self.is_exempt(url) {
            return Ok(None);
        }
        match if url.scheme() == "https" { &self.https } else { &self.http } {
            Some(variable) => variable.proxy().map(Some),
            None => Ok(self.system.as_ref().and_then(|system| {
                let proxy = system.intercept(&url.as_str().parse().ok()?)?;
                Some(Proxy { url: Url::parse(&proxy.uri().to_string()).ok()?, variable: None })
            })),
        }
    }

    /// The variables that name the proxies for https and http, and the host of each.
    pub fn named(&self) -> impl Iterator<Item = (&str, Result<String, Problem>)> {
        let http = self.http.as_ref().filter(|http| self.https.as_ref() != Some(*http));
        let host = |proxy: Proxy| proxy.url.host_str().unwrap_or_default().to_owned();
        self.https.iter().chain(http).map(move |variable| (variable.name.as_str(), variable.proxy().map(host)))
    }

    /// The addresses of the proxies that variables name.
    pub(super) fn urls(&self) -> impl Iterator<Item = Url> {
        [&self.https, &self.http].into_iter().flatten().filter_map(|variable| Some(variable.proxy().ok()?.url))
    }

    /// Variables that make other programs use the same proxies, whether or not they trim values or know `ALL_PROXY`,
    /// `socks://` and `NO_PROXY=*`.
    pub fn variables(&self) -> Vec<(String, String)> {
        let kinds = [("HTTPS_PROXY", &self.https), ("HTTP_PROXY", &self.http)];
        if self.exempt.iter().any(|item| item == "*") {
            let names = kinds.iter().flat_map(|(kind, _)| [(*kind).to_owned(), kind.to_ascii_lowercase()]);
            let names = names.chain(["ALL_PROXY".to_owned(), "all_proxy".to_owned()]);
            return names.map(|name| (name, String::new())).collect();
        }
        let mut variables = Vec::new();
        for (kind, variable) in kinds {
            let Some(variable) = variable else { continue };
            if let Ok(proxy) = variable.proxy() {
                let name = if variable.name.eq_ignore_ascii_case(kind) { &variable.name } else { kind };
                variables.push((name.to_owned(), proxy.url.as_str().trim_end_matches('/').to_owned()));
            }
        }
        if !self.exempt.is_empty() {
            // npm prefers the second one.
            variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), self.exempt.join(","))));
        }
        variables
    }

    /// Whether `NO_PROXY` lists the host of an address, by the rules of curl, or its host and port.
    fn is_exempt(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let hosts: Vec<&str> =
            self.exempt.iter().filter_map(|item| host_for_port(item, url.port_or_known_default())).collect();
        // Hyper compares IP addresses with no pattern.
        if hosts.contains(&"*") {
            return true;
        }
        let listed = Matcher::builder().all("http://proxy").no(hosts.join(",")).build();
        let address = format!("http://{}/", host.trim_end_matches('.')).parse();
        address.is_ok_and(|address| listed.intercept(&address).is_none())
    }
}

/// The host of an item of `NO_PROXY`, without brackets and the dot at its end; `None` if it is for another port.
fn host_for_port(item: &str, port: Option<u16>) -> Option<&str> {
    let (host, of) = match item.rsplit_once(':') {
        // The colons of an IPv6 address without brackets separate no port.
        Some((host, of)) if !host.contains(':') || host.ends_with(']') => (host, of.parse().ok()),
        _ => (item, None),
    };
    (of.is_none() || of == port).then(|| host.trim_matches(['[', ']']).trim_end_matches('.'))
}

impl Variable {
    fn proxy(&self) -> Result<Proxy, Problem> {
        match parse(&self.value) {
            Some(url) => Ok(Proxy { url, variable: Some(self.name.clone()) }),
            None => Err(Problem::Variable(self.problem())),
        }
    }

    /// Why the value does not name a proxy, as a sentence. Anything before an `@` may be a password, and is not shown.
    fn problem(&self) -> String {
        let Self { name, value } = self;
        let shown = match value.rsplit_once('@') {
            Some((secret, rest)) => {
                let scheme = secret.split_once("://").map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
                format!("{scheme}…@{rest}")
            }
            None => value.clone(),
        };
        let shown: String = shown.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let what = "which is not the address of a proxy, such as http://proxy.example:3128 or socks5h://proxy.example";
        format!("the environment variable {name} is `{shown}`, {what}")
    }
}

/// The address of a proxy as the HTTP client takes it; `None` if that client cannot use it.
fn parse(value: &str) -> Option<Url> {
    if value.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let (has_scheme, text) = match value.split_once("://") {
        // As curl has it.
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("socks") => (true, format!("socks4://{rest}")),
        Some(_) => (true, value.to_owned()),
        None => (false, format!("http://{value}")),
    };
    let mut url = Url::parse(&text).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    // A lone word is more likely a mistake than a host.
    let is_meant = has_scheme || url.port().is_some() || host.contains('.');
    // A password with a slash: its beginning looks like a port.
    let is_cut = url[Position::AfterPort..].contains('@');
    if !is_meant || is_cut {
        return None;
    }
    url.set_path("");
    url.set_query(None);
    url.set_fragment(None);
    if url.scheme().starts_with("socks") && url.port().is_none() {
        url.set_port(Some(SOCKS_PORT)).ok()?;
    }
    let matcher = Matcher::builder().all(url.to_string()).build();
    matcher.intercept(&"http://host.example/".parse().ok()?).map(|_| url)
}

impl Proxy {
    /// The problem of a request that was sent through this proxy, which may be the cause.
    pub(super) fn explain(&self, problem: Problem) -> Problem {
        let message = match problem {
            Problem::Connection(message) => describe(&message),
            Problem::NoSuchHost => "its name cannot be resolved".to_owned(),
            Problem::NoResolver(message) => format!("its name cannot be resolved now: {message}"),
            Problem::Timeout => "there is no answer in time".to_owned(),
            // A proxy that inspects connections has a certificate of its own.
            Problem::Tls(message) => return Problem::Tls(format!("{message}, through the proxy {self}")),
            Problem::Untrusted(message) => return Problem::Untrusted(format!("{message}, through the proxy {self}")),
            other => return other,
        };
        Problem::Proxy { proxy: self.to_string(), message }
    }

    /// The problem where the proxy has answered instead of the host. The status 407 always comes from a proxy; over plain
    /// http, the statuses of gateways say that the proxy has not reached the host.
    pub(super) fn answered(&self, status: u16, url: &Url) -> Option<Problem> {
        let is_gateway = self.url.scheme().starts_with("http") && url.scheme() == "http";
        let message = match status {
            407 => "it wants a name and a password (407)".to_owned(),
            502..=504 if is_gateway => format!("the answer is {status}"),
            _ => return None,
        };
        Some(Problem::Proxy { proxy: self.to_string(), message })
    }
}

impl std::fmt::Display for Proxy {
    /// The address without its secrets, and the variable that names it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = &self.url[Position::BeforeHost..Position::AfterPort];
        let variable = self.variable.as_deref().unwrap_or("from the settings of the system");
        write!(f, "{}://{place} ({variable})", self.url.scheme())
    }
}

impl std::fmt::Debug for Proxies {
    /// Proxies have passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxies")
    }
}

/// What a proxy has done, read from hyper's message.
fn describe(message: &str) -> String {
    let Some((_, tunnel)) = message.split_once(TUNNEL) else { return message.to_owned() };
    match tunnel {
        "proxy authorization required" => "it wants a name and a password (407)".to_owned(),
        "unsuccessful" => "it refuses to connect to that host".to_owned(),
        other => other.strip_prefix("failed to create underlying connection: ").unwrap_or(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(set: &[(&str, &str)]) -> Proxies {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Proxies { system: None, ..Proxies::new(&find) }
    }

    fn chosen(set: &[(&str, &str)], url: &str) -> Result<Option<String>, Problem> {
        proxies(set).choose(&Url::parse(url).unwrap()).map(|proxy| proxy.map(|proxy| proxy.to_string()))
    }

    #[test]
    fn only_what_the_client_can_use_is_a_proxy() {
        for (value, address) in [
            ("http://proxy.example:3128", Some("http://proxy.example:3128")),
            ("https://user:secret@proxy.example", Some("https://proxy.example")),
            ("http://proxy/path?query", Some("http://proxy")),
            ("HTTP://Proxy:1", Some("http://proxy:1")),
            ("proxy:3128", Some("http://proxy:3128")),
            ("10.0.0.1", Some("http://10.0.0.1")),
            ("me:se@cr@et@[::1]:3128", Some("http://[::1]:3128")),
            ("http://h.example:1\r\n", Some("http://h.example:1")),
            ("\t http://h.example:1 ", Some("http://h.example:1")),
            ("socks://h.example:1/", Some("socks4://h.example:1")),
            ("SOCKS4a://h.example", Some("socks4a://h.example:1080")),
            ("socks5://me:secret@127.0.0.1", Some("socks5://127.0.0.1:1080")),
            ("socks5h://[::1]:9", Some("socks5h://[::1]:9")),
            ("nonsense", None),
            ("ftp://proxy.example", None),
            ("socks6://proxy.example", None),
            ("http://", None),
            ("http//proxy.example", None),
            ("a b", None),
            ("http://h.example:1\r\nx", None),
            ("http://me:12/secret@h.example", None),
            ("http://me:12#secret@h.example", None),
        ] {
            let chosen = chosen(&[("ALL_PROXY", value)], "https://h.example/");
            match address {
                Some(address) => assert_eq!(chosen, Ok(Some(format!("{address} (ALL_PROXY)"))), "{value}"),
                None => assert!(matches!(chosen, Err(Problem::Variable(_))), "{value}"),
            }
        }
    }

    #[test]
    fn the_variable_that_applies_to_the_request_counts() {
        let good = "http://good.example:1";
        let (https, http) = ("https://h.example/", "http://h.example/");
        let through = |name: &str| Ok(Some(format!("{good} ({name})")));
        for (set, url, expected) in [
            (&[("ALL_PROXY", "x"), ("HTTPS_PROXY", good)][..], https, through("HTTPS_PROXY")),
            (&[("HTTPS_PROXY", "x"), ("HTTP_PROXY", good)], http, through("HTTP_PROXY")),
            (&[("HTTPS_PROXY", "x")], http, Ok(None)),
            (&[("HTTPS_PROXY", ""), ("https_proxy", good)], https, through("https_proxy")),
            (&[("HTTPS_PROXY", " \r\n"), ("all_proxy", good)], https, through("all_proxy")),
            (&[("ALL_PROXY", "x"), ("NO_PROXY", "h.example")], https, Ok(None)),
            (&[("ALL_PROXY", "x"), ("NO_PROXY", ""), ("no_proxy", "h.example")], https, Ok(None)),
            (&[("HTTP_PROXY", good), ("REQUEST_METHOD", "GET")], http, Ok(None)),
            (&[], https, Ok(None)),
        ] {
            assert_eq!(chosen(set, url), expected, "{set:?} {url}");
        }
        assert!(chosen(&[("HTTPS_PROXY", good), ("ALL_PROXY", "x")], http).is_err());
    }

    #[test]
    fn hosts_without_a_proxy_are_listed_as_for_curl() {
        for (listed, url, is_direct) in [
            ("*", "http://h.example/", true),
            ("*", "http://127.0.0.1/", true),
            (" * ", "http://[::1]/", true),
            ("h.example", "http://h.example:8080/", true),
            ("H.Example.", "http://h.example/", true),
            ("h.example", "http://h.example./", true),
            ("h.example", "http://a.h.example/", true),
            (".h.example", "http://h.example/", true),
            (".h.example", "http://a.h.example/", true),
            ("h.example", "http://notth.example/", false),
            ("*.h.example", "http://a.h.example/", false),
            ("a  h.example\tb", "http://h.example/", true),
            ("a,h.example\r\n", "http://h.example/", true),
            (",,h.example", "http://h.example/", true),
            ("a;h.example", "http://h.example/", false),
            ("h.example:80", "http://h.example/", true),
            ("h.example:443", "https://h.example/", true),
            ("h.example:80", "https://h.example/", false),
            ("127.0.0.1:81", "http://127.0.0.1:80/", false),
            ("127.0.0.1:81", "http://127.0.0.1:81/", true),
            ("127.0.0.0/8", "http://127.1.2.3/", true),
            ("10.0.0.0/8", "http://127.1.2.3/", false),
            ("127.0.0.0/33", "http://127.0.0.1/", false),
            ("0.0.0.0/0", "http://127.0.0.1/", true),
            ("127.0.0", "http://127.0.0.1/", false),
            ("*.0.0.1", "http://127.0.0.1/", false),
            ("::1", "http://[::1]/", true),
            ("[::1]", "http://[::1]/", true),
            ("[::1]:81", "http://[::1]:81/", true),
            ("[::1]:81", "http://[::1]/", false),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("::1/128", "http://[::2]/", false),
            ("127.0.0.0/8", "http://h.example/", false),
        ] {
            let chosen = chosen(&[("ALL_PROXY", "http://p.example"), ("NO_PROXY", listed)], url).unwrap();
            assert_eq!(chosen.is_none(), is_direct, "{listed:?} {url}");
        }
    }

    #[test]
    fn other_programs_get_the_same_proxies() {
        let variables = |set: &[(&str, &str)]| {
            let pairs = proxies(set).variables().into_iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(variables(&[("https_proxy", "http://u:p@h\r")]), "https_proxy=http://u:p@h");
        assert_eq!(
            variables(&[("ALL_PROXY", "socks://h:1/"), ("HTTP_PROXY", "h:2 "), ("no_proxy", "a b\n")]),
            "HTTPS_PROXY=socks4://h:1 HTTP_PROXY=http://h:2 NO_PROXY=a,b no_proxy=a,b"
        );
        let none = variables(&[("https_proxy", "http://h"), ("NO_PROXY", "a *")]);
        assert_eq!(none, "HTTPS_PROXY= https_proxy= HTTP_PROXY= http_proxy= ALL_PROXY= all_proxy=");
        assert_eq!(variables(&[("ALL_PROXY", "nonsense")]), "");
    }

    #[test]
    fn settings_of_npm_override_the_variables() {
        let set = [("npm_config_proxy", "http://npm.example"), ("HTTPS_PROXY", "http://other.example")];
        let find = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let url = Url::parse("https://h.example/").unwrap();
        let proxy = Proxies::for_npm(&find).unwrap().choose(&url).unwrap().unwrap();
        assert_eq!(proxy.to_string(), "http://npm.example (npm_config_proxy)");
        assert!(Proxies::for_npm(&|name| find(name).filter(|_| !name.starts_with("npm"))).is_none());
    }

    #[test]
    fn a_value_that_names_no_proxy_is_shown_without_its_secrets() {
        for (value, shown) in [
            ("nonsense", "`nonsense`"),
            ("ftp://me:secret@h.example:1", "`ftp://…@h.example:1`"),
            ("me:secr@et@h", "`…@h`"),
            ("a\u{1b}[31m b", "`a\u{fffd}[31m b`"),
        ] {
            let problem = chosen(&[("HTTPS_PROXY", value)], "https://h.example/").unwrap_err().to_string();
            assert!(problem.starts_with("the environment variable HTTPS_PROXY is "), "{problem}");
            assert!(problem.contains(shown) && !problem.contains("secr"), "{problem}");
        }
    }

    #[test]
    fn a_proxy_is_named_for_what_it_did_itself() {
        let value = "http://me:sec@ret@proxy.example:3128";
        let proxies = proxies(&[("HTTPS_PROXY", value), ("http_proxy", value)]);
        let of = |url: &str| proxies.choose(&Url::parse(url).unwrap()).unwrap().unwrap();
        let explained = |problem| of("https://h.example/").explain(problem).to_string();
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
            assert_eq!(explained(Problem::Connection(message.to_owned())), format!("{through}{expected}"));
        }
        assert_eq!(explained(Problem::Timeout), format!("{through}there is no answer in time"));
        let proxy = "through the proxy http://proxy.example:3128 (HTTPS_PROXY)";
        assert_eq!(explained(Problem::Tls("x".to_owned())), format!("cannot be reached safely: x, {proxy}"));
        assert!(explained(Problem::Untrusted("x".to_owned())).ends_with(&format!("(x, {proxy})")));
        assert_eq!(explained(Problem::Status(404)), "answers 404");
        let through = through.replace("HTTPS_PROXY", "http_proxy");
        let answered = |status: u16, url: &str| {
            of(url).answered(status, &Url::parse(url).unwrap()).map(|problem| problem.to_string())
        };
        assert_eq!(answered(407, "http://h.example/"), Some(format!("{through}it wants a name and a password (407)")));
        assert_eq!(answered(502, "http://h.example/"), Some(format!("{through}the answer is 502")));
        for (status, url) in [(502, "https://h.example/"), (500, "http://h.example/"), (403, "http://h.example/")] {
            assert_eq!(answered(status, url), None, "{status} {url}");
        }
    }
}
