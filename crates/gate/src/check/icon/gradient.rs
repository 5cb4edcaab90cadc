//! Gradients that bring no colour of their own.

use std::collections::{HashMap, HashSet};

use roxmltree::{Node, NodeId};

use super::cascade::Cascade;
use super::css::Piece;
use super::elements::Elements;
use super::work::{TooMuch, Work};
use super::{Icon, SVG, XLINK};

/// How often a gradient may lead to another one for its stops.
const LINK_LIMIT: usize = 8;

/// The ids of the gradients whose stops are all `currentColor`.
#[derive(Debug, Default)]
pub(super) struct Gradients<'b>(HashSet<&'b str>);

impl<'b> Gradients<'b> {
    pub(super) fn of(
        icon: &'b Icon<'_>,
        elements: &Elements<'b>,
        cascade: &Cascade<'_>,
        work: &mut Work,
    ) -> Result<Self, TooMuch> {
        let with_ids = || icon.elements().filter_map(|node| Some((elements.get(node.id())?.id?, node)));
        let by_id: HashMap<&str, NodeId> =
            with_ids().filter(|(_, node)| is_gradient(*node)).map(|(id, node)| (id, node.id())).collect();
        let mut plain = HashSet::new();
        for (id, node) in with_ids().filter(|(_, node)| is_gradient(*node)) {
            if stops_are_current(node, icon, &by_id, elements, cascade, work)? {
                plain.insert(id);
            }
        }
        // Of elements with one id, viewers do not agree which one is meant.
        let mut seen = HashSet::new();
        with_ids().filter(|(id, _)| !seen.insert(*id)).for_each(|(id, _)| {
            plain.remove(id);
        });
        Ok(Self(plain))
    }

    /// Whether a value refers to such a gradient, and to nothing else.
    pub(super) fn has(&self, value: &[Piece]) -> bool {
        matches!(value, [Piece::Url(url)] if url.trim().strip_prefix('#').is_some_and(|id| self.0.contains(id)))
    }
}

fn is_gradient(node: Node<'_, '_>) -> bool {
    node.tag_name().namespace() == Some(SVG) && ["linearGradient", "radialGradient"].contains(&node.tag_name().name())
}

fn stops_are_current(
    gradient: Node<'_, '_>,
    icon: &Icon<'_>,
    by_id: &HashMap<&str, NodeId>,
    elements: &Elements<'_>,
    cascade: &Cascade<'_>,
    work: &mut Work,
) -> Result<bool, TooMuch> {
    let mut gradient = gradient;
    for _ in 0..LINK_LIMIT {
        let mut count = 0;
        for stop in gradient.children().filter(|child| child.tag_name().name() == "stop") {
            count += 1;
            work.spend(1)?;
            let Some(element) = elements.get(stop.id()) else { return Ok(false) };
            let winners = cascade.winners(stop.id(), element, elements, work)?;
            let is_current = |value: &[Piece]| matches!(value, [Piece::Word(paint)] if paint == "currentcolor");
            let is_plain = match winners.value("stop-color") {
                Some(value) => is_current(value),
                None => stop.attribute("stop-color").is_some_and(|text| is_current(&super::value(text))),
            };
            if !is_plain {
                return Ok(false);
            }
        }
        if count > 0 {
            return Ok(true);
        }
        // Without stops of its own, a gradient has those of the one that it refers to.
        let href = gradient.attribute("href").or_else(|| gradient.attribute((XLINK, "href")));
        let target = href.and_then(|href| by_id.get(href.trim().strip_prefix('#')?));
        let Some(target) = target.and_then(|target| icon.document.get_node(*target)) else { return Ok(false) };
        gradient = target;
    }
    Ok(false)
}
