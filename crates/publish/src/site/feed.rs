//! Atom feeds of changes (RFC 4287).

use std::io;

use super::change::AgentChange;
use super::xml::{self, Xml, empty_line, end_line, text_line};
use super::{SiteError, SiteFile};

/// A feed.
pub(super) struct Feed<'a> {
    pub(super) base_url: &'a str,
    /// Path of the feed.
    pub(super) path: &'a str,
    /// Path of the page with the same changes.
    pub(super) page: &'a str,
    pub(super) title: &'a str,
    /// Time of the newest event. It may be in another feed.
    pub(super) updated: &'a str,
    pub(super) changes: &'a [AgentChange],
}

impl Feed<'_> {
    /// Renders the feed.
    pub(super) fn file(&self) -> Result<SiteFile, SiteError> {
        let bytes = xml::document("feed", "http://www.w3.org/2005/Atom", |xml| {
            let address = format!("{}/{}", self.base_url, self.path);
            text_line(xml, "title", self.title)?;
            text_line(xml, "id", &address)?;
            empty_line(xml, "link", &[("rel", "self"), ("type", "application/atom+xml"), ("href", &address)])?;
            page_link(xml, &format!("{}/{}", self.base_url, self.page))?;
            text_line(xml, "updated", self.updated)?;
            xml.create_element("author").write_inner_content(|xml| xml::text(xml, "name", &[], "ACP agents"))?;
            end_line(xml)?;
            self.changes.iter().try_for_each(|change| self.entry(xml, change))
        })?;
        Ok((self.path.to_owned(), bytes))
    }

    fn entry(&self, xml: &mut Xml, change: &AgentChange) -> io::Result<()> {
        let AgentChange { id, kind, label, name, version, time, .. } = change;
        let address = format!("{}/agents/{id}/", self.base_url);
        xml.create_element("entry").write_inner_content(|xml| {
            end_line(xml)?;
            text_line(xml, "title", &format!("{label}: {name} {version}"))?;
            text_line(xml, "id", &format!("{address}#{kind}-{time}"))?;
            let page = if change.is_there { address } else { format!("{}/changes/", self.base_url) };
            page_link(xml, &page)?;
            text_line(xml, "updated", time)?;
            empty_line(xml, "category", &[("term", kind)])?;
            text_line(xml, "summary", &summary(change))
        })?;
        end_line(xml)
    }
}

fn page_link(xml: &mut Xml, address: &str) -> io::Result<()> {
    empty_line(xml, "link", &[("rel", "alternate"), ("type", "text/html"), ("href", address)])
}

fn summary(change: &AgentChange) -> String {
    let AgentChange { kind, name, version, from, .. } = change;
    match from {
        Some(from) => format!("{name} {version} follows {from}."),
        None if *kind == "added" => format!("{name} {version} is in the registry."),
        None => format!("{name} is no longer in the registry; its last version was {version}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_xml::events::Event;

    #[test]
    fn what_a_manifest_says_is_text() {
        let hostile = "</title><x a=\"'\"> & ]]> é";
        let change = AgentChange {
            id: "a".to_owned(),
            kind: "withdrawn",
            label: "Withdrawn",
            name: hostile.to_owned(),
            version: hostile.to_owned(),
            from: None,
            time: "2026-01-01T00:00:00Z".to_owned(),
            day: "2026-01-01".to_owned(),
            is_there: false,
        };
        let feed = Feed {
            base_url: "https://example.com",
            path: "agents/a/feed.atom",
            page: "agents/a/",
            title: hostile,
            updated: "2026-01-01T00:00:00Z",
            changes: &[change],
        };
        let (_, bytes) = feed.file().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut reader = quick_xml::Reader::from_str(&text);
        let (mut depth, mut names) = (0, Vec::new());
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => {
                    depth += 1;
                    names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                }
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0);
        assert_eq!(
            names,
            ["feed", "title", "id", "updated", "author", "name", "entry", "title", "id", "updated", "summary"]
        );
        let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>&lt;/title&gt;";
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with("</summary>\n</entry>\n</feed>"), "{text}");
    }
}
