//! Pictures for link previews: what other sites and messengers show of a link to a page.
//!
//! Text is drawn as outlines, so that no text of an agent becomes markup, and none needs a font of the system. The same
//! input gives the same bytes on every system.

mod canvas;
mod font;

use std::io;

use self::canvas::{Canvas, Colour};
use self::font::{REGULAR, SEMIBOLD};
use super::listing::Listing;
use super::text::agents_that_speak;
use acp_registry_gate::check::draw_icon;

/// The size that link previews are made for.
pub(super) const WIDTH: u32 = 1200;
pub(super) const HEIGHT: u32 = 630;

/// The path of the site's picture.
pub(super) const OF_SITE: &str = "preview.png";

/// The mark of the site.
const MARK: &[u8] = include_bytes!("../assets/icon.svg");

// The colours of the light theme.
const PAGE: Colour = [0xfc, 0xfc, 0xfa];
const INK: Colour = [0x1f, 0x24, 0x23];
const SOFT: Colour = [0x57, 0x60, 0x5d];
const LINE: Colour = [0xe2, 0xe3, 0xde];
const CHIP: Colour = [0xf1, 0xf0, 0xec];
const ACCENT: Colour = [0x23, 0x59, 0x4b];
const TINT: Colour = [0xec, 0xf4, 0xf1];

/// The distance to the edges, and the width between them.
const MARGIN: f32 = 80.0;
const INNER: f32 = 1040.0;

/// The path of an agent's picture.
pub(super) fn path(id: &str) -> String {
    format!("agents/{id}/{OF_SITE}")
}

/// Draws the picture of an agent.
pub(super) fn agent(listing: &Listing<'_>, icon: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, PAGE)?;
    let name = SEMIBOLD.drawable(&listing.name);
    // The id is ASCII.
    let name = if name.is_empty() { &listing.id } else { &name };
    tile(&mut canvas, icon, name);
    let mut y = 254.0;
    let lines = SEMIBOLD.wrap(name, 72.0, INNER, 2);
    for line in &lines {
        canvas.text(&SEMIBOLD, line, 72.0, (MARGIN, y), INK);
        y += 82.0;
    }
    y -= 12.0;
    for line in REGULAR.wrap(&listing.summary, 36.0, INNER, 4 - lines.len().max(1)) {
        canvas.text(&REGULAR, &line, 36.0, (MARGIN, y), SOFT);
        y += 50.0;
    }
    let distribution = listing.agent().distribution;
    let kinds = distribution.packages().map(|(kind, _)| kind.as_str());
    let binary = (!distribution.binary.is_empty()).then_some("binary");
    let facts = [listing.version.as_str(), listing.license()].into_iter().chain(kinds).chain(binary);
    foot(&mut canvas, facts);
    canvas.png()
}

/// Draws the picture of the site, with the icons of its first agents.
pub(super) fn site<'a>(count: usize, icons: impl Iterator<Item = &'a [u8]>) -> io::Result<Vec<u8>> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, PAGE)?;
    mark(&mut canvas, (80, 80), 104);
    canvas.text(&SEMIBOLD, "ACP agents", 84.0, (MARGIN, 290.0), INK);
    let about = format!("{} the Agent Client Protocol", agents_that_speak(count));
    canvas.text(&REGULAR, &about, 38.0, (MARGIN, 356.0), SOFT);
    // Icons that cannot be drawn leave no gap.
    let drawn = icons.filter_map(|icon| draw_icon(icon, 40));
    for (x, icon) in (80..1080).step_by(88).zip(drawn) {
        canvas.area([f32::from(x), 470.0, 72.0, 72.0], 14.0, TINT);
        canvas.stamp(&icon, (x + 16, 486));
    }
    canvas.png()
}

/// A tile with an agent's icon, or with the first letter of its name.
fn tile(canvas: &mut Canvas, icon: Option<&[u8]>, name: &str) {
    canvas.area([MARGIN, 60.0, 104.0, 104.0], 20.0, TINT);
    if let Some(icon) = icon.and_then(|icon| draw_icon(icon, 64)) {
        return canvas.stamp(&icon, (100, 80));
    }
    let letter: String = name.chars().take(1).flat_map(char::to_uppercase).collect();
    let left = MARGIN + (104.0 - SEMIBOLD.width(&letter, 60.0)) / 2.0;
    canvas.text(&SEMIBOLD, &letter, 60.0, (left, 133.0), ACCENT);
}

/// The mark of the site.
fn mark(canvas: &mut Canvas, at: (i16, i16), size: u16) {
    if let Some(mark) = draw_icon(MARK, size) {
        canvas.stamp(&mark, at);
    }
}

/// The last line: the mark and name of the site, and facts at the right.
fn foot<'a>(canvas: &mut Canvas, facts: impl Iterator<Item = &'a str>) {
    canvas.area([MARGIN, 508.0, INNER, 2.0], 0.0, LINE);
    mark(canvas, (80, 538), 40);
    canvas.text(&SEMIBOLD, "ACP agents", 28.0, (MARGIN + 56.0, 568.0), INK);
    let fit = |fact: &str| REGULAR.wrap(fact, 26.0, 240.0, 1).pop();
    let facts: Vec<(String, f32)> =
        facts.filter_map(fit).map(|fact| (fact.clone(), REGULAR.width(&fact, 26.0) + 32.0)).collect();
    let mut x = MARGIN + INNER - facts.iter().map(|(_, width)| width + 12.0).sum::<f32>() + 12.0;
    for (fact, width) in facts {
        canvas.area([x, 536.0, width, 44.0], 8.0, CHIP);
        canvas.text(&REGULAR, &fact, 26.0, (x + 16.0, 567.0), SOFT);
        x += width + 12.0;
    }
}
