//! Values of CSS properties and presentation attributes.

use super::token::{Token, tokens};

/// A component of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// A keyword, in lower case.
    Word(String),
    /// A URL to load.
    Url(String),
    /// A number, a percentage as a fraction of 1, or a length in pixels.
    Number(f64),
    /// Anything else.
    Other,
}

/// Functions that load the URLs given to them as strings.
const LOADERS: &[&str] = &["url", "src", "image", "image-set", "-webkit-image-set", "cross-fade"];

/// Parses the value of a presentation attribute.
pub(crate) fn value(text: &str) -> Vec<Piece> {
    pieces(tokens(text).map(|(token, _)| token))
}

/// The URLs in a value.
pub(crate) fn urls(value: &[Piece]) -> impl Iterator<Item = &str> {
    value.iter().filter_map(|piece| if let Piece::Url(url) = piece { Some(url.as_str()) } else { None })
}

/// Converts tokens to the components of a value; the contents of brackets become components of the same list.
pub(super) fn pieces<'a>(tokens: impl Iterator<Item = Token<'a>>) -> Vec<Piece> {
    let mut out = Vec::new();
    // One entry per open bracket: whether it is inside a function that loads URLs.
    let mut open: Vec<bool> = Vec::new();
    for token in tokens {
        let in_loader = open.last() == Some(&true);
        out.push(match token {
            Token::Space => continue,
            Token::Word(word) => Piece::Word(word.to_ascii_lowercase()),
            Token::Number(number) => Piece::Number(number),
            Token::Url(url) => Piece::Url(url.to_owned()),
            Token::Text(text) if in_loader => Piece::Url(text.to_owned()),
            Token::Function(name) => {
                open.push(in_loader || LOADERS.iter().any(|loader| name.eq_ignore_ascii_case(loader)));
                // `url("a")` becomes the same component as `url(a)`.
                if name.eq_ignore_ascii_case("url") {
                    continue;
                }
                Piece::Other
            }
            Token::Sign('(') => {
                open.push(in_loader);
                Piece::Other
            }
            Token::Sign(')') if open.pop().is_some() => continue,
            _ => Piece::Other,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_every_form() {
        for css in ["url(a)", "url('a')", "URL( \"a\" )", "image-set('a' 1x)", "x y(url(a))", "src((('a')", "url('a"] {
            assert_eq!(urls(&value(css)).map(str::trim).collect::<Vec<_>>(), ["a"], "{css}");
        }
        for css in ["x('a')", "url", "url('#a') 'b'", "image('#a') 'b'"] {
            assert!(urls(&value(css)).all(|url| url == "#a"), "{css}");
        }
        assert_eq!(value("url('#a')"), [Piece::Url("#a".to_owned())]);
        assert_ne!(value("none)"), value("none"));
    }
}
