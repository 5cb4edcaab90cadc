//! Draws the icons of agents, which anyone can submit, in bounded time and memory.

use kurbo::{BezPath, Circle, PathEl, Rect, Shape as _};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree};
use roxmltree::{Attribute, Document, Node};

use super::css::Declaration;
use super::paint::Paint;
use super::{Icon, Shape, attribute};

/// The elements that are drawn. The others can multiply what there is to draw, or embed other documents.
const ELEMENTS: [&str; 11] =
    ["svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "title", "desc"];

/// The attributes that are not drawn: a short dash divides a line into a million; `style` can have any of them.
const COSTLY: [&str; 5] = ["style", "stroke-dasharray", "clip-path", "mask", "filter"];

/// The greatest number of elements.
const COUNT: usize = 500;

/// More elements that are drawn to learn whether an icon shows anything.
const ALSO: [&str; 9] =
    ["defs", "use", "symbol", "clipPath", "mask", "linearGradient", "radialGradient", "stop", "style"];

/// The CSS properties with which an icon is drawn. Browsers read others, such as `width`, that the library does not.
const PROPERTIES: [&str; 15] = [
    "clip-rule", "color", "display", "fill", "fill-opacity", "fill-rule", "opacity", "stop-color", "stop-opacity",
    "stroke", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "visibility",
];

/// How many elements may be drawn again by clips and masks.
const CLIPPED: usize = 1_000;

/// How many references may be drawn: each can have others below it, and is copied before anything is known of it.
const USES: usize = 8;

/// How long the text of an icon may be that is drawn, once more for each reference: a long line takes seconds.
const TEXT: usize = 256 << 10;

/// The size at which that is learned, in pixels.
const SMALL: u16 = 32;

/// Draws an icon into a square; `None` if it has parts that are not drawn.
///
/// The square has pixels of its own, because each translucent group is drawn into a copy of them.
pub fn draw_icon(svg: &[u8], size: u16) -> Option<Pixmap> {
    let document = Document::parse(std::str::from_utf8(svg).ok()?).ok()?;
    let is_plain = document.descendants().filter(Node::is_element).all(is_plain);
    if !is_plain || document.descendants().nth(COUNT).is_some() {
        return None;
    }
    pixels(&tree(&document)?, size)
}

/// Whether an icon paints a pixel; `None` if it has parts that are not drawn.
pub(in super::super) fn is_painted(icon: &Icon<'_>) -> Option<bool> {
    if is_plainly_painted(icon) {
        return Some(true);
    }
    if !is_bounded(icon) {
        return None;
    }
    let tree = tree(&icon.document)?;
    let drawn = tree.root().abs_stroke_bounding_box();
    let (width, height) = (tree.size().width(), tree.size().height());
    if drawn.right() < 0.0 || drawn.bottom() < 0.0 || drawn.left() > width || drawn.top() > height {
        return Some(false);
    }
    Some(pixels(&tree, SMALL)?.pixels().iter().any(|pixel| pixel.alpha() > 0))
}

fn tree(document: &Document<'_>) -> Option<Tree> {
    let image_href_resolver =
        ImageHrefResolver { resolve_data: Box::new(|_, _, _| None), resolve_string: Box::new(|_, _| None) };
    Tree::from_xmltree(document, &Options { image_href_resolver, ..Options::default() }).ok()
}

/// Draws what lies so near to the icon that no number overflows; `None` if something is farther away.
fn pixels(tree: &Tree, size: u16) -> Option<Pixmap> {
    let (width, height) = (tree.size().width(), tree.size().height());
    let (drawn, length) = (tree.root().abs_stroke_bounding_box(), width.max(height));
    let is_near = |near: f32, far: f32| near >= -length && far <= 2.0 * length;
    if !is_near(drawn.left(), drawn.right()) || !is_near(drawn.top(), drawn.bottom()) {
        return None;
    }
    let scale = f32::from(size) / length;
    let middle = |length: f32| (f32::from(size) - length * scale) / 2.0;
    let transform = Transform::from_row(scale, 0.0, 0.0, scale, middle(width), middle(height));
    let mut pixels = Pixmap::new(size.into(), size.into())?;
    resvg::render(tree, transform, &mut pixels.as_mut());
    Some(pixels)
}

fn is_plain(node: Node<'_, '_>) -> bool {
    let is_costly = |attribute: Attribute<'_, '_>| {
        let is_number = !["id", "class", "fill", "stroke"].contains(&attribute.name());
        COSTLY.contains(&attribute.name()) || is_number && has_large_number(attribute.value())
    };
    ELEMENTS.contains(&node.tag_name().name()) && !node.attributes().any(is_costly)
}

/// Whether drawing an icon takes a bounded time: nothing in it is drawn again and again.
fn is_bounded(icon: &Icon<'_>) -> bool {
    let (mut clips, mut clipped, mut uses) = (0, 0, 0);
    for (at, node) in icon.elements().enumerate() {
        let name = node.tag_name().name();
        let is_clipped =
            node.ancestors().take(COUNT).any(|node| ["clipPath", "mask"].contains(&node.tag_name().name()));
        let has_clip = node.has_attribute("clip-path") || node.has_attribute("mask");
        let is_costly = |attribute: Attribute<'_, '_>| {
            let is_name = ["id", "class", "style", "fill", "stroke", "clip-path", "mask", "href", "viewBox"]
                .contains(&attribute.name());
            ["stroke-dasharray", "filter"].contains(&attribute.name())
                || !is_name && has_large_number(attribute.value())
        };
        uses += usize::from(name == "use");
        clips += usize::from(has_clip);
        clipped += usize::from(is_clipped);
        let is_nested = is_clipped && (has_clip || name == "use");
        let is_known = ELEMENTS.contains(&name) || ALSO.contains(&name);
        if at >= COUNT || !is_known || is_nested || node.attributes().any(is_costly) {
            return false;
        }
    }
    let is_cheap = |declaration: &Declaration| {
        PROPERTIES.contains(&declaration.standard_property())
            && !has_large_number(&declaration.text)
            && declaration.text.matches('(').count() == declaration.text.matches("url(").count()
    };
    // The library reads this keyword in one spelling only.
    let is_spelled =
        icon.text.to_ascii_lowercase().matches("currentcolor").count() == icon.text.matches("currentColor").count();
    (uses == 0 || clips == 0)
        && uses <= USES
        && icon.text.len() * (1 + uses) <= TEXT
        && is_spelled
        && clips * clipped <= CLIPPED
        && icon.shapes.len() <= COUNT
        && icon.styles.iter().flat_map(|styled| &styled.css.declarations).all(is_cheap)
}

/// Whether one shape alone is known to paint a pixel: it lies in the icon, nothing changes how it is drawn, and its
/// outline encloses more than it leaves out. That is true of most icons, and drawing takes longer than all other rules.
fn is_plainly_painted(icon: &Icon<'_>) -> bool {
    let is_colour = |declaration: &Declaration| ["fill", "stroke"].contains(&declaration.property.as_str());
    if !icon.styles.iter().all(|styled| styled.css.unread.is_empty() && styled.css.declarations.iter().all(is_colour)) {
        return false;
    }
    // Other paints, and gradients, can be transparent in many ways.
    let is_opaque = |paint: Paint| matches!(paint, Paint::Initial | Paint::Current);
    if icon.text.contains("url(") {
        return false;
    }
    let Some(place) = place(icon.root()) else { return false };
    let is_meant = |node: Node<'_, '_>| {
        let changes = |attribute: Attribute<'_, '_>| CHANGES.contains(&attribute.name());
        let is_container = |node: Node<'_, '_>| node.tag_name().name() == "g" || node == icon.root();
        let mut around = node.ancestors().take_while(|node| !node.is_root());
        !node.attributes().any(changes)
            && around.all(|above| (above == node || is_container(above)) && !above.attributes().any(changes))
    };
    let is_painted = |shape: &Shape| {
        let Some(node) = icon.document.get_node(shape.node).filter(|_| is_opaque(shape.fill)) else { return false };
        let Some(outline) = outline(node).filter(|_| is_meant(node)) else { return false };
        let around = outline.control_box();
        place.union(around) == place && outline.area().abs() * f64::from(SMALL) * f64::from(SMALL) >= place.area()
    };
    // A line is seen if it is as thick as a pixel, and as long.
    let pixel = place.width().max(place.height()) / f64::from(SMALL);
    let is_drawn = |shape: &Shape| {
        let node = icon.document.get_node(shape.node).filter(|_| is_opaque(shape.stroke));
        let Some(node) = node.filter(|node| is_meant(*node)) else { return false };
        let Some(path) = attribute(node, "d").and_then(|path| BezPath::from_svg(path).ok()) else { return false };
        let width = node.ancestors().find_map(|node| attribute(node, "stroke-width")).map_or(Some(1.0), number);
        let is_line = |element: &&PathEl| !matches!(element, PathEl::MoveTo(_) | PathEl::ClosePath);
        let mut ends = path.elements().iter().skip(1).take_while(is_line).filter_map(PathEl::end_point);
        let begin = path.elements().first().and_then(PathEl::end_point);
        let is_long = begin.is_some_and(|begin| ends.any(|end| begin.distance(end) >= pixel));
        is_long && width.is_some_and(|width| width >= pixel) && place.union(path.control_box()) == place
    };
    icon.shapes.iter().take(COUNT).any(|shape| is_painted(shape) || is_drawn(shape))
}

/// Attributes with which a shape is not drawn where its outline is, or not as a whole.
const CHANGES: [&str; 15] = [
    "clip-path", "color", "fill-opacity", "fill-rule", "filter", "mask", "opacity", "overflow", "preserveAspectRatio",
    "requiredExtensions", "stroke-dasharray", "stroke-opacity", "systemLanguage", "transform", "vector-effect",
];

/// The part of the plane that the root element shows.
fn place(root: Node<'_, '_>) -> Option<Rect> {
    let length = |name| number(attribute(root, name)?);
    let numbers: Vec<f64> = match attribute(root, "viewBox") {
        Some(text) => text.split_ascii_whitespace().map(number).collect::<Option<_>>()?,
        None => vec![0.0, 0.0, length("width")?, length("height")?],
    };
    let [x, y, width, height] = numbers[..] else { return None };
    (width > 0.0 && height > 0.0).then(|| Rect::new(x, y, x + width, y + height))
}

/// The outline of a shape with closed parts.
fn outline(node: Node<'_, '_>) -> Option<BezPath> {
    let length = |name: &str| attribute(node, name).map_or(Some(0.0), number);
    match node.tag_name().name() {
        "path" => {
            let path = BezPath::from_svg(attribute(node, "d")?).ok()?;
            let mut closed = BezPath::new();
            for element in path {
                if matches!(element, PathEl::MoveTo(_)) && !closed.elements().is_empty() {
                    closed.close_path();
                }
                closed.push(element);
            }
            closed.close_path();
            Some(closed)
        }
        "rect" => {
            let (x, y) = (length("x")?, length("y")?);
            Some(Rect::new(x, y, x + length("width")?, y + length("height")?).to_path(0.1))
        }
        "circle" => Some(Circle::new((length("cx")?, length("cy")?), length("r")?).to_path(0.1)),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
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
            draw_icon(icon("<path fill=\"#1e3\" fill-rule=\"evenodd\" d=\"M0 0h16v8H1e-2z\"/>").as_bytes(), 64)
                .unwrap();
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
            assert!(draw_icon(icon(&inner).as_bytes(), 64).is_none(), "{inner:.60}");
        }
        for svg in ["", "<svg", "\u{0}", "<!DOCTYPE svg [<!ENTITY a \"b\">]><svg>&a;</svg>"] {
            assert!(draw_icon(svg.as_bytes(), 64).is_none(), "{svg}");
        }
        assert!(draw_icon(&[0xff, 0xfe], 64).is_none());
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
            drop(draw_icon(icon(&inner).as_bytes(), 64));
        }
        for size in ["1e38", "1e-38", "0", "-1"] {
            drop(draw_icon(format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"1\"><path d=\"M0 0h9v9z\"/></svg>").as_bytes(), 64));
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn an_icon_is_painted_if_a_pixel_is() {
        let clip = |inner: &str| {
            format!("<clipPath id=\"c\">{inner}</clipPath><path clip-path=\"url(#c)\" d=\"M0 0h16v16H0z\"/>")
        };
        let mask = |fill: &str| {
            format!(
                "<mask id=\"c\"><path fill=\"{fill}\" d=\"M0 0h16v16H0z\"/></mask><path mask=\"url(#c)\" d=\"M0 0h16v16H0z\"/>"
            )
        };
        for (inner, painted) in [
            ("<path d=\"M2 2h12v12H2z\"/>".to_owned(), Some(true)),
            ("<path d=\"M2 8h12\" stroke=\"currentColor\"/>".to_owned(), Some(true)),
            ("<path fill=\"none\" stroke=\"currentcolor\" d=\"M2 8h12\"/>".to_owned(), Some(true)),
            ("<path d=\"M2 2h12v12H2z\" style=\"fill:red\"/>".to_owned(), Some(true)),
            // Lines that are too thin, too short, or leave the icon.
            (
                "<g stroke-width=\".0001\"><path fill=\"none\" stroke=\"red\" d=\"M2 8h12\"/></g>".to_owned(),
                Some(false),
            ),
            ("<path fill=\"none\" stroke=\"red\" d=\"M20 8h12\"/>".to_owned(), Some(false)),
            ("<path fill=\"none\" stroke=\"red\" stroke-opacity=\"0\" d=\"M2 8h12\"/>".to_owned(), Some(false)),
            ("<path fill=\"none\" stroke=\"#0000\" d=\"M2 8h12\"/>".to_owned(), Some(false)),
            ("<path fill=\"none\" stroke=\"url(#no)\" d=\"M2 8h12\"/>".to_owned(), Some(false)),
            ("<path style=\"fill:#fff0\" d=\"M2 2h12v12H2z\"/>".to_owned(), Some(false)),
            ("<path fill=\"none\" stroke=\"currentColor\" d=\"M2 2M9 9\"/>".to_owned(), Some(false)),
            (
                "<path fill=\"none\" stroke=\"currentColor\" systemLanguage=\"xx\" d=\"M2 8h12\"/>".to_owned(),
                Some(false),
            ),
            ("<path color=\"#0000\" fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>".to_owned(), Some(false)),
            ("<path style=\"fill:red;display:none\" d=\"M2 2h12v12H2z\"/>".to_owned(), Some(false)),
            ("<style>.a{fill:currentColor}</style><rect class=\"a\" width=\"9\" height=\"9\"/>".to_owned(), Some(true)),
            ("<defs><path id=\"a\" d=\"M2 2h12v12H2z\"/></defs><use href=\"#a\"/>".to_owned(), Some(true)),
            (clip("<path d=\"M0 0h8v8H0z\"/>"), Some(true)),
            (mask("white"), Some(true)),
            // Outside, without an area, too small, and taken back by its other half.
            ("<path d=\"M20 20h12v12H20z\"/>".to_owned(), Some(false)),
            ("<g transform=\"translate(900)\"><path d=\"M2 2h12v12H2z\"/></g>".to_owned(), Some(false)),
            ("<path transform=\"scale(0)\" d=\"M2 2h12v12H2z\"/>".to_owned(), Some(false)),
            ("<path d=\"M2 2h12H2z\"/>".to_owned(), Some(false)),
            ("<circle cx=\"8\" cy=\"8\" r=\".0001\"/>".to_owned(), Some(false)),
            ("<path d=\"M2 2h12v12H2zM2 2v12h12V2z\"/>".to_owned(), Some(false)),
            ("<path fill-rule=\"evenodd\" d=\"M2 2h12v12H2zM2 2h12v12H2z\"/>".to_owned(), Some(false)),
            ("<g opacity=\".0001\"><path d=\"M2 2h12v12H2z\"/></g>".to_owned(), Some(false)),
            ("<path style=\"fill:none\" d=\"M2 2h12v12H2z\"/>".to_owned(), Some(false)),
            (clip("<path d=\"M20 20h8v8h-8z\"/>"), Some(false)),
            (clip(""), Some(false)),
            (mask("black"), Some(false)),
            // Not drawn, because it could take long.
            (
                format!(
                    "<g display=\"none\">{}</g><path d=\"M20 20h9v9z\"/>",
                    (1..12)
                        .map(|at| format!("<g id=\"a{at}\">{0}{0}</g>", format_args!("<use href=\"#a{}\"/>", at + 1)))
                        .collect::<String>()
                ),
                None,
            ),
            ("<filter id=\"f\"/><path filter=\"url(#f)\" d=\"M2 2h12v12H2z\"/>".to_owned(), None),
            ("<text>a</text>".to_owned(), None),
            // Not drawn, because browsers understand more.
            ("<rect fill=\"currentColor\" style=\"width:16px;height:16px\"/>".to_owned(), None),
            ("<line stroke=\"currentcolor\" x1=\"2\" y1=\"8\" x2=\"14\" y2=\"8\"/>".to_owned(), None),
            (
                format!(
                    "<clipPath id=\"c\">{}</clipPath>{}",
                    "<path d=\"M0 0h9v9z\"/>".repeat(100),
                    "<path clip-path=\"url(#c)\" d=\"M0 0h9v9z\"/>".repeat(100)
                ),
                None,
            ),
        ] {
            let text = icon(&inner);
            assert_eq!(is_painted(&Icon::parse(&text).ok().unwrap()), painted, "{inner:.200}");
        }
    }

    #[test]
    fn an_icon_in_a_huge_view_box_is_too_small() {
        for size in ["99999", "1000000", "1e30", "3e38"] {
            let text = icon("<path d=\"M0 0h16v16H0z\"/>").replace("0 0 16 16", &format!("0 0 {size} {size}"));
            assert_ne!(is_painted(&Icon::parse(&text).ok().unwrap()), Some(true), "{size}");
        }
        let text = icon("<path d=\"M0 0h16v16H0z\"/>").replace("0 0 16 16", "0 0 1e30 1e30");
        assert_eq!(is_painted(&Icon::parse(&text).ok().unwrap()), Some(false));
    }

    #[test]
    fn what_needs_no_drawing_is_painted() {
        for inner in [
            "<path d=\"M2 2h12v12H2z\"/>",
            "<path d=\"M2,2 C2,14 14,14 14,2\"/>",
            "<g fill=\"currentColor\"><rect x=\"2\" y=\"2\" width=\"4\" height=\"4\"/></g>",
            "<circle cx=\"8\" cy=\"8\" r=\"2\"/>",
        ] {
            let text = icon(inner);
            let icon = Icon::parse(&text).ok().unwrap();
            assert!(is_plainly_painted(&icon) && is_painted(&icon) == Some(true), "{inner}");
        }
    }
}
