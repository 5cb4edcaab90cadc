//! Escapes and formats text from manifests for pages, and writes XML documents, whose text and attributes are escaped.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

pub(super) use acp_registry_plan::text::shown;

/// The number of agents, as the start of a sentence.
pub(super) fn agents_that_speak(count: usize) -> String {
    if count == 1 { "1 agent that speaks".to_owned() } else { format!("{} agents that speak", grouped(count)) }
}

/// A number with commas between its thousands, if it has more than four digits. The script of the home page writes the same.
pub(super) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let separator = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", separator(at))).collect()
}

/// The address, if pages may link to it: https, with a host, without credentials, and at most 2000 bytes long.
pub(super) fn link(address: &str) -> Option<String> {
    if address.len() > 2000 {
        return None;
    }
    let url = url::Url::parse(address).ok()?;
    let is_plain = url.scheme() == "https" && url.has_host() && url.username().is_empty() && url.password().is_none();
    is_plain.then(|| url.to_string())
}

/// The words of the first items, and how many more there are.
pub(super) fn as_many_as_fit<T>(items: &[T], limit: usize, word: impl Fn(&T) -> String) -> Vec<String> {
    let more = items.len().saturating_sub(limit);
    items.iter().take(limit).map(word).chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// A text of strangers as part of an address.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// An address as people read it: host and path.
pub(super) fn host_and_path(address: &str) -> String {
    let text = address.strip_prefix("https://").unwrap_or(address);
    shown(text.strip_prefix("www.").unwrap_or(text).trim_end_matches('/'), 60)
}

/// The address of a source as people read it: for a repository on GitHub its owner and name.
pub(super) fn short(address: &str) -> String {
    let text = host_and_path(address);
    let of_github = text.strip_prefix("github.com/").filter(|path| path.split('/').count() == 2);
    of_github.map_or_else(|| text.clone(), ToOwned::to_owned)
}

/// Escapes text for a line of Markdown.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if "\\`*_{}[]<>()#|~!&".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Serializes a value for a `<script>` data block: escapes characters that could end the block or start a comment.
pub(super) fn json_in_html(value: &serde_json::Value) -> String {
    acp_registry_plan::json::to_string(value)
        .trim_end()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

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

/// An entry of a feed.
pub(super) struct FeedEntry {
    pub(super) title: String,
    pub(super) id: String,
    /// The address of a page.
    pub(super) page: String,
    pub(super) updated: String,
    pub(super) kind: Option<&'static str>,
    pub(super) summary: String,
}

/// Writes a feed, which has an address, and that of a page with the same changes.
pub(super) fn feed(
    address: &str,
    page: &str,
    title: &str,
    updated: &str,
    mut entries: impl Iterator<Item = FeedEntry>,
) -> io::Result<Vec<u8>> {
    let page_link = |xml: &mut Xml, address: &str| {
        empty_line(xml, "link", &[("rel", "alternate"), ("type", "text/html"), ("href", address)])
    };
    document("feed", "http://www.w3.org/2005/Atom", |xml| {
        text_line(xml, "title", title)?;
        text_line(xml, "id", address)?;
        empty_line(xml, "link", &[("rel", "self"), ("type", "application/atom+xml"), ("href", address)])?;
        page_link(xml, page)?;
        text_line(xml, "updated", updated)?;
        xml.create_element("author").write_inner_content(|xml| text(xml, "name", &[], "ACP agents"))?;
        end_line(xml)?;
        entries.try_for_each(|entry| {
            xml.create_element("entry").write_inner_content(|xml| {
                end_line(xml)?;
                text_line(xml, "title", &entry.title)?;
                text_line(xml, "id", &entry.id)?;
                page_link(xml, &entry.page)?;
                text_line(xml, "updated", &entry.updated)?;
                if let Some(kind) = entry.kind {
                    empty_line(xml, "category", &[("term", kind)])?;
                }
                text_line(xml, "summary", &entry.summary)
            })?;
            end_line(xml)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_hidden_goes_and_long_text_ends() {
        assert_eq!(shown(" a\n\tb\u{202e}c\u{0} ", 10), "a bc");
        assert_eq!(shown("ééé", 2), "éé…");
        assert_eq!(shown("a\u{ffff}\u{1fffe}\u{fdd0}b", 10), "ab");
        assert_eq!(shown(&"x".repeat(10_000), 200).chars().count(), 201);
        assert_eq!(shown("عربي 😀", 20), "عربي 😀");
    }

    #[test]
    fn one_agent_is_not_agents() {
        assert_eq!(
            [0, 1, 2].map(agents_that_speak),
            ["0 agents that speak", "1 agent that speaks", "2 agents that speak"]
        );
    }

    #[test]
    fn only_plain_https_addresses_are_linked() {
        assert_eq!(link("https://example.com/a b").as_deref(), Some("https://example.com/a%20b"));
        for refused in
            ["http://example.com", "javascript:alert(1)", "https://u:p@example.com", "https://", "x", "data:,x"]
        {
            assert_eq!(link(refused), None, "{refused}");
        }
        assert_eq!(link(&format!("https://example.com/{}", "x".repeat(3000))), None);
    }

    #[test]
    fn addresses_are_short_and_keep_what_tells_them_apart() {
        assert_eq!(short("https://github.com/a/b/"), "a/b");
        assert_eq!(short("https://github.com/a/b/tree/main/c"), "github.com/a/b/tree/main/c");
        assert_eq!(short("https://www.example.com/"), "example.com");
        assert_eq!(short("https://docs.example.com/x?y=z"), "docs.example.com/x?y=z");
        assert_eq!(short(&format!("https://example.com/{}", "x".repeat(100))).chars().count(), 61);
    }

    #[test]
    fn json_cannot_leave_its_block() {
        let value = json!({ "k": "</script><!-- & \u{2028}" });
        let text = json_in_html(&value);
        assert!(!text.contains(['<', '>', '&']) && text.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn markdown_is_only_text() {
        assert_eq!(markdown("[a](b) <i> `c`"), "\\[a\\]\\(b\\) \\<i\\> \\`c\\`");
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(
            [0, 9_999, 10_000, 123_456, 1_000_000].map(grouped),
            ["0", "9999", "10,000", "123,456", "1,000,000"]
        );
    }
}
