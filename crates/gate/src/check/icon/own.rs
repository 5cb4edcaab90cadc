//! How one element is drawn, before inheritance.

use std::borrow::Cow;

use roxmltree::{Node, NodeId};

use super::cascade::Winners;
use super::css::{Piece, value};
use super::gradient::Gradients;

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
pub(super) struct Inherited {
    pub(super) fill: Paint,
    pub(super) stroke: Paint,
    pub(super) hidden: bool,
    pub(super) fill_clear: bool,
    pub(super) stroke_clear: bool,
    pub(super) stroke_thin: bool,
}

/// Properties that an element sets; `None` for those that it inherits.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// Whether the element and its children are drawn.
    pub(super) is_drawn: bool,
    pub(super) fill: Option<Paint>,
    pub(super) stroke: Option<Paint>,
    pub(super) hidden: Option<bool>,
    pub(super) fill_clear: Option<bool>,
    pub(super) stroke_clear: Option<bool>,
    pub(super) stroke_thin: Option<bool>,
    /// Whether it is a shape with geometry. Geometry set in CSS is assumed not to be empty.
    pub(super) has_extent: bool,
    /// Whether it has an area to fill. Lines and paths of one straight segment have none.
    pub(super) has_area: bool,
    /// The element that a `use` refers to.
    pub(super) target: Option<NodeId>,
}

const SHAPES: &[&str] =
    &["path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath"];

impl Own {
    pub(super) fn of(node: Node<'_, '_>, winners: &Winners<'_>, gradients: &Gradients<'_>) -> Self {
        let look = |property: &str| -> Option<Cow<'_, [Piece]>> {
            let declared = winners.value(property).map(Cow::Borrowed);
            declared.or_else(|| node.attribute(property).map(|text| Cow::Owned(value(text))))
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
    pub(super) fn hand_down(self, inherited: Inherited) -> Inherited {
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
        |name: &str| winners.value(name).is_some() || node.attribute(name).is_some_and(|text| !text.trim().is_empty());
    let is_positive = |name: &str| {
        let attribute = node.attribute(name);
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
        "path" => winners.value("d").is_some() || !is_one_stroke(node.attribute("d").unwrap_or_default()),
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
pub(super) fn is_one_stroke(d: &str) -> bool {
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

/// Counts the numbers in path data without commands. A sign, a second decimal point, a comma or a space starts a new
/// number.
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
    use super::*;

    #[test]
    fn numbers_in_path_data_are_counted_as_viewers_do() {
        for (text, count) in
            [("14 14", 2), ("14-14", 2), (".5.5", 2), ("1e-5,2", 3), ("-1 -2 3", 3), ("", 0), ("1.5", 1)]
        {
            assert_eq!(numbers(text), count, "{text}");
        }
    }
}
