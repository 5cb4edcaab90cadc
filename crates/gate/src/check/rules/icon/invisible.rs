use crate::check::icon::{Icon, Shape, is_painted};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/invisible",
    level: Level::Warning,
    summary: "icon.svg shows nothing",
    why: "No pixel is painted when it is drawn: its shapes are hidden, transparent, too small, outside of the `viewBox`, \
          covered by a clip or a mask, or defined in `<defs>` and never used.",
    fix: "Draw at least one visible shape.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"none\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "<svg",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    // An icon that cannot be drawn in a bounded time is judged by its shapes.
    if !icon.shapes.iter().any(Shape::is_visible) || is_painted(icon) == Some(false) {
        report
            .range(icon.tag(icon.root()), "the icon shows nothing")
            .help("draw at least one shape that is painted inside the `viewBox`");
    }
}
