//! A parsed icon with resolved paints, as the icon rules read it.

mod cascade;
mod color;
mod css;
mod draw;
mod elements;
mod gradient;
mod layers;
mod paint;

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use acp_registry_client::registry::Loaded;
use acp_registry_plan::text::quote;
use roxmltree::{Attribute, Document, Error, Node, ParsingOptions};

use self::cascade::Cascade;
use self::css::{Declaration, Selector, SelectorKind};
use self::elements::Elements;
use self::gradient::Gradients;
use self::paint::Sheets;

pub(super) use self::color::Color;
pub use self::draw::draw_icon;
pub(super) use self::draw::is_painted;
pub(super) use self::paint::Shape;
pub(super) use css::{Piece, urls, value};

/// The SVG namespace.
pub(super) const SVG: &str = "http://www.w3.org/2000/svg";

/// The XHTML namespace.
pub(super) const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// The namespace of event handlers in XML.
pub(super) const EVENTS: &str = "http://www.w3.org/2001/xml-events";

/// The namespace of `xlink:href`.
pub(super) const XLINK: &str = "http://www.w3.org/1999/xlink";

/// Maximum number of XML nodes: elements and texts.
const NODE_LIMIT: u32 = 20_000;

/// Maximum number of attributes, estimated by the number of `=`. Limited because the XML parser compares all attributes
/// of an element with each other.
const ATTRIBUTE_LIMIT: usize = 10_000;

/// Maximum number of namespace declarations. Limited because the XML parser compares them with each other for every
/// element that declares one.
const NAMESPACE_LIMIT: usize = 100;

/// Maximum number of CSS declarations and selectors. Limited because each declaration is stored once per selector of
/// its rule.
const CSS_LIMIT: usize = 1_000;

/// The names of SVG elements. Other elements would be parsed as HTML when the icon is inlined in a page.
pub(super) const ELEMENTS: &[&str] = &[
    "a", "animate", "animateColor", "animateMotion", "animateTransform", "circle", "clipPath", "defs", "desc",
    "ellipse", "feBlend", "feColorMatrix", "feComponentTransfer", "feComposite", "feConvolveMatrix",
    "feDiffuseLighting", "feDisplacementMap", "feDistantLight", "feDropShadow", "feFlood", "feFuncA", "feFuncB",
    "feFuncG", "feFuncR", "feGaussianBlur", "feImage", "feMerge", "feMergeNode", "feMorphology", "feOffset",
    "fePointLight", "feSpecularLighting", "feSpotLight", "feTile", "feTurbulence", "filter", "foreignObject", "g",
    "image", "line", "linearGradient", "marker", "mask", "metadata", "mpath", "path", "pattern", "polygon", "polyline",
    "radialGradient", "rect", "script", "set", "stop", "style", "svg", "switch", "symbol", "text", "textPath", "title",
    "tspan", "use", "view",
];

/// The properties that paint, as attributes and in CSS.
pub(super) const PAINTS: &[&str] = &["fill", "stroke", "stop-color", "flood-color", "lighting-color", "color"];

/// The properties that change nothing of HTML, by the beginnings of their names.
const ONLY_SVG: &[&str] = &[
    "fill", "stroke", "stop-", "flood-", "lighting-color", "clip-rule", "color-interpolation", "color-rendering",
    "marker", "paint-order", "shape-rendering", "text-anchor", "vector-effect", "enable-background",
    "dominant-baseline", "--",
];

/// What programs for drawing also write for classes that no element has: of HTML, these hide and move nothing.
const TEXT: &[&str] =
    &["isolation", "mix-blend-mode", "font", "letter-spacing", "word-spacing", "white-space", "line-height", "text-"];

/// The icon's file, and the result of parsing it.
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
    /// All paints other than `currentColor`, `none`, `inherit` and `transparent`.
    pub(super) colors: Vec<Color>,
    /// CSS that was not understood, in style sheets and attributes.
    pub(super) unread: Vec<XmlError>,
}

/// A style sheet or `style` attribute, with its place.
pub(super) struct Styled {
    /// The `<style>` element, or the element with the `style` attribute.
    pub(super) element: roxmltree::NodeId,
    pub(super) is_sheet: bool,
    pub(super) css: css::Style,
    /// Byte range in the file, including unresolved XML references.
    place: Range<usize>,
    /// Offsets in the CSS of line ends that are CR LF in the file. `None` if the source has XML references or markup,
    /// since offsets cannot be mapped then.
    long_line_ends: Option<Vec<usize>>,
}

/// Why a text could not be parsed as XML, or a part of it as CSS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct XmlError {
    pub(super) message: String,
    /// How to fix it, if known.
    pub(super) help: Option<&'static str>,
    pub(super) range: Range<usize>,
}

impl Styled {
    /// Converts a range of the CSS to a range of the file. If the source has XML references or markup, it is the range
    /// of the whole source.
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
        let whole = |message: String| XmlError { message, help: None, range: 0..0 };
        let too_many = |what: &str, limit: usize| whole(format!("has more than {limit} {what}"));
        let attributes = memchr::memchr_iter(b'=', text.as_bytes()).count();
        if attributes > ATTRIBUTE_LIMIT {
            return Err(too_many("attributes", ATTRIBUTE_LIMIT));
        }
        // Each declaration is an attribute, and searching for a word costs more than counting.
        if attributes > NAMESPACE_LIMIT && text.matches("xmlns").count() > NAMESPACE_LIMIT {
            return Err(too_many("namespaces", NAMESPACE_LIMIT));
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: NODE_LIMIT, entity_resolver: None };
        let document = Document::parse_with_options(text, options).map_err(|error| describe(text, &error))?;
        check_declaration(text)?;
        let (styles, shapes, colors, unread) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut icon = Self { text, document, styles, shapes, colors, unread };
        icon.styles = icon.read_styles();
        let parts =
            icon.styles.iter().map(|Styled { css, .. }| css.declarations.len() + css.selectors + css.unread.len());
        if parts.sum::<usize>() > CSS_LIMIT {
            return Err(too_many("CSS declarations and selectors", CSS_LIMIT));
        }
        icon.unread = icon.find_unread();
        let (elements, cascade) = (Elements::of(&icon), Cascade::of(&icon));
        let gradients = Gradients::of(&icon, &elements, &cascade);
        let sheets = Sheets { elements: &elements, cascade: &cascade, gradients: &gradients };
        let endless = || whole("`use` elements lead to too many others, or to themselves".to_owned());
        let shapes = paint::shapes(&icon, sheets).ok_or_else(endless)?;
        if !layers::is_bounded(&icon) {
            let names = "masks, clips, filters, patterns, markers or dashes";
            return Err(whole(format!("{names} take too long to draw, or lead to themselves")));
        }
        let colors = color::colors(&icon, sheets);
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

    /// The range of an element's start tag, up to the end of its name.
    pub(super) fn tag(&self, node: Node<'_, '_>) -> Range<usize> {
        let start = node.range().start;
        let name = self.text[start..].find(|c: char| c.is_whitespace() || "/>".contains(c)).unwrap_or(0);
        start..start + name
    }

    /// Whether the name of an element has a prefix, which is part of it for HTML parsers.
    pub(super) fn has_prefix(&self, node: Node<'_, '_>) -> bool {
        self.text[self.tag(node)].contains(':')
    }

    /// Declarations of such properties that apply, or may apply, to the root element.
    pub(super) fn root_declarations(&self, is_meant: fn(&str) -> bool) -> Vec<(Range<usize>, &Declaration)> {
        let root = self.root();
        let met: HashSet<_> = cascade::keys(root).collect();
        let mut found = Vec::new();
        for styled in &self.styles {
            let declarations = styled.css.declarations.iter();
            for declaration in declarations.filter(|declaration| is_meant(declaration.standard_property())) {
                let applies = if styled.is_sheet {
                    declaration.is_unread
                        || declaration.selectors.iter().any(|one| met.contains(&(one.kind, &one.name)))
                } else {
                    styled.element == root.id()
                };
                if applies {
                    found.push((styled.css_range(&declaration.range), declaration));
                }
            }
        }
        found
    }

    /// All CSS that was not understood, or that would apply to a page with the icon.
    fn find_unread(&self) -> Vec<XmlError> {
        let mut unread = Vec::new();
        let has_sheet = self.styles.iter().any(|styled| styled.is_sheet);
        let own: HashSet<_> = self.elements().filter(|_| has_sheet).flat_map(cascade::keys).collect();
        // A page that embeds icons must use classes that no icon has.
        let is_own = |one: &Selector, property: &str| {
            matches!(one.kind, SelectorKind::Class | SelectorKind::Id)
                && (own.contains(&(one.kind, one.name.as_str())) || TEXT.iter().any(|name| property.starts_with(name)))
        };
        for styled in &self.styles {
            let foreign = styled.css.declarations.iter().filter(|declaration| {
                styled.is_sheet
                    && (declaration.important
                        || !ONLY_SVG.iter().any(|name| declaration.standard_property().starts_with(name)))
                    && !declaration.selectors.iter().all(|one| is_own(one, declaration.standard_property()))
            });
            unread.extend(foreign.map(|declaration| XmlError {
                message: format!("the style would set {} of a page with the icon", quote(&declaration.property)),
                help: Some("write it as an attribute of the element, or for a class"),
                range: styled.css_range(&declaration.range),
            }));
            let node = self.document.get_node(styled.element).filter(|node| styled.is_sheet && !is_plain_sheet(*node));
            unread.extend(node.map(|node| XmlError {
                message: "not all viewers apply this `style` element".to_owned(),
                help: Some("write `<style>`, without `type` and `media`"),
                range: self.tag(node),
            }));
            unread.extend(styled.css.unread.iter().map(|(message, range)| XmlError {
                message: message.clone(),
                help: Some("write the colour as an attribute of the element, and remove the style"),
                range: styled.css_range(range),
            }));
        }
        for attribute in self.elements().flat_map(|node| node.attributes()) {
            let (name, value) = (attribute.name(), attribute.value());
            let is_css = || {
                value.contains('(')
                    || cascade::PROPERTIES.iter().chain(PAINTS).any(|css| name.eq_ignore_ascii_case(css))
            };
            if value.contains('\\')
                && is_css()
                && attribute.namespace().is_none()
                && !name.eq_ignore_ascii_case("style")
            {
                let message = format!("{} has an escape", quote(name));
                let help = Some("write the character itself");
                unread.push(XmlError { message, help, range: value_range(&attribute) });
            }
        }
        unread
    }

    fn read_styles(&self) -> Vec<Styled> {
        let mut styles = Vec::new();
        for node in self.elements() {
            if node.tag_name().name().eq_ignore_ascii_case("style") {
                // Comments split the text of a style sheet into several nodes.
                let parts: Vec<Node<'_, '_>> = node.children().filter(Node::is_text).collect();
                let source: String = parts.iter().filter_map(Node::text).collect();
                let place = if let [part] = parts[..] { part.range() } else { node.range() };
                styles.push(self.styled(node, &source, place, true));
            }
        }
        for node in self.elements() {
            // HTML parsers ignore the case of attribute names; in XML, `style` and `STYLE` can both be present.
            let is_style =
                |one: &Attribute<'_, '_>| one.namespace().is_none() && one.name().eq_ignore_ascii_case("style");
            for attribute in node.attributes().filter(is_style) {
                styles.push(self.styled(node, attribute.value(), attribute.range_value(), false));
            }
        }
        styles
    }

    fn styled(&self, node: Node<'_, '_>, source: &str, place: Range<usize>, is_sheet: bool) -> Styled {
        let raw = &self.text[place.clone()];
        // XML turns CR LF into one character, so each one before a place moves that place by one.
        let long_line_ends = (!raw.contains(['&', '<']))
            .then(|| raw.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before).collect());
        let mut css = css::parse(source, is_sheet);
        if is_sheet && !is_plain_sheet(node) {
            css.declarations.iter_mut().for_each(|declaration| declaration.is_unread = true);
        }
        Styled { element: node.id(), is_sheet, css, place, long_line_ends }
    }
}

/// Checks what the XML declaration of a well-formed text says about its bytes, which are UTF-8. The parser passes over it.
fn check_declaration(text: &str) -> Result<(), XmlError> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let is_declared =
        text[start..].strip_prefix("<?xml").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace()));
    let Some(end) = is_declared.then(|| text.find("?>")).flatten() else { return Ok(()) };
    let mut rest = &text[start..end];
    while let Some((name, behind)) = rest.split_once('=') {
        let behind = behind.trim_start();
        let quoted = ['"', '\''].into_iter().find_map(|quote| behind.strip_prefix(quote)?.split_once(quote));
        let Some((value, behind)) = quoted else { break };
        rest = behind;
        let is_known = |name: &str| name.eq_ignore_ascii_case(value);
        // These encode ASCII as UTF-8 does.
        let is_ascii = || {
            let lower = value.to_ascii_lowercase();
            let number = |name: &str, numbers: RangeInclusive<u32>| {
                lower
                    .strip_prefix(name)
                    .and_then(|rest| rest.parse().ok())
                    .is_some_and(|number| numbers.contains(&number))
            };
            lower == "us-ascii" || number("iso-8859-", 1..=16) || number("windows-", 1250..=1258)
        };
        let (before, after, help) = match name.split_ascii_whitespace().last() {
            Some("encoding") if !(["utf-8", "utf8"].into_iter().any(is_known) || text.is_ascii() && is_ascii()) => (
                "declares the encoding",
                ", but the file is UTF-8",
                "write encoding=\"UTF-8\", or remove the declaration",
            ),
            Some("version") if value != "1.0" && value != "1.1" => (
                "declares the version",
                " of XML, which no browser reads",
                "write version=\"1.0\", or remove the declaration",
            ),
            Some("standalone") if !["yes", "no"].contains(&value) => {
                ("declares `standalone` as", ", which is neither `yes` nor `no`", "remove `standalone`")
            }
            _ => continue,
        };
        let message = format!("{before} {}{after}", quote(value));
        let end = end - rest.len() - 1;
        return Err(XmlError { message, help: Some(help), range: end - value.len()..end });
    }
    Ok(())
}

/// Whether all viewers apply this style sheet.
fn is_plain_sheet(node: Node<'_, '_>) -> bool {
    let is = |name: &str, words: [&str; 2]| {
        attribute(node, name).is_none_or(|text| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word)))
    };
    node.has_tag_name((SVG, "style")) && is("type", ["", "text/css"]) && is("media", ["", "all"])
}

/// An attribute without a namespace: `Node::attribute_node` also finds `x:fill` by `fill`, which draws nothing.
pub(super) fn attribute_node<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Attribute<'a, 'i>> {
    node.attributes().find(|attribute| attribute.namespace().is_none() && attribute.name() == name)
}

/// The value of an attribute without a namespace.
pub(super) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    attribute_node(node, name).map(|attribute| attribute.value())
}

/// The range of an attribute's value, or of the whole attribute if the value is empty.
pub(super) fn value_range(attribute: &Attribute<'_, '_>) -> Range<usize> {
    let range = attribute.range_value();
    if range.is_empty() { attribute.range() } else { range }
}

fn describe(text: &str, error: &Error) -> XmlError {
    let mut message = error.to_string();
    let position = error.pos();
    message = message.replace(&format!(" at {position}"), "");
    let place = acp_registry_plan::position::Span {
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

    #[test]
    fn the_declaration_is_that_of_the_bytes() {
        let icon =
            |declaration: &str, name: &str| format!("{declaration}<svg xmlns='{SVG}'><title>{name}</title></svg>");
        for (declaration, name, marked) in [
            ("<?xml version=\"1.0\" encoding=\"utf-16\"?>", "a", "utf-16"),
            ("\u{feff}<?xml version='1.0' encoding='UTF-16LE' ?>", "a", "UTF-16LE"),
            ("<?xml version='1.0' encoding = 'x-unknown'?>", "a", "x-unknown"),
            ("<?xml version='1.0' encoding=''?>", "a", ""),
            ("<?xml version='1.0' encoding='iso-8859-1'?>", "é", "iso-8859-1"),
            ("<?xml version='1.0'\n\tencoding='utf-16'\n?>", "a", "utf-16"),
            ("<?xml version='1.0' standalone='maybe'?>", "a", "maybe"),
            ("<?xml version='2.0'?>", "a", "2.0"),
            ("<?xml version='1.0' encoding='windows-125'?>", "a", "windows-125"),
            ("<?xml version='1.0' encoding='iso-8859-99'?>", "a", "iso-8859-99"),
            ("<?xml version='1.0' encoding='UTF-8' standalone='YES'?>", "a", "YES"),
        ] {
            let text = icon(declaration, name);
            let error = Icon::parse(&text).err().expect(declaration);
            assert_eq!((&text[error.range], error.help.is_some()), (marked, true), "{declaration}");
        }
        for (declaration, name) in [
            ("<?xml version='1.0'?>", "é"),
            ("<?xml version='1.0' encoding='utf-8' standalone='no'?>", "é"),
            ("\u{feff}<?xml version='1.0' encoding='UTF8'?>", "é"),
            ("<?xml version='1.0' encoding='ISO-8859-15' standalone='yes'?>", "a"),
            ("<?xml-stylesheet encoding='x'?>", "a"),
        ] {
            assert!(Icon::parse(&icon(declaration, name)).is_ok(), "{declaration}");
        }
    }

    #[test]
    fn a_style_sheet_sets_nothing_of_a_page() {
        let unread = |sheet: &str| {
            let body = "<path class='a' id='i' d='M0 0h1v1z'/>";
            Icon::parse(&format!("<svg xmlns='{SVG}'><style>{sheet}</style>{body}</svg>")).unwrap().unread.len()
        };
        for sheet in ["body{display:none}", "*{opacity:0}", "a{display:none}", "path{opacity:.5}", ".a,div{opacity:0}"]
        {
            assert_eq!(unread(sheet), 1, "{sheet}");
        }
        for sheet in [".b{display:none}", "#j{display:none}", "*{fill:none!important}"] {
            assert_eq!(unread(sheet), 1, "{sheet}");
        }
        for sheet in [
            ".a{display:none}", "#i{opacity:.5!important}", ".b{fill:none;isolation:isolate}",
            "path{fill:none;stroke-width:2}", "*{stroke:currentColor}",
        ] {
            assert_eq!(unread(sheet), 0, "{sheet}");
        }
    }

    #[test]
    fn css_that_is_not_read_is_reported_at_its_place() {
        for (body, marked) in [
            ("<style>.a{}\r\ng > path{fill:none}</style>", "g > path"),
            ("<style>@media print{path{fill:none}}</style>", "@media print"),
            ("<g style='fill:r\\65 d'/>", "fill:r\\65 d"),
            ("<g display='n\\6fne'/>", "n\\6fne"),
            ("<g DISPLAY='n\\6fne'/>", "n\\6fne"),
            ("<g STYLE='fill:r\\65 d'/>", "fill:r\\65 d"),
            ("<g mask='u\\72l(x)'/>", "u\\72l(x)"),
            ("<style type='text/x'>path{fill:none}</style>", "<style"),
            ("<style media='print'>path{fill:none}</style>", "<style"),
            ("<STYLE>path{fill:none}</STYLE>", "<STYLE"),
        ] {
            let text = format!("<svg xmlns='{SVG}'>{body}<path d='M0 0h1v1z'/></svg>");
            let icon = Icon::parse(&text).unwrap();
            let places: Vec<_> = icon.unread.iter().map(|unread| &text[unread.range.clone()]).collect();
            assert_eq!(places, [marked], "{body}");
            // CSS that is not understood does not apply.
            assert!(icon.shapes[0].falls_back_to_black(), "{body}");
        }
        let harmless = "<g data-name='C:\\x' xmlns:k='k' k:file='C:\\x (1)'/><style type='TEXT/CSS' media='all'/>";
        let text = format!("<svg xmlns='{SVG}'>{harmless}</svg>");
        assert_eq!(Icon::parse(&text).unwrap().unread, []);
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
            styled.css.declarations.iter().map(|found| &text[styled.css_range(&found.range)]).collect();
        assert_eq!(written, ["fill:red", "stroke:blue"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(<svg|<g |fill='|\"|style=|red|/>|>|</|&|;|<style>|\\{|\\}|:|url\\(|<use href='#a'|id='a'){0,30}") {
            match Icon::parse(&text) {
                Ok(icon) => prop_assert!(icon.shapes.len() <= text.len()),
                Err(error) => drop(acp_registry_plan::position::Span::of(&text, error.range)),
            }
        }
    }
}
