//! RENDER: the page templates and their data.

use askama::Template;
use serde_json::json;

use super::assets::Assets;
use super::listing::Listing;
use super::picture;
use super::text::json_in_html;
use crate::tree::HERE;
use acp_registry_gate::config::{Previews, SiteConfig};

/// The data that all pages share.
pub(super) struct Site {
    pub(super) base_url: String,
    /// The URL of the index that commands name; `None` for the default registry.
    pub(super) registry_url: Option<String>,
    pub(super) config: SiteConfig,
    pub(super) csp: &'static str,
    pub(super) assets: Assets,
    /// Path of the catalog.
    pub(super) catalog: String,
    /// Which pictures there are for link previews.
    pub(super) previews: Previews,
    /// Path of the script that the search loads with it.
    pub(super) rank: String,
    /// The filter groups to show.
    pub(super) groups: Vec<ShownGroup>,
    /// The first letters of names: letter, path of the list at its first agent.
    pub(super) letters: Vec<(String, String)>,
    /// Whether the history has events.
    pub(super) has_feeds: bool,
}

impl Site {
    /// Whether the address of the site is known. Without it, there is nothing that needs one: no canonical links, feeds,
    /// sitemap and description of the search.
    pub(super) fn has_address(&self) -> bool {
        self.base_url != HERE
    }

    /// Whether there are feeds of all agents.
    pub(super) fn has_feed_files(&self) -> bool {
        self.has_feeds && self.has_address()
    }

    /// All filter values, with their groups.
    pub(super) fn values(&self) -> impl Iterator<Item = (&ShownGroup, &ShownValue)> {
        self.groups.iter().flat_map(|group| group.values.iter().map(move |value| (group, value)))
    }
}

/// A filter group, with the values that at least one agent has.
pub(super) struct ShownGroup {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) hint: &'static str,
    pub(super) column: usize,
    pub(super) is_all: bool,
    pub(super) values: Vec<ShownValue>,
}

impl ShownGroup {
    /// The values that are offered.
    pub(super) fn telling(&self) -> impl Iterator<Item = &ShownValue> {
        self.values.iter().filter(|value| value.is_telling)
    }

    /// Whether a choice among the values changes the list.
    pub(super) fn is_telling(&self) -> bool {
        self.telling().next().is_some()
    }
}

/// A filter value, and how many agents have it.
pub(super) struct ShownValue {
    pub(super) slug: &'static str,
    pub(super) label: &'static str,
    pub(super) bits: u32,
    pub(super) count: usize,
    /// Whether it is offered: it has alternatives, or excludes some agents.
    pub(super) is_telling: bool,
}

/// A question that a click answers: the value of a filter, with a text of its own.
pub(super) struct Question {
    pub(super) text: &'static str,
    pub(super) key: &'static str,
    pub(super) slug: &'static str,
    /// How many agents have the value.
    pub(super) count: usize,
}

/// The parts of the site that the header of every page links to: path and name.
const SECTIONS: [(&str, &str); 5] = [
    ("all/1/", "A–Z"),
    ("matrix/", "Capabilities"),
    ("editors/", "Editors"),
    ("changes/", "Changes"),
    ("docs/", "Docs"),
];

/// A link to a part of the site.
pub(super) struct Section {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    /// The value of `aria-current`, if the page is in this part: `page` if it is the one that the link leads to.
    pub(super) current: Option<&'static str>,
}

/// The metadata of a page, and its place in the site.
pub(super) struct Frame<'a> {
    pub(super) site: &'a Site,
    /// The relative path from the page to the root of the site.
    pub(super) root: String,
    /// The path of the page, without a leading slash; `None` for the error page, which has no fixed address.
    pub(super) path: Option<String>,
    pub(super) title: String,
    pub(super) description: String,
    /// The picture for link previews, and what it shows.
    pub(super) picture: Option<(String, String)>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(site: &'a Site, path: &str, title: &str, description: &str) -> Self {
        let depth = path.matches('/').count();
        let root = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
        let [title, description] = [title, description].map(ToOwned::to_owned);
        let picture = (picture::OF_SITE.to_owned(), "The catalog of ACP agents".to_owned());
        let picture = (site.previews != Previews::None).then_some(picture);
        Self { site, root, path: Some(path.to_owned()), title, description, picture }
    }

    /// Uses the picture of an agent, if agents have pictures.
    pub(super) fn with_agent(self, id: &str, name: &str) -> Self {
        let picture = (picture::path(id), format!("{name}, an ACP agent"));
        let picture = if self.site.previews == Previews::OfAgents { Some(picture) } else { self.picture };
        Self { picture, ..self }
    }

    /// The links of the header.
    pub(super) fn sections(&self) -> [Section; 5] {
        let page = self.path.as_deref().unwrap_or_default();
        SECTIONS.map(|(path, name)| {
            let folder = path.split_inclusive('/').next().unwrap_or(path);
            let current = if page == path { Some("page") } else { page.starts_with(folder).then_some("true") };
            Section { path, name, current }
        })
    }

    /// Whether the page is the home page, which has a search of its own.
    pub(super) fn is_home(&self) -> bool {
        self.path.as_deref() == Some("")
    }

    /// Metadata of the site for search engines as JSON-LD.
    pub(super) fn site_json_ld(&self) -> String {
        let base = &self.site.base_url;
        json_in_html(&json!({
            "@context": "https://schema.org",
            "@type": "WebSite",
            "name": "ACP agents",
            "description": self.description,
            "url": format!("{base}/"),
            "potentialAction": {
                "@type": "SearchAction",
                "target": { "@type": "EntryPoint", "urlTemplate": format!("{base}/?q={{search_term_string}}") },
                "query-input": "required name=search_term_string",
            },
        }))
    }
}

#[derive(Template)]
#[template(path = "home.html")]
pub(super) struct Home<'a> {
    pub(super) f: Frame<'a>,
    /// The number of agents, as the start of a sentence.
    pub(super) agents: String,
    pub(super) questions: Vec<Question>,
    pub(super) cards: Vec<&'a Listing<'a>>,
    /// Whether the agents that were updated last come first, instead of all by name.
    pub(super) by_date: bool,
    pub(super) shown: usize,
    pub(super) total: usize,
}

#[derive(Template)]
#[template(path = "list.html")]
pub(super) struct List<'a> {
    pub(super) f: Frame<'a>,
    pub(super) heading: &'a str,
    /// The query of the home page that selects the same agents.
    pub(super) query: Option<&'a str>,
    /// The agents, each part below a heading.
    pub(super) parts: Vec<ListSection<'a>>,
    /// Whether there are links to letters.
    pub(super) has_letters: bool,
    pub(super) total: usize,
    pub(super) page: usize,
    pub(super) pages: usize,
    /// The pages to link to: number, address, and whether it is the current page.
    pub(super) near: Vec<(usize, String, bool)>,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

#[derive(Template)]
#[template(path = "rules.html")]
pub(super) struct Rules<'a> {
    pub(super) f: Frame<'a>,
    pub(super) rule_groups: Vec<RuleGroup>,
}

/// The rules of a group.
pub(super) struct RuleGroup {
    pub(super) name: &'static str,
    pub(super) rules: Vec<ShownRule>,
}

/// The documentation of a rule.
pub(super) struct ShownRule {
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) level: &'static str,
    pub(super) summary: &'static str,
    pub(super) why: &'static str,
    pub(super) fix: &'static str,
    pub(super) examples: Vec<ShownExample>,
}

/// An example of a rule.
pub(super) struct ShownExample {
    pub(super) title: String,
    pub(super) text: String,
}

/// Agents of a list below one heading.
pub(super) struct ListSection<'a> {
    /// The letter that their names begin with; `None` in lists without letters.
    pub(super) letter: Option<char>,
    pub(super) cards: &'a [&'a Listing<'a>],
}

impl ListSection<'_> {
    /// The letter, and its part of the heading's id.
    pub(super) fn heading(&self) -> Option<(char, String)> {
        self.letter.map(|letter| (letter, anchor(letter)))
    }
}

#[derive(Template)]
#[template(path = "404.html")]
pub(super) struct NotFound<'a> {
    pub(super) f: Frame<'a>,
}

/// The part of an id that stands for a letter.
pub(super) fn anchor(letter: char) -> String {
    if letter == '#' { "other".to_owned() } else { letter.to_string() }
}
