use std::ops::Range;

use crate::check::icon::{Icon, Piece, urls, value, value_range};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/external-reference",
    level: Level::Error,
    summary: "icon.svg refers to something outside the file, or holds a raster image",
    why: "A reference is fetched whenever the icon is shown: it tells a third party who looks at the icon, and can \
          change what is shown. A raster image has its own colours and does not scale.",
    fix: "Draw everything inside the file; references of the form `#id` are allowed.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" color=\"inherit\">\n  \
         <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n  <use href=\"https://example.org/other.svg#a\"/>\n</svg>\n",
    ),
    marks: "https://example.org/other.svg#a",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <defs><path id=\"a\" d=\"M2 2h5v5H2z\"/></defs>\n  \
         <g fill=\"currentColor\"><use href=\"#a\"/><use href=\"#a\" x=\"7\"/></g>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    for node in icon.document.descendants() {
        if node.pi().is_some_and(|instruction| instruction.target.eq_ignore_ascii_case("xml-stylesheet")) {
            report.range(node.range(), "a stylesheet instruction loads another file").help("remove the instruction");
        }
        if !node.is_element() {
            continue;
        }
        let name = node.tag_name().name();
        if ["image", "feimage", "img"].iter().any(|raster| name.eq_ignore_ascii_case(raster)) {
            report.range(icon.tag(node), "a raster image has its own colours").help("draw the icon with shapes");
            continue;
        }
        for attribute in node.attributes() {
            let text = attribute.value();
            let is_link = ["href", "src", "base"].iter().any(|link| attribute.name().eq_ignore_ascii_case(link));
            if is_link && !trimmed(text).is_empty() && !trimmed(text).starts_with('#') {
                refuse(report, value_range(&attribute), text);
            } else if !is_text(attribute.name()) && text.contains('(') {
                refuse_outside(report, &value_range(&attribute), &value(text));
            }
        }
    }
    for styled in &icon.styles {
        for (_, range) in styled.css.at_rules.iter().filter(|(name, _)| name == "import") {
            report.range(styled.css_range(range), "@import loads another file").help("put the style into this file");
        }
        for declaration in &styled.css.declarations {
            refuse_outside(report, &styled.css_range(&declaration.range), &declaration.value);
        }
    }
}

/// Whether an attribute is checked as CSS, or means nothing to viewers.
fn is_text(name: &str) -> bool {
    name == "style" || ["aria-", "data-"].iter().any(|begin| name.starts_with(begin))
}

/// Without what URLs may have around them: spaces and control characters of ASCII alone.
fn trimmed(url: &str) -> &str {
    url.trim_matches(|c| c <= ' ')
}

fn refuse_outside(report: &mut Reporter<'_>, range: &Range<usize>, value: &[Piece]) {
    for url in urls(value).filter(|url| !trimmed(url).starts_with('#')) {
        refuse(report, range.clone(), url);
    }
}

fn refuse(report: &mut Reporter<'_>, range: Range<usize>, url: &str) {
    report
        .range(range, format!("{} leads out of the file", quote(url)))
        .help("refer to parts of this file only, as #id");
}
