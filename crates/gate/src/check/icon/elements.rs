//! Facts about each element of an icon, collected once.

use std::collections::HashSet;

use roxmltree::{Node, NodeId};

use super::{Icon, attribute};

/// Elements that are used by their address, wherever they are.
const USED: &[&str] = &["filter", "linearGradient", "marker", "pattern", "radialGradient", "symbol"];

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
        // Most icons have neither.
        let has_any = icon.elements().any(|node| ["mask", "clipPath"].contains(&node.tag_name().name()));
        let targets = if has_any { Targets::of(icon) } else { Targets::default() };
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

/// What is shown outside of the mask or clip that it is in.
#[derive(Default)]
struct Targets<'b> {
    /// The ids that may be referred to, by whatever attribute or style.
    ids: HashSet<&'b str>,
    /// Whether a reference is written in a way that is not read here.
    is_encoded: bool,
    /// Elements with something inside that is used by its address: what they set is inherited by it.
    around: HashSet<NodeId>,
}

impl<'b> Targets<'b> {
    fn of(icon: &'b Icon<'_>) -> Self {
        let texts = icon.document.descendants().filter(Node::is_text).filter_map(|node| node.text());
        let (mut ids, mut is_encoded, mut values) = (HashSet::new(), false, Vec::new());
        for attribute in icon.elements().flat_map(|node| node.attributes()).filter(|one| one.value().contains('#')) {
            // Line ends and tabs within a URL mean nothing, and are spaces where XML has read them.
            let is_link = attribute.name() != "style" && attribute.value().trim_matches(' ').starts_with('#');
            is_encoded |= is_link && attribute.value().trim_matches(' ').contains(|c: char| c <= ' ');
            is_encoded |= attribute.value().contains(['\t', '\n', '\r']);
            values.push(attribute.value());
        }
        for text in texts.filter(|text| text.contains('#')).chain(values) {
            is_encoded |= text.contains(['%', '\\']);
            ids.extend(text.split('#').skip(1).map(|rest| rest.split(|c| !is_plain(c)).next().unwrap_or_default()));
        }
        let mut around = HashSet::new();
        for node in icon.elements().filter(|node| USED.iter().any(|name| node.tag_name().name() == *name)) {
            for above in node.ancestors() {
                if !around.insert(above.id()) {
                    break;
                }
            }
        }
        Self { ids, is_encoded, around }
    }

    fn may_have(&self, id: &str) -> bool {
        self.is_encoded || self.ids.contains(id) || !id.chars().all(is_plain)
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.:".contains(c)
}

impl<'b> Element<'b> {
    fn of(node: Node<'b, '_>, parent: Option<&Element<'b>>, targets: &Targets<'_>) -> Self {
        let name = node.tag_name().name();
        let id = attribute(node, "id");
        let stays = id.is_none_or(|id| !targets.may_have(id));
        let is_above = targets.around.contains(&node.id());
        let is_within = |name: &str, is_parent_within: fn(&Element<'_>) -> bool| {
            !is_above && (node.tag_name().name() == name || stays && parent.is_some_and(is_parent_within))
        };
        Self {
            id,
            has_mask: name == "mask" || parent.is_some_and(|parent| parent.has_mask),
            has_text: name == "text" || parent.is_some_and(|parent| parent.has_text),
            is_only_in_mask: is_within("mask", |parent| parent.is_only_in_mask),
            is_only_in_clip: is_within("clipPath", |parent| parent.is_only_in_clip),
        }
    }
}
