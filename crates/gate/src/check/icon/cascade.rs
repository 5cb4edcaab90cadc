//! Which declaration holds for an element, among style sheets and `style` attributes.

use std::collections::HashMap;
use std::rc::Rc;

use roxmltree::NodeId;

use super::Icon;
use super::css::{Declaration, Piece};
use super::elements::{Element, Elements};
use super::selector::{Selector, Weight};
use super::work::{TooMuch, Work};

/// The properties that decide what a viewer shows.
const PROPERTIES: [&str; 16] = [
    "display", "opacity", "fill", "stroke", "stop-color", "visibility", "fill-opacity", "stroke-opacity",
    "stroke-width", "width", "height", "r", "rx", "ry", "d", "points",
];

/// The declarations of all style sheets and `style` attributes that apply under no condition.
pub(super) struct Cascade<'b> {
    rules: Vec<Rule<'b>>,
    attributes: HashMap<NodeId, Vec<Numbered<'b>>>,
}

/// The declarations that follow one another in a style sheet and have the same selectors.
struct Rule<'b> {
    selectors: &'b Rc<[Selector]>,
    declarations: Vec<Numbered<'b>>,
}

/// A declaration, with the number of its property and its own among all.
#[derive(Clone, Copy)]
struct Numbered<'b> {
    property: usize,
    order: usize,
    declaration: &'b Declaration,
}

/// What wins: importance, then `style` before style sheets, then specificity, then what comes last.
type Precedence = (bool, bool, Weight, usize);

/// The declarations that hold for one element.
#[derive(Default)]
pub(super) struct Winners<'b>([Option<(Precedence, &'b Declaration)>; PROPERTIES.len()]);

impl<'b> Cascade<'b> {
    pub(super) fn of(icon: &'b Icon<'_>) -> Self {
        let mut cascade = Self { rules: Vec::new(), attributes: HashMap::new() };
        let mut order = 0;
        for styled in &icon.styles {
            // What applies under a condition only cannot be relied upon.
            for declaration in styled.css.declarations.iter().filter(|declaration| !declaration.is_conditional) {
                let Some(property) = number_of(&declaration.property) else { continue };
                order += 1;
                let numbered = Numbered { property, order, declaration };
                if styled.is_sheet {
                    cascade.add(numbered);
                } else {
                    cascade.attributes.entry(styled.element).or_default().push(numbered);
                }
            }
        }
        cascade
    }

    fn add(&mut self, numbered: Numbered<'b>) {
        let selectors = &numbered.declaration.selectors;
        match self.rules.last_mut() {
            Some(rule) if Rc::ptr_eq(rule.selectors, selectors) => rule.declarations.push(numbered),
            _ => self.rules.push(Rule { selectors, declarations: vec![numbered] }),
        }
    }

    /// The declarations that hold for an element.
    pub(super) fn winners(
        &self,
        id: NodeId,
        element: &Element<'_>,
        elements: &Elements<'_>,
        work: &mut Work,
    ) -> Result<Winners<'b>, TooMuch> {
        let mut winners = Winners::default();
        for rule in &self.rules {
            let mut weight = None;
            for selector in rule.selectors.iter() {
                if selector.matches(element, elements, work)? {
                    weight = weight.max(Some(selector.weight()));
                }
            }
            if let Some(weight) = weight {
                work.spend(rule.declarations.len())?;
                rule.declarations.iter().for_each(|declaration| winners.offer(*declaration, false, weight));
            }
        }
        for declaration in self.attributes.get(&id).into_iter().flatten() {
            winners.offer(*declaration, true, (0, 0, 0));
        }
        Ok(winners)
    }
}

impl<'b> Winners<'b> {
    fn offer(&mut self, offer: Numbered<'b>, is_attribute: bool, weight: Weight) {
        let precedence = (offer.declaration.important, is_attribute, weight, offer.order);
        let place = &mut self.0[offer.property];
        if place.is_none_or(|(held, _)| held < precedence) {
            *place = Some((precedence, offer.declaration));
        }
    }

    /// The value of one of [`PROPERTIES`], if a declaration gives it one.
    pub(super) fn value(&self, property: &str) -> Option<&'b [Piece]> {
        let (_, declaration) = self.0[number_of(property)?]?;
        Some(&declaration.value)
    }
}

fn number_of(property: &str) -> Option<usize> {
    PROPERTIES.iter().position(|known| *known == property)
}
