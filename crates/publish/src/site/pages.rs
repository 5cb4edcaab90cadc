//! RENDER: the page templates and their data; and the lists of agents: all from A to Z, and those of each filter value.

use acp_registry_gate::config::{Previews, SiteConfig};
use askama::Template;
use rayon::prelude::*;
use serde_json::json;

use super::assets::Assets;
use super::facets::{FacetGroup, Value};
use super::listing::Listing;
use super::text::{agents_that_speak, json_in_html};
use super::{SiteError, SiteFile, page, picture};
use crate::tree::HERE;

/// The data that all pages share.
pub(super) struct Site {
    pub(super) base_url: String,
    /// The URL of the index that commands name; `None` for the default registry.
    pub(super) registry_url: Option<String>,
    /// The key that signs the registry.
    pub(super) signer: Option<String>,
    pub(super) config: SiteConfig,
    pub(super) assets: Assets,
    /// Path of the catalog.
    pub(super) catalog: String,
    /// Which pictures there are for link previews.
    pub(super) previews: Previews,
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
    pub(super) facet: &'static FacetGroup,
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
    pub(super) facet: &'static Value,
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

    /// The links of the header: path, name, and the value of `aria-current`, if the page is in this part of the site: `page` if
    /// it is the one that the link leads to.
    pub(super) fn sections(&self) -> [(&'static str, &'static str, Option<&'static str>); 5] {
        let page = self.path.as_deref().unwrap_or_default();
        SECTIONS.map(|(path, name)| {
            let folder = path.split_inclusive('/').next().unwrap_or(path);
            let current = if page == path { Some("page") } else { page.starts_with(folder).then_some("true") };
            (path, name, current)
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

/// Agents of a list below one heading.
pub(super) struct ListSection<'a> {
    /// The letter that their names begin with; `None` in lists without letters.
    letter: Option<char>,
    cards: &'a [&'a Listing<'a>],
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

/// The number of agents on a page.
const PAGE: usize = 100;

/// Renders `/all/N/`.
pub(super) fn all(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<SiteFile>, SiteError> {
    let agents: Vec<&Listing<'_>> = listings.iter().collect();
    pages(site, &agents, "all", "All agents from A to Z", None)
}

/// Renders `/<group>/<value>/` and its further pages `/<group>/<value>/N/`.
pub(super) fn value_list(
    site: &Site,
    listings: &[Listing<'_>],
    group: &ShownGroup,
    value: &ShownValue,
) -> Result<Vec<SiteFile>, SiteError> {
    let (group, value) = (group.facet, value.facet);
    let has = |listing: &&Listing<'_>| listing.bits[group.column] & value.bits != 0;
    let agents: Vec<&Listing<'_>> = listings.iter().filter(has).collect();
    let heading = format!("{}: {}", group.title, value.label);
    let query = format!("{}={}", group.key, value.slug);
    pages(site, &agents, &format!("{}/{}", group.key, value.slug), &heading, Some(&query))
}

/// The first letter of a name; `#` for everything but the Latin letters without marks.
fn letter(listing: &Listing<'_>) -> char {
    let first = listing.name.chars().next().unwrap_or('#').to_ascii_uppercase();
    if first.is_ascii_uppercase() { first } else { '#' }
}

/// The parts of a page. Each letter is a heading once: names without one can be first and last.
fn by_letter<'a>(cards: &'a [&'a Listing<'a>]) -> Vec<ListSection<'a>> {
    let mut parts: Vec<ListSection<'a>> = Vec::new();
    for cards in cards.chunk_by(|one, other| letter(one) == letter(other)) {
        let letter = cards.first().map(|first| letter(first));
        let is_new = parts.iter().all(|part| part.letter != letter);
        parts.push(ListSection { letter: letter.filter(|_| is_new), cards });
    }
    parts
}

/// The letters that names begin with, each with the path of its first agent in the complete list.
pub(super) fn letters(listings: &[Listing<'_>]) -> Vec<(String, String)> {
    let mut letters: Vec<(String, String)> = Vec::new();
    for (at, listing) in listings.iter().enumerate() {
        let letter = letter(listing);
        if letters.iter().all(|(known, _)| !known.starts_with(letter)) {
            letters.push((letter.to_string(), format!("all/{}/#letter-{}", at / PAGE + 1, anchor(letter))));
        }
    }
    letters
}

fn pages(
    site: &Site,
    agents: &[&Listing<'_>],
    folder: &str,
    heading: &str,
    query: Option<&str>,
) -> Result<Vec<SiteFile>, SiteError> {
    let count = agents.len().div_ceil(PAGE).max(1);
    // The first page of a filter value has no number; all pages of the complete list do.
    let is_bare = |number: usize| number == 1 && query.is_some();
    let address = |number| if is_bare(number) { format!("{folder}/") } else { format!("{folder}/{number}/") };
    let one = |number: usize| {
        let path = address(number);
        let is_near = |other: &usize| *other == 1 || *other == count || other.abs_diff(number) <= 3;
        let title = if count == 1 { heading.to_owned() } else { format!("{heading}, page {number}") };
        let description = format!("{heading}: {} the Agent Client Protocol.", agents_that_speak(agents.len()));
        let cards = agents.chunks(PAGE).nth(number - 1).unwrap_or_default();
        let is_by_letter = query.is_none();
        let list = List {
            f: Frame::new(site, &path, &format!("{title} – ACP agents"), &description),
            heading,
            query,
            parts: if is_by_letter { by_letter(cards) } else { vec![ListSection { letter: None, cards }] },
            has_letters: is_by_letter,
            total: agents.len(),
            page: number,
            pages: count,
            near: (1..=count).filter(is_near).map(|other| (other, address(other), other == number)).collect(),
            previous: (number > 1).then(|| address(number - 1)),
            next: (number < count).then(|| address(number + 1)),
        };
        page(&path, &list)
    };
    (1..=count).into_par_iter().map(one).collect()
}
