//! Draws the icons of agents, which anyone can submit, in bounded time and memory.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree, roxmltree};

/// The elements that are drawn. The others can multiply what there is to draw, or embed other documents.
const ELEMENTS: [&str; 11] =
    ["svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "title", "desc"];

/// The attributes that are not drawn: a short dash divides a line into a million; `style` can have any of them.
const COSTLY: [&str; 5] = ["style", "stroke-dasharray", "clip-path", "mask", "filter"];

/// The greatest number of elements.
const COUNT: usize = 500;

/// Draws an icon into a square; `None` if it has parts that are not drawn.
///
/// The square has pixels of its own, because each translucent group is drawn into a copy of them.
pub(super) fn draw(svg: &[u8], size: u16) -> Option<Pixmap> {
    let document = roxmltree::Document::parse(std::str::from_utf8(svg).ok()?).ok()?;
    let is_plain = document.descendants().filter(roxmltree::Node::is_element).all(is_plain);
    if !is_plain || document.descendants().nth(COUNT).is_some() {
        return None;
    }
    let image_href_resolver =
        ImageHrefResolver { resolve_data: Box::new(|_, _, _| None), resolve_string: Box::new(|_, _| None) };
    let tree = Tree::from_xmltree(&document, &Options { image_href_resolver, ..Options::default() }).ok()?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let drawn = tree.root().abs_stroke_bounding_box();
    let (near, far) = (-width.max(height), 2.0 * width.max(height));
    if drawn.left() < near || drawn.top() < near || drawn.right() > far || drawn.bottom() > far {
        return None;
    }
    let scale = f32::from(size) / width.max(height);
    let middle = |length: f32| (f32::from(size) - length * scale) / 2.0;
    let transform = Transform::from_row(scale, 0.0, 0.0, scale, middle(width), middle(height));
    let mut pixels = Pixmap::new(size.into(), size.into())?;
    resvg::render(&tree, transform, &mut pixels.as_mut());
    Some(pixels)
}

fn is_plain(node: roxmltree::Node<'_, '_>) -> bool {
    let is_costly = |attribute: roxmltree::Attribute<'_, '_>| {
        let is_number = !["id", "class", "fill", "stroke"].contains(&attribute.name());
        COSTLY.contains(&attribute.name()) || is_number && has_large_number(attribute.value())
    };
    ELEMENTS.contains(&node.tag_name().name()) && !node.attributes().any(is_costly)
}

/// Whether a text has a number of 100,000 or more, with which drawing could overflow.
fn has_large_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_exponent = |part: &[u8]| {
        let is_number = part[0].is_ascii_digit() || part[0] == b'.';
        is_number && part[1].eq_ignore_ascii_case(&b'e') && (part[2].is_ascii_digit() || part[2] == b'+')
    };
    bytes.windows(3).any(is_exponent)
        || text
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .any(|number| number.split('.').next().is_some_and(|whole| whole.len() > 5))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn icon(inner: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">{inner}</svg>"
        )
    }

    #[test]
    fn an_icon_fills_its_square() {
        let pixels =
            draw(icon("<path fill=\"#1e3\" fill-rule=\"evenodd\" d=\"M0 0h16v8H1e-2z\"/>").as_bytes(), 64).unwrap();
        let alpha = |x, y| pixels.pixel(x, y).unwrap().alpha();
        assert_eq!([alpha(0, 0), alpha(63, 31), alpha(0, 32), alpha(63, 63)], [255, 255, 0, 0]);
    }

    #[test]
    fn parts_that_multiply_or_embed_are_not_drawn() {
        let levels = |element: &str| {
            (0..20)
                .map(|at| element.replace("NEXT", &(at + 1).to_string()).replace("THIS", &at.to_string()))
                .collect::<String>()
        };
        for inner in [
            levels("<g id=\"aTHIS\"><use href=\"#aNEXT\"/><use href=\"#aNEXT\"/></g>"),
            levels(
                "<clipPath id=\"aTHIS\"><path clip-path=\"url(#aNEXT)\"/><path clip-path=\"url(#aNEXT)\"/></clipPath>",
            ),
            "<image href=\"/etc/passwd\"/>".to_owned(),
            "<image href=\"data:image/svg+xml,x\"/>".to_owned(),
            "<path stroke=\"#000\" stroke-dasharray=\".00001\" d=\"M0 0h16\"/>".to_owned(),
            "<path style=\"stroke-dasharray:.00001\" d=\"M0 0h16\"/>".to_owned(),
            "<filter id=\"f\"/><path filter=\"url(#f)\" d=\"M0 0h16\"/>".to_owned(),
            "<text>a</text>".to_owned(),
            "<path d=\"M0 0h16\"/>".repeat(COUNT),
        ] {
            assert!(draw(icon(&inner).as_bytes(), 64).is_none(), "{inner:.60}");
        }
        for svg in ["", "<svg", "\u{0}", "<!DOCTYPE svg [<!ENTITY a \"b\">]><svg>&a;</svg>"] {
            assert!(draw(svg.as_bytes(), 64).is_none(), "{svg}");
        }
        assert!(draw(&[0xff, 0xfe], 64).is_none());
    }

    #[test]
    fn extreme_numbers_and_deep_groups_end_soon() {
        let started = Instant::now();
        for inner in [
            "<path stroke=\"#000\" stroke-width=\"1e-38\" d=\"M-9-9L9e-30 1e-38C9 9-9-9 0 0\"/>".to_owned(),
            "<path d=\"M9 9C-9 9 9 0 0 9zM0 0a1e-30 9 9 0 1 9 1e-20M0 0a99999 99999 9 0 1 1 1\"/>".to_owned(),
            "<rect width=\"9\" height=\"9\" transform=\"scale(1e-30) rotate(99999) skewX(90)\"/>".to_owned(),
            "<circle r=\"-1\"/><circle r=\"9\" stroke=\"#000\" stroke-width=\"1e-38\"/><ellipse rx=\"NaN\"/>"
                .to_owned(),
            format!("{}<path d=\"M0 0h16v16z\"/>{}", "<g opacity=\".9\">".repeat(400), "</g>".repeat(400)),
            format!("<path stroke=\"#000\" d=\"M0 0{}\"/>", "Q9 9 0 0".repeat(3000)),
        ] {
            drop(draw(icon(&inner).as_bytes(), 64));
        }
        for size in ["1e38", "1e-38", "0", "-1"] {
            drop(draw(format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"1\"><path d=\"M0 0h9v9z\"/></svg>").as_bytes(), 64));
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
