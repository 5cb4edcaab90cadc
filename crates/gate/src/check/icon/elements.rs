//! The elements of an icon, with what paints and colours ask of them looked up once.

use roxmltree::{Node, NodeId};

use super::Icon;

/// All elements of an icon, by the id of their node.
pub(super) struct Elements<'b>(Vec<Option<Element<'b>>>);

/// An element, without its drawing.
#[derive(Default)]
pub(super) struct Element<'b> {
    name: &'b str,
    pub(super) id: Option<&'b str>,
    /// Whether it is a mask or in one.
    pub(super) has_mask: bool,
    /// Whether it is `text` or in one.
    pub(super) has_text: bool,
    /// Whether it is in a mask, and cannot be taken out of it by `use`.
    pub(super) is_only_in_mask: bool,
}

impl<'b> Elements<'b> {
    pub(super) fn of(icon: &'b Icon<'_>) -> Self {
        let mut all: Vec<Option<Element<'b>>> = Vec::new();
        // A parent comes before its children.
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
        let id = node.attribute("id");
        let is_in_mask = parent.is_some_and(|parent| parent.has_mask);
        let stays_there =
            name == "mask" || id.is_none() && parent.is_some_and(|up| up.name == "mask" || up.is_only_in_mask);
        Self {
            name,
            id,
            has_mask: name == "mask" || is_in_mask,
            has_text: name == "text" || parent.is_some_and(|parent| parent.has_text),
            is_only_in_mask: is_in_mask && stays_there,
        }
    }
}
