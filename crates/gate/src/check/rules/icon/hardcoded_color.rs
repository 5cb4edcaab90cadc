use crate::check::icon::Icon;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/hardcoded-color",
    level: Level::Error,
    summary: "icon.svg uses a fixed colour",
    why: "Icons take the colour of the surrounding text, so that they can be seen on light and dark backgrounds. \
          `fill`, `stroke`, `stop-color`, `flood-color`, `lighting-color` and `color` may only be `currentColor`, \
          `none`, `inherit`, `transparent` or a gradient whose stops are all `currentColor`, whether they are set by \
          an attribute, in `style` or in a `<style>` element. Other gradients, patterns, filters that make colours, \
          and emoji have their own colours.",
    fix: "Replace the colour with `currentColor`; use `opacity` for lighter parts.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"#f50\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "#f50",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    for color in icon.colors.iter().filter(|color| !color.is_mask_value) {
        let help = if color.is_in_mask {
            "use white where the mask shows what it masks, and black where it does not"
        } else {
            "use currentColor, none, or a gradient whose stops are all currentColor; patterns and colour filters are not allowed"
        };
        report
            .range(color.range.clone(), format!("{} is {}, not currentColor", color.property, quote(&color.value)))
            .help(help);
    }
}
