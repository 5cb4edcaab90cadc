//! The colours that an icon names.

use std::ops::Range;

use roxmltree::Node;

use super::elements::{Element, Elements};
use super::gradient::Gradients;
use super::{Icon, PAINTS, Piece, value, value_range};

/// A paint that is none of the allowed words.
pub(in super::super) struct Color {
    pub(in super::super) property: String,
    pub(in super::super) value: String,
    pub(in super::super) range: Range<usize>,
    /// Black or white inside a mask, where they mean hidden and shown.
    pub(in super::super) is_mask_value: bool,
}

const ALLOWED: &[&str] = &["currentcolor", "none", "inherit", "transparent"];

/// How the names of further properties that paint begin, in CSS only.
const CSS_PAINTS: &[&str] = &[
    "-webkit-text-", "background", "border", "box-shadow", "column-rule", "outline", "text-decoration",
    "text-emphasis", "text-shadow",
];

const MASK_VALUES: &[&str] = &["black", "white", "#000", "#fff", "#000000", "#ffffff"];

const ANIMATIONS: &[&str] = &["animate", "animateColor", "animateMotion", "animateTransform", "set"];

/// Every paint of an icon that is no `currentColor`, `none`, `inherit` or `transparent`.
pub(in super::super) fn colors(icon: &Icon<'_>, elements: &Elements<'_>, gradients: &Gradients<'_>) -> Vec<Color> {
    let mut found = Vec::new();
    for node in icon.elements() {
        // Of an animation, `fill` says what happens at its end.
        if ANIMATIONS.contains(&node.tag_name().name()) {
            continue;
        }
        let Some(element) = elements.get(node.id()) else { continue };
        found.extend(built_in_color(icon, node, element));
        // Put into an HTML page, attributes lose their case.
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
            // A filter of the file is looked at itself; the functions of CSS are not needed in an icon.
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

/// Colours that are named nowhere: those of filter primitives, and those of emoji.
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
