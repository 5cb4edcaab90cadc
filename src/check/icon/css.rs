//! The CSS of an icon, as far as the icon rules need it: declarations, the selectors they belong to, and at-rules.
//!
//! Tokens come from `cssparser`, which takes care of comments, escapes and strings as browsers do.

use std::ops::Range;
use std::rc::Rc;

use cssparser::{ParseError, Parser, Token};

/// How deep blocks may nest before the rest is passed over; browsers stop as well.
const DEPTH_LIMIT: u8 = 16;

/// Everything found in one style sheet or `style` attribute.
#[derive(Debug, Default)]
pub(crate) struct Style {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) at_rules: Vec<AtRule>,
}

/// `property: value`
#[derive(Debug)]
pub(crate) struct Declaration {
    /// In lower case, unescaped.
    pub(crate) property: String,
    /// The value without `!important`.
    pub(crate) value: Vec<Piece>,
    pub(crate) important: bool,
    /// Place in the CSS text.
    pub(crate) range: Range<usize>,
    /// Where it applies; empty for a `style` attribute.
    pub(crate) selectors: Rc<[Selector]>,
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
    /// A number, a percentage as its fraction, or a length without its unit.
    Number(f64),
    /// Anything else.
    Other,
}

/// The last compound of a selector: what the element itself must be. What stands before a combinator is taken as met.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) element: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) classes: Vec<String>,
}

impl Selector {
    /// The specificity of this compound.
    pub(crate) fn weight(&self) -> (usize, usize, usize) {
        (usize::from(self.id.is_some()), self.classes.len(), usize::from(self.element.is_some()))
    }
}

/// Parses a style sheet.
pub(crate) fn sheet(text: &str) -> Style {
    let mut style = Style::default();
    contents(&mut Parser::new(text), &Rc::from([]), 0, &mut style);
    style
}

/// Parses a `style` attribute.
pub(crate) fn attribute(text: &str) -> Style {
    sheet(text)
}

type Never = ParseError<()>;

/// Reads declarations and nested rules up to the end of the block, which may be the whole text.
fn contents(parser: &mut Parser<'_>, selectors: &Rc<[Selector]>, depth: u8, style: &mut Style) {
    loop {
        parser.skip_whitespace();
        let start = parser.position().byte_index();
        let Some(item) = item(parser) else { break };
        let end = item.end;
        let at_keyword = item.at_keyword();
        if let Some(name) = &at_keyword {
            style.at_rules.push(AtRule { name: name.clone(), range: start..end });
        }
        if !item.block {
            if let Some((property, value, important)) = item.declaration() {
                let selectors = selectors.clone();
                style.declarations.push(Declaration { property, value, important, range: start..end, selectors });
            }
            continue;
        }
        // What stands in an at-rule belongs to whatever stands around it.
        let inner = if at_keyword.is_some() { selectors.clone() } else { item.selectors().into() };
        let _: Result<(), Never> = parser.parse_nested_block(|parser| {
            if depth < DEPTH_LIMIT {
                contents(parser, &inner, depth + 1, style);
            } else {
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

#[derive(Debug)]
enum Lexeme {
    Space,
    Colon,
    Comma,
    Delim(char),
    AtKeyword(String),
    Hash(String),
    /// A bracket or a function's head, whose contents follow as pieces.
    Open(String),
    Piece(Piece, String),
}

fn item(parser: &mut Parser<'_>) -> Option<Item> {
    let mut tokens = Vec::new();
    let mut end = parser.position().byte_index();
    let mut any = false;
    loop {
        let token = parser.next_including_whitespace().ok().cloned();
        let Some(token) = token else {
            return any.then_some(Item { tokens, end, block: false });
        };
        any = true;
        match token {
            Token::Semicolon => return Some(Item { tokens, end, block: false }),
            Token::CurlyBracketBlock => return Some(Item { tokens, end, block: true }),
            token => lexeme(parser, &token, &mut tokens, 0),
        }
        if !matches!(tokens.last(), Some(Lexeme::Space)) {
            end = parser.position().byte_index();
        }
    }
}

fn lexeme(parser: &mut Parser<'_>, token: &Token<'_>, tokens: &mut Vec<Lexeme>, depth: u8) {
    let other = || Lexeme::Piece(Piece::Other, String::new());
    tokens.push(match token {
        Token::WhiteSpace(_) | Token::Comment(_) => Lexeme::Space,
        Token::Colon => Lexeme::Colon,
        Token::Comma => Lexeme::Comma,
        Token::Delim(c) => Lexeme::Delim(*c),
        Token::AtKeyword(name) => Lexeme::AtKeyword(name.to_ascii_lowercase()),
        Token::Hash(name) | Token::IDHash(name) => Lexeme::Hash(name.to_string()),
        Token::Ident(name) => Lexeme::Piece(Piece::Word(name.to_ascii_lowercase()), name.to_string()),
        Token::QuotedString(text) => Lexeme::Piece(Piece::Text(text.to_string()), String::new()),
        Token::Number { value, .. } | Token::Dimension { value, .. } | Token::Percentage { unit_value: value, .. } => {
            Lexeme::Piece(Piece::Number(f64::from(*value)), String::new())
        }
        Token::UnquotedUrl(url) | Token::BadUrl(url) => Lexeme::Piece(Piece::Url(url.to_string()), String::new()),
        Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock => {
            let name = if let Token::Function(name) = token { name.to_ascii_lowercase() } else { String::new() };
            tokens.push(Lexeme::Open(name));
            let from = tokens.len();
            let _: Result<(), Never> = parser.parse_nested_block(|parser| {
                while let Ok(token) = parser.next().cloned() {
                    if depth < DEPTH_LIMIT {
                        lexeme(parser, &token, tokens, depth + 1);
                    }
                }
                Ok(())
            });
            name_the_urls(tokens, from);
            return;
        }
        _ => other(),
    });
}

/// Strings in functions that load something are addresses: `url("x")`, `image("x")`, `image-set("x" 1x)`, `src("x")`.
fn name_the_urls(tokens: &mut [Lexeme], from: usize) {
    let Some(Lexeme::Open(name)) = tokens.get(from - 1) else { return };
    if ["url", "src", "image", "image-set", "-webkit-image-set", "cross-fade"].contains(&name.as_str()) {
        for token in &mut tokens[from..] {
            if let Lexeme::Piece(piece @ Piece::Text(_), _) = token
                && let Piece::Text(text) = std::mem::replace(piece, Piece::Other)
            {
                *piece = Piece::Url(text);
            }
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
        let mut tokens = self.tokens.iter().filter(|token| !matches!(token, Lexeme::Space));
        let (Some(Lexeme::Piece(Piece::Word(property), _)), Some(Lexeme::Colon)) = (tokens.next(), tokens.next())
        else {
            return None;
        };
        let mut value: Vec<Piece> = Vec::new();
        let mut bang = None;
        for token in tokens {
            if matches!(token, Lexeme::Delim('!')) {
                bang = Some(value.len());
            }
            value.push(if let Lexeme::Piece(piece, _) = token { piece.clone() } else { Piece::Other });
        }
        let important = bang.is_some_and(|at| value[at + 1..] == [Piece::Word("important".to_owned())]);
        if let Some(at) = bang.filter(|_| important) {
            value.truncate(at);
        }
        Some((property.clone(), value, important))
    }

    fn selectors(&self) -> Vec<Selector> {
        let mut all = vec![Selector::default()];
        let mut ended = false;
        let mut tokens = self.tokens.iter().peekable();
        while let Some(token) = tokens.next() {
            let Some(current) = all.last_mut() else { break };
            match token {
                Lexeme::Comma => {
                    all.push(Selector::default());
                    ended = false;
                    continue;
                }
                Lexeme::Space | Lexeme::Delim('>' | '+' | '~') => {
                    ended = true;
                    continue;
                }
                _ if ended && *current != Selector::default() => *current = Selector::default(),
                _ => {}
            }
            ended = false;
            match token {
                Lexeme::Delim('.') => {
                    if let Some(Lexeme::Piece(Piece::Word(_), name)) =
                        tokens.next_if(|next| matches!(next, Lexeme::Piece(..)))
                    {
                        current.classes.push(name.clone());
                    }
                }
                Lexeme::Hash(name) => current.id = Some(name.clone()),
                Lexeme::Piece(Piece::Word(_), name) => current.element = Some(name.clone()),
                Lexeme::Colon => {
                    // A pseudo-class is taken as met, whatever stands in its brackets.
                    tokens.next_if(|next| matches!(next, Lexeme::Colon));
                    if tokens.next_if(|next| matches!(next, Lexeme::Open(_))).is_some() {
                        while tokens
                            .next_if(|next| !matches!(next, Lexeme::Space | Lexeme::Comma | Lexeme::Delim('.')))
                            .is_some()
                        {}
                    } else {
                        tokens.next_if(|next| matches!(next, Lexeme::Piece(..)));
                    }
                }
                _ => {}
            }
        }
        all
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
    let mut style = sheet(&format!("x:{text}"));
    style.declarations.pop().map(|declaration| declaration.value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str) -> Piece {
        Piece::Word(text.to_owned())
    }

    #[test]
    fn comments_and_escapes_hide_nothing() {
        for css in ["fill/**/:red", "f\\69ll:red", "FILL : RED", "fill:r\\65 d", "fill:red !important", ";;fill:red;"] {
            let style = attribute(css);
            assert_eq!(style.declarations[0].property, "fill", "{css}");
            assert_eq!(style.declarations[0].value, [word("red")], "{css}");
        }
        assert!(attribute("fill:red !important").declarations[0].important);
    }

    #[test]
    fn selectors_and_custom_properties_are_no_paint() {
        let style = sheet(".fill:first-child{stroke:currentColor} :root{--my-fill: 3}");
        let properties: Vec<_> = style.declarations.iter().map(|declaration| declaration.property.as_str()).collect();
        assert_eq!(properties, ["stroke", "--my-fill"]);
        assert_eq!(
            style.declarations[0].selectors[0],
            Selector { classes: vec!["fill".into()], ..Selector::default() }
        );
    }

    #[test]
    fn nested_rules_and_at_rules_are_read() {
        let style = sheet("@import url(x.css);@media (x){.a{fill:red;.b{stroke:blue}}}@import \"y\";");
        assert_eq!(
            style.at_rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>(),
            ["import", "media", "import"]
        );
        let found: Vec<_> =
            style.declarations.iter().map(|d| (d.property.as_str(), d.selectors[0].classes[0].as_str())).collect();
        assert_eq!(found, [("fill", "a"), ("stroke", "b")]);
    }

    #[test]
    fn addresses_are_found_in_every_form() {
        for css in ["url(a)", "url( 'a' )", "URL(\"a\")", "u\\72l(a)", "image-set('a' 1x)", "x y(url(a))"] {
            assert_eq!(urls(&value(css)).collect::<Vec<_>>(), ["a"], "{css}");
        }
    }

    #[test]
    fn a_selector_is_reduced_to_its_last_compound() {
        let style = sheet("g > path.a.b#c, svg * , :is(.x):hover rect{fill:none}");
        let selectors = &style.declarations[0].selectors;
        assert_eq!(
            selectors[0],
            Selector { element: Some("path".into()), id: Some("c".into()), classes: vec!["a".into(), "b".into()] }
        );
        assert_eq!(selectors[1], Selector::default());
        assert_eq!(selectors[2].element.as_deref(), Some("rect"));
    }

    proptest! {
        #[test]
        fn no_css_makes_the_parser_panic(css in "[a-z{}()\\[\\];:@!,.#'\"\\\\/* \n]{0,60}") {
            let style = sheet(&css);
            for declaration in style.declarations {
                prop_assert!(css.get(declaration.range).is_some());
            }
        }
    }
}
