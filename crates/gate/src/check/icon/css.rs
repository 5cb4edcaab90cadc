//! Parses the subset of CSS that the icon rules understand: rules with simple selectors, and declarations.
//!
//! Other CSS is recorded as unread, and reported by `icon/syntax`. The declarations in it are recorded too, for the
//! rules about colours and references, but they apply to no element.

use std::ops::Range;
use std::rc::Rc;

use acp_registry_plan::text::quote;

/// The contents of one style sheet or `style` attribute.
#[derive(Debug, Default)]
pub(crate) struct Style {
    pub(crate) declarations: Vec<Declaration>,
    /// Name of each at-rule in lower case, with the byte range of its prelude in the CSS text.
    pub(crate) at_rules: Vec<(String, Range<usize>)>,
    /// Number of selectors in all rules.
    pub(crate) selectors: usize,
    /// CSS that was not understood: a description, and its byte range in the CSS text.
    pub(crate) unread: Vec<(String, Range<usize>)>,
}

/// A declaration: `property: value`.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// Name of the property, in lower case.
    pub(crate) property: String,
    /// The value without `!important`.
    pub(crate) value: Vec<Piece>,
    pub(crate) important: bool,
    /// The value as written.
    pub(crate) text: String,
    /// Byte range in the CSS text.
    pub(crate) range: Range<usize>,
    /// The selectors of its rule; empty for a `style` attribute.
    pub(crate) selectors: Rc<[Selector]>,
    /// Whether its selector was not understood, so that it is unknown which elements it applies to.
    pub(crate) is_unread: bool,
}

impl Declaration {
    /// The property without the prefix of a browser: browsers treat most such names as other names of the property.
    pub(crate) fn standard_property(&self) -> &str {
        let property = self.property.as_str();
        ["-webkit-", "-moz-", "-ms-", "-o-"].iter().find_map(|prefix| property.strip_prefix(prefix)).unwrap_or(property)
    }
}

/// A simple selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(super) kind: SelectorKind,
    /// The name to compare with; empty for `*`.
    pub(super) name: String,
}

/// The kind of a selector, in ascending order of specificity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SelectorKind {
    Any,
    Element,
    Class,
    Id,
}

type Placed<'a> = (Token<'a>, Range<usize>);

/// Parses a style sheet, or the declarations of a `style` attribute.
pub(crate) fn parse(text: &str, is_sheet: bool) -> Style {
    let mut reader = Reader { text, is_sheet, style: Style::default(), rule: Rule::None, is_lost: false };
    let mut part: Vec<Placed<'_>> = Vec::new();
    for (token, range) in tokens(text) {
        match token {
            Token::Sign(end @ (';' | '{' | '}')) => {
                reader.read(&part, end, range);
                part.clear();
            }
            _ => part.push((token, range)),
        }
    }
    reader.read(&part, ';', text.len()..text.len());
    reader.style
}

impl Selector {
    fn parse(tokens: &[Placed<'_>]) -> Option<Self> {
        let (kind, name) = match trimmed(tokens) {
            [(Token::Sign('*'), _)] => (SelectorKind::Any, ""),
            [(Token::Word(name), _)] => (SelectorKind::Element, *name),
            [(Token::Sign('.'), _), (Token::Word(name), _)] => (SelectorKind::Class, *name),
            [(Token::Sign('#'), _), (Token::Word(name), _)] => (SelectorKind::Id, *name),
            _ => return None,
        };
        Some(Self { kind, name: name.to_owned() })
    }
}

/// Reads the text in parts that end with `;`, `{` or `}`.
struct Reader<'a> {
    text: &'a str,
    is_sheet: bool,
    style: Style,
    rule: Rule,
    /// Whether an error was found after which selectors can no longer be assigned to declarations.
    is_lost: bool,
}

/// The open rule.
enum Rule {
    None,
    Read(Rc<[Selector]>),
    Unread,
}

impl<'a> Reader<'a> {
    fn read(&mut self, part: &[Placed<'a>], end: char, end_range: Range<usize>) {
        let part = trimmed(part);
        let range = match part {
            [(_, first), .., (_, last)] => first.start..last.end,
            [(_, only)] => only.clone(),
            [] => end_range,
        };
        if !is_whole(part) {
            self.lose("an escape, or a comment, string or bracket without its end", &range);
        }
        match part {
            [(Token::Sign('@'), _), (Token::Word(name), _), ..] => {
                let name = name.to_ascii_lowercase();
                // `@import` is reported by its own rule, `icon/external-reference`.
                if end == '{' || name != "import" {
                    self.refuse(format!("the at-rule {}", quote(&format!("@{name}"))), &range);
                }
                self.style.at_rules.push((name, range.clone()));
                // Rules inside the block cannot be told from rules after it.
                self.is_lost |= end == '{';
            }
            _ if end == '{' => self.open(part, &range),
            [] => {}
            _ => self.declare(part, &range),
        }
        if end == '}' {
            if matches!(self.rule, Rule::None) {
                self.lose("a `}` without a rule", &range);
            }
            self.rule = Rule::None;
        }
    }

    fn open(&mut self, head: &[Placed<'a>], range: &Range<usize>) {
        if !self.is_sheet || !matches!(self.rule, Rule::None) {
            self.lose("a rule inside another one", range);
        }
        let selectors: Option<Rc<[Selector]>> =
            head.split(|(token, _)| *token == Token::Sign(',')).map(Selector::parse).collect();
        self.rule = if let Some(selectors) = selectors {
            self.style.selectors += selectors.len();
            Rule::Read(selectors)
        } else {
            let head = quote(self.text.get(range.clone()).unwrap_or_default());
            self.refuse(format!("the selector {head} is neither `name`, `.class`, `#id` nor `*`"), range);
            Rule::Unread
        };
    }

    fn declare(&mut self, part: &[Placed<'a>], range: &Range<usize>) {
        if self.is_sheet && matches!(self.rule, Rule::None) {
            self.lose("a declaration outside of a rule", range);
        }
        let colon = part.iter().position(|(token, _)| *token == Token::Sign(':'));
        let halves = colon.map(|at| (trimmed(&part[..at]), &part[at + 1..], part[at].1.end));
        let Some(([(Token::Word(property), _)], value, start)) = halves else {
            let text = quote(self.text.get(range.clone()).unwrap_or_default());
            return self.refuse(format!("{text} is not `property: value`"), range);
        };
        let value: Vec<Token<'_>> =
            value.iter().map(|(token, _)| *token).filter(|token| *token != Token::Space).collect();
        let (value, important) = match &value[..] {
            [value @ .., Token::Sign('!'), Token::Word(word)] if word.eq_ignore_ascii_case("important") => {
                (value, true)
            }
            value => (value, false),
        };
        self.style.declarations.push(Declaration {
            property: property.to_ascii_lowercase(),
            value: pieces(value.iter().copied(), property.starts_with("--")),
            important,
            text: self.text.get(start..range.end).unwrap_or_default().trim().to_owned(),
            range: range.clone(),
            selectors: if let Rule::Read(selectors) = &self.rule { selectors.clone() } else { Rc::from([]) },
            is_unread: self.is_unread(),
        });
    }

    fn is_unread(&self) -> bool {
        self.is_lost || matches!(self.rule, Rule::Unread)
    }

    /// Records CSS that is not understood, unless it is in a rule, or after an error, that is recorded already.
    fn refuse(&mut self, what: String, range: &Range<usize>) {
        if !self.is_unread() {
            self.style.unread.push((what, range.clone()));
        }
    }

    /// Records why the rest of the text is not understood.
    fn lose(&mut self, why: &str, range: &Range<usize>) {
        if !self.is_lost {
            self.style.unread.push((why.to_owned(), range.clone()));
        }
        self.is_lost = true;
    }
}

fn trimmed<'t, 'a>(tokens: &'t [Placed<'a>]) -> &'t [Placed<'a>] {
    let is_space = |(token, _): &Placed<'_>| *token == Token::Space;
    let start = tokens.iter().position(|token| !is_space(token)).unwrap_or(tokens.len());
    let end = tokens.iter().rposition(|token| !is_space(token)).map_or(start, |last| last + 1);
    &tokens[start..end]
}

/// Whether all brackets are balanced, and all tokens were understood.
fn is_whole(tokens: &[Placed<'_>]) -> bool {
    let mut open = Vec::new();
    tokens.iter().all(|(token, _)| match token {
        Token::Unread => false,
        Token::Function(_) | Token::Sign('(') => {
            open.push(')');
            true
        }
        Token::Sign('[') => {
            open.push(']');
            true
        }
        Token::Sign(end @ (')' | ']')) => open.pop() == Some(*end),
        _ => true,
    }) && open.is_empty()
}

/// A token, without quotes and brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// White space or a comment.
    Space,
    Word(&'a str),
    /// The name of a function; the opening bracket is part of the token.
    Function(&'a str),
    /// The URL of an unquoted `url()`; both brackets are part of the token.
    Url(&'a str),
    /// A quoted string.
    Text(&'a str),
    /// A number, a percentage as a fraction of 1, or a length in pixels.
    Number(f64),
    /// A number with another unit.
    Dimension,
    /// Any other character.
    Sign(char),
    /// A backslash, an unterminated comment, or a string with a backslash or line end.
    Unread,
}

/// The tokens of a text, with their byte ranges.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Token<'_>, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (token, length) = first(&text[at..])?;
        at += length;
        Some((token, at - length..at))
    })
}

const SPACES: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

fn first(text: &str) -> Option<(Token<'_>, usize)> {
    let sign = text.chars().next()?;
    if SPACES.contains(&sign) {
        return Some((Token::Space, text.len() - text.trim_start_matches(SPACES).len()));
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or((Token::Unread, text.len()), |end| (Token::Space, end + 4)));
    }
    if sign == '"' || sign == '\'' {
        return Some(string(text, sign));
    }
    match number_length(text) {
        0 => {}
        length => return Some(number(text, length)),
    }
    Some(match word_length(text) {
        0 if sign == '\\' => (Token::Unread, 1),
        0 => (Token::Sign(sign), sign.len_utf8()),
        length if !text[length..].starts_with('(') => (Token::Word(&text[..length]), length),
        length => function(text, length),
    })
}

/// Reads a string, which ends at its closing quote or at the end of the text.
fn string(text: &str, quote: char) -> (Token<'_>, usize) {
    let inner = &text[1..];
    match inner.find([quote, '\\', '\n', '\r', '\u{c}']) {
        None => (Token::Text(inner), text.len()),
        Some(end) if inner[end..].starts_with(quote) => (Token::Text(&inner[..end]), end + 2),
        Some(end) => (Token::Unread, end + 1),
    }
}

fn function(text: &str, length: usize) -> (Token<'_>, usize) {
    let (name, inner) = (&text[..length], &text[length + 1..]);
    if !name.eq_ignore_ascii_case("url") || inner.trim_start_matches(SPACES).starts_with(['"', '\'']) {
        return (Token::Function(name), length + 1);
    }
    match inner.find([')', '\\']) {
        None => (Token::Url(inner), text.len()),
        Some(end) if inner[end..].starts_with(')') => (Token::Url(&inner[..end]), length + end + 2),
        Some(end) => (Token::Unread, length + 1 + end),
    }
}

fn number(text: &str, length: usize) -> (Token<'_>, usize) {
    // Parsed as `f32` because browsers use single precision: smaller values are zero there too.
    let value = text[..length].parse::<f32>().map_or(f64::NAN, f64::from);
    let behind = &text[length..];
    if behind.starts_with('%') {
        return (Token::Number(value / 100.0), length + 1);
    }
    let unit = &behind[..word_length(behind)];
    let is_pixels = unit.is_empty() || unit.eq_ignore_ascii_case("px");
    (if is_pixels { Token::Number(value) } else { Token::Dimension }, length + unit.len())
}

/// Length of the number at the start of a text, in bytes; 0 if there is none.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = sign + digits(sign);
    if text[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if end == sign {
        return 0;
    }
    if text[end..].starts_with(['e', 'E']) {
        let power = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
        end = if digits(power) > 0 { power + digits(power) } else { end };
    }
    end
}

/// Length of the identifier at the start of a text, in bytes; 0 if there is none.
fn word_length(text: &str) -> usize {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let begins = text.starts_with("--") || text.strip_prefix('-').unwrap_or(text).starts_with(is_letter);
    let end = || text.find(|c: char| !is_letter(c) && !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    if begins { end() } else { 0 }
}

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
    pieces(tokens(text).map(|(token, _)| token), false)
}

/// The URLs in a value.
pub(crate) fn urls(value: &[Piece]) -> impl Iterator<Item = &str> {
    value.iter().filter_map(|piece| if let Piece::Url(url) = piece { Some(url.as_str()) } else { None })
}

/// Converts tokens to the components of a value; the contents of brackets become components of the same list. The value of a
/// property of one's own may be put into a function that loads it.
pub(super) fn pieces<'a>(tokens: impl Iterator<Item = Token<'a>>, is_own: bool) -> Vec<Piece> {
    let mut out = Vec::new();
    // One entry per open bracket: whether it is inside a function that loads URLs.
    let mut open: Vec<bool> = Vec::new();
    for token in tokens {
        let in_loader = is_own || open.last() == Some(&true);
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
    use super::Token::{Dimension, Function, Number, Sign, Space, Text, Unread, Url, Word};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_case_hide_nothing() {
        for css in ["fill/**/:red", "FILL : RED", "fill:red !important", ";;fill:red;", "/*:*/fill/*:*/:red/*;*/"] {
            let style = parse(css, false);
            assert_eq!(style.declarations[0].property, "fill", "{css}");
            assert_eq!(style.declarations[0].value, [Piece::Word("red".to_owned())], "{css}");
            assert!(style.unread.is_empty(), "{css}");
        }
        assert!(parse("fill:red ! Important", false).declarations[0].important);
    }

    #[test]
    fn simple_selectors_are_read() {
        for (css, expected) in [
            ("path{x:y}", &[(SelectorKind::Element, "path")][..]),
            (" .a , #b,* {x:y}", &[(SelectorKind::Class, "a"), (SelectorKind::Id, "b"), (SelectorKind::Any, "")]),
            ("/* c */.a/* d */{x:y", &[(SelectorKind::Class, "a")]),
            (".b{;} .--{x:y}", &[(SelectorKind::Class, "--")]),
        ] {
            let style = parse(css, true);
            let found: Vec<_> =
                style.declarations[0].selectors.iter().map(|selector| (selector.kind, &*selector.name)).collect();
            assert_eq!(found, expected, "{css}");
            assert!(style.unread.is_empty() && !style.declarations[0].is_unread, "{css}");
        }
    }

    /// For each text: the recorded message, and whether the declaration of `x` is marked as unread.
    #[test]
    fn all_other_css_is_unread_and_its_declarations_are_recorded() {
        for (css, what, is_unread) in [
            ("g > path{x:y}", "the selector `g > path` is", true),
            ("g path{x:y}", "the selector", true),
            (".a.b{x:y}", "the selector", true),
            ("path.a{x:y}", "the selector", true),
            (".a, path:hover{x:y}", "the selector `.a, path:hover` is", true),
            ("[d]{x:y}", "the selector", true),
            (":root{x:y}", "the selector", true),
            (".-{x:y}", "the selector", true),
            (".1{x:y}", "the selector", true),
            (". a{x:y}", "the selector", true),
            (".a,{x:y}", "the selector", true),
            ("{x:y}", "the selector", true),
            ("<!-- .a{x:y}", "the selector", true),
            ("g > path{}.a{x:y}", "the selector", false),
            ("@media all{.a{x:y}}", "the at-rule `@media`", true),
            ("@media all{.a{}}.b{x:y}", "the at-rule `@media`", true),
            ("@charset 'utf-8';.b{x:y}", "the at-rule `@charset`", false),
            (".a{.b{x:y}}", "a rule inside another one", true),
            (".a{.b{}x:y}", "a rule inside another one", true),
            (".a{@media all{}x:y}", "the at-rule `@media`", true),
            (".a{--b:{}x:y}", "a rule inside another one", true),
            ("x:y;.a{}", "a declaration outside", true),
            (".a{fill red;x:y}", "`fill red` is not", false),
            (".a{*fill:red;x:y}", "`*fill:red` is not", false),
            (".a{}}.b{x:y}", "a `}` without", true),
            (".\\61{x:y}", "an escape", true),
            (".a{b:(;x:y}", "an escape", true),
            (".a{b:(];x:y", "an escape", true),
            (".a{b:)};x:y", "an escape", true),
            (".a{b:'\n;x:y}", "an escape", true),
            (".a{x:y}/*", "an escape", false),
        ] {
            let style = parse(css, true);
            let [(message, range)] = &style.unread[..] else { panic!("{css}: {:?}", style.unread) };
            assert!(message.starts_with(what) && css.get(range.clone()).is_some(), "{css}: {message}");
            let found = style.declarations.iter().find(|declaration| declaration.property == "x");
            assert_eq!(found.map(|declaration| declaration.is_unread), Some(is_unread), "{css}");
        }
        for css in ["fill:red;}", "a{x:y}", "fill red"] {
            assert_eq!(parse(css, false).unread.len(), 1, "{css}");
        }
        assert!(parse("@import 'a';.a{x:y}", true).unread.is_empty());
    }

    proptest! {
        #[test]
        fn no_css_makes_the_parser_panic(css in "[a-zé{}()\\[\\];:@!,.#'\"\\\\/*0-9%+ \n-]{0,60}", is_sheet: bool) {
            let style = parse(&css, is_sheet);
            let ranges = style.declarations.iter().map(|declaration| &declaration.range);
            for range in ranges.chain(style.unread.iter().map(|(_, range)| range)) {
                prop_assert!(css.get(range.clone()).is_some());
            }
        }
    }

    #[test]
    fn texts_are_split_as_browsers_split_them() {
        for (text, expected) in [
            ("a/*;*/b", &[Word("a"), Space, Word("b")][..]),
            ("--x-1 -a _b é", &[Word("--x-1"), Space, Word("-a"), Space, Word("_b"), Space, Word("é")]),
            ("- -1.5e1% .5px 3em", &[Sign('-'), Space, Number(-0.15), Space, Number(0.5), Space, Dimension]),
            ("1e-60 1.e", &[Number(0.0), Space, Number(1.0), Sign('.'), Word("e")]),
            ("'a\"/*' \"b", &[Text("a\"/*"), Space, Text("b")]),
            ("URL( #a ) url( '#b')", &[Url(" #a "), Space, Function("url"), Space, Text("#b"), Sign(')')]),
            ("url(a/*b) url(c", &[Url("a/*b"), Space, Url("c")]),
            ("url (a)", &[Word("url"), Space, Sign('('), Word("a"), Sign(')')]),
            (".1a#1.a", &[Dimension, Sign('#'), Number(1.0), Sign('.'), Word("a")]),
            ("\\61", &[Unread, Number(61.0)]),
            ("'\\''", &[Unread, Unread, Text("")]),
            ("'a\nb", &[Unread, Space, Word("b")]),
            ("url(a\\)", &[Unread, Unread, Sign(')')]),
            ("a/* b", &[Word("a"), Unread]),
        ] {
            let split: Vec<_> = tokens(text).map(|(token, _)| token).collect();
            let same = split.iter().zip(expected).all(|pair| match pair {
                (Number(one), Number(other)) => (one - other).abs() < 1e-6,
                (one, other) => one == other,
            });
            assert!(same && split.len() == expected.len(), "{text}: {split:?}");
        }
    }

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
