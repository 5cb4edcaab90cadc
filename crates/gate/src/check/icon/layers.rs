//! What a viewer draws besides the shapes: masks and the like, which can refer to each other.

use std::collections::HashMap;

use roxmltree::{Node, NodeId};

use super::paint::{Sheets, VISIT_LIMIT};
use super::{Icon, XLINK, attribute, urls, value};

/// Elements that are drawn for each element that refers to them, into an image of their own.
const LAYERS: &[&str] = &["mask", "clipPath", "filter", "pattern", "marker"];

/// What an image costs, in nodes.
const IMAGE: u64 = 100;

/// Properties that refer to a layer.
const OWN: [&str; 6] = ["mask", "clip-path", "filter", "-webkit-mask", "-webkit-clip-path", "-webkit-filter"];

/// Those that children inherit.
const INHERITED: [&str; 6] = ["fill", "stroke", "marker", "marker-start", "marker-mid", "marker-end"];

/// Elements that draw the element that their link names.
const LINKS: &[&str] = &["use", "pattern", "feImage"];

/// An element that is drawn with another one: how often, and what that costs besides its nodes.
type Edge = (NodeId, u64, u64);

/// Whether drawing the icon takes a bounded time: nested references to layers can multiply as those of `use` do.
pub(super) fn is_bounded(icon: &Icon<'_>, sheets: Sheets<'_>) -> bool {
    let ids: HashMap<&str, NodeId> =
        icon.elements().filter_map(|node| Some((sheets.elements.get(node.id())?.id?, node.id()))).collect();
    let mut costs: HashMap<NodeId, Option<u64>> = HashMap::new();
    // An element is pushed again when what it leads to is known.
    let mut stack: Vec<(NodeId, Option<Vec<Edge>>)> = vec![(icon.root().id(), None)];
    while let Some((id, edges)) = stack.pop() {
        if let Some(edges) = edges {
            let cost = |(target, times, more): &Edge| {
                costs[target].unwrap_or_default().saturating_add(*more).saturating_mul(*times)
            };
            let sum = edges.iter().map(cost).fold(1, u64::saturating_add);
            costs.insert(id, Some(sum));
            continue;
        }
        match costs.get(&id) {
            Some(Some(_)) => continue,
            // It is drawn while it is being drawn.
            Some(None) => return false,
            None => costs.insert(id, None),
        };
        let Some(node) = icon.document.get_node(id) else { continue };
        let edges = edges_from(node, sheets, &ids);
        let targets: Vec<NodeId> = edges.iter().map(|(target, ..)| *target).collect();
        stack.push((id, Some(edges)));
        stack.extend(targets.into_iter().map(|target| (target, None)));
    }
    costs[&icon.root().id()].is_some_and(|cost| cost <= VISIT_LIMIT as u64)
}

/// The elements that are drawn with this one.
fn edges_from(node: Node<'_, '_>, sheets: Sheets<'_>, ids: &HashMap<&str, NodeId>) -> Vec<Edge> {
    let find = |name: &str| {
        let id = ids.get(name.trim().strip_prefix('#')?)?;
        Some((node.document().get_node(*id)?.tag_name().name().to_owned(), *id))
    };
    let mut edges: Vec<Edge> = node.children().filter(Node::is_element).map(|child| (child.id(), 1, 0)).collect();
    if LINKS.contains(&node.tag_name().name()) {
        let href = attribute(node, "href").or_else(|| node.attribute((XLINK, "href")));
        edges.extend(href.and_then(find).map(|(_, target)| (target, 1, 0)));
    }
    let winners = sheets.cascade.winners(node);
    for property in OWN.into_iter().chain(INHERITED) {
        let written = attribute(node, property).map(value);
        let Some(pieces) = winners.value(property).or(written.as_deref()) else { continue };
        for (_, target) in urls(pieces).filter_map(find).filter(|(name, _)| LAYERS.contains(&name.as_str())) {
            let is_inherited = INHERITED.contains(&property);
            let times = if is_inherited { node.descendants().filter(Node::is_element).count() } else { 1 };
            edges.push((target, times as u64, IMAGE));
        }
    }
    edges
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
            ("marker", "marker-end='url(#)'"),
        ] {
            assert!(is_read(&nested(3, name, reference)), "{reference}");
            assert!(!is_read(&nested(40, name, reference)), "{reference}");
        }
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
    fn many_plain_layers_are_read() {
        let clip = "<clipPath id='c'><path d='M0 0h1v1z'/></clipPath>";
        assert!(is_read(&(clip.to_owned() + &"<path clip-path='url(#c)' d='M0 0h1v1z'/>".repeat(500))));
    }
}
