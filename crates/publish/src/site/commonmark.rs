//! Renders the Markdown of the guides as HTML for the site: headings have anchors, code and tables can be scrolled
//! with the keyboard, and links to files become links to pages.
//!
//! The Markdown is written by this project and trusted. Values from the configuration are inserted before text is
//! escaped.

use std::collections::BTreeSet;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::guides::{GUIDES, REFERENCE};

/// A rendered document.
pub(super) struct Rendered {
    /// The part before the first section, as HTML.
    pub(super) intro: String,
    /// The sections, as HTML.
    pub(super) body: String,
    pub(super) sections: Vec<Section>,
}

/// A section with a heading of level 2.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
}

/// Links to files of the repository other than documents, as written in `docs/`, and the pages that replace them.
const PAGES: [(&str, &str); 4] = [
    ("../../crates/gate/src/check/rules/", "../rules/"),
    ("../../crates/publish/src/site/contents.rs", "../../api/"),
    ("../../../../schemas/cli/", "../../api/"),
    // A table made from these schemas.
    ("members.md", "../../api/"),
];

/// Renders a document. `put_in` transforms text before it is escaped.
pub(super) fn render(markdown: &str, put_in: &dyn Fn(&str) -> String) -> Rendered {
    let events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut out =
        Writer { put_in, events: Vec::new(), sections: Vec::new(), ids: BTreeSet::new(), snippets: 0, tables: 0 };
    let mut intro = None;
    for (at, event) in events.iter().enumerate() {
        if matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H2, .. })) && intro.is_none() {
            intro = Some(out.html());
        }
        out.add(event, &events[at + 1..]);
    }
    let body = out.html();
    Rendered { intro: intro.unwrap_or_default(), body, sections: out.sections }
}

struct Writer<'a, 'b> {
    put_in: &'b dyn Fn(&str) -> String,
    events: Vec<Event<'a>>,
    sections: Vec<Section>,
    ids: BTreeSet<String>,
    snippets: usize,
    tables: usize,
}

impl<'a> Writer<'a, '_> {
    /// Returns the HTML of the events since the last call.
    fn html(&mut self) -> String {
        let mut text = String::new();
        html::push_html(&mut text, self.events.drain(..));
        text
    }

    fn add(&mut self, event: &Event<'a>, rest: &[Event<'a>]) {
        let event = match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading(*level, rest),
            Event::Start(Tag::CodeBlock(kind)) => self.code(kind),
            Event::End(TagEnd::CodeBlock) => markup("</code></pre></div>\n"),
            Event::Start(Tag::Table(_)) => {
                self.tables += 1;
                let open = format!(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table {}\">",
                    self.tables
                );
                self.events.push(markup(open));
                event.clone()
            }
            Event::End(TagEnd::Table) => {
                self.events.push(event.clone());
                markup("</div>\n")
            }
            Event::Start(Tag::Link { dest_url, .. }) => inline(open_link(dest_url)),
            Event::End(TagEnd::Link) => inline("</a>"),
            Event::Text(text) => Event::Text((self.put_in)(text).into()),
            Event::Code(text) => Event::Code((self.put_in)(text).into()),
            _ => event.clone(),
        };
        self.events.push(event);
    }

    fn heading(&mut self, level: HeadingLevel, rest: &[Event<'a>]) -> Event<'a> {
        let own = rest.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let title: String = own
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let mut id = slug(&title);
        while !self.ids.insert(id.clone()) {
            id.push_str("-more");
        }
        if level == HeadingLevel::H2 {
            self.sections.push(Section { id: id.clone(), title });
        }
        Event::Start(Tag::Heading { level, id: Some(id.into()), classes: Vec::new(), attrs: Vec::new() })
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>) -> Event<'a> {
        self.snippets += 1;
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        // Examples with a prompt or with output have no button to copy them.
        let (label, is_copied) = match language {
            "sh" => ("Shell", true),
            "console" => ("Example", false),
            "json" => ("JSON", false),
            "toml" => ("TOML", true),
            "rust" => ("Rust", true),
            _ => ("Text", false),
        };
        let name = format!("{label} {}", self.snippets);
        let copy = if is_copied {
            format!("<button type=\"button\" class=\"copy needs-js\" aria-label=\"Copy: {name}\">Copy</button>")
        } else {
            String::new()
        };
        markup(format!(
            "<div class=\"snippet\"><p class=\"label\">{label}</p>{copy}\
             <pre tabindex=\"0\" role=\"region\" dir=\"ltr\" aria-label=\"{name}\"><code>"
        ))
    }
}

fn markup<'a>(text: impl Into<CowStr<'a>>) -> Event<'a> {
    Event::Html(text.into())
}

fn inline<'a>(text: impl Into<CowStr<'a>>) -> Event<'a> {
    Event::InlineHtml(text.into())
}

/// Opens a link to a page of the site or to an https address. Other targets lead to the top of the page.
fn open_link(target: &str) -> String {
    match super::text::link(target) {
        Some(address) => format!("<a href=\"{}\" rel=\"noopener noreferrer\">", address.replace('&', "&amp;")),
        None => format!("<a href=\"{}\">", page(target).unwrap_or_else(|| "#main".to_owned())),
    }
}

/// The page for a link to a file, or to a heading in a file.
fn page(target: &str) -> Option<String> {
    if let Some((_, page)) = PAGES.iter().find(|(file, _)| *file == target) {
        return Some((*page).to_owned());
    }
    let (file, heading) = target.split_at(target.find('#').unwrap_or(target.len()));
    if heading.chars().any(|c| !c.is_alphanumeric() && !"#-".contains(c)) {
        return None;
    }
    if file.is_empty() {
        return Some(heading.to_owned());
    }
    let id = file.rsplit('/').next()?.strip_suffix(".md")?;
    GUIDES.iter().chain(&REFERENCE).any(|guide| guide.id == id).then(|| format!("../{id}/{heading}"))
}

/// The anchor of a heading.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        render(markdown, &|text| text.replace("HERE", "<b>\"&")).body
    }

    #[test]
    fn what_is_put_in_stays_text() {
        let body = html("## HERE `HERE`\n\nHERE [HERE](https://example.com/?a=1&b=HERE)\n\n```sh\nHERE\n```\n");
        assert!(!body.contains("<b>"), "{body}");
        assert_eq!(body.matches("&lt;b&gt;").count(), 5, "{body}");
        assert!(body.contains("href=\"https://example.com/?a=1&amp;b=HERE\" rel=\"noopener noreferrer\""), "{body}");
    }

    #[test]
    fn headings_have_places_of_their_own() {
        let rendered = render("# Title\n\nLead\n\n## It works\n\n### Deep\n\n## It works!\n", &str::to_owned);
        assert_eq!(rendered.intro, "<h1 id=\"title\">Title</h1>\n<p>Lead</p>\n");
        let sections: Vec<(&str, &str)> =
            rendered.sections.iter().map(|section| (section.id.as_str(), section.title.as_str())).collect();
        assert_eq!(sections, [("it-works", "It works"), ("it-works-more", "It works!")]);
        assert!(rendered.body.starts_with("<h2 id=\"it-works\">") && rendered.body.contains("<h3 id=\"deep\">"));
    }

    #[test]
    fn code_and_tables_can_be_reached_by_the_keyboard_and_have_names() {
        let body = html("## A\n\n```sh\na\n```\n\n```console exit-1\n$ a\n```\n\n| a |\n|---|\n| b |\n");
        for part in [
            "aria-label=\"Shell 1\"", "aria-label=\"Copy: Shell 1\"", "aria-label=\"Example 2\"",
            "aria-label=\"Table 1\"",
        ] {
            assert_eq!(body.matches(part).count(), 1, "{part}: {body}");
        }
        assert_eq!(body.matches("tabindex=\"0\" role=\"region\"").count(), 3);
        assert_eq!(body.matches("class=\"copy").count(), 1);
    }

    #[test]
    fn every_link_of_a_guide_leads_somewhere() {
        let mut seen = 0;
        for (guide, folder) in
            GUIDES.iter().map(|guide| (guide, "docs/guides")).chain(REFERENCE.iter().map(|page| (page, "docs")))
        {
            for event in Parser::new(guide.text) {
                let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
                assert!(!open_link(&dest_url).contains("#main"), "{}: {dest_url}", guide.id);
                seen += 1;
                if dest_url.starts_with("https://") {
                    continue;
                }
                let (file, heading) = dest_url.split_once('#').unwrap_or((&dest_url, ""));
                let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(file);
                assert!(path.exists(), "{}: {dest_url}", guide.id);
                if !heading.is_empty() {
                    let text =
                        if file.is_empty() { guide.text.to_owned() } else { std::fs::read_to_string(path).unwrap() };
                    let sections = render(&text, &ToOwned::to_owned).sections;
                    assert!(sections.iter().any(|section| section.id == heading), "{}: {dest_url}", guide.id);
                }
            }
        }
        assert!(seen > 3);
    }

    #[test]
    fn a_guide_begins_with_its_title() {
        for guide in GUIDES.iter().chain(&REFERENCE) {
            assert!(guide.text.starts_with(&format!("# {}\n\n", guide.title)), "{}", guide.id);
        }
        assert_eq!(page("../verifying.md#one-agent").as_deref(), Some("../verifying/#one-agent"));
        assert_eq!(page("#one-agent").as_deref(), Some("#one-agent"));
        for target in ["other.md", "user.md#\"", "../../LICENSE"] {
            assert_eq!(page(target), None, "{target}");
        }
    }
}
