//! Collects the colours that an icon names.

use std::ops::Range;

use roxmltree::Node;

use super::elements::{Element, Elements};
use super::gradient::Gradients;
use super::{Icon, PAINTS, Piece, value, value_range};

/// A paint that is not one of the allowed keywords.
pub(in super::super) struct Color {
    pub(in super::super) property: String,
    pub(in super::super) value: String,
    pub(in super::super) range: Range<usize>,
    /// Whether it is black or white inside a mask, where these mean hidden and shown.
    pub(in super::super) is_mask_value: bool,
}

const ALLOWED: &[&str] = &["currentcolor", "none", "inherit", "transparent"];

/// Prefixes of other properties that paint; only in CSS.
const CSS_PAINTS: &[&str] = &[
    "-webkit-text-", "background", "border", "box-shadow", "column-rule", "outline", "text-decoration",
    "text-emphasis", "text-shadow",
];

const MASK_VALUES: &[&str] = &["black", "white", "#000", "#fff", "#000000", "#ffffff"];

const ANIMATIONS: &[&str] = &["animate", "animateColor", "animateMotion", "animateTransform", "set"];

/// All paints of an icon other than `currentColor`, `none`, `inherit` and `transparent`.
pub(in super::super) fn colors(icon: &Icon<'_>, elements: &Elements<'_>, gradients: &Gradients<'_>) -> Vec<Color> {
    let mut found = Vec::new();
    for node in icon.elements() {
        // On animation elements, `fill` is the behaviour at the end of the animation.
        if ANIMATIONS.contains(&node.tag_name().name()) {
            continue;
        }
        let Some(element) = elements.get(node.id()) else { continue };
        found.extend(built_in_color(icon, node, element));
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
                });
            }
        }
    }
    for styled in &icon.styles {
        for declaration in &styled.css.declarations {
            let property = declaration.property.as_str();
            let is_paint = PAINTS.contains(&property) || CSS_PAINTS.iter().any(|paint| property.starts_with(paint));
            // Filters in the icon are checked as elements of their own; CSS filter functions are not allowed.
            let is_filter = ["filter", "backdrop-filter"].contains(&property);
            let is_reference = is_filter && matches!(declaration.value[..], [Piece::Url(_)]);
            if !(is_paint || is_filter)
                || is_reference
                || is_allowed(&declaration.value)
                || gradients.has(&declaration.value)
            {
                continue;
            }
            let range = styled.declaration_range(declaration);
            let text = declaration.text.clone();
            let in_mask =
                !styled.is_sheet && elements.get(styled.element).is_some_and(|element| element.is_only_in_mask);
            let is_mask_value = in_mask && MASK_VALUES.contains(&text.to_ascii_lowercase().as_str());
            found.push(Color { property: property.to_owned(), value: text, range, is_mask_value });
        }
    }
    found
}

/// Colours without an attribute: defaults of filter primitives, and emoji.
fn built_in_color(icon: &Icon<'_>, node: Node<'_, '_>, element: &Element<'_>) -> Option<Color> {
    let name = node.tag_name().name();
    let lacks =
        |property: &str| !node.has_attribute(property) && !node.has_attribute("style") && !node.has_attribute("class");
    let makes_color = match name {
        "feColorMatrix" | "feComponentTransfer" => true,
        "feFlood" | "feDropShadow" => lacks("flood-color"),
        "feDiffuseLighting" | "feSpecularLighting" => lacks("lighting-color"),
        _ => false,
    };
    let color = |property: &str, value: String, range| Color {
        property: property.to_owned(),
        value,
        range,
        is_mask_value: false,
    };
    if makes_color {
        return Some(color("the paint", name.to_owned(), icon.tag(node)));
    }
    let text = node.children().find(|child| child.is_text() && element.has_text)?;
    let emoji =
        text.text()?.chars().find(|c| matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{FE0F}'))?;
    Some(color("the emoji", emoji.to_string(), text.range()))
}

fn is_allowed(value: &[Piece]) -> bool {
    matches!(value, [Piece::Word(word)] if ALLOWED.contains(&word.as_str()))
}
