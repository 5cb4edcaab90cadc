use crate::check::icon::{Icon, attribute_node, value_range};
use crate::check::rules::icon::viewbox;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/size",
    level: Level::Error,
    summary: "icon.svg is not 16×16",
    why: "Clients place icons in lists and menus that are made for this size. A style that sets the size of the root \
          element overrides its attributes, and is checked as well: it may set only how the icon is painted, because an \
          icon that moves or grows would cover the page of a client.",
    fix: "Set `width=\"16\" height=\"16\"` on the root element; the drawing may keep its own `viewBox`. Without `width` and \
          `height`, the `viewBox` must be 16 by 16.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1em\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "1em",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

/// What may be set on the root element by CSS: it neither moves the icon nor makes it larger. The beginnings of names.
const HARMLESS: &[&str] = &[
    "fill", "stroke", "color", "stop-", "flood-", "lighting-", "opacity", "clip-rule", "marker", "paint-order",
    "shape-rendering", "text-", "image-rendering", "vector-effect", "isolation", "mix-blend-mode", "font",
    "letter-spacing", "word-spacing", "line-height", "display", "visibility", "flex-shrink", "background",
    "pointer-events", "cursor", "enable-background", "overflow-wrap", "dominant-baseline", "user-select", "solid-",
    "writing-mode", "white-space", "mask", "clip-path", "-inkscape", "--",
];

/// Values with which other properties move nothing and make nothing larger.
const NEUTRAL: &[&str] = &[
    "none", "0", "0px", "hidden", "clip", "static", "normal", "0 0 auto", "baseline", "middle", "top", "bottom", "sub",
    "super", "text-top", "text-bottom",
];

/// Attributes of the root element that decide its size and place.
const EXACT: &[&str] = &["width", "height", "viewBox", "overflow", "transform", "filter"];

const HELP: &str = "set width=\"16\" height=\"16\" on the root element";

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    let root = icon.root();
    let view = viewbox::parse(root);
    for (side, of_view) in [("width", 2), ("height", 3)] {
        if let Some(attribute) = attribute_node(root, side) {
            if let Some(problem) = problem(attribute.value()) {
                report
                    .range(value_range(&attribute), format!("{side} {} {problem}", quote(attribute.value())))
                    .help(HELP);
            }
        } else if let Some(attribute) = attribute_node(root, "viewBox") {
            if view.is_none_or(|view| !is_sixteen(view[of_view])) {
                let message =
                    format!("without `{side}`, the viewBox {} does not make the icon 16×16", quote(attribute.value()));
                report.range(value_range(&attribute), message).help(HELP);
            }
        } else {
            report.range(icon.tag(root), format!("there is neither `{side}` nor `viewBox`")).help(HELP);
        }
    }
    for attribute in root.attributes().filter(|one| one.namespace().is_none()) {
        let name = attribute.name();
        if let Some(exact) = EXACT.iter().find(|exact| exact.eq_ignore_ascii_case(name) && **exact != name) {
            let message = format!("in a page, the attribute {} would be {}", quote(name), quote(exact));
            report.range(attribute.range_qname(), message).help("remove it, or write its name so");
        }
    }
    for (name, harmless) in [
        ("overflow", &["hidden", "auto", "scroll", "clip"][..]),
        ("transform", &["", "none"]),
        ("filter", &["", "none"]),
    ] {
        let attribute = attribute_node(root, name);
        if let Some(attribute) = attribute.filter(|one| !harmless.contains(&one.value().trim())) {
            let message = format!("{name} {} lets the icon cover what is beside it", quote(attribute.value()));
            report.range(value_range(&attribute), message).help("remove it from the root element");
        }
    }
    let sizes = icon.root_declarations(is_size).into_iter();
    for (range, declaration) in
        sizes.filter(|(_, one)| one.property == "zoom" || !["16", "16px"].contains(&without_importance(&one.text)))
    {
        let (property, value) = (&declaration.property, quote(&declaration.text));
        report
            .range(range, format!("the style sets {property} to {value}, whatever the attribute says"))
            .help("remove it");
    }
    let layout = icon.root_declarations(is_layout).into_iter();
    let is_neutral = |text: &str| {
        let text = text.to_ascii_lowercase();
        NEUTRAL.contains(&without_importance(&text))
    };
    for (range, declaration) in layout.filter(|(_, one)| !is_neutral(&one.text)) {
        let (property, value) = (&declaration.property, quote(&declaration.text));
        report
            .range(range, format!("the style sets {property} to {value}, and may set only how the icon is painted"))
            .help("remove it");
    }
}

fn without_importance(value: &str) -> &str {
    value.trim().trim_end_matches("!important").trim()
}

/// Whether a property of CSS changes the size of the root element.
fn is_size(property: &str) -> bool {
    let side = ["min-", "max-"].iter().find_map(|limit| property.strip_prefix(limit)).unwrap_or(property);
    ["width", "height", "inline-size", "block-size", "zoom"].contains(&side)
}

/// Whether a property of CSS may let the root element cover what is beside it.
fn is_layout(property: &str) -> bool {
    // As an image, an icon with a scheme of its own is dark on dark.
    property == "color-scheme" || !is_size(property) && !HARMLESS.iter().any(|harmless| property.starts_with(harmless))
}

fn problem(length: &str) -> Option<&'static str> {
    let length = length.trim();
    let number = length.strip_suffix("px").or_else(|| length.strip_suffix("PX")).unwrap_or(length);
    match viewbox::number(number) {
        Some(number) if is_sixteen(number) => None,
        Some(_) => Some("is not 16"),
        _ if length.ends_with('.') || number.ends_with(' ') => Some("is no number of SVG"),
        _ if length.starts_with(|c: char| c.is_ascii_digit()) => Some("has a unit; only pixels are allowed"),
        _ => Some("is not a size"),
    }
}

fn is_sixteen(size: f64) -> bool {
    (size - 16.0).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::{is_layout, is_size, problem};

    #[test]
    fn other_names_of_the_size_are_known() {
        for property in ["width", "max-height", "inline-size", "min-block-size", "zoom"] {
            assert!(is_size(property) && !is_layout(property), "{property}");
        }
        for property in
            ["padding-left", "position", "scale", "transform", "overflow", "flex", "vertical-align", "color-scheme"]
        {
            assert!(is_layout(property), "{property}");
        }
        for property in ["stroke-width", "flex-shrink", "line-height", "fill", "--own"] {
            assert!(!is_size(property) && !is_layout(property), "{property}");
        }
    }

    #[test]
    fn only_sixteen_pixels_will_do() {
        for length in ["16", "16px", " 16 ", "16.0", "1.6e1"] {
            assert_eq!(problem(length), None, "{length}");
        }
        for length in
            ["", "nan", "inf", "1e999", "16in", "16%", "16em", "-16", "32", "auto", "16 px px", "0x10", "16 px", "16."]
        {
            assert!(problem(length).is_some(), "{length}");
        }
    }
}
