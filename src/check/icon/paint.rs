//! What an icon paints: its visible shapes, with fill and stroke resolved through attributes, CSS, inheritance and `use`.

use std::collections::HashMap;

use roxmltree::{Node, NodeId};

use super::css::{Declaration, Piece};
use super::selector::Selector;
use super::{Icon, SVG, XLINK};

/// The most elements that are looked at while following `use`: references can multiply. More than an icon may have itself.
const VISIT_LIMIT: usize = 100_000;

/// How deep `use` may lead to `use`.
const USE_LIMIT: usize = 16;

/// A shape that a viewer draws.
pub(in super::super) struct Shape {
    pub(in super::super) node: NodeId,
    pub(in super::super) fill: Paint,
    pub(in super::super) stroke: Paint,
}

/// The paint of an area or a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Paint {
    /// Nothing was said, and so it is black.
    Initial,
    /// `currentColor`
    Current,
    /// Nothing is painted.
    None,
    /// A colour of its own.
    Other,
}

impl Shape {
    /// Whether a viewer shows anything of it.
    pub(in super::super) fn is_visible(&self) -> bool {
        self.fill != Paint::None || self.stroke != Paint::None
    }

    /// Whether it shows the reader's own colour.
    pub(in super::super) fn uses_current_color(&self) -> bool {
        self.fill == Paint::Current || self.stroke == Paint::Current
    }

    /// Whether it is filled with black because nothing else was said.
    pub(in super::super) fn falls_back_to_black(&self) -> bool {
        self.fill == Paint::Initial
    }
}

/// What an element hands down to its children.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
struct Inherited {
    fill: Paint,
    stroke: Paint,
    hidden: bool,
    fill_clear: bool,
    stroke_clear: bool,
    stroke_thin: bool,
}

/// Elements whose children are drawn.
const CONTAINERS: &[&str] = &["svg", "g", "a", "switch", "marker", "text", "tspan", "textPath"];

const SHAPES: &[&str] =
    &["path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath"];

/// The shapes of an icon; `None` when `use` elements lead too deep, or to too many elements, for all to be looked at.
pub(super) fn shapes(icon: &Icon<'_>) -> Option<Vec<Shape>> {
    let top = Inherited {
        fill: Paint::Initial,
        stroke: Paint::None,
        hidden: false,
        fill_clear: false,
        stroke_clear: false,
        stroke_thin: false,
    };
    let mut walk = Walk { icon, ids: None, visits: 0, shapes: Vec::new(), cascade: Cascade::of(icon) };
    let mut stack = vec![(icon.root(), top, 0)];
    while let Some((node, inherited, uses)) = stack.pop() {
        walk.visits += 1;
        if walk.visits > VISIT_LIMIT || uses > USE_LIMIT {
            return None;
        }
        walk.visit(node, inherited, uses, &mut stack);
    }
    Some(walk.shapes)
}

struct Walk<'b, 'a> {
    icon: &'b Icon<'a>,
    ids: Option<HashMap<&'b str, NodeId>>,
    visits: usize,
    shapes: Vec<Shape>,
    cascade: Cascade<'b>,
}

impl<'b, 'a> Walk<'b, 'a> {
    fn visit(
        &mut self,
        node: Node<'b, 'a>,
        inherited: Inherited,
        uses: usize,
        stack: &mut Vec<(Node<'b, 'a>, Inherited, usize)>,
    ) {
        if node.tag_name().namespace() != Some(SVG) {
            return;
        }
        let name = node.tag_name().name();
        let Some(own) = self.cascade.inherit(node, inherited) else { return };
        if SHAPES.contains(&name) && !own.hidden && self.cascade.has_extent(node) {
            let fill = if own.fill_clear || !self.cascade.has_area(node) { Paint::None } else { own.fill };
            let stroke = if own.stroke_clear || own.stroke_thin { Paint::None } else { own.stroke };
            self.shapes.push(Shape { node: node.id(), fill, stroke });
        }
        if name == "use" {
            if let Some(target) = self.target(node) {
                match target.tag_name().name() {
                    "symbol" => stack.extend(target.children().rev().map(|child| (child, own, uses + 1))),
                    _ => stack.push((target, own, uses + 1)),
                }
            }
        } else if CONTAINERS.contains(&name) {
            stack.extend(node.children().rev().filter(Node::is_element).map(|child| (child, own, uses)));
        }
    }

    fn target(&mut self, node: Node<'b, 'a>) -> Option<Node<'b, 'a>> {
        let href = node.attribute("href").or_else(|| node.attribute((XLINK, "href")))?;
        let icon = self.icon;
        let ids = self.ids.get_or_insert_with(|| {
            icon.elements().filter_map(|node| Some((node.attribute("id")?, node.id()))).collect()
        });
        icon.document.get_node(*ids.get(href.trim().strip_prefix('#')?)?)
    }
}

/// The declarations of all style sheets and `style` attributes.
struct Cascade<'b> {
    sheets: Vec<&'b Declaration>,
    attributes: HashMap<NodeId, Vec<&'b Declaration>>,
}

impl<'b> Cascade<'b> {
    fn of(icon: &'b Icon<'_>) -> Self {
        let mut cascade = Self { sheets: Vec::new(), attributes: HashMap::new() };
        for styled in &icon.styles {
            // What applies under a condition only cannot be relied upon.
            let declarations = styled.css.declarations.iter().filter(|declaration| !declaration.is_conditional);
            if styled.is_sheet {
                cascade.sheets.extend(declarations);
            } else {
                cascade.attributes.entry(styled.element).or_default().extend(declarations);
            }
        }
        cascade
    }

    /// What an element hands down; `None` when neither it nor anything in it is drawn.
    fn inherit(&self, node: Node<'_, '_>, inherited: Inherited) -> Option<Inherited> {
        let look = |property| {
            let declared = self.winner(node, property);
            declared.map(|declaration| declaration.value.clone()).or_else(|| node.attribute(property).map(super::value))
        };
        let is_zero = |property, inherited| look(property).map_or(inherited, |value| number(&value) == Some(0.0));
        let word = |property| match look(property).as_deref() {
            Some([Piece::Word(word)]) => Some(word.clone()),
            _ => None,
        };
        if word("display").as_deref() == Some("none") || is_zero("opacity", false) {
            return None;
        }
        Some(Inherited {
            fill: look("fill").map_or(inherited.fill, |value| paint(&value, inherited.fill)),
            stroke: look("stroke").map_or(inherited.stroke, |value| paint(&value, inherited.stroke)),
            hidden: match word("visibility").as_deref() {
                Some("hidden" | "collapse") => true,
                Some("visible") => false,
                _ => inherited.hidden,
            },
            fill_clear: is_zero("fill-opacity", inherited.fill_clear),
            stroke_clear: is_zero("stroke-opacity", inherited.stroke_clear),
            stroke_thin: is_zero("stroke-width", inherited.stroke_thin),
        })
    }

    /// Whether a shape has any geometry at all. Geometry in CSS is taken as some.
    fn has_extent(&self, node: Node<'_, '_>) -> bool {
        let is_some = |name: &str| {
            self.winner(node, name).is_some() || node.attribute(name).is_some_and(|text| !text.trim().is_empty())
        };
        let is_positive = |name: &str| {
            let attribute = node.attribute(name);
            self.winner(node, name).is_some()
                || (is_some(name)
                    && attribute.is_some_and(|text| number(&super::value(text)).is_none_or(|size| size > 0.0)))
        };
        match node.tag_name().name() {
            "path" => is_some("d"),
            "rect" => is_positive("width") && is_positive("height"),
            "circle" => is_positive("r"),
            "ellipse" => is_positive("rx") || is_positive("ry"),
            "polyline" | "polygon" => is_some("points"),
            "text" | "tspan" | "textPath" => {
                node.children().any(|child| child.is_text() && child.text().is_some_and(|text| !text.trim().is_empty()))
            }
            _ => true,
        }
    }

    /// Whether there is anything to fill: a line, or a path of one straight stroke, has no area.
    fn has_area(&self, node: Node<'_, '_>) -> bool {
        match node.tag_name().name() {
            "line" => false,
            "path" => self.winner(node, "d").is_some() || !is_one_stroke(node.attribute("d").unwrap_or_default()),
            _ => true,
        }
    }

    /// The declaration that wins among style sheets and the `style` attribute.
    fn winner(&self, node: Node<'_, '_>, property: &str) -> Option<&'b Declaration> {
        let from_sheets = self.sheets.iter().enumerate().filter(|(_, declaration)| declaration.property == property);
        let from_sheets = from_sheets.filter_map(|(order, declaration)| {
            let matching = declaration.selectors.iter().filter(|selector| selector.matches(node));
            let weight = matching.map(Selector::weight).max()?;
            Some(((declaration.important, false, weight, order), *declaration))
        });
        let own = self.attributes.get(&node.id()).into_iter().flatten().enumerate();
        let from_attribute = own
            .filter(|(_, declaration)| declaration.property == property)
            .map(|(order, declaration)| ((declaration.important, true, (0, 0, 0), order), *declaration));
        from_sheets.chain(from_attribute).max_by_key(|(weight, _)| *weight).map(|(_, declaration)| declaration)
    }
}

fn paint(value: &[Piece], inherited: Paint) -> Paint {
    match value {
        [Piece::Word(word)] => match word.as_str() {
            "currentcolor" => Paint::Current,
            "none" | "transparent" => Paint::None,
            "inherit" | "unset" => inherited,
            "initial" => Paint::Initial,
            _ => Paint::Other,
        },
        [] => inherited,
        _ => Paint::Other,
    }
}

fn number(value: &[Piece]) -> Option<f64> {
    match value {
        [Piece::Number(number)] => Some(*number),
        _ => None,
    }
}

/// Whether path data moves to a point and draws one straight line from there.
fn is_one_stroke(d: &str) -> bool {
    let mut commands = d.match_indices(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c));
    let (Some((_, "M" | "m")), Some((at, command))) = (commands.next(), commands.next()) else { return false };
    let (next, end) = commands.next().map_or(("z", d.len()), |(at, command)| (command, at));
    let arguments = &d[at + 1..end];
    "Zz".contains(next)
        && match command {
            "H" | "h" | "V" | "v" => numbers(arguments) == 1,
            "L" | "l" => numbers(arguments) == 2,
            _ => false,
        }
}

/// How many numbers stand in path data without commands: a sign, a second point, a comma or a space starts a new one.
fn numbers(text: &str) -> usize {
    let (mut count, mut open, mut point) = (0, false, false);
    for c in text.chars() {
        let starts = match c {
            '0'..='9' => !open,
            '.' => !open || point,
            '-' | '+' => true,
            _ => false,
        };
        count += usize::from(starts);
        open = matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E');
        point = open && (c == '.' || (point && !starts));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::Icon;
    use super::*;

    fn paints(body: &str) -> Vec<(Paint, Paint)> {
        let text = format!("<svg xmlns='{SVG}' xmlns:xlink='{XLINK}'>{body}</svg>");
        Icon::parse(&text).unwrap().shapes.iter().map(|shape| (shape.fill, shape.stroke)).collect()
    }

    #[test]
    fn paints_are_inherited_and_overridden() {
        let one = |body: &str| {
            let all = paints(body);
            assert_eq!(all.len(), 1, "{body}");
            all[0]
        };
        for (body, fill, stroke) in [
            ("<path d='M0 0h1v1z'/>", Paint::Initial, Paint::None),
            ("<g fill='currentColor'><path d='M0 0h1v1z'/></g>", Paint::Current, Paint::None),
            (
                "<g fill='currentColor'><path fill='NONE' stroke='currentcolor' d='M0 0h1v1z'/></g>",
                Paint::None,
                Paint::Current,
            ),
            ("<g fill='red'><path fill='inherit' d='M0 0h1v1z'/></g>", Paint::Other, Paint::None),
            (
                "<style>.a{fill:currentColor}</style><path class='b a' fill='red' d='M0 0h1v1z'/>",
                Paint::Current,
                Paint::None,
            ),
            (
                "<style>path{fill:red!important}</style><path style='fill:currentColor' d='M0 0h1v1z'/>",
                Paint::Other,
                Paint::None,
            ),
            (
                "<style>#x{fill:red}.a{fill:none}</style><path id='x' class='a' d='M0 0h1v1z'/>",
                Paint::Other,
                Paint::None,
            ),
            ("<style>.a{fill:currentColor}</style><path class='b' d='M0 0h1v1z'/>", Paint::Initial, Paint::None),
            (
                "<defs><circle id='d' r='1'/></defs><g fill='currentColor'><use href='#d'/></g>",
                Paint::Current,
                Paint::None,
            ),
            ("<symbol id='s'><rect width='1' height='1'/></symbol><use xlink:href='#s'/>", Paint::Initial, Paint::None),
            ("<path d='M0 0 5 5' stroke='currentColor'/>", Paint::Initial, Paint::Current),
            ("<path d='M1 1l14-14' stroke='currentColor'/>", Paint::None, Paint::Current),
            ("<path d='M3 8h5' stroke='currentColor' stroke-width='0'/>", Paint::None, Paint::None),
            ("<g stroke='currentColor' stroke-opacity='0%'><line/></g>", Paint::None, Paint::None),
        ] {
            assert_eq!(one(body), (fill, stroke), "{body}");
        }
    }

    #[test]
    fn what_is_not_drawn_is_no_shape() {
        for body in [
            "<defs><path d='M0 0h1v1z'/></defs>",
            "<mask><rect width='1' height='1'/></mask>",
            "<g display='none'><path d='M0 0h1v1z'/></g>",
            "<g style='opacity:0'><path d='M0 0h1v1z'/></g>",
            "<path visibility='hidden' d='M0 0h1v1z'/>",
            "<circle r='0'/><rect width='1'/><path d=' '/><text> </text>",
            "<path xmlns='http://other.example' d='M0 0h1v1z'/>",
            "<use href='#nothing'/>",
        ] {
            assert_eq!(paints(body), [], "{body}");
        }
    }

    #[test]
    fn references_that_multiply_or_loop_are_refused() {
        let parse = |body: &str| {
            let text = format!("<svg xmlns='{SVG}'>{body}</svg>");
            Icon::parse(&text).err().map(|error| error.message)
        };
        let refused = Some("`use` elements lead to too many others, or to themselves".to_owned());
        assert_eq!(parse("<g id='a'><use href='#a'/><path d='M0 0h1v1z'/></g>"), refused);
        let mut bomb = "<path id='x0' d='M0 0h1v1z'/>".to_owned();
        for level in 1..8 {
            bomb += &format!("<g id='x{level}'>{}</g>", format!("<use href='#x{}'/>", level - 1).repeat(12));
        }
        assert_eq!(parse(&bomb), refused);
        assert_eq!(parse("<path id='a' d='M0 0h1v1z'/><g id='b'><use href='#a'/></g><use href='#b'/>"), None);
    }

    #[test]
    fn numbers_in_path_data_are_counted_as_viewers_do() {
        for (text, count) in
            [("14 14", 2), ("14-14", 2), (".5.5", 2), ("1e-5,2", 3), ("-1 -2 3", 3), ("", 0), ("1.5", 1)]
        {
            assert_eq!(numbers(text), count, "{text}");
        }
    }
}
