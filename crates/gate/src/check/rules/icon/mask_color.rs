use crate::check::icon::Icon;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/mask-color",
    level: Level::Warning,
    summary: "a mask in icon.svg uses black or white",
    why: "In a mask, black and white mean hidden and shown, so they are valid. Tools that look for colours without \
          understanding masks still refuse such an icon.",
    fix: "Cut the shape out of the path instead of masking it, if the icon must be accepted everywhere.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  \
         <mask id=\"m\"><rect fill=\"white\" width=\"16\" height=\"8\"/></mask>\n  \
         <path fill=\"currentColor\" mask=\"url(#m)\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "white",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v6H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    for color in icon.colors.iter().filter(|color| color.is_mask_value) {
        report
            .range(
                color.range.clone(),
                format!(
                    "{} {} in a mask is refused by tools that do not know masks",
                    color.property,
                    quote(&color.value)
                ),
            )
            .help("cut the shape out of the path instead");
    }
}
