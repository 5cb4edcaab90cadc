//! Writes XML documents. Text and attributes are escaped.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// A document that is being written.
pub(super) type Xml = Writer<Vec<u8>>;

/// Writes a document with a root element in a namespace. `inside` writes the children, one per line.
pub(super) fn document(
    root: &str,
    namespace: &str,
    inside: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut xml = Xml::new(Vec::new());
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    end_line(&mut xml)?;
    xml.create_element(root).with_attribute(("xmlns", namespace)).write_inner_content(|xml| {
        end_line(xml)?;
        inside(xml)
    })?;
    Ok(xml.into_inner())
}

/// Writes an element that contains only text.
pub(super) fn text(xml: &mut Xml, name: &str, attributes: &[(&str, &str)], text: &str) -> io::Result<()> {
    let element = xml.create_element(name).with_attributes(attributes.iter().copied());
    element.write_text_content(BytesText::new(text)).map(drop)
}

/// Writes an element that contains only text, on a line of its own.
pub(super) fn text_line(xml: &mut Xml, name: &str, content: &str) -> io::Result<()> {
    text(xml, name, &[], content)?;
    end_line(xml)
}

/// Writes an element without content, on a line of its own.
pub(super) fn empty_line(xml: &mut Xml, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    xml.create_element(name).with_attributes(attributes.iter().copied()).write_empty()?;
    end_line(xml)
}

/// Writes a line end.
pub(super) fn end_line(xml: &mut Xml) -> io::Result<()> {
    xml.write_event(Event::Text(BytesText::from_escaped("\n")))
}
