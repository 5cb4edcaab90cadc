//! Names of hosts that lead into a private network, whatever resolves them.

/// Endings that the public name system never has: reserved for private use, or never given out because networks use them
/// (RFC 6761, RFC 6762 with its appendix G, RFC 8375, and `internal`, which ICANN has reserved).
const PRIVATE: [&str; 10] =
    ["localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"];

/// Whether a name can only be that of a host in a private network. A proxy would resolve it by itself, so that the look at
/// the address comes too late.
pub(super) fn is_private(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_below = |ending: &str| name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || PRIVATE.iter().any(|ending| is_below(ending))
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
