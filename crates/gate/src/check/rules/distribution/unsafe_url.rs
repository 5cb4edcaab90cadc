use std::net::IpAddr;

use url::Host;

use crate::check::rules::prelude::*;
use acp_registry_http::AllowedHosts;
use acp_registry_http::address::{self, AddressError};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unsafe-url",
    level: Level::Error,
    summary: "the address of an archive is not a plain public https address",
    why: "Archives hold programs: without https, others can replace them in transit. An address in a private network \
          makes clients connect to machines that a stranger chose; user info, unusual ports and unusual characters \
          disguise where an address leads.",
    fix: "Publish archives on a public host with https. Mirrors can be allowed by name with `--allow-host`.",
    fails: Example::Target("{ \"archive\": \"http://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
    marks: "\"http://example.com/1.0.0/linux.zip\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
    check: CheckFn::Manifest(check),
};

/// Top-level domains, besides the private ones, that do not resolve in public DNS.
const NOWHERE: [&str; 3] = ["test", "invalid", "onion"];

const HELP: &str = "publish the archive on a public host, and write https:// with its name and a percent-encoded path";

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        if target.archive.is_empty() {
            // A missing archive and one of another type read as an empty text, too: the schema rule reports them.
            let place = release.target_pointer(target, "archive");
            if subject.value().pointer(&place).is_some_and(|archive| archive == "") {
                report.value(place, "the address is empty").help(HELP);
            }
            continue;
        }
        if let Some(problem) = problem(&target.archive, subject.options.allowed_hosts) {
            report
                .value(release.target_pointer(target, "archive"), format!("{} {problem}", quote(&target.archive)))
                .help(HELP);
        }
    }
}

fn problem(text: &str, allowed: &AllowedHosts) -> Option<String> {
    let is_plain = |byte: u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}')
    };
    let odd = text.bytes().position(|byte| !is_plain(byte)).and_then(|at| text[at..].chars().next());
    if let Some(odd) = odd {
        return Some(format!("has the character U+{:04X}, which must be percent-encoded", u32::from(odd)));
    }
    let url = match address::parse(text) {
        Ok(url) => url,
        Err(AddressError::Scheme) => return Some("does not begin with https://".to_owned()),
        Err(error) => return Some(error.to_string()),
    };
    let path = &text[..memchr::memchr2(b'?', b'#', text.as_bytes()).unwrap_or(text.len())];
    let is_dots = |part: &str| {
        let is_encoded = part.starts_with(['.', '%']) && part.len() <= "%2e%2e".len();
        is_encoded && [".", ".."].contains(&part.to_ascii_lowercase().replace("%2e", ".").as_str())
    };
    if path.split('/').any(is_dots) {
        return Some("has the path segment `.` or `..`".to_owned());
    }
    let Some(host) = url.host() else { return Some("has no host".to_owned()) };
    if allowed.allows(&url) {
        return None;
    }
    if url.scheme() != "https" {
        return Some("does not begin with https://".to_owned());
    }
    if let Some(port) = url.port() {
        return Some(format!("has the port {port}, but only 443 is allowed"));
    }
    let address = match host {
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
        Host::Domain(host) => {
            let is_private = address::is_private(host) || NOWHERE.iter().any(|domain| address::is_below(host, domain));
            return is_private.then(|| "names a host of a private network".to_owned());
        }
    };
    (!address::is_public(address)).then(|| "names an address of a private network".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disguise_is_seen_through() {
        let none = AllowedHosts::default();
        for url in [
            "http://host.example/a.zip", "file:///etc/passwd", "ftp://host.example/a", "https://user@host.example/a",
            "https://user:pw@host.example/a", "https://127.0.0.1/a", "https://2130706433/a", "https://0x7f.1/a",
            "https://[::1]/a", "https://[::ffff:10.0.0.1]/a", "https://10.1.2.3/a", "https://169.254.169.254/latest",
            "https://localhost/a", "https://x.localhost/a", "https://printer/a", "https://nas.local/a",
            "https://host.example:8443/a", "https://host.example:99999/a", "https://host.example/a b",
            "https://host.example/ä", "https://host.example/a\\b", "https://[bad/a", "https:///a", "nonsense",
            "https://host.example/a\u{202e}b", "javascript:alert(1)", "https://127.0.0.1.nip.io/a",
            "https://a.default.svc/a",
        ] {
            assert!(problem(url, &none).is_some(), "{url}");
        }
        for url in [
            "https://host.example/a%20b.zip", "https://host.example:443/a+b.zip", "https://1.1.1.1/a",
            "https://dl.google.com/x%2By.zip",
        ] {
            assert_eq!(problem(url, &none), None, "{url}");
        }
    }

    #[test]
    fn an_allowed_host_needs_neither_https_nor_a_public_address() {
        let allowed = AllowedHosts::parse(["127.0.0.1:8080"]).unwrap();
        assert_eq!(problem("http://127.0.0.1:8080/a", &allowed), None);
        for url in ["http://127.0.0.1:8081/a", "ftp://127.0.0.1:8080/a", "http://user@127.0.0.1:8080/a"] {
            assert!(problem(url, &allowed).is_some(), "{url}");
        }
    }
}
