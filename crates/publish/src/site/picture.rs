//! Pictures for link previews: what other sites and messengers show of a link to a page.
//!
//! Text is drawn as outlines of an embedded font, so that no text of an agent becomes markup, and none needs a font of the system. The same
//! input gives the same bytes on every system.

use std::collections::HashMap;
use std::io;
use std::mem::take;
use std::sync::LazyLock;

use acp_registry_gate::check::draw_icon;
use resvg::tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Transform};

use super::SiteFile;
use super::listing::Listing;
use super::text::agents_that_speak;

/// The size that link previews are made for.
pub(super) const WIDTH: u32 = 1200;
pub(super) const HEIGHT: u32 = 630;

/// The path of the site's picture.
pub(super) const OF_SITE: &str = "preview.png";

/// The mark of the site.
const MARK: &[u8] = include_bytes!("assets/icon.svg");

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
pub(super) fn agent(listing: &Listing<'_>, icon: Option<&[u8]>) -> io::Result<SiteFile> {
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
    Ok((path(&listing.id), canvas.png()?))
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

/// A colour: red, green, blue.
type Colour = [u8; 3];

/// The number of pixels that are compared at once.
const BLOCK: usize = 20;

/// A picture that is being drawn.
struct Canvas(Pixmap);

impl Canvas {
    /// A picture of one colour.
    fn new(width: u32, height: u32, [red, green, blue]: Colour) -> io::Result<Self> {
        let mut pixels = Pixmap::new(width, height).ok_or_else(|| io::Error::other("the picture has no size"))?;
        pixels.fill(Color::from_rgba8(red, green, blue, 255));
        Ok(Self(pixels))
    }

    fn fill(&mut self, path: Option<Path>, [red, green, blue]: Colour) {
        let Some(path) = path else { return };
        let mut paint = Paint::default();
        paint.set_color_rgba8(red, green, blue, 255);
        self.0.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None);
    }

    /// Draws a rectangle: left, top, width, height, with round corners.
    fn area(&mut self, [x, y, width, height]: [f32; 4], radius: f32, colour: Colour) {
        let (right, bottom) = (x + width, y + height);
        let mut path = PathBuilder::new();
        path.move_to(x + radius, y);
        path.line_to(right - radius, y);
        path.quad_to(right, y, right, y + radius);
        path.line_to(right, bottom - radius);
        path.quad_to(right, bottom, right - radius, bottom);
        path.line_to(x + radius, bottom);
        path.quad_to(x, bottom, x, bottom - radius);
        path.line_to(x, y + radius);
        path.quad_to(x, y, x + radius, y);
        path.close();
        self.fill(path.finish(), colour);
    }

    /// Draws a line of drawable text from a point on its baseline.
    fn text(&mut self, font: &Font, text: &str, size: f32, at: (f32, f32), colour: Colour) {
        let mut path = PathBuilder::new();
        font.outline(&mut path, text, size, at);
        self.fill(path.finish(), colour);
    }

    /// Copies pixels onto the picture, which keeps its own where those are transparent.
    fn stamp(&mut self, pixels: &Pixmap, (x, y): (i16, i16)) {
        let paint = PixmapPaint::default();
        self.0.draw_pixmap(x.into(), y.into(), pixels.as_ref(), &paint, Transform::identity(), None);
    }

    /// The picture as PNG, with a palette if it has few colours.
    fn png(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.0.width(), self.0.height());
        encoder.set_deflate_compression(png::DeflateCompression::Level(6));
        encoder.set_filter(png::Filter::NoFilter);
        if let Some((palette, indices)) = self.indexed() {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette);
            encoder.write_header()?.write_image_data(&indices)?;
        } else {
            let colours = self.0.data().chunks_exact(4).flat_map(|pixel| &pixel[..3]);
            encoder.set_color(png::ColorType::Rgb);
            encoder.write_header()?.write_image_data(&colours.copied().collect::<Vec<u8>>())?;
        }
        Ok(out)
    }

    /// The colours, and for each pixel the place of its colour; `None` if there are too many. The background is opaque,
    /// so every pixel is.
    fn indexed(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut palette, mut places) = (Vec::new(), HashMap::new());
        let mut indices: Vec<u8> = Vec::with_capacity(self.0.pixels().len());
        let (mut before, mut last) = (&[][..], (&[][..], 0));
        for block in self.0.data().chunks(4 * BLOCK) {
            // Most blocks are of one colour, as the block before, and most pixels like the one before.
            if block == before && block.len() == 4 * BLOCK {
                indices.extend_from_within(indices.len() - BLOCK..);
                continue;
            }
            for pixel in block.chunks_exact(4) {
                if pixel != last.0 {
                    let next = places.len();
                    let place = *places.entry(pixel).or_insert(next);
                    if place == next {
                        palette.extend(&pixel[..3]);
                    }
                    last = (pixel, u8::try_from(place).ok()?);
                }
                indices.push(last.1);
            }
            before = block;
        }
        Some((palette, indices))
    }
}

/// Inter at its regular weight.
static REGULAR: LazyLock<Font> = LazyLock::new(|| Font::read(include_str!("assets/font/inter-regular.txt")));

/// Inter at its semi-bold weight.
static SEMIBOLD: LazyLock<Font> = LazyLock::new(|| Font::read(include_str!("assets/font/inter-semibold.txt")));

/// A font: Latin characters, without kerning.
struct Font {
    glyphs: HashMap<char, Glyph>,
}

/// A character, in thousandths of the font size.
struct Glyph {
    advance: f32,
    /// Commands as `outlines.py` writes them, which is beside the fonts.
    contours: &'static str,
}

impl Font {
    fn read(table: &'static str) -> Self {
        let glyph = |line: &'static str| {
            let mut words = line.splitn(3, ' ');
            let code = u32::from_str_radix(words.next()?, 16).ok()?;
            let advance = words.next()?.parse().ok()?;
            Some((char::from_u32(code)?, Glyph { advance, contours: words.next().unwrap_or_default() }))
        };
        Self { glyphs: table.lines().filter_map(glyph).collect() }
    }

    /// The part of a text that the font can draw, with single spaces; empty if that is only marks, such as the ellipsis of a text
    /// that was cut.
    fn drawable(&self, text: &str) -> String {
        let known: String = text.chars().filter(|c| c.is_whitespace() || self.glyphs.contains_key(c)).collect();
        if !known.contains(char::is_alphanumeric) {
            return String::new();
        }
        known.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The width of a drawable text.
    fn width(&self, text: &str, size: f32) -> f32 {
        text.chars().filter_map(|c| self.glyphs.get(&c)).map(|glyph| glyph.advance * size / 1000.0).sum()
    }

    /// Breaks a text into at most `lines` lines. What is left over ends in an ellipsis.
    fn wrap(&self, text: &str, size: f32, width: f32, lines: usize) -> Vec<String> {
        let fits = |text: &str| self.width(text, size) <= width;
        let (mut done, mut line) = (Vec::new(), String::new());
        for word in self.drawable(text).split(' ') {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&longer) {
                line = longer;
            } else if done.len() + 1 < lines && !line.is_empty() && fits(word) {
                done.push(take(&mut line));
                word.clone_into(&mut line);
            } else {
                done.push(self.cut(&longer, size, width));
                return done;
            }
        }
        done.push(line);
        done.retain(|line| !line.is_empty());
        done
    }

    /// The start of a text that fits with an ellipsis.
    fn cut(&self, text: &str, size: f32, width: f32) -> String {
        let room = width - self.width("…", size);
        let is_over = |at: &usize| self.width(&text[..*at], size) > room;
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = ends.take_while(|at| !is_over(at)).last().unwrap_or(0);
        format!("{}…", text[..end].trim_end())
    }

    /// Adds the outlines of a text to a path.
    fn outline(&self, path: &mut PathBuilder, text: &str, size: f32, (mut x, y): (f32, f32)) {
        let scale = size / 1000.0;
        for glyph in text.chars().filter_map(|c| self.glyphs.get(&c)) {
            let mut pen = (0.0, 0.0);
            let mut rest = glyph.contours;
            while let Some(command) = rest.chars().next() {
                let body = &rest[1..];
                let end = body.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(body.len());
                let mut numbers = body[..end].split(' ').filter_map(|number| number.parse::<f32>().ok());
                let mut point = || Some((pen.0 + numbers.next()?, pen.1 + numbers.next()?));
                let points = (point(), point());
                rest = &body[end..];
                let at = |(right, down): (f32, f32)| (x + right * scale, y + down * scale);
                match (command, points) {
                    ('m', (Some(to), None)) => {
                        path.close();
                        path.move_to(at(to).0, at(to).1);
                        pen = to;
                    }
                    ('l', (Some(to), None)) => {
                        path.line_to(at(to).0, at(to).1);
                        pen = to;
                    }
                    ('q', (Some(control), Some(to))) => {
                        path.quad_to(at(control).0, at(control).1, at(to).0, at(to).1);
                        pen = to;
                    }
                    _ => {}
                }
            }
            path.close();
            x += glyph.advance * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The colours that a text names by digits.
    fn named(text: &str) -> BTreeSet<&str> {
        let digits = |part: &str| part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let parts = text.split('#').skip(1).map(|part| &part[..digits(part)]);
        parts.filter(|part| [3, 6].contains(&part.len()) && part.chars().all(|c| c.is_ascii_hexdigit())).collect()
    }

    /// These parts cannot read the style sheet that the pages have.
    #[test]
    fn all_colours_are_those_of_the_style_sheet() {
        let known = named(include_str!("assets/style/tokens.css"));
        let others = [
            ("embed.css", include_str!("assets/style/embed.css")),
            ("icon.svg", include_str!("assets/icon.svg")),
            ("detail.rs", include_str!("detail.rs")),
        ];
        for (file, text) in others {
            let found = named(text);
            assert!(!found.is_empty() && found.is_subset(&known), "{file}: {:?}", found.difference(&known));
        }
        for [red, green, blue] in [PAGE, INK, SOFT, LINE, CHIP, ACCENT, TINT] {
            let colour = format!("{red:02x}{green:02x}{blue:02x}");
            assert!(known.contains(colour.as_str()), "{colour}");
        }
    }

    /// Width, height, and the colours of all pixels.
    fn decoded(bytes: &[u8]) -> (u32, u32, Vec<Colour>) {
        let mut decoder = png::Decoder::new(io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut data).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        (info.width, info.height, data.chunks(3).map(|part| [part[0], part[1], part[2]]).collect())
    }

    #[test]
    fn a_picture_has_its_size_and_colours_with_and_without_a_palette() {
        let (white, ink) = ([255, 255, 255], [31, 36, 35]);
        let mut canvas = Canvas::new(64, 32, white).unwrap();
        canvas.area([8.0, 8.0, 48.0, 16.0], 0.0, ink);
        let (width, height, pixels) = decoded(&canvas.png().unwrap());
        assert_eq!((width, height, pixels[0], pixels[64 * 16 + 32], pixels[64 * 8 + 7]), (64, 32, white, ink, white));
        for at in 0..32_u8 {
            for row in 0..32_u8 {
                canvas.area([f32::from(at) * 2.0, f32::from(row), 2.0, 1.0], 0.0, [at * 8, row * 8, 0]);
            }
        }
        let (_, _, pixels) = decoded(&canvas.png().unwrap());
        assert_eq!(pixels[64 * 31 + 63], [248, 248, 0]);
        assert!(Canvas::new(0, 1, ink).is_err());
    }

    #[test]
    fn the_tables_hold_letters_marks_and_the_ellipsis() {
        for font in [&REGULAR, &SEMIBOLD] {
            assert_eq!(font.glyphs.len(), 355);
            for c in "Az09 éßŁ–“”…€→".chars() {
                assert!(font.glyphs.contains_key(&c), "{c}");
            }
            let is_known = |c: char| c.is_ascii_digit() || " -mlq".contains(c);
            assert!(font.glyphs.values().all(|glyph| glyph.advance >= 0.0 && glyph.contours.chars().all(is_known)));
        }
    }

    #[test]
    fn an_outline_is_where_the_text_is() {
        let mut path = PathBuilder::new();
        SEMIBOLD.outline(&mut path, "Hé", 100.0, (50.0, 200.0));
        let bounds = path.finish().unwrap().bounds();
        let width = SEMIBOLD.width("Hé", 100.0);
        assert!(bounds.left() >= 50.0 && bounds.right() <= 50.0 + width && width > 100.0, "{bounds:?}");
        assert!(bounds.top() > 110.0 && bounds.top() < 135.0 && (bounds.bottom() - 201.0).abs() < 2.0, "{bounds:?}");
    }

    #[test]
    fn what_the_font_lacks_is_left_out() {
        assert_eq!(REGULAR.drawable(" a\n 日本 b😀c\u{202e}\u{0} "), "a bc");
        assert_eq!(["日本", "日本（…", " …"].map(|text| REGULAR.drawable(text)), ["", "", ""]);
        assert!(REGULAR.wrap("日本 עברית…", 30.0, 500.0, 3).is_empty());
    }

    #[test]
    fn lines_fit_and_long_text_ends_in_an_ellipsis() {
        let text = "Terminal agent that answers from an index of the whole codebase";
        assert_eq!(REGULAR.wrap(text, 30.0, 5000.0, 1), [text]);
        let lines = REGULAR.wrap(text, 30.0, 400.0, 9);
        assert!(lines.len() > 1 && lines.join(" ") == text);
        for (text, lines) in
            [(text, 2), (&"x".repeat(10_000), 3), ("a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c", 3)]
        {
            let wrapped = REGULAR.wrap(text, 30.0, 400.0, lines);
            assert!(wrapped.len() <= lines && wrapped.last().unwrap().ends_with('…'), "{wrapped:?}");
            assert!(wrapped.iter().all(|line| REGULAR.width(line, 30.0) <= 400.0), "{wrapped:?}");
        }
    }
}
