//! Which addresses are refused: those that other programs could read in another way, and those of private networks. A person
//! can allow hosts by name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::Url;

/// Why a text is not a plain web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what the case means")]
pub enum AddressError {
    #[error("does not begin with https:// or http://")]
    Scheme,
    #[error("has user info before its host")]
    UserInfo,
    #[error("has no valid host")]
    Host,
    #[error("has a percent sign that encodes nothing, or a control character")]
    Encoding,
    #[error("is not an address")]
    Syntax,
}

/// Reads an `http` or `https` address.
///
/// Browsers also accept `https:host`, `https:////host` or an encoded host, and correct them; other programs fail or
/// connect to another host. Such texts are refused here.
///
/// # Errors
/// [`AddressError`], by the first thing that is wrong.
pub fn parse(text: &str) -> Result<Url, AddressError> {
    let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
    if !["https", "http"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(AddressError::Scheme);
    }
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    if authority.contains('@') {
        return Err(AddressError::UserInfo);
    }
    let is_bracketed = authority.starts_with('[');
    let name = if is_bracketed { authority } else { authority.split(':').next().unwrap_or_default() };
    let is_label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    let is_name = name.strip_suffix('.').unwrap_or(name).split('.').all(is_label);
    if name.contains(['%', '\\']) || !(is_bracketed || is_name) {
        return Err(AddressError::Host);
    }
    let is_encoded = |at: usize| {
        let digits = rest.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        digits.is_some_and(|digits| digits >= "20" && !digits.eq_ignore_ascii_case("7f"))
    };
    if !rest.match_indices('%').all(|(at, _)| is_encoded(at)) {
        return Err(AddressError::Encoding);
    }
    Url::parse(text).map_err(|_| AddressError::Syntax)
}

/// Whether an address is reachable from everywhere: neither private, loopback, link-local, shared, multicast,
/// documentation, benchmarking nor reserved (the IANA special-purpose address registries).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        0 | 10 | 127 | 224..=255 => true,
        100 => b & 0xc0 == 64,
        169 => b == 254,
        172 => b & 0xf0 == 16,
        192 => (b == 0 && (c == 0 || c == 2)) || (b == 88 && c == 99) || b == 168,
        198 => b & 0xfe == 18 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address that contains an IPv4 address is public if that one is.
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0x0..=0x1ff | 0xdb8, ..] | [0x3fff, 0x0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Endings that do not exist in the public name system: reserved for private use, or not assigned because networks use
/// them (RFC 6761, RFC 6762 with its appendix G, RFC 8375, `internal`, which ICANN has reserved, and what Kubernetes and
/// Consul resolve).
const PRIVATE: [&str; 12] = [
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa", "svc",
    "consul",
];

/// Public domains whose names lead to this machine, or to the address that the name itself contains. The first ones do
/// so for any address.
const WILDCARD: [&str; 20] = [
    "nip.io", "sslip.io", "xip.io", "xip.name", "backname.io", "traefik.me", "local-ip.co", "local-ip.sh", "rbndr.us",
    "1u.ms", "localtest.me", "lvh.me", "vcap.me", "fuf.me", "lacolhost.com", "localho.st", "local.gd", "lndo.site",
    "ddev.site", "lcl.host",
];

/// Whether a name leads, or can be made to lead, to a host in a private network. A proxy resolves names itself, so that
/// this program cannot check their addresses.
pub fn is_private(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.contains('.') || PRIVATE.iter().chain(&WILDCARD).any(|ending| is_below(name, ending))
}

/// Whether a name is this domain or below it; a dot at its end does not count.
pub fn is_below(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
    let Some((rest, end)) = name.len().checked_sub(domain.len()).map(|at| name.split_at(at)) else { return false };
    end.eq_ignore_ascii_case(domain.as_bytes()) && rest.last().is_none_or(|last| *last == b'.')
}

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
    use proptest::prelude::*;

    #[test]
    fn what_browsers_would_mend_is_refused() {
        for (text, error) in [
            ("", AddressError::Scheme),
            ("https:/h.example/a", AddressError::Scheme),
            ("https:h.example", AddressError::Scheme),
            (" https://h.example", AddressError::Scheme),
            ("ftp://h.example", AddressError::Scheme),
            ("https:////h.example", AddressError::Host),
            ("https://", AddressError::Host),
            ("https://ex%61mple.com", AddressError::Host),
            ("https://e..com", AddressError::Host),
            ("https://-.com", AddressError::Host),
            ("https://@h.example", AddressError::UserInfo),
            ("https://:@h.example", AddressError::UserInfo),
            ("https://h.example/%00", AddressError::Encoding),
            ("https://h.example/%zz", AddressError::Encoding),
            ("https://h.example/%2", AddressError::Encoding),
            ("https://h.example:99999/", AddressError::Syntax),
            ("https://[bad/", AddressError::Syntax),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        for text in [
            "https://h.example", "HTTP://H.example.:80/a%20b?c#d", "https://[::1]/", "https://例え.example/ä",
            "https://h.example/@scope/x",
        ] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_has_the_host_that_is_written(text in "https?:[/\\\\]{0,3}[a-z@.%:-]{0,12}[/?#]{0,2}[a-z%]{0,4}") {
            if let Ok(url) = parse(&text) {
                prop_assert!(text.contains(&format!("://{}", url.host_str().unwrap())), "{}", text);
            }
        }
    }

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0", "10.1.2.3", "127.0.0.1", "127.255.0.9", "100.64.0.1", "100.127.255.255", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
            "198.51.100.7", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1",
            "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
            "3fff::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "5f00::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn ordinary_addresses_are_public() {
        for address in [
            "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1", "223.255.255.1",
            "2606:4700::1111", "2001:4860:4860::8888", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn private_names_are_known() {
        for name in [
            "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer", "metadata.google.internal",
            "metadata.google.internal.", "nas.local", "x.home.arpa", "x.corp", "internal", "", "127.0.0.1.nip.io",
            "10-0-0-1.sslip.io", "A.NIP.IO.", "x.localtest.me", "lvh.me", "api.default.svc",
            "api.default.svc.cluster.local", "db.service.consul",
        ] {
            assert!(is_private(name), "{name}");
        }
        for name in [
            "h.example", "internal.example", "notlocalhost.example", "home.example", "xn--local-abc.example",
            "snip.io", "nip.io.example", "svc.example",
        ] {
            assert!(!is_private(name), "{name}");
        }
    }

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
