//! What the icon rules look at: an SVG file, parsed once, with its paints resolved.

mod cascade;
mod color;
mod css;
mod elements;
mod gradient;
mod own;
mod paint;
mod path_data;
mod selector;
mod work;

use std::ops::Range;

use roxmltree::{Attribute, Document, Error, Node, ParsingOptions};

use self::cascade::Cascade;
pub(super) use self::color::Color;
pub(super) use self::css::{Declaration, Piece};
use self::elements::Elements;
use self::gradient::Gradients;
pub(super) use self::paint::Shape;
use self::paint::{Refusal, Sheets};
use self::work::Work;
use acp_registry_core::registry::Loaded;

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

/// The most namespaces that an icon may declare: the XML parser compares them with one another, for each element that
/// declares one.
const NAMESPACE_LIMIT: usize = 100;

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

/// A piece of CSS and where it is.
pub(super) struct Styled {
    /// The `<style>` element, or the element with the `style` attribute.
    pub(super) element: roxmltree::NodeId,
    pub(super) is_sheet: bool,
    pub(super) css: css::Style,
    /// Where it stands in the file, with XML's references unresolved.
    place: Range<usize>,
    /// Where, in the CSS, line ends stand that take two characters in the file; `None` where references or markup make
    /// more of a difference.
    long_line_ends: Option<Vec<usize>>,
}

/// Why a text is no XML document that this program reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct XmlError {
    pub(super) message: String,
    /// What helps, where that is known.
    pub(super) help: Option<&'static str>,
    pub(super) range: Range<usize>,
}

impl Styled {
    /// The place of a declaration in the file.
    pub(super) fn declaration_range(&self, declaration: &Declaration) -> Range<usize> {
        self.css_range(&declaration.range)
    }

    /// The place of a range of some CSS in the file: exact, unless XML references or markup stand in between.
    pub(super) fn css_range(&self, range: &Range<usize>) -> Range<usize> {
        let place = &self.place;
        let Some(line_ends) = &self.long_line_ends else { return place.clone() };
        let moved = |offset: usize| {
            (place.start + offset + line_ends.partition_point(|line_end| *line_end < offset)).min(place.end)
        };
        moved(range.start)..moved(range.end)
    }
}

impl<'a> Icon<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, XmlError> {
        let too_many = |what: &str, limit: usize| XmlError {
            message: format!("has more than {limit} {what}"),
            help: None,
            range: 0..0,
        };
        if text.bytes().filter(|&b| b == b'=').count() > ATTRIBUTE_LIMIT {
            return Err(too_many("attributes", ATTRIBUTE_LIMIT));
        }
        if text.matches("xmlns").count() > NAMESPACE_LIMIT {
            return Err(too_many("namespaces", NAMESPACE_LIMIT));
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
            return Err(XmlError { message, help: None, range: styled.place.clone() });
        }
        let elements = Elements::of(&icon);
        let mut work = Work::default();
        let cascade = Cascade::of(&icon);
        let gradients =
            Gradients::of(&icon, &elements, &cascade, &mut work).map_err(|error| icon.refused(error.into()))?;
        let sheets = Sheets { elements: &elements, cascade: &cascade, gradients: &gradients };
        let shapes = paint::shapes(&icon, sheets, &mut work).map_err(|refusal| icon.refused(refusal))?;
        let colors = color::colors(&icon, &elements, &gradients);
        drop((elements, cascade, gradients));
        (icon.shapes, icon.colors) = (shapes, colors);
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

    /// What style sheets and `style` say of these properties of the root element, unless it is 16 pixels.
    pub(super) fn root_declarations(&self, properties: &[String]) -> Vec<(Range<usize>, String)> {
        let root = self.root();
        let elements = Elements::of(self);
        let Some(element) = elements.get(root.id()) else { return Vec::new() };
        let mut work = Work::default();
        let mut meets = |selector: &selector::Selector| selector.matches(element, &elements, &mut work) == Ok(true);
        let mut found = Vec::new();
        for styled in &self.styles {
            let is_own = !styled.is_sheet && styled.element == root.id();
            for declaration in
                styled.css.declarations.iter().filter(|declaration| properties.contains(&declaration.property))
            {
                let applies = is_own || declaration.selectors.iter().any(&mut meets);
                if applies && declaration.value != [Piece::Number(16.0)] {
                    found.push((styled.declaration_range(declaration), declaration.text.clone()));
                }
            }
        }
        found
    }

    fn refused(&self, refusal: Refusal) -> XmlError {
        let sheet = self.styles.iter().find(|styled| styled.is_sheet && refusal != Refusal::References);
        XmlError { message: refusal.to_string(), help: None, range: sheet.map_or(0..0, |sheet| sheet.place.clone()) }
    }

    fn read_styles(&self) -> Vec<Styled> {
        let mut styles = Vec::new();
        for node in self.elements() {
            if node.tag_name().name().eq_ignore_ascii_case("style") {
                // A comment in between does not part the style sheet.
                let parts: Vec<Node<'_, '_>> = node.children().filter(Node::is_text).collect();
                let source: String = parts.iter().filter_map(Node::text).collect();
                let place = if let [part] = parts[..] { part.range() } else { node.range() };
                styles.push(self.styled(node, &source, place, true));
            }
        }
        for node in self.elements() {
            // Put into an HTML page, attributes lose their case; here both spellings can stand side by side.
            for attribute in node.attributes().filter(|attribute| attribute.name().eq_ignore_ascii_case("style")) {
                styles.push(self.styled(node, attribute.value(), attribute.range_value(), false));
            }
        }
        styles
    }

    fn styled(&self, node: Node<'_, '_>, source: &str, place: Range<usize>, is_sheet: bool) -> Styled {
        let raw = &self.text[place.clone()];
        // XML turns each line end into one character, so that places move by one for each CR LF before them.
        let long_line_ends = (!raw.contains(['&', '<']))
            .then(|| raw.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before).collect());
        Styled { element: node.id(), is_sheet, css: css::parse(source), place, long_line_ends }
    }
}

/// The place of an attribute's value, or of the attribute where the value is empty.
pub(super) fn value_range(attribute: &Attribute<'_, '_>) -> Range<usize> {
    let range = attribute.range_value();
    if range.is_empty() { attribute.range() } else { range }
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
    let place = acp_registry_core::source::Span {
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
    let (message, help) = match text.trim_start_matches('\u{feff}').trim_start() {
        "" => ("the file is empty".to_owned(), Some("draw an icon of 16×16, and save it as SVG")),
        content if !content.starts_with('<') => {
            ("the file does not begin with `<`, as SVG does".to_owned(), Some("export the icon as SVG"))
        }
        _ => (message, None),
    };
    XmlError { message, help, range }
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
            ("", "the file is empty", 0),
            ("GIF89a", "does not begin with `<`", 0),
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

    /// What looking for the shapes of an icon costs, and why it ended.
    fn cost(body: &str) -> (usize, Option<String>) {
        let text = format!("<svg xmlns='{SVG}'>{body}</svg>");
        match Icon::parse(&text) {
            Ok(icon) => {
                let (mut work, elements, cascade) = (Work::default(), Elements::of(&icon), Cascade::of(&icon));
                let sheets = Sheets { elements: &elements, cascade: &cascade, gradients: &Gradients::default() };
                paint::shapes(&icon, sheets, &mut work).unwrap();
                (work.spent(), None)
            }
            Err(error) => (0, Some(error.message)),
        }
    }

    #[test]
    fn nested_groups_and_long_selectors_cost_little() {
        let nested = |depth: usize, body: &str| format!("{}{body}{}", "<g>".repeat(depth), "</g>".repeat(depth));
        let attack = format!("<style>q {}g{{}}q {}g{{fill:none}}</style>", "g ".repeat(40), "g ".repeat(40));
        let (spent, refused) = cost(&(attack + &nested(40, "<path/>")));
        assert!(refused.is_none() && spent < 41 * 42 * 41, "{spent} {refused:?}");
        let (spent, refused) = cost(&format!("<style>{}{{fill:none}}</style><path/>", "g ".repeat(300_000)));
        assert!(refused.is_none() && spent < 10, "{spent} {refused:?}");
    }

    #[test]
    fn an_element_that_is_used_often_is_read_once() {
        let body = |uses: usize| {
            let rules = "path{fill:none}".repeat(100);
            format!("<style>{rules}</style><defs><path id='a'/></defs>{}", "<use href='#a'/>".repeat(uses))
        };
        let (once, often) = (cost(&body(1)), cost(&body(11)));
        // Each `use` is compared with each rule; what it leads to is not.
        assert_eq!((often.0 - once.0, often.1), (10 * 100, None));
    }

    #[test]
    fn an_icon_that_needs_too_much_work_is_refused_at_its_style_sheet() {
        let selectors = vec![".x .y"; 900].join(",");
        let groups = "<g class='y'/>".repeat(9_000);
        let nested = "<g>".repeat(900) + &"</g>".repeat(900);
        for body in [
            format!("<style>{selectors}{{fill:none}}</style>{groups}"),
            format!("<style>g{{{}}}</style>{groups}", "fill:none;".repeat(900)),
            format!("<style>{}</style>{nested}", format!("q {}g{{fill:none}}", "g ".repeat(900)).repeat(10)),
        ] {
            let text = format!("<svg xmlns='{SVG}'>{body}</svg>");
            let Err(error) = Icon::parse(&text) else { panic!("{}", &text[..200]) };
            assert!(error.message.contains("more than 2000000 comparisons"), "{error:?}");
            assert_eq!(error.range.start, text.find("<style>").unwrap() + 7);
        }
    }

    #[test]
    fn namespaces_are_bounded() {
        let text = format!("<svg {}/>", (0..200).map(|i| format!("xmlns:a{i}='b{i}' ")).collect::<String>());
        assert!(Icon::parse(&text).err().unwrap().message.contains("more than 100 namespaces"));
    }

    #[test]
    fn places_in_css_are_those_of_the_file_also_behind_long_line_ends() {
        let text = format!("<svg xmlns='{SVG}'><style>\r\n\r\na{{fill:red}}\r\nb{{stroke:blue}}</style></svg>");
        let icon = Icon::parse(&text).unwrap();
        let styled = &icon.styles[0];
        let written: Vec<_> =
            styled.css.declarations.iter().map(|found| &text[styled.declaration_range(found)]).collect();
        assert_eq!(written, ["fill:red", "stroke:blue"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(<svg|<g |fill='|\"|style=|red|/>|>|</|&|;|<style>|\\{|\\}|:|url\\(|<use href='#a'|id='a'){0,30}") {
            match Icon::parse(&text) {
                Ok(icon) => prop_assert!(icon.shapes.len() <= text.len()),
                Err(error) => drop(acp_registry_core::source::Span::of(&text, error.range)),
            }
        }
    }
}
