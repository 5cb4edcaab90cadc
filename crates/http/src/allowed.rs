//! Hosts for which a person has lifted the https-only and public-address rule.

use std::str::FromStr;

use url::Url;

/// The hosts named with `--allow-host`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedHost {
    host: String,
    port: Option<u16>,
}

/// The text is not `HOST` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not HOST or HOST:PORT")]
pub struct HostError(String);

impl AllowedHosts {
    /// Reads each `HOST` or `HOST:PORT`; an IPv6 address is in brackets.
    ///
    /// # Errors
    /// [`HostError`] for the first text that is neither.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, HostError> {
        texts.into_iter().map(|text| text.as_ref().parse()).collect::<Result<_, _>>().map(Self)
    }

    /// Allows the host and port of an address that a person has configured.
    pub fn add(&mut self, url: &Url) {
        if let Some(host) = url.host_str() {
            self.0.push(AllowedHost { host: host.to_owned(), port: url.port_or_known_default() });
        }
    }

    /// Whether an address is on an allowed host and, where the exception names a port, on that port.
    pub fn allows(&self, url: &Url) -> bool {
        self.0.iter().any(|allowed| {
            url.host_str() == Some(&allowed.host)
                && (allowed.port.is_none() || allowed.port == url.port_or_known_default())
        })
    }
}

impl FromStr for AllowedHost {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let error = || HostError(text.to_owned());
        if text.contains(['/', '@', '?', '#', '\\', '*']) || text.chars().any(char::is_whitespace) {
            return Err(error());
        }
        // Parsed like an address, so that both have the same normal form.
        let url = Url::parse(&format!("https://{text}/")).map_err(|_| error())?;
        let port = match text.rsplit_once(':') {
            Some((before, port)) if !before.is_empty() && !text.ends_with(']') => {
                Some(port.parse().map_err(|_| error())?)
            }
            _ => None,
        };
        Ok(Self { host: url.host_str().ok_or_else(error)?.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_host_and_port_are_allowed() {
        let allowed = AllowedHosts::parse(["Mirror.Example", "127.0.0.1:8080", "[::1]:443"]).unwrap();
        for (url, expected) in [
            ("http://mirror.example:99/x", true),
            ("https://sub.mirror.example/", false),
            ("http://127.0.0.1:8080/", true),
            ("http://127.0.0.1:8081/", false),
            ("https://[::1]/", true),
            ("http://[::1]/", false),
        ] {
            assert_eq!(allowed.allows(&Url::parse(url).unwrap()), expected, "{url}");
        }
        for text in ["", "a/b", "user@host", "host:99999", "host:", "*.example", "a b"] {
            assert!(AllowedHosts::parse([text]).is_err(), "{text:?}");
        }
        let mut allowed = AllowedHosts::default();
        allowed.add(&Url::parse("http://mirror.example/npm/").unwrap());
        assert!(allowed.allows(&Url::parse("http://mirror.example/").unwrap()));
        assert!(!allowed.allows(&Url::parse("https://mirror.example/").unwrap()));
    }
}
