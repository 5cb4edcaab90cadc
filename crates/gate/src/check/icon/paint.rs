//! Finds the shapes that an icon draws, with fill and stroke resolved through attributes, CSS, inheritance and `use`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use roxmltree::{Node, NodeId};

use super::cascade::{Cascade, Winners};
use super::elements::Elements;
use super::gradient::Gradients;
use super::{Icon, Piece, SVG, XLINK, attribute, urls, value};

/// Maximum number of nodes to visit, since nested `use` can multiply them. Higher than the limit of nodes in an icon.
pub(super) const VISIT_LIMIT: usize = 100_000;

/// Maximum depth of nested `use`.
const USE_LIMIT: usize = 16;

/// A shape that a viewer draws.
pub(in super::super) struct Shape {
    pub(in super::super) node: NodeId,
    pub(in super::super) fill: Paint,
    pub(in super::super) stroke: Paint,
}

impl Shape {
    /// Whether any part of it is painted.
    pub(in super::super) fn is_visible(&self) -> bool {
        self.fill != Paint::None || self.stroke != Paint::None
    }

    /// Whether it is painted with `currentColor`.
    pub(in super::super) fn uses_current_color(&self) -> bool {
        self.fill == Paint::Current || self.stroke == Paint::Current
    }

    /// Whether its fill is not set, so that it is black.
    pub(in super::super) fn falls_back_to_black(&self) -> bool {
        self.fill == Paint::Initial
    }
}

/// Facts about an icon that are collected before its shapes.
#[derive(Clone, Copy)]
pub(super) struct Sheets<'b> {
    pub(super) elements: &'b Elements<'b>,
    pub(super) cascade: &'b Cascade<'b>,
    pub(super) gradients: &'b Gradients<'b>,
}

/// Elements whose children are drawn.
const CONTAINERS: &[&str] = &["svg", "g", "a", "switch", "marker", "text", "tspan", "textPath"];

/// The shapes that a viewer draws; `None` if `use` references multiply or loop.
pub(super) fn shapes(icon: &Icon<'_>, sheets: Sheets<'_>) -> Option<Vec<Shape>> {
    let top = Inherited {
        fill: Paint::Initial,
        stroke: Paint::None,
        hidden: false,
        fill_clear: false,
        stroke_clear: false,
        stroke_thin: false,
    };
    // Of elements with one id, viewers take the first.
    let mut ids = HashMap::new();
    for node in icon.elements() {
        if let Some(id) = sheets.elements.get(node.id()).and_then(|element| element.id) {
            ids.entry(id).or_insert(node.id());
        }
    }
    let known = vec![None; icon.document.descendants().count()];
    let mut walk = Walk { icon, sheets, ids, known, shapes: Vec::new() };
    let mut visits = 0;
    walk.run(vec![(icon.root(), top, 0)], &mut visits)?;
    // A marker is drawn wherever it is, with the properties of its own ancestors.
    for node in markers(icon, sheets.elements) {
        if walk.known[node.id().get_usize()].is_none() {
            let mut ancestors: Vec<_> = node.ancestors().skip(1).filter(Node::is_element).collect();
            ancestors.reverse();
            let inherited = ancestors.into_iter().fold(top, |inherited, node| walk.own(node).hand_down(inherited));
            walk.run(vec![(node, inherited, 0)], &mut visits)?;
        }
    }
    Some(walk.shapes)
}

/// The markers that an attribute or a declaration refers to.
fn markers<'b, 'a>(icon: &'b Icon<'a>, elements: &Elements<'b>) -> Vec<Node<'b, 'a>> {
    let attributes = icon.elements().flat_map(|node| node.attributes());
    let attributes = attributes.filter(|attribute| attribute.name().starts_with("marker-"));
    let mut used: HashSet<String> = HashSet::new();
    for pieces in attributes.map(|attribute| value(attribute.value())) {
        used.extend(urls(&pieces).map(ToOwned::to_owned));
    }
    let declarations = icon.styles.iter().flat_map(|styled| &styled.css.declarations);
    for declaration in declarations.filter(|declaration| declaration.property.starts_with("marker")) {
        used.extend(urls(&declaration.value).map(ToOwned::to_owned));
    }
    let is_used = |node: &Node<'_, '_>| {
        let id = elements.get(node.id()).and_then(|element| element.id);
        node.tag_name().name() == "marker" && id.is_some_and(|id| used.contains(&format!("#{id}")))
    };
    icon.elements().filter(is_used).collect()
}

struct Walk<'b, 'a> {
    icon: &'b Icon<'a>,
    sheets: Sheets<'b>,
    ids: HashMap<&'b str, NodeId>,
    /// Properties of visited elements by their number, cached because `use` can visit an element many times.
    known: Vec<Option<Own>>,
    shapes: Vec<Shape>,
}

impl<'b, 'a> Walk<'b, 'a> {
    fn run(&mut self, mut stack: Vec<(Node<'b, 'a>, Inherited, usize)>, visits: &mut usize) -> Option<()> {
        while let Some((node, inherited, uses)) = stack.pop() {
            *visits += 1;
            if *visits > VISIT_LIMIT || uses > USE_LIMIT {
                return None;
            }
            self.visit(node, inherited, uses, &mut stack);
        }
        Some(())
    }

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
        let own = self.own(node);
        if !own.is_drawn {
            return;
        }
        let name = node.tag_name().name();
        let handed = own.hand_down(inherited);
        if own.has_extent && !handed.hidden {
            let fill = if handed.fill_clear || !own.has_area { Paint::None } else { handed.fill };
            let stroke = if handed.stroke_clear || handed.stroke_thin { Paint::None } else { handed.stroke };
            self.shapes.push(Shape { node: node.id(), fill, stroke });
        }
        if let Some(target) = own.target.and_then(|target| self.icon.document.get_node(target)) {
            match target.tag_name().name() {
                "symbol" => stack.extend(target.children().rev().map(|child| (child, handed, uses + 1))),
                _ => stack.push((target, handed, uses + 1)),
            }
        } else if CONTAINERS.contains(&name) {
            // Text nodes are included, so that each of them counts as a visit.
            stack.extend(node.children().rev().map(|child| (child, handed, uses)));
        }
    }

    /// The properties that an element sets, cached.
    fn own(&mut self, node: Node<'b, 'a>) -> Own {
        if let Some(own) = self.known[node.id().get_usize()] {
            return own;
        }
        let Sheets { cascade, gradients, .. } = self.sheets;
        let target = (node.tag_name().name() == "use").then(|| self.target(node)).flatten();
        let own = Own { target, ..Own::of(node, &cascade.winners(node), gradients) };
        self.known[node.id().get_usize()] = Some(own);
        own
    }

    fn target(&self, node: Node<'b, 'a>) -> Option<NodeId> {
        let href = attribute(node, "href").or_else(|| node.attribute((XLINK, "href")))?;
        self.ids.get(href.trim().strip_prefix('#')?).copied()
    }
}

/// The paint of a fill or stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Paint {
    /// Not set: the initial value, which is black for fills.
    Initial,
    /// `currentColor`.
    Current,
    /// Nothing is painted.
    None,
    /// Any other paint.
    Other,
}

/// Properties that children inherit.
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

/// Properties that an element sets; `None` for those that it inherits.
#[derive(Clone, Copy)]
struct Own {
    /// Whether the element and its children are drawn.
    is_drawn: bool,
    fill: Option<Paint>,
    stroke: Option<Paint>,
    hidden: Option<bool>,
    fill_clear: Option<bool>,
    stroke_clear: Option<bool>,
    stroke_thin: Option<bool>,
    /// Whether it is a shape with geometry. Geometry set in CSS is assumed not to be empty.
    has_extent: bool,
    /// Whether it has an area to fill. Lines and paths of one straight segment have none.
    has_area: bool,
    /// The element that a `use` refers to.
    target: Option<NodeId>,
}

const SHAPES: &[&str] =
    &["path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath"];

impl Own {
    fn of(node: Node<'_, '_>, winners: &Winners<'_>, gradients: &Gradients<'_>) -> Self {
        let look = |property: &str| -> Option<Cow<'_, [Piece]>> {
            let declared = winners.value(property).map(Cow::Borrowed);
            declared.or_else(|| attribute(node, property).map(|text| Cow::Owned(value(text))))
        };
        let is_zero = |property| look(property).map(|value| number(&value) == Some(0.0));
        let word = |property| match look(property).as_deref() {
            Some([Piece::Word(word)]) => Some(word.clone()),
            _ => None,
        };
        Self {
            is_drawn: word("display").as_deref() != Some("none") && is_zero("opacity") != Some(true),
            fill: look("fill").and_then(|value| paint(&value, gradients)),
            stroke: look("stroke").and_then(|value| paint(&value, gradients)),
            hidden: match word("visibility").as_deref() {
                Some("hidden" | "collapse") => Some(true),
                Some("visible") => Some(false),
                _ => None,
            },
            fill_clear: is_zero("fill-opacity"),
            stroke_clear: is_zero("stroke-opacity"),
            stroke_thin: is_zero("stroke-width"),
            has_extent: SHAPES.contains(&node.tag_name().name()) && has_extent(node, winners),
            has_area: has_area(node, winners),
            target: None,
        }
    }

    /// The properties that its children inherit.
    fn hand_down(self, inherited: Inherited) -> Inherited {
        Inherited {
            fill: self.fill.unwrap_or(inherited.fill),
            stroke: self.stroke.unwrap_or(inherited.stroke),
            hidden: self.hidden.unwrap_or(inherited.hidden),
            fill_clear: self.fill_clear.unwrap_or(inherited.fill_clear),
            stroke_clear: self.stroke_clear.unwrap_or(inherited.stroke_clear),
            stroke_thin: self.stroke_thin.unwrap_or(inherited.stroke_thin),
        }
    }
}

fn has_extent(node: Node<'_, '_>, winners: &Winners<'_>) -> bool {
    let is_some =
        |name: &str| winners.value(name).is_some() || attribute(node, name).is_some_and(|text| !text.trim().is_empty());
    let is_positive = |name: &str| {
        let attribute = attribute(node, name);
        winners.value(name).is_some()
            || (is_some(name) && attribute.is_some_and(|text| number(&value(text)).is_none_or(|size| size > 0.0)))
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

fn has_area(node: Node<'_, '_>, winners: &Winners<'_>) -> bool {
    match node.tag_name().name() {
        "line" => false,
        "path" => winners.value("d").is_some() || !is_one_stroke(attribute(node, "d").unwrap_or_default()),
        _ => true,
    }
}

/// The paint of a value; `None` if the value is empty or inherits.
fn paint(value: &[Piece], gradients: &Gradients<'_>) -> Option<Paint> {
    Some(match value {
        [Piece::Word(word)] => match word.as_str() {
            "currentcolor" => Paint::Current,
            "none" | "transparent" => Paint::None,
            "inherit" | "unset" => return None,
            "initial" => Paint::Initial,
            _ => Paint::Other,
        },
        [] => return None,
        _ if gradients.has(value) => Paint::Current,
        _ => Paint::Other,
    })
}

fn number(value: &[Piece]) -> Option<f64> {
    match value {
        [Piece::Number(number)] => Some(*number),
        _ => None,
    }
}

/// Whether path data consists of one move and one straight line.
fn is_one_stroke(d: &str) -> bool {
    let mut commands = d.match_indices(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c));
    let (Some((start, "M" | "m")), Some((at, command))) = (commands.next(), commands.next()) else { return false };
    let (next, end) = commands.next().map_or(("z", d.len()), |(at, command)| (command, at));
    let arguments = &d[at + 1..end];
    // More numbers behind the move are lines, and what follows `z` is drawn as well.
    "Zz".contains(next)
        && commands.next().is_none()
        && numbers(&d[start + 1..at]) == 2
        && match command {
            "H" | "h" | "V" | "v" => numbers(arguments) == 1,
            "L" | "l" => numbers(arguments) == 2,
            _ => false,
        }
}

/// Counts the numbers in path data without commands. A sign, a second decimal point, a comma or a space starts a new
/// number.
pub(super) fn numbers(text: &str) -> usize {
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
    fn paints_in_clips_have_no_colour() {
        let colors = |body: &str| {
            let text = format!("<svg xmlns='{SVG}'>{body}<path fill='currentColor' d='M0 0h1v1z'/></svg>");
            Icon::parse(&text).unwrap().colors.len()
        };
        for (body, count) in [
            ("<clipPath id='c' fill='red'><g stroke='red'><path fill='white' d='M0 0h1v1z'/></g></clipPath>", 0),
            ("<clipPath id='c'><path style='fill:white' d='M0 0h1v1z'/></clipPath>", 0),
            ("<style>.c{fill:white}</style><clipPath id='c'><path class='c' d='M0 0h1v1z'/></clipPath>", 0),
            // What can be painted elsewhere.
            ("<clipPath id='c'><path id='p' fill='white' d='M0 0h1v1z'/></clipPath><use href='#p'/>", 1),
            ("<style>.c{fill:white}</style><clipPath id='c'><path class='c'/></clipPath><path class='c'/>", 1),
            ("<style>path{fill:white}</style><clipPath id='c'><path d='M0 0h1v1z'/></clipPath>", 1),
            ("<style>.c{fill:white}</style>", 1),
        ] {
            assert_eq!(colors(body), count, "{body}");
        }
    }

    #[test]
    fn a_gradient_of_the_current_color_is_the_current_color() {
        let gradient = |stops: &str, around: &str| {
            let body =
                format!("{around}<linearGradient id='a'>{stops}</linearGradient><path fill='url(#a)' d='M0 0h1v1z'/>");
            let text = format!("<svg xmlns='{SVG}' xmlns:xlink='{XLINK}'>{body}</svg>");
            let icon = Icon::parse(&text).unwrap();
            (icon.shapes[0].fill, icon.colors.len())
        };
        let current = "<stop stop-color='currentColor'/><stop offset='1' stop-color='CURRENTCOLOR' stop-opacity='0'/>";
        assert_eq!(gradient(current, ""), (Paint::Current, 0));
        assert_eq!(gradient("<stop class='s'/>", "<style>.s{stop-color:currentColor}</style>"), (Paint::Current, 0));
        // Stops without a colour are black; gradients without stops paint nothing.
        for (stops, around) in [
            ("<stop stop-color='currentColor'/><stop/>", ""),
            ("", ""),
            ("<stop stop-color='currentColor'/>", "<radialGradient id='a'><stop/></radialGradient>"),
            ("<stop stop-color='inherit'/>", ""),
            ("<stop class='s' stop-color='currentColor'/>", "<style>.s{stop-color:inherit}</style>"),
        ] {
            assert_eq!(gradient(stops, around), (Paint::Other, 1), "{stops} {around}");
        }
        assert_eq!(gradient("<stop stop-color='red'/>", ""), (Paint::Other, 2));
    }

    #[test]
    fn a_gradient_may_take_its_stops_from_another_one() {
        let stops = "<stop stop-color='currentColor'/>";
        for (gradients, paint) in [
            (
                format!("<linearGradient id='b'>{stops}</linearGradient><radialGradient id='a' href='#b'/>"),
                Paint::Current,
            ),
            (
                format!("<linearGradient id='b'>{stops}</linearGradient><radialGradient id='a' xlink:href='#b'/>"),
                Paint::Current,
            ),
            ("<linearGradient id='a' href='#a'/>".to_owned(), Paint::Other),
            (format!("<pattern id='b'>{stops}</pattern><radialGradient id='a' href='#b'/>"), Paint::Other),
        ] {
            let body = format!("{gradients}<path style='fill:url(\"#a\")' d='M0 0h1v1z'/>");
            assert_eq!(paints(&body), [(paint, Paint::None)], "{gradients}");
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
