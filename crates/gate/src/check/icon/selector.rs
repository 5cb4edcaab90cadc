//! Selectors, as far as it matters whether a rule surely applies to an element.
//!
//! What cannot be known from the file (the mouse over an element, say) is taken as not met; what is seldom used in icons
//! (attributes, structure, siblings) as met.

use super::css::{Bracket, Lexeme};
use super::elements::{Element, Elements};
use super::work::{TooMuch, Work};

/// Pseudo-classes that depend on the reader.
const DYNAMIC: &[&str] = &[
    "active", "any-link", "checked", "current", "disabled", "focus", "focus-visible", "focus-within", "fullscreen",
    "future", "hover", "link", "past", "target", "visited",
];

/// A selector, from the element itself outwards.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// The last one is about the element; each of the others is about any element around those behind it.
    chains: Vec<Chain>,
    is_never_met: bool,
    weight: Weight,
}

/// The specificity of identifiers, classes and elements.
pub(super) type Weight = (usize, usize, usize);

/// What an element, its parent, the parent of that and so on must be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Chain {
    /// The last one is about the innermost element.
    compounds: Vec<Compound>,
}

/// What one element must be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Compound {
    element: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
}

/// Whether a chain fits.
enum Fit<'e, 'b> {
    Not,
    /// It does; this is the next element outwards, if there is one.
    Below(Option<&'e Element<'b>>),
}

impl Selector {
    fn push(&mut self, compound: Compound, is_child: bool) {
        let (ids, classes, names) = compound.weight();
        self.weight = (self.weight.0 + ids, self.weight.1 + classes, self.weight.2 + names);
        match self.chains.last_mut() {
            Some(chain) if is_child => chain.compounds.push(compound),
            _ => self.chains.push(Chain { compounds: vec![compound] }),
        }
    }

    /// The specificity of its identifiers, classes and elements.
    pub(super) fn weight(&self) -> Weight {
        self.weight
    }

    /// Whether a rule with this selector surely applies to an element.
    ///
    /// Each chain takes the nearest elements that it fits: that leaves the most to those left of it, so that no choice
    /// has to be taken back. The comparisons are at most the compounds of the selector times the depth of the element.
    pub(super) fn matches(
        &self,
        element: &Element<'_>,
        elements: &Elements<'_>,
        work: &mut Work,
    ) -> Result<bool, TooMuch> {
        if self.is_never_met {
            return Ok(false);
        }
        let mut chains = self.chains.iter().rev();
        let Some(own) = chains.next() else { return Ok(true) };
        let Fit::Below(mut above) = own.fits(element, elements, work)? else { return Ok(false) };
        for chain in chains {
            loop {
                let Some(ancestor) = above else { return Ok(false) };
                if let Fit::Below(end) = chain.fits(ancestor, elements, work)? {
                    above = end;
                    break;
                }
                above = parent(ancestor, elements);
            }
        }
        Ok(true)
    }
}

fn parent<'e, 'b>(element: &Element<'b>, elements: &'e Elements<'b>) -> Option<&'e Element<'b>> {
    elements.get(element.parent?)
}

impl Chain {
    /// Whether an element and those around it are what the chain asks for.
    fn fits<'e, 'b>(
        &self,
        element: &Element<'b>,
        elements: &'e Elements<'b>,
        work: &mut Work,
    ) -> Result<Fit<'e, 'b>, TooMuch> {
        let mut compounds = self.compounds.iter().rev();
        let Some(own) = compounds.next() else { return Ok(Fit::Below(parent(element, elements))) };
        work.spend(own.cost())?;
        if !own.fits(element) {
            return Ok(Fit::Not);
        }
        let mut above = parent(element, elements);
        for compound in compounds {
            work.spend(compound.cost())?;
            match above {
                Some(element) if compound.fits(element) => above = parent(element, elements),
                _ => return Ok(Fit::Not),
            }
        }
        Ok(Fit::Below(above))
    }
}

impl Compound {
    fn fits(&self, element: &Element<'_>) -> bool {
        self.element.as_deref().is_none_or(|name| name == element.name)
            && self.id.as_deref().is_none_or(|id| element.id == Some(id))
            && self.classes.iter().all(|class| element.has_class(class))
    }

    fn cost(&self) -> usize {
        1 + self.classes.len()
    }

    fn weight(&self) -> Weight {
        (usize::from(self.id.is_some()), self.classes.len(), usize::from(self.element.is_some()))
    }
}

/// Parses the head of a rule: selectors, separated by commas.
pub(super) fn parse_list(tokens: &[Lexeme]) -> Vec<Selector> {
    tokens.split(|token| matches!(token, Lexeme::Comma)).map(parse).collect()
}

fn parse(tokens: &[Lexeme]) -> Selector {
    let mut selector = Selector::default();
    let mut current = Compound::default();
    // Whether the compound to the left is about the parent, not about any ancestor.
    let mut is_child = false;
    let mut is_open = false;
    // White space and signs are a combinator only when something follows them.
    let mut combinator = None;
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            Lexeme::Space => {
                combinator = combinator.or(is_open.then_some(' '));
                continue;
            }
            Lexeme::Delim(sign @ ('>' | '+' | '~')) => {
                combinator = is_open.then_some(*sign);
                continue;
            }
            _ => is_open = true,
        }
        match combinator.take() {
            None => {}
            // The element before is not looked for.
            Some('+' | '~') => current = Compound::default(),
            Some(sign) => {
                selector.push(std::mem::take(&mut current), is_child);
                is_child = sign == '>';
            }
        }
        match token {
            Lexeme::Delim('.') => {
                if let Some(Lexeme::Word(name)) = tokens.next_if(|next| matches!(next, Lexeme::Word(_))) {
                    current.classes.push(name.clone());
                }
            }
            Lexeme::Hash(name) => current.id = Some(name.clone()),
            Lexeme::Word(name) => current.element = Some(name.clone()),
            Lexeme::Colon => {
                let is_pseudo_element = tokens.next_if(|next| matches!(next, Lexeme::Colon)).is_some();
                let is_name = |next: &&Lexeme| matches!(next, Lexeme::Word(_) | Lexeme::Group(Bracket::Round, ..));
                let name = match tokens.next_if(is_name) {
                    Some(Lexeme::Word(name) | Lexeme::Group(_, name, _)) => name.to_ascii_lowercase(),
                    _ => String::new(),
                };
                selector.is_never_met |= is_pseudo_element || DYNAMIC.contains(&name.as_str());
            }
            _ => {}
        }
    }
    selector.push(current, is_child);
    selector
}

#[cfg(test)]
mod tests {
    use super::super::{Icon, css};
    use super::*;

    /// Ids of the elements that a selector surely applies to.
    fn matched(selector: &str) -> Vec<String> {
        let text = "<svg id='s'><g id='g' class='a b'><path id='p' class='a'/><rect id='r'/></g></svg>";
        matched_in(text, selector, &mut Work::default())
    }

    fn matched_in(text: &str, selector: &str, work: &mut Work) -> Vec<String> {
        let icon = Icon::parse(text).unwrap();
        let elements = Elements::of(&icon);
        let style = css::parse(&format!("{selector}{{x:y}}"));
        let selectors = &style.declarations[0].selectors;
        let mut met = Vec::new();
        for node in icon.elements() {
            let element = elements.get(node.id()).unwrap();
            if selectors.iter().any(|selector| selector.matches(element, &elements, work).unwrap()) {
                met.push(element.id.unwrap_or_default().to_owned());
            }
        }
        met
    }

    #[test]
    fn selectors_meet_what_browsers_make_them_meet() {
        for (selector, ids) in [
            ("path", &["p"][..]),
            (".a", &["g", "p"]),
            (".a.b", &["g"]),
            ("#r, path", &["p", "r"]),
            ("*", &["s", "g", "p", "r"]),
            ("svg path", &["p"]),
            ("svg > path", &[]),
            ("g>path", &["p"]),
            ("svg > g > rect", &["r"]),
            ("x path", &[]),
            ("g .a", &["p"]),
            ("path:hover", &[]),
            ("path::before", &[]),
            ("path:first-child", &["p"]),
            ("path:not(.bg)", &["p"]),
            ("[data-c]", &["s", "g", "p", "r"]),
            ("path[d]", &["p"]),
            ("path + rect", &["r"]),
            ("svg g > path", &["p"]),
            ("svg > g path", &["p"]),
            ("* > * > path", &["p"]),
            ("* > * > * > path", &[]),
        ] {
            assert_eq!(matched(selector), ids, "{selector}");
        }
    }

    #[test]
    fn a_chain_of_parents_is_looked_for_further_out_than_where_it_first_begins() {
        let text = "<svg><a id='a'><b><c><x><b><y><b><c id='c'/></b></y></b></x></c></b></a></svg>";
        for (selector, ids) in
            [("a > b c", &["", "c"][..]), ("c > x > b c", &["c"]), ("a > b > c b > c", &["c"]), ("y > b > b c", &[])]
        {
            assert_eq!(matched_in(text, selector, &mut Work::default()), ids, "{selector}");
        }
    }

    #[test]
    fn no_selector_costs_more_than_its_parts_times_the_depth() {
        for (depth, parts) in [(40, 24), (400, 24), (40, 240), (400, 400)] {
            let text = format!("<svg>{}<path/>{}</svg>", "<g>".repeat(depth), "</g>".repeat(depth));
            for selector in [
                format!("q {}path", "g ".repeat(parts)),
                format!("q > {}path", "g ".repeat(parts)),
                format!("q {}path", "g > ".repeat(parts)),
                format!("q {}path", "g > g ".repeat(parts / 2)),
            ] {
                let mut work = Work::default();
                assert_eq!(matched_in(&text, &selector, &mut work), [] as [&str; 0]);
                assert!(work.spent() <= (parts + 2) * (depth + 2) + depth + 2, "{depth} {parts}: {}", work.spent());
            }
        }
    }

    #[test]
    fn weight_counts_all_parts() {
        let style = css::parse("g > path.a.b#c{x:y}");
        assert_eq!(style.declarations[0].selectors[0].weight(), (1, 2, 2));
    }
}
