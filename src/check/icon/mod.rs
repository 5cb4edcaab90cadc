//! What the icon rules look at: an SVG file, parsed once, with its paints resolved.

mod color;
mod css;
mod paint;
mod selector;

use std::ops::Range;

use roxmltree::{Attribute, Document, Error, Node, ParsingOptions};

pub(super) use self::color::Color;
pub(super) use self::css::{Declaration, Piece};
pub(super) use self::paint::Shape;
use crate::registry::Loaded;

/// The namespace of SVG.
pub(super) const SVG: &str = "http://www.w3.org/2000/svg";

/// The namespace of XHTML.
pub(super) const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// The namespace of the old way to write links.
pub(super) const XLINK: &str = "http://www.w3.org/1999/xlink";

/// The most elements and texts that an icon may have.
const NODE_LIMIT: u32 = 20_000;

/// The most attributes that an icon may have, estimated by its equals signs: the XML parser compares those of an element
/// with one another.
const ATTRIBUTE_LIMIT: usize = 10_000;

/// The most CSS declarations and selectors that an icon may have: each is compared with each element.
const CSS_LIMIT: usize = 1_000;

/// The elements of SVG: anything else in an icon would be HTML once the icon is put into a page.
pub(super) const ELEMENTS: &[&str] = &[
    "a", "animate", "animatecolor", "animatemotion", "animatetransform", "circle", "clippath", "defs", "desc",
    "ellipse", "feblend", "fecolormatrix", "fecomponenttransfer", "fecomposite", "feconvolvematrix",
    "fediffuselighting", "fedisplacementmap", "fedistantlight", "fedropshadow", "feflood", "fefunca", "fefuncb",
    "fefuncg", "fefuncr", "fegaussianblur", "feimage", "femerge", "femergenode", "femorphology", "feoffset",
    "fepointlight", "fespecularlighting", "fespotlight", "fetile", "feturbulence", "filter", "foreignobject", "g",
    "image", "line", "lineargradient", "marker", "mask", "metadata", "mpath", "path", "pattern", "polygon", "polyline",
    "radialgradient", "rect", "script", "set", "stop", "style", "svg", "switch", "symbol", "text", "textpath", "title",
    "tspan", "use", "view",
];

/// The properties that paint, as attributes and in CSS.
pub(super) const PAINTS: &[&str] = &["fill", "stroke", "stop-color", "flood-color", "lighting-color", "color"];

/// An icon's file, with what became of parsing it.
pub(super) struct IconFile<'a> {
    pub(super) loaded: &'a Loaded<String>,
    pub(super) parsed: Option<&'a Result<Icon<'a>, XmlError>>,
}

/// An icon that is well-formed XML without a DTD.
pub(super) struct Icon<'a> {
    pub(super) text: &'a str,
    pub(super) document: Document<'a>,
    /// Style sheets, then `style` attributes, each in document order.
    pub(super) styles: Vec<Styled>,
    /// The shapes that a viewer draws, with their paints.
    pub(super) shapes: Vec<Shape>,
    /// Every paint that is no `currentColor`, `none`, `inherit` or `transparent`.
    pub(super) colors: Vec<Color>,
}

/// A piece of CSS and where it stands.
pub(super) struct Styled {
    /// The `<style>` element, or the element with the `style` attribute.
    pub(super) element: roxmltree::NodeId,
    pub(super) is_sheet: bool,
    pub(super) css: css::Style,
    /// Where it stands in the file, with XML's references unresolved.
    place: Range<usize>,
}

/// Why a text is no XML document that this program reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct XmlError {
    pub(super) message: String,
    pub(super) range: Range<usize>,
}

impl<'a> Icon<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, XmlError> {
        let too_many =
            |what: &str, limit: usize| XmlError { message: format!("has more than {limit} {what}"), range: 0..0 };
        if text.bytes().filter(|&b| b == b'=').count() > ATTRIBUTE_LIMIT {
            return Err(too_many("attributes", ATTRIBUTE_LIMIT));
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: NODE_LIMIT, entity_resolver: None };
        let document = Document::parse_with_options(text, options).map_err(|error| describe(text, &error))?;
        let mut icon = Self { text, document, styles: Vec::new(), shapes: Vec::new(), colors: Vec::new() };
        icon.styles = icon.read_styles();
        let parts = icon.styles.iter().map(|styled| styled.css.declarations.len() + styled.css.selectors);
        if parts.sum::<usize>() > CSS_LIMIT {
            return Err(too_many("CSS declarations and selectors", CSS_LIMIT));
        }
        if let Some(styled) = icon.styles.iter().find(|styled| styled.css.is_too_deep) {
            let message = "has CSS that is nested too deep to be looked at".to_owned();
            return Err(XmlError { message, range: styled.place.clone() });
        }
        icon.shapes = paint::shapes(&icon).ok_or_else(|| XmlError {
            message: "`use` elements lead to too many others, or to themselves".to_owned(),
            range: 0..0,
        })?;
        icon.colors = color::colors(&icon);
        Ok(icon)
    }

    /// The root element.
    pub(super) fn root(&self) -> Node<'_, 'a> {
        self.document.root_element()
    }

    /// All elements, in document order.
    pub(super) fn elements(&self) -> impl Iterator<Item = Node<'_, 'a>> {
        self.document.descendants().filter(Node::is_element)
    }

    /// The place of an element's start tag, up to and with the name.
    pub(super) fn tag(&self, node: Node<'_, '_>) -> Range<usize> {
        let start = node.range().start;
        let name = self.text[start..].find(|c: char| c.is_whitespace() || "/>".contains(c)).unwrap_or(0);
        start..start + name
    }

    /// The place of a declaration in the file.
    pub(super) fn declaration_range(&self, styled: &Styled, declaration: &Declaration) -> Range<usize> {
        self.css_range(styled, &declaration.range)
    }

    /// What style sheets and `style` say of these properties of the root element, unless it is 16 pixels.
    pub(super) fn root_declarations(&self, properties: &[String]) -> Vec<(Range<usize>, String)> {
        let root = self.root();
        let mut found = Vec::new();
        for styled in &self.styles {
            let is_own = !styled.is_sheet && styled.element == root.id();
            for declaration in
                styled.css.declarations.iter().filter(|declaration| properties.contains(&declaration.property))
            {
                let applies = is_own || declaration.selectors.iter().any(|selector| selector.matches(root));
                if applies && declaration.value != [Piece::Number(16.0)] {
                    found.push((self.declaration_range(styled, declaration), declaration.text.clone()));
                }
            }
        }
        found
    }

    /// The place of a range of some CSS in the file: exact, unless XML references or markup stand in between.
    pub(super) fn css_range(&self, styled: &Styled, range: &Range<usize>) -> Range<usize> {
        let raw = &self.text[styled.place.clone()];
        if raw.contains(['&', '<']) {
            return styled.place.clone();
        }
        // XML turns each line end into one character, so that places move by one for each CR LF before them.
        let moved = |offset: usize| {
            let mut read = 0;
            let mut bytes = raw.bytes().enumerate().peekable();
            while let Some((at, byte)) = bytes.next() {
                if read == offset {
                    return styled.place.start + at;
                }
                if byte == b'\r' {
                    bytes.next_if(|(_, next)| *next == b'\n');
                }
                read += 1;
            }
            styled.place.end
        };
        moved(range.start)..moved(range.end)
    }

    fn read_styles(&self) -> Vec<Styled> {
        let mut styles = Vec::new();
        for node in self.elements() {
            if node.tag_name().name().eq_ignore_ascii_case("style") {
                // A comment in between does not part the style sheet.
                let parts: Vec<Node<'_, '_>> = node.children().filter(Node::is_text).collect();
                let source: String = parts.iter().filter_map(Node::text).collect();
                let place = if let [part] = parts[..] { part.range() } else { node.range() };
                styles.push(Styled { element: node.id(), is_sheet: true, css: css::parse(&source), place });
            }
        }
        for node in self.elements() {
            // Put into an HTML page, attributes lose their case; here both spellings can stand side by side.
            for attribute in node.attributes().filter(|attribute| attribute.name().eq_ignore_ascii_case("style")) {
                let (css, place) = (css::parse(attribute.value()), attribute.range_value());
                styles.push(Styled { element: node.id(), is_sheet: false, css, place });
            }
        }
        styles
    }
}

/// The place of an attribute's value, or of the attribute where the value is empty.
pub(super) fn value_range(attribute: &Attribute<'_, '_>) -> Range<usize> {
    let range = attribute.range_value();
    if range.is_empty() { attribute.range() } else { range }
}

/// Whether an element stands inside another one of this name.
pub(super) fn is_inside(node: Node<'_, '_>, name: &str) -> bool {
    node.ancestors().skip(1).any(|ancestor| ancestor.tag_name().name() == name)
}

/// A value as [`Piece`]s, with comments and escapes resolved.
pub(super) fn value(text: &str) -> Vec<Piece> {
    css::value(text)
}

/// The addresses in a value.
pub(super) fn urls(value: &[Piece]) -> impl Iterator<Item = &str> {
    css::urls(value)
}

fn describe(text: &str, error: &Error) -> XmlError {
    let mut message = error.to_string();
    let position = error.pos();
    message = message.replace(&format!(" at {position}"), "");
    let place = crate::source::Span {
        line: position.row as usize,
        column: position.col as usize,
        end_line: position.row as usize,
        end_column: position.col as usize,
    };
    let at = place.bytes(text).start;
    let range = match error {
        Error::DtdDetected => {
            "has a document type declaration, which could define entities that grow without bound; remove the line"
                .clone_into(&mut message);
            text.find("<!DOCTYPE").map_or(0..0, |at| at..at + "<!DOCTYPE".len())
        }
        Error::NodesLimitReached => {
            message = format!("has more than {NODE_LIMIT} elements and texts");
            0..0
        }
        Error::NoRootNode | Error::UnclosedRootNode => text.len()..text.len(),
        _ => at..at,
    };
    XmlError { message, range }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_xml_is_refused_at_its_place() {
        for (text, part, at) in [
            ("<svg><g></svg>", "expected 'g' tag", 8),
            ("<svg/><svg/>", "unknown token", 6),
            ("<svg>&x;</svg>", "unknown entity", 5),
            ("<!DOCTYPE svg [<!ENTITY a \"x\">]><svg>&a;</svg>", "document type", 0),
            ("<svg a='1' a='2'/>", "already defined", 11),
            ("<svg", "", 4),
            ("", "root node", 0),
        ] {
            let error = Icon::parse(text).err().expect(text);
            assert!(error.message.contains(part), "{text}: {error:?}");
            assert_eq!(error.range.start, at, "{text}: {error:?}");
        }
        let many = format!("<svg>{}</svg>", "<g/>".repeat(60_000));
        assert!(Icon::parse(&many).err().unwrap().message.contains("more than 20000 elements"));
        let many = format!("<svg {}/>", "a='' ".repeat(20_000));
        assert!(Icon::parse(&many).err().unwrap().message.contains("more than 10000 attributes"));
        let many = format!("<svg><style>{}</style></svg>", ".a{fill:none}".repeat(2_000));
        assert!(Icon::parse(&many).err().unwrap().message.contains("more than 1000 CSS declarations and selectors"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(<svg|<g |fill='|\"|style=|red|/>|>|</|&|;|<style>|\\{|\\}|:|url\\(|<use href='#a'|id='a'){0,30}") {
            match Icon::parse(&text) {
                Ok(icon) => prop_assert!(icon.shapes.len() <= text.len()),
                Err(error) => drop(crate::source::Span::of(&text, error.range)),
            }
        }
    }
}
