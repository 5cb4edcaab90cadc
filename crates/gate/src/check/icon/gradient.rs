//! Finds gradients that use only `currentColor`.

use std::collections::{HashMap, HashSet};

use roxmltree::Node;

use super::cascade::Cascade;
use super::css::{Piece, value};
use super::elements::Elements;
use super::{Icon, SVG, XLINK, attribute};

/// Maximum number of `href` links to follow from one gradient to another.
const LINK_LIMIT: usize = 8;

/// The ids of gradients whose stops are all `currentColor`.
#[derive(Debug, Default)]
pub(super) struct Gradients<'b>(HashSet<&'b str>);

/// The stops and link of one gradient.
struct Gradient<'b> {
    /// Whether all of its own stops are `currentColor`; `None` if it has no stops.
    is_current: Option<bool>,
    /// Id of the gradient that its `href` refers to.
    link: Option<&'b str>,
}

impl<'b> Gradients<'b> {
    pub(super) fn of(icon: &'b Icon<'_>, elements: &Elements<'b>, cascade: &Cascade<'_>) -> Self {
        let with_ids = || icon.elements().filter_map(|node| Some((elements.get(node.id())?.id?, node)));
        let gradients: HashMap<&str, Gradient<'_>> = with_ids()
            .filter(|(_, node)| is_gradient(*node))
            .map(|(id, node)| (id, Gradient::of(node, cascade)))
            .collect();
        let mut plain: HashSet<&str> = gradients.keys().copied().filter(|id| is_current(id, &gradients)).collect();
        // If several elements have the same id, viewers disagree on which one a reference means.
        let mut seen = HashSet::new();
        with_ids().filter(|(id, _)| !seen.insert(*id)).for_each(|(id, _)| {
            plain.remove(id);
        });
        Self(plain)
    }

    /// Whether a value is a reference to such a gradient, without a fallback.
    pub(super) fn has(&self, value: &[Piece]) -> bool {
        matches!(value, [Piece::Url(url)] if url.trim().strip_prefix('#').is_some_and(|id| self.0.contains(id)))
    }
}

impl<'b> Gradient<'b> {
    fn of(node: Node<'b, '_>, cascade: &Cascade<'_>) -> Self {
        let mut stops = node.children().filter(|child| child.tag_name().name() == "stop").peekable();
        let href = attribute(node, "href").or_else(|| node.attribute((XLINK, "href")));
        Self {
            is_current: stops.peek().is_some().then(|| stops.all(|stop| is_current_stop(stop, cascade))),
            link: href.and_then(|href| href.trim().strip_prefix('#')),
        }
    }
}

fn is_gradient(node: Node<'_, '_>) -> bool {
    node.tag_name().namespace() == Some(SVG) && ["linearGradient", "radialGradient"].contains(&node.tag_name().name())
}

fn is_current_stop(stop: Node<'_, '_>, cascade: &Cascade<'_>) -> bool {
    let is_current = |value: &[Piece]| matches!(value, [Piece::Word(paint)] if paint == "currentcolor");
    match cascade.winners(stop).value("stop-color") {
        Some(value) => is_current(value),
        None => attribute(stop, "stop-color").is_some_and(|text| is_current(&value(text))),
    }
}

/// Whether the gradient's stops are all `currentColor`. A gradient without stops uses those of the gradient that it
/// refers to.
fn is_current(id: &str, gradients: &HashMap<&str, Gradient<'_>>) -> bool {
    let mut id = id;
    for _ in 0..LINK_LIMIT {
        let Some(gradient) = gradients.get(id) else { return false };
        match (gradient.is_current, gradient.link) {
            (Some(is_current), _) => return is_current,
            (None, Some(link)) => id = link,
            (None, None) => return false,
        }
    }
    false
}
