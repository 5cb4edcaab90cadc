//! The colours that an icon names.

use std::ops::Range;

use super::{Icon, PAINTS, Piece, is_inside, value, value_range};

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
pub(in super::super) fn colors(icon: &Icon<'_>) -> Vec<Color> {
    let mut found = Vec::new();
    for node in icon.elements() {
        // Of an animation, `fill` says what happens at its end.
        if ANIMATIONS.contains(&node.tag_name().name()) {
            continue;
        }
        // Put into an HTML page, attributes lose their case.
        let is_paint = |name: &str| PAINTS.iter().any(|paint| paint.eq_ignore_ascii_case(name));
        for attribute in
            node.attributes().filter(|attribute| attribute.namespace().is_none() && is_paint(attribute.name()))
        {
            if !is_allowed(&value(attribute.value())) {
                let text = attribute.value().trim().to_ascii_lowercase();
                let is_mask_value = MASK_VALUES.contains(&text.as_str()) && is_inside(node, "mask");
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
            if !is_paint || is_allowed(&declaration.value) {
                continue;
            }
            let range = icon.declaration_range(styled, declaration);
            let text = declaration.text.clone();
            let in_mask =
                !styled.is_sheet && icon.document.get_node(styled.element).is_some_and(|node| is_inside(node, "mask"));
            let is_mask_value = in_mask && MASK_VALUES.contains(&text.to_ascii_lowercase().as_str());
            found.push(Color { property: property.to_owned(), value: text, range, is_mask_value });
        }
    }
    found
}

fn is_allowed(value: &[Piece]) -> bool {
    matches!(value, [Piece::Word(word)] if ALLOWED.contains(&word.as_str()))
}
