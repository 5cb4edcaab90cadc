//! The CSS of an icon, as far as the icon rules need it: declarations, the selectors they belong to, and at-rules.
//!
//! Tokens come from `cssparser`, which takes care of comments, escapes and strings as browsers do.

use std::ops::Range;
use std::rc::Rc;

use cssparser::{ParseError, Parser, Token};

use super::selector::{Selector, parse_list};

/// How deep blocks and brackets may nest. Deeper ones are not looked into, which is reported.
const DEPTH_LIMIT: u8 = 16;

/// Everything found in one style sheet or `style` attribute.
#[derive(Debug, Default)]
pub(crate) struct Style {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) at_rules: Vec<AtRule>,
    /// How many selectors there are, in all rules.
    pub(crate) selectors: usize,
    /// Whether something is nested too deep to be looked at.
    pub(crate) is_too_deep: bool,
}

/// `property: value`
#[derive(Debug)]
pub(crate) struct Declaration {
    /// In lower case, unescaped.
    pub(crate) property: String,
    /// The value without `!important`.
    pub(crate) value: Vec<Piece>,
    pub(crate) important: bool,
    /// The value as written.
    pub(crate) text: String,
    /// Place in the CSS text.
    pub(crate) range: Range<usize>,
    /// Where it applies; empty for a `style` attribute.
    pub(crate) selectors: Rc<[Selector]>,
    /// Whether it applies only under a condition, such as a medium.
    pub(crate) is_conditional: bool,
}

/// `@name …`
#[derive(Debug)]
pub(crate) struct AtRule {
    /// In lower case.
    pub(crate) name: String,
    /// Place of the rule's head in the CSS text.
    pub(crate) range: Range<usize>,
}

/// A part of a value, unescaped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// A word, in lower case.
    Word(String),
    /// The address of a `url()`.
    Url(String),
    /// A string.
    Text(String),
    /// A number, a percentage as its fraction, or a length in pixels.
    Number(f64),
    /// Anything else.
    Other,
}

/// A token, with the content of its brackets.
#[derive(Debug)]
pub(super) enum Lexeme {
    Space,
    Colon,
    Comma,
    Delim(char),
    AtKeyword(String),
    Hash(String),
    Word(String),
    /// Brackets; round ones with the name of a function, in lower case, before them.
    Group(Bracket, String, Vec<Lexeme>),
    Leaf(Piece),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
}

/// Parses a style sheet, or the declarations of a `style` attribute.
pub(crate) fn parse(text: &str) -> Style {
    let mut style = Style::default();
    let around = Around { selectors: Rc::from([]), is_conditional: false, depth: 0 };
    contents(&mut Parser::new(text), text, &around, &mut style);
    style
}

/// The context of a declaration.
#[derive(Clone)]
struct Around {
    selectors: Rc<[Selector]>,
    is_conditional: bool,
    depth: u8,
}

type Never = ParseError<()>;

/// Reads declarations and nested rules up to the end of the block, which may be the whole text.
fn contents(parser: &mut Parser<'_>, text: &str, around: &Around, style: &mut Style) {
    loop {
        parser.skip_whitespace();
        let start = parser.position().byte_index();
        let Some(item) = item(parser, &mut style.is_too_deep) else { break };
        let range = start..item.end;
        let at_keyword = item.at_keyword();
        if let Some(name) = &at_keyword {
            style.at_rules.push(AtRule { name: name.clone(), range: range.clone() });
        }
        if !item.block {
            if let Some((property, value, important)) = item.declaration() {
                let written =
                    text.get(range.clone()).and_then(|text| text.split_once(':')).map_or("", |(_, value)| value);
                style.declarations.push(Declaration {
                    property,
                    value,
                    important,
                    text: written.trim().to_owned(),
                    range,
                    selectors: around.selectors.clone(),
                    is_conditional: around.is_conditional,
                });
            }
            continue;
        }
        let mut inner = Around { depth: around.depth + 1, ..around.clone() };
        if let Some(name) = at_keyword {
            // Layers only change which of two rules wins.
            inner.is_conditional |= name != "layer";
        } else {
            inner.selectors = parse_list(&item.tokens).into();
            style.selectors += inner.selectors.len();
        }
        let _: Result<(), Never> = parser.parse_nested_block(|parser| {
            if inner.depth <= DEPTH_LIMIT {
                contents(parser, text, &inner, style);
            } else {
                style.is_too_deep = true;
                while parser.next().is_ok() {}
            }
            Ok(())
        });
    }
}

/// One item of a block: tokens up to a semicolon or an opening brace.
struct Item {
    tokens: Vec<Lexeme>,
    end: usize,
    block: bool,
}

fn item(parser: &mut Parser<'_>, is_too_deep: &mut bool) -> Option<Item> {
    let mut tokens = Vec::new();
    let mut end = parser.position().byte_index();
    let mut any = false;
    loop {
        let Some(token) = parser.next_including_whitespace().ok().cloned() else {
            return any.then_some(Item { tokens, end, block: false });
        };
        any = true;
        match token {
            Token::Semicolon => return Some(Item { tokens, end, block: false }),
            Token::CurlyBracketBlock => return Some(Item { tokens, end, block: true }),
            token => tokens.push(lexeme(parser, &token, 0, is_too_deep)),
        }
        if !matches!(tokens.last(), Some(Lexeme::Space)) {
            end = parser.position().byte_index();
        }
    }
}

fn lexeme(parser: &mut Parser<'_>, token: &Token<'_>, depth: u8, is_too_deep: &mut bool) -> Lexeme {
    let (bracket, name) = match token {
        Token::WhiteSpace(_) | Token::Comment(_) => return Lexeme::Space,
        Token::Colon => return Lexeme::Colon,
        Token::Comma => return Lexeme::Comma,
        Token::Delim(c) => return Lexeme::Delim(*c),
        Token::AtKeyword(name) => return Lexeme::AtKeyword(name.to_ascii_lowercase()),
        Token::Hash(name) | Token::IDHash(name) => return Lexeme::Hash(name.to_string()),
        Token::Ident(name) => return Lexeme::Word(name.to_string()),
        Token::QuotedString(text) => return Lexeme::Leaf(Piece::Text(text.to_string())),
        Token::Number { value, .. } | Token::Percentage { unit_value: value, .. } => {
            return Lexeme::Leaf(Piece::Number(f64::from(*value)));
        }
        Token::Dimension { value, unit, .. } if unit.eq_ignore_ascii_case("px") => {
            return Lexeme::Leaf(Piece::Number(f64::from(*value)));
        }
        Token::UnquotedUrl(url) | Token::BadUrl(url) => return Lexeme::Leaf(Piece::Url(url.to_string())),
        Token::Function(name) => (Bracket::Round, name.to_ascii_lowercase()),
        Token::ParenthesisBlock => (Bracket::Round, String::new()),
        Token::SquareBracketBlock => (Bracket::Square, String::new()),
        _ => return Lexeme::Leaf(Piece::Other),
    };
    let mut inner = Vec::new();
    let _: Result<(), Never> = parser.parse_nested_block(|parser| {
        while let Ok(token) = parser.next_including_whitespace().cloned() {
            if depth < DEPTH_LIMIT {
                inner.push(lexeme(parser, &token, depth + 1, is_too_deep));
            } else {
                *is_too_deep = true;
            }
        }
        Ok(())
    });
    Lexeme::Group(bracket, name, inner)
}

/// Functions that load what a string in them names.
const LOADERS: &[&str] = &["url", "src", "image", "image-set", "-webkit-image-set", "cross-fade"];

/// Tokens as the pieces of a value, brackets laid open.
fn pieces(tokens: &[Lexeme], in_loader: bool, out: &mut Vec<Piece>) {
    for token in tokens {
        match token {
            Lexeme::Space => {}
            Lexeme::Word(word) => out.push(Piece::Word(word.to_ascii_lowercase())),
            Lexeme::Leaf(Piece::Text(text)) if in_loader => out.push(Piece::Url(text.clone())),
            Lexeme::Leaf(piece) => out.push(piece.clone()),
            Lexeme::Group(_, name, inner) => {
                // A quoted address is an address like a bare one.
                if name != "url" {
                    out.push(Piece::Other);
                }
                pieces(inner, in_loader || LOADERS.contains(&name.as_str()), out);
            }
            _ => out.push(Piece::Other),
        }
    }
}

impl Item {
    fn at_keyword(&self) -> Option<String> {
        match self.tokens.first() {
            Some(Lexeme::AtKeyword(name)) => Some(name.clone()),
            _ => None,
        }
    }

    fn declaration(&self) -> Option<(String, Vec<Piece>, bool)> {
        let colon = self.tokens.iter().position(|token| matches!(token, Lexeme::Colon))?;
        let (head, tail) = (&self.tokens[..colon], &self.tokens[colon + 1..]);
        let mut head = head.iter().filter(|token| !matches!(token, Lexeme::Space));
        let (Some(Lexeme::Word(property)), None) = (head.next(), head.next()) else { return None };
        let bang = tail.iter().rposition(|token| matches!(token, Lexeme::Delim('!')));
        let important = bang.filter(|&at| {
            let mut behind = tail[at + 1..].iter().filter(|token| !matches!(token, Lexeme::Space));
            let is_the_word =
                matches!(behind.next(), Some(Lexeme::Word(word)) if word.eq_ignore_ascii_case("important"));
            is_the_word && behind.next().is_none()
        });
        let mut value = Vec::new();
        pieces(&tail[..important.unwrap_or(tail.len())], false, &mut value);
        Some((property.to_ascii_lowercase(), value, important.is_some()))
    }
}

/// The addresses in a value.
pub(crate) fn urls(value: &[Piece]) -> impl Iterator<Item = &str> {
    value.iter().filter_map(|piece| if let Piece::Url(url) = piece { Some(url.as_str()) } else { None })
}

/// Parses one value, such as that of a presentation attribute.
pub(crate) fn value(text: &str) -> Vec<Piece> {
    let text = text.trim();
    // Nearly all values are one plain word; those need no parser.
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic()) {
        return vec![Piece::Word(text.to_ascii_lowercase())];
    }
    let mut style = parse(&format!("x:{text}"));
    match style.declarations.pop() {
        // What is nested too deep is none of the plain values.
        Some(declaration) if !style.is_too_deep => declaration.value,
        Some(_) => vec![Piece::Other, Piece::Other],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_escapes_hide_nothing() {
        for css in ["fill/**/:red", "f\\69ll:red", "FILL : RED", "fill:r\\65 d", "fill:red !important", ";;fill:red;"] {
            let style = parse(css);
            assert_eq!(style.declarations[0].property, "fill", "{css}");
            assert_eq!(style.declarations[0].value, [Piece::Word("red".to_owned())], "{css}");
        }
        assert!(parse("fill:red !important").declarations[0].important);
    }

    #[test]
    fn selectors_and_custom_properties_are_no_paint() {
        let style = parse(".fill:first-child{stroke:currentColor} :root{--my-fill: 3}");
        let properties: Vec<_> = style.declarations.iter().map(|declaration| declaration.property.as_str()).collect();
        assert_eq!(properties, ["stroke", "--my-fill"]);
    }

    #[test]
    fn nested_rules_and_at_rules_are_read() {
        let style =
            parse("@import url(x.css);@media (x){.a{fill:red;.b{stroke:blue}}}@layer l{.c{fill:none}}@import \"y\";");
        let names: Vec<_> = style.at_rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["import", "media", "layer", "import"]);
        let found: Vec<_> =
            style.declarations.iter().map(|d| (d.property.as_str(), d.text.as_str(), d.is_conditional)).collect();
        assert_eq!(found, [("fill", "red", true), ("stroke", "blue", true), ("fill", "none", false)]);
    }

    #[test]
    fn addresses_are_found_in_every_form() {
        for css in ["url(a)", "url( 'a' )", "URL(\"a\")", "u\\72l(a)", "image-set('a' 1x)", "x y(url(a))"] {
            assert_eq!(urls(&value(css)).collect::<Vec<_>>(), ["a"], "{css}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_noticed() {
        let nested =
            |depth: usize| parse(&format!("{}path{{fill:red}}{}", "@media all{".repeat(depth), "}".repeat(depth)));
        assert_eq!((nested(10).is_too_deep, nested(10).declarations.len()), (false, 1));
        assert!(nested(17).is_too_deep);
        assert!(parse(&format!("a{{b:{}}}", "var(".repeat(18))).is_too_deep);
        assert_ne!(value(&"(".repeat(18)), value("none"));
    }

    proptest! {
        #[test]
        fn no_css_makes_the_parser_panic(css in "[a-zé{}()\\[\\];:@!,.#'\"\\\\/* \n]{0,60}") {
            let style = parse(&css);
            for declaration in style.declarations {
                prop_assert!(css.get(declaration.range).is_some());
            }
        }
    }
}
