//! Host names that belong to private networks, whichever resolver is used.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
