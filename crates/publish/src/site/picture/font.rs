//! Text as outlines of an embedded font, so that pictures do not depend on the fonts of a system.

use std::collections::HashMap;
use std::mem::take;
use std::sync::LazyLock;

use resvg::tiny_skia::PathBuilder;

/// Inter at its regular weight.
pub(super) static REGULAR: LazyLock<Font> =
    LazyLock::new(|| Font::read(include_str!("../assets/font/inter-regular.txt")));

/// Inter at its semi-bold weight.
pub(super) static SEMIBOLD: LazyLock<Font> =
    LazyLock::new(|| Font::read(include_str!("../assets/font/inter-semibold.txt")));

/// A font: Latin characters, without kerning.
pub(super) struct Font {
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

    /// The part of a text that the font can draw, with single spaces.
    pub(super) fn drawable(&self, text: &str) -> String {
        let known: String = text.chars().filter(|c| c.is_whitespace() || self.glyphs.contains_key(c)).collect();
        known.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The width of a drawable text.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        text.chars().filter_map(|c| self.glyphs.get(&c)).map(|glyph| glyph.advance * size / 1000.0).sum()
    }

    /// Breaks a text into at most `lines` lines. What is left over ends in an ellipsis.
    pub(super) fn wrap(&self, text: &str, size: f32, width: f32, lines: usize) -> Vec<String> {
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
    pub(super) fn outline(&self, path: &mut PathBuilder, text: &str, size: f32, (mut x, y): (f32, f32)) {
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
    use super::*;

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
        assert_eq!(REGULAR.drawable("日本"), "");
        assert!(REGULAR.wrap("日本 עברית", 30.0, 500.0, 3).is_empty());
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
