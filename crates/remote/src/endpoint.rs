//! The address of an agent, and the headers of each request to it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use acp_registry_http::{FetchError, Problem, Settings, address, conversation_client};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::{quote, without_secrets};
use reqwest::Version;
use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The most cookies that are kept, and the longest one in bytes.
const COOKIES: (usize, usize) = (64, 4096);

/// An agent that is served over a network.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// With `http` or `https`.
    pub(crate) url: Url,
    pub(crate) is_socket: bool,
    pub(crate) client: reqwest::Client,
    pub(crate) headers: Headers,
    settings: Settings,
}

/// Why an address cannot be spoken to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is not the address of an agent; the reason.
    #[error("{} {}", quote(.0), .1)]
    Address(String, String),
    /// The program does not connect to it.
    #[error(transparent)]
    Problem(#[from] FetchError),
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        let failure = Self::usage(&error);
        match &error {
            EndpointError::Problem(FetchError { problem: Problem::Refused(_), .. }) => {
                failure.help("use https, an address of this machine, or name the host with --allow-host")
            }
            EndpointError::Problem(error) => failure.help_if(error.remedy()),
            EndpointError::Address(..) => failure
                .help("name an address that begins with https:// or wss://, such as `wss://agents.example.com/acp`"),
        }
    }
}

impl Endpoint {
    /// An agent at an address, which is `https` or `wss`, or on this machine `http` or `ws`.
    ///
    /// # Errors
    /// Returns [`EndpointError`] for an address that the program does not connect to.
    pub fn new(text: &str, headers: &Headers, settings: &Settings) -> Result<Self, EndpointError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let is_socket = ["ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "ws" => "http".to_owned(),
            "wss" => "https".to_owned(),
            other => other.to_owned(),
        };
        let shown = without_secrets(text);
        let wrong = |error: &dyn fmt::Display| EndpointError::Address(shown.clone().into_owned(), error.to_string());
        let mut url = address::parse(&format!("{scheme}://{rest}")).map_err(|error| wrong(&error))?;
        url.set_fragment(None);
        let client = conversation_client(settings, &url, is_socket.then_some(Version::HTTP_11));
        let client =
            client.map_err(|problem| FetchError { url: shown.clone().into_owned(), hops: Vec::new(), problem })?;
        Ok(Self { url, is_socket, client, headers: headers.clone(), settings: settings.clone() })
    }

    /// Its address as a person writes it, without what follows a `?`, which may be a secret.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        if self.is_socket { url.as_str().replacen("http", "ws", 1) } else { url.into() }
    }

    /// The same agent, spoken to by this version of HTTP only.
    pub(crate) fn by(&self, version: Version) -> Result<Self, Problem> {
        Ok(Self { client: conversation_client(&self.settings, &self.url, Some(version))?, ..self.clone() })
    }
}

/// The headers of each request. Their values are not shown.
#[derive(Clone, Default)]
pub struct Headers {
    pub(crate) values: HeaderMap,
    /// What no message may show: the values, their words, and the variables in them, which a server may repeat alone.
    pub(crate) secrets: Vec<String>,
}

/// Why a header cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what the case means")]
pub enum TemplateError {
    #[error("the header {} is not of the form `NAME: VALUE`", quote(.0))]
    Form(String),
    #[error("the header {} is set by the program", quote(.0))]
    Reserved(String),
    #[error("the header {} names the variable {}, which is not set", quote(.0), quote(.1))]
    Unset(String, String),
    #[error("the header {} has a `${{` without an end", quote(.0))]
    Open(String),
    #[error("the value of the header {} has characters that no header can have", quote(.0))]
    Value(String),
}

impl From<TemplateError> for Failure {
    fn from(error: TemplateError) -> Self {
        let help = match &error {
            TemplateError::Unset(_, name) => format!("set the variable {name}, and start the program again"),
            TemplateError::Reserved(_) => "leave this header out".to_owned(),
            TemplateError::Value(_) => "remove line breaks and control characters from its value".to_owned(),
            TemplateError::Form(_) | TemplateError::Open(_) => {
                "write it as --header 'Authorization: Bearer ${TOKEN}', and set the variable TOKEN".to_owned()
            }
        };
        Self::usage(&error).help(help)
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
    }
}

impl Headers {
    /// Reads templates such as `Authorization: Bearer ${TOKEN}`. No message has a value.
    ///
    /// # Errors
    /// Returns [`TemplateError`] for the first that cannot be sent.
    pub fn read<'a>(
        templates: impl IntoIterator<Item = &'a str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, TemplateError> {
        let (mut headers, mut secrets) = (HeaderMap::new(), Vec::new());
        for template in templates {
            let (name, value) = template.split_once(':').unwrap_or((template, ""));
            let shown = name.trim().to_owned();
            let parsed = HeaderName::try_from(name.trim()).ok().filter(|_| template.contains(':'));
            let Some(name) = parsed else { return Err(TemplateError::Form(shown)) };
            let text = name.as_str();
            let is_own =
                ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "upgrade"];
            if is_own.contains(&text) || text.starts_with("acp-") || text.starts_with("sec-websocket-") {
                return Err(TemplateError::Reserved(shown));
            }
            let mut filled = String::new();
            let mut rest = value.trim();
            while let Some((before, after)) = rest.split_once("${") {
                let Some((variable_name, end)) = after.split_once('}') else { return Err(TemplateError::Open(shown)) };
                let value = variable(variable_name).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| TemplateError::Unset(shown.clone(), variable_name.to_owned()))?;
                filled.push_str(before);
                filled.push_str(value.trim());
                secrets.push(value.trim().to_owned());
                rest = end;
            }
            filled.push_str(rest);
            // The first of several words is the scheme of `Authorization`.
            secrets.extend(filled.split_whitespace().skip(1).map(str::to_owned));
            secrets.push(filled.clone());
            let mut value = HeaderValue::try_from(filled).map_err(|_| TemplateError::Value(shown))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(Self { values: headers, secrets })
    }
}

/// The cookies of one connection. All requests of a connection have one address, so that each cookie is for all of them.
#[derive(Debug, Default)]
pub(crate) struct Cookies(BTreeMap<String, String>);

impl Cookies {
    /// Keeps what an answer sets.
    pub(crate) fn store(&mut self, headers: &HeaderMap) {
        for cookie in headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok()) {
            let mut parts = cookie.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
            let (mut age, mut date) = (None, None);
            for part in parts {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                match name.to_ascii_lowercase().as_str() {
                    "max-age" => age = value.parse::<i64>().ok(),
                    // Old servers write the date with hyphens.
                    "expires" => date = httpdate::parse_http_date(&value.replace('-', " ")).ok(),
                    _ => {}
                }
            }
            let is_past = || date.is_some_and(|date| date <= SystemTime::now());
            if age.map_or_else(is_past, |seconds| seconds <= 0) {
                self.0.remove(name);
            } else if cookie.len() <= COOKIES.1 && (self.0.len() < COOKIES.0 || self.0.contains_key(name)) {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// The only `Cookie` of a request, with those that its headers have.
    pub(crate) fn header(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let given = headers.get_all(COOKIE).iter().filter_map(|value| Some(value.to_str().ok()?.to_owned()));
        let kept = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        let text = given.chain(kept).collect::<Vec<_>>().join("; ");
        let mut value = HeaderValue::try_from(text).ok().filter(|value| !value.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_variables_and_are_not_shown() {
        let variable = |name: &str| (name == "TOKEN").then(|| "hidden\n".to_owned());
        let headers = Headers::read(["Authorization: Bearer ${TOKEN}", "X-A: b${TOKEN}c"], &variable).unwrap();
        assert_eq!(headers.values["authorization"], "Bearer hidden");
        assert_eq!(headers.values["x-a"], "bhiddenc");
        assert!(!format!("{headers:?} {:?}", headers.values).contains("hidden"));
        for (template, error) in [
            ("Authorization", "the header `Authorization` is not of the form `NAME: VALUE`"),
            ("a b: c", "the header `a b` is not of the form `NAME: VALUE`"),
            ("Acp-Session-Id: x", "the header `Acp-Session-Id` is set by the program"),
            ("Host: x", "the header `Host` is set by the program"),
            ("A: ${B}", "the header `A` names the variable `B`, which is not set"),
            ("A: ${TOKEN", "the header `A` has a `${` without an end"),
            ("A: b\nc", "the value of the header `A` has characters that no header can have"),
        ] {
            assert_eq!(Headers::read([template], &variable).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn cookies_are_kept_until_they_are_removed() {
        let mut cookies = Cookies::default();
        let mut set = |text: &str| {
            let headers = HeaderMap::from_iter([(reqwest::header::SET_COOKIE, text.parse().unwrap())]);
            cookies.store(&headers);
            cookies.header(&HeaderMap::new()).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(set("a=1; Path=/; HttpOnly").as_deref(), Some("a=1"));
        assert_eq!(set("b=x=y").as_deref(), Some("a=1; b=x=y"));
        assert_eq!(set("a=2; Max-Age=60").as_deref(), Some("a=2; b=x=y"));
        assert_eq!(set("b=; Max-Age=0").as_deref(), Some("a=2"));
        assert_eq!(set("nothing").as_deref(), Some("a=2"));
        assert_eq!(set("b=3; Expires=Fri, 31 Dec 9999 23:59:59 GMT").as_deref(), Some("a=2; b=3"));
        assert_eq!(set("b=; Expires=Thu, 01-Jan-1970 00:00:00 GMT").as_deref(), Some("a=2"));
        assert_eq!(set("a=2; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT").as_deref(), Some("a=2"));
        assert_eq!(set(&format!("c={}", "x".repeat(5000))).as_deref(), Some("a=2"));
        (0..100).for_each(|number| drop(set(&format!("n{number}=1"))));
        assert_eq!(cookies.0.len(), COOKIES.0);
        let own = HeaderMap::from_iter([(COOKIE, "own=1".parse().unwrap())]);
        assert!(cookies.header(&own).unwrap().to_str().unwrap().starts_with("own=1; a=2; n0=1"));
    }

    #[test]
    fn an_address_is_of_this_machine_or_safe() {
        let new = |text: &str| Endpoint::new(text, &Headers::default(), &Settings::default());
        assert!(new("ws://127.0.0.1:1/acp").unwrap().is_socket);
        let socket = new("WSS://agents.example.com/acp?key=secret#a").unwrap();
        assert_eq!(socket.url.as_str(), "https://agents.example.com/acp?key=secret");
        assert_eq!(socket.shown(), "wss://agents.example.com/acp");
        assert_eq!(new("https://agents.example.com/acp").unwrap().shown(), "https://agents.example.com/acp");
        for wrong in ["", "agents.example.com", "ftp://a.example", "https://u:p@a.example"] {
            assert!(matches!(new(wrong), Err(EndpointError::Address(..))), "{wrong}");
        }
        for refused in ["ws://agents.example.com/", "http://10.0.0.1/", "wss://10.0.0.1/"] {
            assert!(matches!(new(refused), Err(EndpointError::Problem(..))), "{refused}");
        }
        for secret in ["wss://me:secret@a.example/", "ws://a.example/acp?key=secret", "wss://10.0.0.1/?secret"] {
            let message = new(secret).unwrap_err().to_string();
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
