use roxmltree::NodeId;

use crate::check::icon::{Icon, Shape};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/no-current-color",
    level: Level::Error,
    summary: "icon.svg does not take the colour of the text around it",
    why: "A shape without a paint is black, and cannot be seen on a dark background. `currentColor` must apply to a \
          visible shape: in `<defs>`, or on a hidden shape, it has no effect.",
    fix: "Put `fill=\"currentColor\"` on the root element, or on each shape; `fill=\"none\"` where only the outline is drawn.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "<path",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" fill=\"currentColor\">\n  <path d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    let mut black: Vec<_> =
        icon.shapes.iter().filter(|shape| shape.falls_back_to_black()).map(|shape| shape.node.get()).collect();
    black.sort_unstable();
    black.dedup();
    for node in black.iter().filter_map(|id| icon.document.get_node(NodeId::new(*id))) {
        report
            .range(icon.tag(node), format!("{} has no fill and is therefore black", quote(node.tag_name().name())))
            .help("add fill=\"currentColor\", or fill=\"none\" where only the outline is drawn");
    }
    if black.is_empty() && !icon.shapes.iter().any(Shape::uses_current_color) {
        report
            .range(icon.tag(icon.root()), "no visible shape is painted with currentColor")
            .help("use currentColor for fills and strokes");
    }
}
