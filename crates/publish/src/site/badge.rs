//! Badges to embed elsewhere: an SVG with "ACP" and the agent's version.

use std::io;

use super::listing::Listing;
use super::xml::{self, Xml};

/// Width of the left part, in pixels.
const LEFT: usize = 38;

/// Draws the badge. `textLength` sets the width of the text, because fonts differ.
pub(super) fn svg(listing: &Listing<'_>) -> io::Result<Vec<u8>> {
    let version = if listing.version.is_empty() { "listed" } else { &listing.version };
    let text = version.chars().map(width).sum::<usize>().div_ceil(10);
    let right = text + 16;
    let (whole, middle) = ((LEFT + right).to_string(), (LEFT + right / 2).to_string());
    let right_part = format!("M{LEFT} 0h{}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H{LEFT}z", right - 4);
    let mut svg = Xml::new(Vec::new());
    let attributes = [("xmlns", "http://www.w3.org/2000/svg"), ("width", &whole), ("height", "20"), ("role", "img")];
    svg.create_element("svg").with_attributes(attributes).write_inner_content(|svg| {
        xml::text(svg, "title", &[], &format!("{}: ACP agent, version {version}", listing.name))?;
        let rect = [("width", whole.as_str()), ("height", "20"), ("rx", "4"), ("fill", "#23594b")];
        svg.create_element("rect").with_attributes(rect).write_empty()?;
        let path = [("d", right_part.as_str()), ("fill", "#1f2423")];
        svg.create_element("path").with_attributes(path).write_empty()?;
        let font = [
            ("fill", "#fff"),
            ("font-family", "Verdana,DejaVu Sans,sans-serif"),
            ("font-size", "11"),
            ("text-anchor", "middle"),
        ];
        svg.create_element("g").with_attributes(font).write_inner_content(|svg| {
            xml::text(svg, "text", &[("x", "19"), ("y", "14"), ("textLength", "24")], "ACP")?;
            xml::text(svg, "text", &[("x", &middle), ("y", "14"), ("textLength", &text.to_string())], version)
        })?;
        Ok(())
    })?;
    Ok(svg.into_inner())
}

/// Approximate width of a character at a font size of 11 pixels, in tenths of a pixel.
fn width(c: char) -> usize {
    match c {
        '.' | ',' | ':' | 'i' | 'l' | 'j' | '\'' | '!' | '|' => 36,
        '-' | 'f' | 't' | 'r' | ' ' | '(' | ')' => 46,
        'm' | 'w' | 'M' | 'W' => 100,
        c if c.is_ascii() => 70,
        _ => 110,
    }
}
