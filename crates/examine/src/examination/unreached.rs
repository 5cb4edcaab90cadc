//! Recognizes failures whose cause may be that an examined agent has no network.

/// Parts of the messages of common runtimes about names and networks that cannot be reached, in lower case.
const SIGNS: &[&str] = &[
    "dns error", "eai_again", "enetunreach", "enotfound", "failed to resolve", "getaddrinfo", "name resolution",
    "network is unreachable", "no such host",
];

/// What is added to the message of a failure. No text of the agent, because addresses in it can differ between runs.
pub(super) const NOTE: &str = "; its stderr reports a failed connection to another host, and it has no network";

/// Whether the last part of an agent's stderr reports that another host cannot be reached.
pub(super) fn is_unreached(stderr: &str) -> bool {
    let stderr = stderr.to_lowercase();
    SIGNS.iter().any(|sign| stderr.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_common_runtimes_are_recognized() {
        for text in [
            "Error: getaddrinfo EAI_AGAIN models.example.com",
            "(Caused by NameResolutionError(\"Failed to resolve 'files.example.com'\"))",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "error sending request: client error (Connect): dns error: failed to lookup address information",
            "dial tcp: lookup example.com: no such host",
            "connect: Network is unreachable",
        ] {
            assert!(is_unreached(text), "{text}");
        }
        for text in ["", "HTTP 500", "connect ECONNREFUSED 127.0.0.1:1", "listening on the network"] {
            assert!(!is_unreached(text), "{text}");
        }
    }
}
