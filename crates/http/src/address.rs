//! Parses addresses as strictly as the strictest program that uses them.

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
}
