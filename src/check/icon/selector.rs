//! Selectors, as far as it matters whether a rule surely applies to an element.
//!
//! What cannot be known from the file (the mouse over an element, say) is taken as not met; what is seldom used in icons
//! (attributes, structure, siblings) as met.

use roxmltree::Node;

use super::css::{Bracket, Lexeme};

/// How far up an element's ancestors are looked at.
const ANCESTOR_LIMIT: usize = 64;

/// Pseudo-classes that depend on the reader.
const DYNAMIC: &[&str] = &[
    "active", "any-link", "checked", "current", "disabled", "focus", "focus-visible", "focus-within", "fullscreen",
    "future", "hover", "link", "past", "target", "visited",
];

/// A selector, from the element itself outwards.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    compounds: Vec<Compound>,
    is_never_met: bool,
}

/// What one element must be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Compound {
    element: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
    /// Whether the compound to the left is about the parent, not about any ancestor.
    is_child: bool,
}

impl Selector {
    /// The specificity of its identifiers, classes and elements.
    pub(super) fn weight(&self) -> (usize, usize, usize) {
        self.compounds.iter().fold((0, 0, 0), |(ids, classes, elements), compound| {
            let has = |part: &Option<String>| usize::from(part.is_some());
            (ids + has(&compound.id), classes + compound.classes.len(), elements + has(&compound.element))
        })
    }

    /// Whether a rule with this selector surely applies to an element.
    pub(super) fn matches(&self, node: Node<'_, '_>) -> bool {
        !self.is_never_met && matches_all(&self.compounds, node)
    }
}

fn matches_all(compounds: &[Compound], node: Node<'_, '_>) -> bool {
    let Some((first, rest)) = compounds.split_first() else { return true };
    if !first.matches(node) || rest.is_empty() {
        return first.matches(node);
    }
    let reach = if first.is_child { 1 } else { ANCESTOR_LIMIT };
    node.ancestors().skip(1).filter(Node::is_element).take(reach).any(|ancestor| matches_all(rest, ancestor))
}

impl Compound {
    fn matches(&self, node: Node<'_, '_>) -> bool {
        self.element.as_deref().is_none_or(|element| element == node.tag_name().name())
            && self.id.as_deref().is_none_or(|id| node.attribute("id") == Some(id))
            && (self.classes.is_empty() || {
                let classes = node.attribute("class").unwrap_or_default();
                self.classes.iter().all(|class| classes.split_ascii_whitespace().any(|own| own == class))
            })
    }
}

/// Parses the head of a rule: selectors, separated by commas.
pub(super) fn parse_list(tokens: &[Lexeme]) -> Vec<Selector> {
    tokens.split(|token| matches!(token, Lexeme::Comma)).map(parse).collect()
}

fn parse(tokens: &[Lexeme]) -> Selector {
    let mut selector = Selector::default();
    let mut current = Compound::default();
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
                selector.compounds.insert(0, std::mem::take(&mut current));
                current.is_child = sign == '>';
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
    selector.compounds.insert(0, current);
    selector
}

#[cfg(test)]
mod tests {
    use super::super::css;
    use roxmltree::{Document, Node};

    /// Ids of the elements that a selector surely applies to.
    fn matched(selector: &str) -> Vec<String> {
        let text = "<svg id='s'><g id='g' class='a b'><path id='p' class='a'/><rect id='r'/></g></svg>";
        let document = Document::parse(text).unwrap();
        let style = css::parse(&format!("{selector}{{x:y}}"));
        let selectors = &style.declarations[0].selectors;
        let nodes = document.descendants().filter(Node::is_element);
        let met = nodes.filter(|node| selectors.iter().any(|selector| selector.matches(*node)));
        met.map(|node| node.attribute("id").unwrap().to_owned()).collect()
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
        ] {
            assert_eq!(matched(selector), ids, "{selector}");
        }
    }

    #[test]
    fn weight_counts_all_parts() {
        let style = css::parse("g > path.a.b#c{x:y}");
        assert_eq!(style.declarations[0].selectors[0].weight(), (1, 2, 2));
    }
}
