//! Host names that belong to private networks, whichever resolver is used.

/// Endings that do not exist in the public name system: reserved for private use, or not assigned because networks use
/// them (RFC 6761, RFC 6762 with its appendix G, RFC 8375, and `internal`, which ICANN has reserved).
const PRIVATE: [&str; 10] =
    ["localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"];

/// Whether a name can only be that of a host in a private network. A proxy resolves names itself, so that this program
/// cannot check their addresses.
#[must_use]
pub fn is_private(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.contains('.') || PRIVATE.iter().any(|ending| is_below(name, ending))
}

/// Whether a name is this domain or below it; a dot at its end does not count.
#[must_use]
pub fn is_below(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_names_are_known() {
        for name in [
            "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer", "metadata.google.internal",
            "metadata.google.internal.", "nas.local", "x.home.arpa", "x.corp", "internal", "",
        ] {
            assert!(is_private(name), "{name}");
        }
        for name in ["h.example", "internal.example", "notlocalhost.example", "home.example", "xn--local-abc.example"] {
            assert!(!is_private(name), "{name}");
        }
    }
}
