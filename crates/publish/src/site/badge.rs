//! A badge to show elsewhere: "ACP" and the agent's version, drawn here.

use askama::Template;

use super::listing::Listing;

#[derive(Template)]
#[template(path = "badge.svg")]
struct Badge<'a> {
    name: &'a str,
    version: &'a str,
    /// Widths in pixels, of the right part, of the whole and of the version's text.
    right: usize,
    whole: usize,
    text: usize,
    /// Middle of the right part.
    middle: usize,
}

/// Width of the left part, in pixels.
const LEFT: usize = 38;

pub(super) fn svg(listing: &Listing<'_>) -> Result<String, askama::Error> {
    let version = if listing.version.is_empty() { "listed" } else { &listing.version };
    // The drawing says how wide the text is to be, whatever font there is.
    let text = version.chars().map(width).sum::<usize>().div_ceil(10);
    let right = text + 16;
    Badge { name: &listing.name, version, right, whole: LEFT + right, text, middle: LEFT + right / 2 }.render()
}

/// Tenths of a pixel that a character takes at 11 pixels, about.
fn width(c: char) -> usize {
    match c {
        '.' | ',' | ':' | 'i' | 'l' | 'j' | '\'' | '!' | '|' => 36,
        '-' | 'f' | 't' | 'r' | ' ' | '(' | ')' => 46,
        'm' | 'w' | 'M' | 'W' => 100,
        c if c.is_ascii() => 70,
        _ => 110,
    }
}
