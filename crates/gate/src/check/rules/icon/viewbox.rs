use roxmltree::Node;

use crate::check::icon::{Icon, attribute, value_range};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/viewbox",
    level: Level::Warning,
    summary: "the viewBox of icon.svg is not square",
    why: "At 16×16, a drawing that is not square is shrunk and surrounded by empty space; if its viewBox is invalid or \
          empty, it is not shown as drawn.",
    fix: "Extend the shorter side of the viewBox, and move its origin so that the drawing stays centred.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 100 80\">\n  \
         <path fill=\"currentColor\" d=\"M10 10h80v60H10z\"/>\n</svg>\n",
    ),
    marks: "0 0 100 80",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 -10 100 100\">\n  \
         <path fill=\"currentColor\" d=\"M10 10h80v60H10z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    let Some(attribute) = icon.root().attribute_node("viewBox") else { return };
    let message = match parse(icon.root()) {
        None => "is not four numbers",
        Some([_, _, width, height]) if width <= 0.0 || height <= 0.0 => "is empty",
        Some([_, _, width, height]) if (width - height).abs() > 1e-3 * width.max(height) => "is not square",
        Some(_) => return,
    };
    report
        .range(value_range(&attribute), format!("the viewBox {} {message}", quote(attribute.value())))
        .help("make its width and height equal, with the drawing in the middle");
}

/// The four numbers of an element's `viewBox`, which are separated by white space or commas.
pub(super) fn parse(node: Node<'_, '_>) -> Option<[f64; 4]> {
    let numbers = attribute(node, "viewBox")?
        .split(|c: char| c == ',' || c.is_ascii_whitespace())
        .filter(|part| !part.is_empty());
    let numbers: Vec<f64> =
        numbers.map(|part| part.parse().ok().filter(|number: &f64| number.is_finite())).collect::<Option<_>>()?;
    numbers.try_into().ok()
}
