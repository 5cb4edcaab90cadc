//! Facts about each element of an icon, collected once.

use std::collections::HashSet;

use roxmltree::{Node, NodeId};

use super::{Icon, attribute};

/// The attributes of animations that have values of other attributes, such as of `href`.
const ANIMATED: &[&str] = &["to", "from", "by", "values"];

/// All elements of an icon, indexed by node id.
pub(super) struct Elements<'b>(Vec<Option<Element<'b>>>);

/// Facts about one element, without its paints.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Element<'b> {
    pub(super) id: Option<&'b str>,
    /// Whether it is a mask or inside one.
    pub(super) has_mask: bool,
    /// Whether it is `text` or inside one.
    pub(super) has_text: bool,
    /// Whether it is a mask or inside one, and no `use` shows it outside: no reference leads to it, or to an element between
    /// it and the mask.
    pub(super) is_only_in_mask: bool,
    /// The same for a clip, in which no paint has an effect.
    pub(super) is_only_in_clip: bool,
}

impl<'b> Elements<'b> {
    pub(super) fn of(icon: &'b Icon<'_>) -> Self {
        let mut all: Vec<Option<Element<'b>>> = Vec::new();
        let is_link = |name: &str| name == "href" || ANIMATED.contains(&name);
        let links = icon.elements().flat_map(|node| node.attributes()).filter(|one| is_link(one.name()));
        let links = links.flat_map(|link| link.value().split(';'));
        let targets: HashSet<&str> = links.filter_map(|link| link.trim().strip_prefix('#')).collect();
        // Document order: parents come before their children.
        for node in icon.elements() {
            let parent = node.parent_element();
            let element = Element::of(
                node,
                parent.and_then(|parent| all.get(parent.id().get_usize())).and_then(Option::as_ref),
                &targets,
            );
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
    fn of(node: Node<'b, '_>, parent: Option<&Element<'b>>, targets: &HashSet<&str>) -> Self {
        let name = node.tag_name().name();
        let id = attribute(node, "id");
        let stays = id.is_none_or(|id| !targets.contains(id));
        Self {
            id,
            has_mask: name == "mask" || parent.is_some_and(|parent| parent.has_mask),
            has_text: name == "text" || parent.is_some_and(|parent| parent.has_text),
            is_only_in_mask: name == "mask" || stays && parent.is_some_and(|parent| parent.is_only_in_mask),
            is_only_in_clip: name == "clipPath" || stays && parent.is_some_and(|parent| parent.is_only_in_clip),
        }
    }
}
