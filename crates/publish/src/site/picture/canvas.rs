//! What pictures are drawn on: shapes, text and icons, as PNG.

use std::collections::HashMap;
use std::io;

use resvg::tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Transform};

use super::font::Font;

/// A colour: red, green, blue.
pub(super) type Colour = [u8; 3];

/// The number of pixels that are compared at once.
const BLOCK: usize = 20;

/// A picture that is being drawn.
pub(super) struct Canvas(Pixmap);

impl Canvas {
    /// A picture of one colour.
    pub(super) fn new(width: u32, height: u32, [red, green, blue]: Colour) -> io::Result<Self> {
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
    pub(super) fn area(&mut self, [x, y, width, height]: [f32; 4], radius: f32, colour: Colour) {
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
    pub(super) fn text(&mut self, font: &Font, text: &str, size: f32, at: (f32, f32), colour: Colour) {
        let mut path = PathBuilder::new();
        font.outline(&mut path, text, size, at);
        self.fill(path.finish(), colour);
    }

    /// Copies pixels onto the picture, which keeps its own where those are transparent.
    pub(super) fn stamp(&mut self, pixels: &Pixmap, (x, y): (i16, i16)) {
        let paint = PixmapPaint::default();
        self.0.draw_pixmap(x.into(), y.into(), pixels.as_ref(), &paint, Transform::identity(), None);
    }

    /// The picture as PNG, with a palette if it has few colours.
    pub(super) fn png(&self) -> io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
