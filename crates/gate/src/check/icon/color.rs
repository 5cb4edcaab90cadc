//! Collects the colours that an icon names.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use roxmltree::Node;

use super::cascade::{self, Winners};
use super::css::Declaration;
use super::elements::Element;
use super::paint::Sheets;
use super::{Icon, PAINTS, Piece, SVG, Styled, attribute, value, value_range};

/// A paint that is not one of the allowed keywords.
pub(in super::super) struct Color {
    pub(in super::super) property: String,
    pub(in super::super) value: String,
    pub(in super::super) range: Range<usize>,
    /// Whether it is black or white inside a mask, where these mean hidden and shown.
    pub(in super::super) is_mask_value: bool,
    /// Whether it is in a mask, where it says how much is shown.
    pub(in super::super) is_in_mask: bool,
}

const ALLOWED: &[&str] = &["currentcolor", "none", "inherit", "transparent"];

/// Prefixes of other properties that paint; only in CSS.
const CSS_PAINTS: &[&str] = &[
    "background", "border", "box-shadow", "column-rule", "outline", "text-decoration", "text-emphasis", "text-fill",
    "text-shadow", "text-stroke",
];

/// Other properties that bring colours with them: all filters, and the one that sets every property.
const CSS_COLORING: &[&str] = &["all", "filter", "backdrop-filter"];

/// Characters that are emoji without a selector: those with the property `Emoji_Presentation` of Unicode, and the blocks above.
const EMOJI: &[RangeInclusive<char>] = &[
    '\u{231A}'..='\u{231B}',
    '\u{23E9}'..='\u{23F3}',
    '\u{25FD}'..='\u{25FE}',
    '\u{2614}'..='\u{2615}',
    '\u{2648}'..='\u{2653}',
    '\u{267F}'..='\u{267F}',
    '\u{2693}'..='\u{2693}',
    '\u{26A1}'..='\u{26A1}',
    '\u{26AA}'..='\u{26AB}',
    '\u{26BD}'..='\u{26BE}',
    '\u{26C4}'..='\u{26C5}',
    '\u{26CE}'..='\u{26CE}',
    '\u{26D4}'..='\u{26D4}',
    '\u{26EA}'..='\u{26EA}',
    '\u{26F2}'..='\u{26F3}',
    '\u{26F5}'..='\u{26F5}',
    '\u{26FA}'..='\u{26FA}',
    '\u{26FD}'..='\u{26FD}',
    '\u{2705}'..='\u{2705}',
    '\u{270A}'..='\u{270B}',
    '\u{2728}'..='\u{2728}',
    '\u{274C}'..='\u{274C}',
    '\u{274E}'..='\u{274E}',
    '\u{2753}'..='\u{2755}',
    '\u{2757}'..='\u{2757}',
    '\u{2795}'..='\u{2797}',
    '\u{27B0}'..='\u{27B0}',
    '\u{27BF}'..='\u{27BF}',
    '\u{2B1B}'..='\u{2B1C}',
    '\u{2B50}'..='\u{2B50}',
    '\u{2B55}'..='\u{2B55}',
    '\u{FE0F}'..='\u{FE0F}',
    '\u{1F000}'..='\u{1FAFF}',
];

const MASK_VALUES: &[&str] = &["black", "white", "#000", "#fff", "#000000", "#ffffff"];

const ANIMATIONS: &[&str] = &["animate", "animateColor", "animateMotion", "animateTransform", "set"];

/// All paints of an icon other than `currentColor`, `none`, `inherit` and `transparent`.
pub(super) fn colors(icon: &Icon<'_>, sheets: Sheets<'_>) -> Vec<Color> {
    let Sheets { elements, cascade, gradients } = sheets;
    let mut found = Vec::new();
    for node in icon.elements() {
        // On animation elements, `fill` is the behaviour at the end of the animation.
        if ANIMATIONS.contains(&node.tag_name().name()) {
            continue;
        }
        // What a program for drawing keeps for itself, such as the colour of its grid, is not drawn.
        // HTML parsers know no namespaces, but a prefix is part of the name there.
        if icon.has_prefix(node) && node.tag_name().namespace().is_some_and(|namespace| namespace != SVG) {
            continue;
        }
        let Some(element) = elements.get(node.id()).filter(|element| !element.is_only_in_clip) else { continue };
        found.extend(built_in_color(icon, node, element, &cascade.winners(node)));
        // HTML parsers ignore the case of attribute names, so an inlined icon would use these too.
        let is_paint = |name: &str| name == "filter" || PAINTS.iter().any(|paint| paint.eq_ignore_ascii_case(name));
        for attribute in
            node.attributes().filter(|attribute| attribute.namespace().is_none() && is_paint(attribute.name()))
        {
            let value = value(attribute.value());
            let is_reference = attribute.name() == "filter" && matches!(value[..], [Piece::Url(_)]);
            if !is_reference && !is_allowed(&value) && !gradients.has(&value) {
                let text = attribute.value().trim().to_ascii_lowercase();
                let is_mask_value = MASK_VALUES.contains(&text.as_str()) && element.is_only_in_mask;
                found.push(Color {
                    property: attribute.name().to_owned(),
                    value: attribute.value().to_owned(),
                    range: value_range(&attribute),
                    is_mask_value,
                    is_in_mask: element.is_only_in_mask,
                });
            }
        }
    }
    if icon.styles.is_empty() {
        return found;
    }
    // Keys of elements that may be painted, and of those in clips only.
    let (clipped, painted): (Vec<_>, Vec<_>) =
        icon.elements().partition(|node| elements.get(node.id()).is_some_and(|element| element.is_only_in_clip));
    let [clipped, painted] =
        [clipped, painted].map(|nodes| nodes.into_iter().flat_map(cascade::keys).collect::<HashSet<_>>());
    let clips_only = |styled: &Styled, declaration: &Declaration| {
        let has =
            |keys: &HashSet<_>| declaration.selectors.iter().any(|one| keys.contains(&(one.kind, one.name.as_str())));
        if styled.is_sheet {
            !declaration.is_unread && has(&clipped) && !has(&painted)
        } else {
            elements.get(styled.element).is_some_and(|element| element.is_only_in_clip)
        }
    };
    for styled in &icon.styles {
        for declaration in &styled.css.declarations {
            let property = declaration.standard_property();
            let is_paint = PAINTS.contains(&property) || CSS_PAINTS.iter().any(|paint| property.starts_with(paint));
            let is_coloring = CSS_COLORING.contains(&property);
            // Filters in the icon are checked as elements of their own; CSS filter functions are not allowed.
            let is_reference = is_coloring && matches!(declaration.value[..], [Piece::Url(_)]);
            if !(is_paint || is_coloring)
                || clips_only(styled, declaration)
                || is_reference
                || is_allowed(&declaration.value)
                || gradients.has(&declaration.value)
            {
                continue;
            }
            let range = styled.css_range(&declaration.range);
            let text = declaration.text.clone();
            let in_mask =
                !styled.is_sheet && elements.get(styled.element).is_some_and(|element| element.is_only_in_mask);
            let is_mask_value = in_mask && MASK_VALUES.contains(&text.to_ascii_lowercase().as_str());
            let property = declaration.property.clone();
            found.push(Color { property, value: text, range, is_mask_value, is_in_mask: in_mask });
        }
    }
    found
}

/// Colours without an attribute: those that filter primitives make, and emoji.
fn built_in_color(icon: &Icon<'_>, node: Node<'_, '_>, element: &Element<'_>, set: &Winners<'_>) -> Option<Color> {
    let name = node.tag_name().name();
    let lacks = |property: &str| !node.has_attribute(property) && set.value(property).is_none();
    let makes_color = match name {
        "feColorMatrix" | "feComponentTransfer" | "feTurbulence" => true,
        "feFlood" | "feDropShadow" => lacks("flood-color"),
        "feDiffuseLighting" | "feSpecularLighting" => lacks("lighting-color"),
        // A constant makes white.
        "feComposite" => {
            attribute(node, "operator") == Some("arithmetic")
                && attribute(node, "k4").is_some_and(|constant| constant.trim().parse() != Ok(0.0))
        }
        _ => false,
    };
    let color = |property: &str, value: String, range| Color {
        property: property.to_owned(),
        value,
        range,
        is_mask_value: false,
        is_in_mask: false,
    };
    if makes_color {
        return Some(color("the paint", name.to_owned(), icon.tag(node)));
    }
    let mut texts = node.children().filter(|child| child.is_text() && element.has_text);
    texts.find_map(|text| {
        let emoji = text.text()?.chars().find(|c| EMOJI.iter().any(|range| range.contains(c)))?;
        Some(color("the emoji", emoji.to_string(), text.range()))
    })
}

fn is_allowed(value: &[Piece]) -> bool {
    matches!(value, [Piece::Word(word)] if ALLOWED.contains(&word.as_str()))
}
