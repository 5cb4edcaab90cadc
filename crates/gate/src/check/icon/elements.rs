//! Facts about each element of an icon, collected once.

use roxmltree::{Node, NodeId};

use super::{Icon, attribute};

/// All elements of an icon, indexed by node id.
pub(super) struct Elements<'b>(Vec<Option<Element<'b>>>);

/// Facts about one element, without its paints.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Element<'b> {
    name: &'b str,
    pub(super) id: Option<&'b str>,
    /// Whether it is a mask or inside one.
    pub(super) has_mask: bool,
    /// Whether it is `text` or inside one.
    pub(super) has_text: bool,
    /// Whether it is inside a mask, and no `use` can show it outside, since neither it nor an element between it and
    /// the mask has an id.
    pub(super) is_only_in_mask: bool,
    /// The same for a clip, in which no paint has an effect.
    pub(super) is_only_in_clip: bool,
}

impl<'b> Elements<'b> {
    pub(super) fn of(icon: &'b Icon<'_>) -> Self {
        let mut all: Vec<Option<Element<'b>>> = Vec::new();
        // Document order: parents come before their children.
        for node in icon.elements() {
            let parent = node.parent_element();
            let element =
                Element::of(node, parent.and_then(|parent| all.get(parent.id().get_usize())).and_then(Option::as_ref));
            all.resize_with(node.id().get_usize(), || None);
            all.push(Some(element));
        }
        Self(all)
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Element<'b>> {
        self.0.get(id.get_usize()).and_then(Option::as_ref)
    }
}

impl<'b> Element<'b> {
    fn of(node: Node<'b, '_>, parent: Option<&Element<'b>>) -> Self {
        let name = node.tag_name().name();
        let id = attribute(node, "id");
        let is_in_mask = parent.is_some_and(|parent| parent.has_mask);
        let stays_there =
            name == "mask" || id.is_none() && parent.is_some_and(|up| up.name == "mask" || up.is_only_in_mask);
        Self {
            name,
            id,
            has_mask: name == "mask" || is_in_mask,
            has_text: name == "text" || parent.is_some_and(|parent| parent.has_text),
            is_only_in_mask: is_in_mask && stays_there,
            is_only_in_clip: name == "clipPath" || id.is_none() && parent.is_some_and(|parent| parent.is_only_in_clip),
        }
    }
}
