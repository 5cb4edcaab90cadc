//! Secrets, each for one host.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::HeaderValue;
use url::{Origin, Url};

use acp_registry_plan::digest::Sha256;

/// The credentials for hosts.
///
/// Each secret belongs to an origin (scheme, host and port) and can be limited to the paths below one path. It is sent
/// nowhere else, and never after a redirect.
#[derive(Clone, Default)]
pub struct Credentials(Vec<Credential>);

#[derive(Clone)]
struct Credential {
    origin: Origin,
    /// Begins and ends with a slash.
    path: String,
    header: HeaderValue,
}

/// One secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// `Authorization: Bearer …`
    Bearer(String),
    /// `Authorization: Basic …`, from user name and password.
    Basic(String, String),
    /// `Authorization: Basic …`, encoded already.
    Encoded(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|credential| credential.origin.ascii_serialization())).finish()
    }
}

impl Credentials {
    /// Adds a secret for everything below an address. A secret with characters that a header cannot have is left out.
    pub fn add(&mut self, base: &Url, secret: &Secret) {
        let text = match secret {
            Secret::Bearer(token) => format!("Bearer {token}"),
            Secret::Basic(user, password) => format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))),
            Secret::Encoded(text) => format!("Basic {text}"),
        };
        let Ok(mut header) = HeaderValue::try_from(text) else { return };
        header.set_sensitive(true);
        let path = format!("{}/", base.path().trim_end_matches('/'));
        self.0.push(Credential { origin: base.origin(), path, header });
    }

    /// Adds the user name and the password of an address, if it has them, for all files in its directory and below.
    pub fn add_user_info(&mut self, url: &Url) {
        let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
        if (!user.is_empty() || !password.is_empty())
            && let Ok(directory) = url.join(".")
        {
            self.add(&directory, &Secret::Basic(user, password));
        }
    }

    /// Adds the secrets of another collection.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The header for a request: the one with the longest path.
    pub fn header(&self, url: &Url) -> Option<&HeaderValue> {
        let path = format!("{}/", url.path());
        let fitting = self.0.iter().filter(|one| one.origin == url.origin() && path.starts_with(&one.path));
        fitting.max_by_key(|one| one.path.len()).map(|one| &one.header)
    }

    /// A text that differs for different secrets, and does not reveal them.
    pub(super) fn fingerprint(&self, url: &Url) -> String {
        self.header(url).map_or(String::new(), |header| Sha256::of(header).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_secret_goes_to_its_exact_origin_and_path_only() {
        let mut credentials = Credentials::default();
        credentials.add(&url("https://h.example/npm"), &Secret::Bearer("t".into()));
        credentials.add(&url("https://h.example/npm/private/"), &Secret::Basic("u".into(), "p".into()));
        let header = |text: &str| credentials.header(&url(text)).map(|header| header.to_str().unwrap().to_owned());
        assert_eq!(header("https://h.example/npm/x").as_deref(), Some("Bearer t"));
        assert_eq!(header("https://h.example/npm").as_deref(), Some("Bearer t"));
        assert_eq!(header("https://h.example/npm/private/x").as_deref(), Some("Basic dTpw"));
        for other in [
            "https://h.example/", "https://h.example/npmx", "http://h.example/npm/x", "https://h.example:444/npm/x",
            "https://sub.h.example/npm/x", "https://h.example.evil.example/npm/x",
            "https://evil.example/h.example/npm/",
        ] {
            assert_eq!(header(other), None, "{other}");
        }
    }

    #[test]
    fn secrets_are_not_written_anywhere() {
        let mut credentials = Credentials::default();
        let secret = Secret::Bearer("hidden".into());
        credentials.add(&url("https://h.example/"), &secret);
        assert!(!format!("{credentials:?} {secret:?}").contains("hidden"));
        assert!(!credentials.fingerprint(&url("https://h.example/")).contains("hidden"));
        credentials.add(&url("https://h.example/x"), &Secret::Bearer("line\nbreak".into()));
        assert_eq!(credentials.0.len(), 1);
    }
}
