use crate::check::icon::{ELEMENTS, EVENTS, Icon, SVG, XHTML, XLINK, value_range};
use crate::check::rules::prelude::*;
use roxmltree::Node;

pub(crate) static RULE: Rule = Rule {
    name: "icon/active-content",
    level: Level::Error,
    summary: "icon.svg can run code or is animated",
    why: "Some clients embed icons in their pages, where a script in the icon would run with the client's rights. \
          Embedded HTML, event handlers and `javascript:` links do the same; an animation can add a colour later, and \
          `ping` sends a request. HTML reads names in any case and knows no prefixes. An \
          element that is not part of SVG would be HTML there, as would elements in `title` and `desc`, and what \
          follows the first `>` in a processing instruction and in some comments.",
    fix: "Use plain shapes only: remove scripts, `on…` and `ping` attributes, `foreignObject`, embedded documents and animations. \
          Write nothing but text into `title` and `desc`.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  \
         <path fill=\"currentColor\" d=\"M2 2h12v12H2z\" onclick=\"alert(1)\"/>\n</svg>\n",
    ),
    marks: "onclick",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

const ACTIVE: &[&str] = &[
    "script", "handler", "listener", "foreignobject", "iframe", "object", "embed", "audio", "video", "canvas",
    "animate", "animatecolor", "animatemotion", "animatetransform", "set", "discard", "mpath",
];

/// Attributes that decide what an element is and whether it is seen. HTML reads their names in any case; the rules about
/// colours and links do so too.
const LOWER: &[&str] = &[
    "class", "id", "d", "points", "in", "in2", "result", "filter", "mask", "clip-path", "marker", "marker-start",
    "marker-mid", "marker-end", "opacity", "display", "visibility", "cursor", "x", "y", "r", "rx", "ry",
];

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    check_extents(icon, report);
    for node in icon.elements() {
        let name = node.tag_name().name();
        if is_active(icon, node) {
            report
                .range(icon.tag(node), format!("the element {} is active content", quote(name)))
                .help("remove the element");
        } else if icon.has_prefix(node) && node.tag_name().namespace() == Some(SVG) {
            // HTML parsers know no prefixes: below such a root, all would be HTML.
            report
                .range(icon.tag(node), format!("in a page, {} with a prefix would not be SVG", quote(name)))
                .help(format!("remove the prefix, and write xmlns=\"{SVG}\" on the root element"));
        } else if !icon.has_prefix(node) && is_foreign(node) && icon.root().tag_name().namespace() == Some(SVG) {
            // HTML parsers know no namespaces either.
            report
                .range(icon.tag(node), format!("in a page, {} would be an element of SVG", quote(name)))
                .help("remove its `xmlns`, or the element");
        } else if !icon.has_prefix(node) && !ELEMENTS.contains(&name) {
            let exact = ELEMENTS.iter().find(|known| known.eq_ignore_ascii_case(name));
            let (message, help) = exact.map_or_else(
                || ("is not an element of SVG, and would be HTML in a page".to_owned(), "remove the element"),
                |exact| (format!("would be {} in a page", quote(exact)), "write its name so, or remove the element"),
            );
            report.range(icon.tag(node), format!("{} {message}", quote(name))).help(help);
        }
        if let Some(parent) = node.ancestors().skip(1).find(|parent| is_html_inside(*parent)) {
            let parent = quote(parent.tag_name().name());
            report
                .range(icon.tag(node), format!("elements in {parent} would be HTML in a page"))
                .help("write text only");
        }
        for attribute in node.attributes() {
            let key = attribute.name();
            let is_handler = key.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("on"))
                && key.len() > 2
                && attribute.namespace().is_none();
            let is_own = attribute.namespace().is_none();
            let has_upper = |key: &str| key.bytes().any(|byte| byte.is_ascii_uppercase());
            let problem = if is_handler || attribute.namespace() == Some(EVENTS) {
                Some("is an event handler")
            } else if key.eq_ignore_ascii_case("ping") {
                Some("sends a request")
            } else if key.eq_ignore_ascii_case("autofocus") {
                Some("takes the focus of a page")
            } else if is_own && has_upper(key) && LOWER.iter().any(|name| name.eq_ignore_ascii_case(key)) {
                Some("would be written in lower case in a page, and count there only")
            } else if !is_own
                && attribute.namespace() != Some(XLINK)
                && icon.text[attribute.range_qname()].starts_with("xlink:")
            {
                Some("would be a link in a page, whatever its namespace is")
            } else {
                None
            };
            if let Some(problem) = problem {
                report
                    .range(attribute.range_qname(), format!("the attribute {} {problem}", quote(key)))
                    .help("remove the attribute");
            }
            let is_link =
                key.eq_ignore_ascii_case("href") && attribute.namespace().is_none_or(|namespace| namespace == XLINK);
            let scheme = || {
                let shown = attribute.value().chars().filter(|c| !c.is_whitespace() && !c.is_control());
                shown.take(11).collect::<String>().to_ascii_lowercase()
            };
            if is_link && ["javascript:", "vbscript:"].iter().any(|active| scheme().starts_with(active)) {
                report.range(value_range(&attribute), "the link runs code").help("remove the link");
            }
        }
    }
    for styled in &icon.styles {
        for (_, range) in
            styled.css.at_rules.iter().filter(|(name, _)| name.trim_start_matches("-webkit-") == "keyframes")
        {
            report.range(styled.css_range(range), "the icon is animated").help("remove the animation");
        }
        for declaration in &styled.css.declarations {
            if ["animation", "transition"].iter().any(|name| declaration.standard_property().starts_with(name)) {
                report.range(styled.css_range(&declaration.range), "the icon is animated").help("remove the animation");
            }
        }
    }
}

/// Whether an element has the name of one of SVG, and is none.
fn is_foreign(node: Node<'_, '_>) -> bool {
    ELEMENTS.contains(&node.tag_name().name()) && node.tag_name().namespace() != Some(SVG)
}

fn has_name(names: &[&str], node: Node<'_, '_>) -> bool {
    names.iter().any(|known| node.tag_name().name().eq_ignore_ascii_case(known))
}

/// Whether an element does more than to paint, in a page or as a file. HTML parsers treat `a:script` as an unknown element, and
/// `script` as one of SVG, whatever `xmlns` says.
fn is_active(icon: &Icon<'_>, node: Node<'_, '_>) -> bool {
    let namespace = node.tag_name().namespace();
    let is_named = has_name(ACTIVE, node) && (!icon.has_prefix(node) || namespace.is_none_or(|one| one == SVG));
    is_named || namespace.is_some_and(|namespace| [XHTML, EVENTS].contains(&namespace))
}

/// Whether an HTML parser reads the elements inside of this one as HTML.
fn is_html_inside(node: Node<'_, '_>) -> bool {
    ["title", "desc"].iter().any(|name| node.tag_name().name().eq_ignore_ascii_case(name))
}

/// Reports what ends earlier in HTML than in XML, because its rest would be part of a page.
fn check_extents(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    for node in icon.document.descendants() {
        let (what, is_cut) = if let Some(instruction) = node.pi() {
            ("processing instruction", instruction.value.is_some_and(|value| value.contains('>')))
        } else if node.is_text() && icon.text[node.range()].contains("<![CDATA[") {
            // HTML has no such sections where no SVG is, and what looks ahead for files to fetch knows none at all.
            if node.text().unwrap_or_default().contains('<') {
                report
                    .range(node.range(), "in a page, `<` in this CDATA section may begin an element")
                    .help("write &lt; and no CDATA section");
            }
            continue;
        } else if node.is_comment() {
            let text = node.text().unwrap_or_default();
            ("comment", text.starts_with('>') || text.starts_with("->"))
        } else {
            continue;
        };
        if is_cut {
            report
                .range(node.range(), format!("in a page, this {what} would end at its first `>`"))
                .help(format!("remove the {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_hides_no_element_from_a_page() {
        let is_active = |element: &str| {
            let text = format!("<svg xmlns='{SVG}' xmlns:x='urn:x'>{element}</svg>");
            let icon = Icon::parse(&text).unwrap();
            icon.elements().any(|node| is_active(&icon, node))
        };
        for element in [
            "<script/>", "<script xmlns=''/>", "<SCRIPT xmlns='urn:x'/>", "<g xmlns='urn:x'><animate/></g>",
            "<x:p xmlns='urn:x'><set/></x:p>",
        ] {
            assert!(is_active(element), "{element}");
        }
        for element in ["<path/>", "<x:script/>"] {
            assert!(!is_active(element), "{element}");
        }
    }
}
