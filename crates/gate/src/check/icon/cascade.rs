//! The CSS cascade: which declaration applies to an element, from style sheets and `style` attributes.

use std::collections::HashMap;

use roxmltree::{Node, NodeId};

use super::css::{Declaration, Piece, SelectorKind};
use super::{Icon, attribute};

/// The properties that affect whether and how a shape is visible, and which colour filters make.
pub(super) const PROPERTIES: [&str; 18] = [
    "display", "opacity", "fill", "stroke", "stop-color", "flood-color", "lighting-color", "visibility",
    "fill-opacity", "stroke-opacity", "stroke-width", "width", "height", "r", "rx", "ry", "d", "points",
];

/// Declarations, indexed by selector and by element, so that looking up an element does not depend on their number.
#[derive(Default)]
pub(super) struct Cascade<'b> {
    sheets: HashMap<(SelectorKind, &'b str), Winners<'b>>,
    attributes: HashMap<NodeId, Winners<'b>>,
}

/// Sort key of declarations, the highest wins: `!important`, in a `style` attribute, kind of selector, order in the
/// file.
type Precedence = (bool, bool, SelectorKind, usize);

/// The winning declarations for one element, one for each property. Most elements have none.
#[derive(Default)]
pub(super) struct Winners<'b>(Vec<(Precedence, &'b Declaration)>);

impl<'b> Cascade<'b> {
    pub(super) fn of(icon: &'b Icon<'_>) -> Self {
        let mut cascade = Self::default();
        let all =
            icon.styles.iter().flat_map(|styled| styled.css.declarations.iter().map(move |found| (styled, found)));
        for (order, (styled, declaration)) in all.enumerate().filter(|(_, (_, found))| !found.is_unread) {
            if !PROPERTIES.contains(&declaration.property.as_str()) {
                continue;
            }
            let important = declaration.important;
            if !styled.is_sheet {
                let own = cascade.attributes.entry(styled.element).or_default();
                own.offer((important, true, SelectorKind::Any, order), declaration);
            }
            for selector in declaration.selectors.iter() {
                let named = cascade.sheets.entry((selector.kind, &selector.name)).or_default();
                named.offer((important, false, selector.kind, order), declaration);
            }
        }
        cascade
    }

    /// The winning declarations for an element.
    pub(super) fn winners(&self, node: Node<'_, '_>) -> Winners<'b> {
        let mut winners = Winners::default();
        // Most icons have no CSS.
        if self.sheets.is_empty() && self.attributes.is_empty() {
            return winners;
        }
        for found in keys(node).filter_map(|key| self.sheets.get(&key)).chain(self.attributes.get(&node.id())) {
            for (precedence, declaration) in &found.0 {
                winners.offer(*precedence, declaration);
            }
        }
        winners
    }
}

impl<'b> Winners<'b> {
    fn offer(&mut self, precedence: Precedence, declaration: &'b Declaration) {
        match self.0.iter_mut().find(|(_, held)| held.property == declaration.property) {
            Some(held) if held.0 < precedence => *held = (precedence, declaration),
            Some(_) => {}
            None => self.0.push((precedence, declaration)),
        }
    }

    /// The winning value of one of [`PROPERTIES`], if any.
    pub(super) fn value(&self, property: &str) -> Option<&'b [Piece]> {
        self.0.iter().find(|(_, held)| held.property == property).map(|(_, held)| held.value.as_slice())
    }
}

/// The simple selectors that match an element.
pub(super) fn keys<'n>(node: Node<'n, '_>) -> impl Iterator<Item = (SelectorKind, &'n str)> {
    let classes = attribute(node, "class").unwrap_or_default().split_ascii_whitespace();
    let name = [(SelectorKind::Any, ""), (SelectorKind::Element, node.tag_name().name())];
    let id = attribute(node, "id").map(|id| (SelectorKind::Id, id));
    name.into_iter().chain(id).chain(classes.map(|class| (SelectorKind::Class, class)))
}
