//! What a viewer draws besides the shapes: masks and the like, which can refer to each other.

use std::collections::HashMap;

use roxmltree::{Node, NodeId};

use super::css::SelectorKind;
use super::paint::{VISIT_LIMIT, numbers};
use super::{Icon, XLINK, attribute, cascade, urls, value};

/// Elements that are drawn for each element that refers to them, into an image of their own. In a page, their names and those
/// of attributes have no case.
const LAYERS: &[&str] = &["mask", "clippath", "filter", "pattern", "marker"];

/// What an image costs, in nodes.
const IMAGE: u64 = 100;

/// What a step of a filter costs, and one that looks at many pixels for each.
const STEP: u64 = 20;
const WIDE_STEP: u64 = 10_000;

/// The radius from which a step is wide.
const WIDE: f64 = 50.0;

/// How often a filter may carry out one step: browsers carry it out for each step that uses its result.
const REPEATS: u64 = 1_000;

/// Elements that draw the element that their link names.
const LINKS: &[&str] = &["use", "pattern", "feimage"];

/// An element that is drawn with another one: how often, and what that costs besides its nodes.
type Edge = (NodeId, u64, u64);

/// A property and the address in its value.
type Reference<'b> = (&'b str, &'b str);

/// Where references lead, and those of CSS.
struct Drawing<'b> {
    /// An id may be there more than once, and viewers do not agree which element counts.
    ids: HashMap<&'b str, Vec<Node<'b, 'b>>>,
    sheets: HashMap<(SelectorKind, &'b str), Vec<Reference<'b>>>,
    attributes: HashMap<NodeId, Vec<Reference<'b>>>,
}

/// Whether drawing the icon takes a bounded time: nested references to layers can multiply as those of `use` do.
pub(super) fn is_bounded(icon: &Icon<'_>) -> bool {
    // Most icons have neither, and elements that are drawn once each.
    if !icon.elements().any(|node| is_named(node, LAYERS) || is_named(node, LINKS)) {
        return true;
    }
    let drawing = Drawing::new(icon);
    let mut costs: HashMap<NodeId, Option<u64>> = HashMap::new();
    // An element is pushed again when what it leads to is known.
    let mut stack: Vec<(NodeId, Option<Vec<Edge>>)> = vec![(icon.root().id(), None)];
    while let Some((id, edges)) = stack.pop() {
        let Some(node) = icon.document.get_node(id) else { continue };
        if let Some(edges) = edges {
            let cost = |(target, times, more): &Edge| {
                costs[target].unwrap_or_default().saturating_add(*more).saturating_mul(*times)
            };
            let sum = edges.iter().map(cost).fold(own_cost(node), u64::saturating_add);
            costs.insert(id, Some(sum));
            continue;
        }
        match costs.get(&id) {
            Some(Some(_)) => continue,
            // It is drawn while it is being drawn.
            Some(None) => return false,
            None => costs.insert(id, None),
        };
        let edges = drawing.edges_from(node);
        let targets: Vec<NodeId> = edges.iter().map(|(target, ..)| *target).collect();
        stack.push((id, Some(edges)));
        stack.extend(targets.into_iter().map(|target| (target, None)));
    }
    costs[&icon.root().id()].is_some_and(|cost| cost <= VISIT_LIMIT as u64)
}

impl<'b> Drawing<'b> {
    fn new(icon: &'b Icon<'_>) -> Self {
        let mut drawing = Self { ids: HashMap::new(), sheets: HashMap::new(), attributes: HashMap::new() };
        for node in icon.elements() {
            if let Some(id) = attribute(node, "id") {
                drawing.ids.entry(id).or_default().push(node);
            }
        }
        for styled in &icon.styles {
            for declaration in &styled.css.declarations {
                let references = || urls(&declaration.value).map(|url| (declaration.property.as_str(), url));
                if !styled.is_sheet {
                    drawing.attributes.entry(styled.element).or_default().extend(references());
                }
                for selector in declaration.selectors.iter() {
                    let key = (selector.kind, selector.name.as_str());
                    drawing.sheets.entry(key).or_default().extend(references());
                }
            }
        }
        drawing
    }

    /// The elements that are drawn with this one. One that is drawn with itself stands for what cannot be told.
    fn edges_from(&self, node: Node<'b, 'b>) -> Vec<Edge> {
        let mut edges: Vec<Edge> = node.children().filter(Node::is_element).map(|child| (child.id(), 1, 0)).collect();
        let is_link = is_named(node, LINKS);
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none_or(|one| one == XLINK)) {
            if attribute.name().eq_ignore_ascii_case("href") {
                let found = self.find(attribute.value()).filter(|_| is_link);
                edges.extend(found.map_or_else(Vec::new, |found| found.iter().map(|one| (one.id(), 1, 0)).collect()));
            } else if attribute.value().contains('(') && !attribute.name().eq_ignore_ascii_case("style") {
                let (name, pieces) = (attribute.name().to_ascii_lowercase(), value(attribute.value()));
                urls(&pieces).for_each(|url| self.refer(node, (&name, url), &mut edges));
            }
        }
        let of_sheets = cascade::keys(node).filter_map(|key| self.sheets.get(&key));
        for reference in of_sheets.chain(self.attributes.get(&node.id())).flatten() {
            self.refer(node, *reference, &mut edges);
        }
        edges
    }

    fn find(&self, url: &str) -> Option<&[Node<'b, 'b>]> {
        self.ids.get(url.trim().strip_prefix('#')?).map(Vec::as_slice)
    }

    fn refer(&self, node: Node<'b, 'b>, (property, url): Reference<'_>, edges: &mut Vec<Edge>) {
        // Viewers decode it, and need not: ids of icons are plain.
        if url.trim().starts_with('#') && url.contains('%') {
            edges.push((node.id(), 1, 0));
        }
        for target in self.find(url).unwrap_or_default().iter().filter(|target| is_named(**target, LAYERS)) {
            let below = || node.descendants().filter(Node::is_element);
            let times = if property.starts_with("marker") {
                below().map(vertices).fold(0, u64::saturating_add)
            } else if property.starts_with("--") || ["fill", "stroke"].contains(&property) {
                // Children inherit it.
                below().count() as u64
            } else {
                1
            };
            let is_nested = || node.ancestors().any(|one| is_named(one, &["marker"]));
            if is_named(*target, &["marker"]) && is_nested() {
                edges.push((node.id(), 1, 0));
            }
            edges.push((target.id(), times, IMAGE));
        }
    }
}

fn is_named(node: Node<'_, '_>, names: &[&str]) -> bool {
    names.iter().any(|name| node.tag_name().name().eq_ignore_ascii_case(name))
}

/// How many markers a shape has at most.
fn vertices(node: Node<'_, '_>) -> u64 {
    let count =
        |name| attribute(node, name).map_or(0, |text| text.matches(char::is_alphabetic).count() + numbers(text));
    2 + (count("d") + count("points")) as u64
}

/// What an element costs without those that are drawn with it.
fn own_cost(node: Node<'_, '_>) -> u64 {
    if !is_named(node, &["filter"]) {
        return 1;
    }
    let mut repeats: HashMap<&str, u64> = HashMap::new();
    let (mut last, mut sum) = (0_u64, 0_u64);
    for step in node.children().filter(Node::is_element) {
        let inputs =
            step.descendants().flat_map(|one| ["in", "in2"].into_iter().filter_map(move |name| attribute(one, name)));
        let mut count = inputs.map(|name| repeats.get(name).copied().unwrap_or_default()).fold(1, u64::saturating_add);
        if attribute(step, "in").is_none() {
            count = count.saturating_add(last);
        }
        let numbers = ["radius", "stdDeviation"].into_iter().filter_map(|name| attribute(step, name));
        let mut numbers = numbers.flat_map(|text| text.split([' ', ',']).map(|one| one.trim().parse::<f64>()));
        let cost = if numbers.any(|number| number.is_ok_and(|number| number > WIDE)) { WIDE_STEP } else { STEP };
        sum = sum.saturating_add(if count > REPEATS { u64::MAX } else { cost });
        last = count;
        repeats.extend(attribute(step, "result").map(|name| (name, count)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{Icon, SVG};

    fn is_read(body: &str) -> bool {
        Icon::parse(&format!("<svg xmlns='{SVG}'>{body}<path d='M0 0h1v1z'/></svg>")).is_ok()
    }

    #[test]
    fn layers_that_multiply_or_loop_are_refused() {
        let nested = |levels: usize, name: &str, reference: &str| {
            let level = |level: usize| {
                let own = reference.replace('#', &format!("#l{}", level + 1));
                let shape = format!("<path {own} d='M0 0h1v1z'/>");
                format!("<{name} id='l{level}'>{shape}{shape}</{name}>")
            };
            (0..levels).map(level).collect::<String>()
                + &format!("<path {} d='M0 0h1v1z'/>", reference.replace('#', "#l0"))
        };
        for (name, reference) in [
            ("mask", "mask='url(#)'"),
            ("clipPath", "clip-path='url(#)'"),
            ("clipPath", "style='clip-path:url(#)'"),
            ("mask", "style='-webkit-mask:url(#)'"),
            ("pattern", "fill='url(#)'"),
        ] {
            assert!(is_read(&nested(3, name, reference)), "{reference}");
            assert!(!is_read(&nested(40, name, reference)), "{reference}");
        }
        for (name, reference) in [
            ("mask", "style='mask-image:url(#)'"),
            ("mask", "style='-webkit-mask-image:url(#)'"),
            ("mask", "style='--m:url(#);mask:var(--m)'"),
            ("mask", "MASK='url(#)'"),
            ("clippath", "clip-path='url(#)'"),
        ] {
            assert!(!is_read(&nested(40, name, reference)), "{reference}");
        }
        // Viewers do not agree which of two elements an id names.
        assert!(!is_read(&(nested(40, "mask", "mask='url(#)'") + "<mask id='l0'/>")));
        assert!(!is_read("<mask id='a'><path d='M0 0h1v1z'/></mask><path mask='url(#%61)' d='M0 0h1v1z'/>"));
        let mark = "<path marker-mid='url(#b)' d='M0 0h1v1z'/>";
        assert!(!is_read(&format!(
            "<marker id='a'>{mark}</marker><marker id='b'/><path marker-mid='url(#a)' d='M0 0h1z'/>"
        )));
        assert!(is_read(&format!("<marker id='b'><path d='M0 0h1v1z'/></marker>{mark}")));
        assert!(!is_read("<mask id='a'><path mask='url(#a)' d='M0 0h1v1z'/></mask>"));
        assert!(!is_read("<style>.a{mask:url(#a)}</style><mask id='a'><path class='a' d='M0 0h1v1z'/></mask>"));
        assert!(is_read("<g mask='url(#a)'><mask id='a'><path d='M0 0h1v1z'/></mask></g>"));
        // A property that children inherit is drawn with each of them.
        let level = |level: usize, next: &str| {
            format!(
                "<pattern id='p{level}'><g fill='url(#p{next})'>{}</g></pattern>",
                "<path d='M0 0h1v1z'/>".repeat(30)
            )
        };
        let patterns = |levels: usize| (0..levels).map(|one| level(one, &(one + 1).to_string())).collect::<String>();
        assert!(is_read(&patterns(2)) && !is_read(&patterns(5)));
    }

    #[test]
    fn filters_repeat_no_step_too_often() {
        let filter =
            |steps: &str| is_read(&format!("<filter id='f'>{steps}</filter><path filter='url(#f)' d='M0 0h1v1z'/>"));
        let doubling = |count: usize| {
            let step = |at: usize| format!("<feBlend in='a{at}' in2='a{at}' result='a{}'/>", at + 1);
            "<feOffset result='a0'/>".to_owned() + &(0..count).map(step).collect::<String>()
        };
        assert!(filter(&doubling(5)) && !filter(&doubling(20)));
        assert!(!filter(&"<feMorphology radius='9999'/>".repeat(20)));
        let shadow = "<feFlood flood-opacity='0' result='b'/><feOffset dy='4'/><feGaussianBlur stdDeviation='2'/><feBlend in2='b' result='s'/>";
        assert!(filter(&format!("{}<feBlend in='SourceGraphic' in2='s'/>", shadow.repeat(6))));
    }

    #[test]
    fn many_plain_layers_are_read() {
        let clip = "<clipPath id='c'><path d='M0 0h1v1z'/></clipPath>";
        assert!(is_read(&(clip.to_owned() + &"<path clip-path='url(#c)' d='M0 0h1v1z'/>".repeat(500))));
    }
}
