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
        None => {
            let message = format!("the viewBox {} is not four numbers", quote(attribute.value()));
            report
                .range(value_range(&attribute), message)
                .help("write four numbers with spaces between them, such as 0 0 16 16");
            return;
        }
        Some([_, _, width, height]) if width <= 0.0 || height <= 0.0 => "is empty",
        Some([_, _, width, height]) if (width - height).abs() > 1e-3 * width.max(height) => "is not square",
        Some(_) => return,
    };
    report
        .range(value_range(&attribute), format!("the viewBox {} {message}", quote(attribute.value())))
        .help("make its width and height equal, with the drawing in the middle");
}

/// The four numbers of an element's `viewBox`, which are separated by white space with at most one comma.
pub(super) fn parse(node: Node<'_, '_>) -> Option<[f64; 4]> {
    let parts = attribute(node, "viewBox")?.split(',');
    let numbers = parts.flat_map(|part| {
        let part = part.trim_ascii();
        // Nothing between two commas is no number.
        part.split_ascii_whitespace().chain(part.is_empty().then_some(""))
    });
    let numbers: Vec<f64> = numbers.map(number).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// A number as SVG writes it: unlike Rust, with a digit behind the point, and without `inf` and `nan`.
pub(super) fn number(text: &str) -> Option<f64> {
    let has_digit = |(at, _): (usize, &str)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    (is_plain && text.match_indices('.').all(has_digit))
        .then(|| text.parse().ok())?
        .filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_are_those_of_svg() {
        let read = |text: &str| {
            let svg = format!("<svg viewBox='{text}'/>");
            parse(roxmltree::Document::parse(&svg).unwrap().root_element()).is_some()
        };
        for text in ["0 0 16 16", " 0,0,16,16 ", "0 , 0 1.6e1\n16", "-.5 +.5 16 16", "0\t0  16 16"] {
            assert!(read(text), "{text}");
        }
        for text in [
            "0,,0 16 16", ",0 0 16 16", "0 0 16 16,", "0 0 16. 16.", "0 0 16 inf", "0 0 16", "0 0 16 16 16",
            "0 0 1.e1 16", "",
        ] {
            assert!(!read(text), "{text}");
        }
    }
}
