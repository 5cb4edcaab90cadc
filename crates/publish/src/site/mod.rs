//! RENDER: a published index to the pages of the catalog site.
//!
//! * [`Catalog`]: renders the files of the site, in parts
//!
//! Pages are templates in `templates/` of the repository; XML is written element by element (`text`). Style and scripts are
//! plain files in `assets/` here; comments are removed from scripts. Links are relative, so that the site works below any
//! path. Pictures for link previews are drawn when the site is built. Texts from manifests are limited in length and escaped. Pages load nothing from other hosts.

mod api;
mod assets;
mod capabilities;
mod catalog;
mod changes;
mod crawlers;
mod detail;
mod docs;
mod examinations;
mod facets;
mod facts;
mod listing;
mod matrix;
mod pages;
mod picture;
mod setup;
mod text;

use acp_registry_plan::failure::Failure;
use std::io;

use acp_registry_client::index::FACETS;
use acp_registry_client::index::minisign::PublicKey;
use acp_registry_gate::config::{AgentFile, Previews, SiteConfig};
use acp_registry_plan::revocations::Revocations;
use acp_registry_plan::timestamp::Timestamp;
use askama::Template;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tree::{Render, RenderError};
use acp_registry_gate::history::History;
use facets::GROUPS;
use listing::Listing;
use pages::{Frame, Home, NotFound, Question, ShownGroup, ShownValue, Site};

pub use listing::Known;

/// The home page shows all agents up to this number.
const ALL: usize = 60;
/// How many agents the home page shows at a time, if there are more.
const FIRST: usize = 24;

/// The questions that the home page answers with one click: text, group and value.
const QUESTIONS: [(&str, &str, &str); 6] = [
    ("Open source", "license", "open"),
    ("No API key", "auth", "no-key"),
    ("No Node.js or Python", "dist", "binary"),
    ("Runs on Windows", "os", "windows"),
    ("Started and answered", "started", "answered"),
    ("Resumes sessions", "cap", "session-resume"),
];

/// The Content Security Policy of the agents' icons. An SVG that is opened directly is a document, which could run
/// scripts.
pub(crate) const ICON_CSP: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The page for unknown addresses where the address of the site is not known: it needs no other file.
const NOT_FOUND: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<meta name=\"robots\" content=\"noindex\">
<title>Page not found – ACP agents</title>
<h1>Page not found</h1>
<p>There is no page at this address. If it was an agent’s, the agent may have been renamed or withdrawn.
<p>The list of all agents is on the start page of this site.
</html>
";

/// The Content Security Policy of all pages: no inline scripts or styles, nothing from other hosts, and no text can
/// become markup or code.
pub(crate) const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The inputs of the site.
#[derive(Clone, Copy)]
pub struct SiteOptions<'a> {
    /// The published index, as JSON.
    pub index: &'a [u8],
    /// Base URL of the published tree, without a slash at the end; `.` if it is not known, so that nothing has an address.
    pub base_url: &'a str,
    /// The URL of the index that the commands on the pages name; `None` for the default registry.
    pub registry_url: Option<&'a str>,
    /// The key that signs the registry.
    pub signer: Option<PublicKey>,
    /// The `[site]` settings of the configuration.
    pub config: &'a SiteConfig,
    /// What is known of the agents.
    pub known: &'a Known,
    /// The history of the registry.
    pub history: &'a History,
    /// Returns the content of `<id>.svg`, if it is published for an agent.
    pub icon: &'a (dyn Fn(&str) -> Option<&'a [u8]> + Sync),
    /// The versions that the registry has recalled.
    pub revocations: &'a Revocations,
    /// Returns the list of the earlier versions of an agent, if it is published.
    pub earlier: &'a (dyn Fn(&str) -> Option<&'a [u8]> + Sync),
}

/// Why the site cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The index is not JSON.
    #[error("the index cannot be read: {0}")]
    Index(#[from] serde_json::Error),
    /// The catalog that the search script loads cannot be written.
    #[error("the data of the search cannot be written: {0}")]
    Catalog(#[source] serde_json::Error),
    /// A template cannot be rendered.
    #[error("a page cannot be rendered: {0}")]
    Template(#[from] askama::Error),
    /// A feed, a sitemap or a badge cannot be written.
    #[error("an XML file cannot be written: {0}")]
    Xml(#[from] io::Error),
    /// A picture for link previews cannot be drawn.
    #[error("a picture cannot be drawn: {0}")]
    Picture(#[source] io::Error),
}

/// Path and content of a file.
type SiteFile = (String, Vec<u8>);

/// The catalog site of an index, to be rendered in parts.
pub struct Catalog<'a> {
    site: Site,
    listings: Vec<Listing<'a>>,
    options: SiteOptions<'a>,
    /// Style, scripts, icon and the catalog that the search script loads.
    assets: Vec<SiteFile>,
}

impl<'a> Catalog<'a> {
    /// Reads the index.
    ///
    /// # Errors
    /// [`SiteError::Index`] if the index is not JSON.
    pub fn new(options: SiteOptions<'a>) -> Result<Self, SiteError> {
        let index: RawIndex<'a> = serde_json::from_slice(options.index)?;
        let events = options.history.by_agent();
        let has_icon = |id: &str| (options.icon)(id).is_some();
        let listing = |entry| Listing::new(entry, options.known, options.revocations, &events, &has_icon);
        let mut listings: Vec<Listing<'_>> = index.agents.into_par_iter().filter_map(listing).collect();
        listings.par_sort_by_cached_key(Listing::order);
        let (paths, mut files) = assets::Assets::all();
        let catalog_text = catalog::text(&listings)?;
        let catalog = assets::hashed("catalog", "json", catalog_text.as_bytes());
        files.push((catalog.clone(), catalog_text.into_bytes()));
        let site = Site {
            base_url: options.base_url.to_owned(),
            registry_url: options.registry_url.map(ToOwned::to_owned),
            signer: options.signer.map(|key| key.to_string()),
            config: options.config.clone(),
            assets: paths,
            catalog,
            previews: options.config.previews.of(listings.len()),
            groups: shown_groups(&listings),
            letters: pages::letters(&listings),
            has_feeds: listings.iter().any(|listing| !listing.events.is_empty()),
        };
        Ok(Self { site, listings, options, assets: files })
    }

    /// The parts of the site: all but the [last](Self::last) files.
    pub fn parts(&self) -> Vec<Render<'_>> {
        let (site, listings) = (&self.site, &*self.listings);
        let options = &self.options;
        // Parts of many agents take longest, and come first: no thread waits for one at the end.
        let mut parts: Vec<Render<'_>> = vec![
            part(|| pages::all(site, listings)),
            part(|| matrix::pages(site, listings)),
            part(|| setup::pages(site, listings)),
            part(|| examinations::files(site, listings)),
            part(|| Ok(vec![(FACETS.to_owned(), catalog::facets(listings).into_bytes())])),
            part(|| self.changes()),
            part(|| self.documentation()),
            part(|| self.picture_of_site()),
            part(|| Ok(vec![page("", &home(site, listings))?])),
            part(|| Ok(self.assets.clone())),
        ];
        parts.extend(site.values().map(|(group, value)| part(move || pages::value_list(site, listings, group, value))));
        parts.extend(listings.iter().map(|listing| part(move || detail::files(site, options, listing))));
        if self.options.config.agent_files.contains(&AgentFile::Card) {
            let card = |listing| detail::card(site, listing, (options.icon)(&listing.id));
            parts.extend(listings.iter().map(|listing| part(move || Ok(vec![card(listing)?]))));
        }
        if site.previews == Previews::OfAgents {
            let picture = |listing| picture::agent(listing, (options.icon)(&listing.id)).map_err(SiteError::Picture);
            parts.extend(listings.iter().map(|listing| part(move || Ok(vec![picture(listing)?]))));
        }
        parts
    }

    fn picture_of_site(&self) -> Result<Vec<SiteFile>, SiteError> {
        if self.site.previews == Previews::None {
            return Ok(Vec::new());
        }
        let icons = self.listings.iter().filter_map(|listing| (self.options.icon)(&listing.id));
        let drawn = picture::site(self.listings.len(), icons).map_err(SiteError::Picture)?;
        Ok(vec![(picture::OF_SITE.to_owned(), drawn)])
    }

    fn changes(&self) -> Result<Vec<SiteFile>, SiteError> {
        let changelog = changes::Changelog::new(&self.site, self.options.history, &self.listings);
        let mut files = changelog.pages()?;
        files.extend(changelog.feeds()?);
        files.extend(changelog.json(self.options.history));
        Ok(files)
    }

    fn documentation(&self) -> Result<Vec<SiteFile>, SiteError> {
        let mut files = docs::pages(&self.site)?;
        files.extend(docs::schemas(&self.site.base_url));
        files.push(page("docs/rules/", &docs::rules(&self.site))?);
        Ok(files)
    }

    /// The files that name the other files of the tree, from the names of these.
    ///
    /// # Errors
    /// [`SiteError`] if a file cannot be rendered.
    pub fn last<'b>(&self, names: impl Iterator<Item = &'b str>) -> Result<Vec<SiteFile>, SiteError> {
        let names: Vec<&str> = names.collect();
        let api = page("api/", &api::page(&self.site, &|path| is_there(&names, path)))?;
        let pages = names.into_iter().chain([&*api.0]);
        let mut files = crawlers::files(&self.site, &self.listings, pages)?;
        // Hosts show it at any depth, where no relative link leads anywhere.
        let missing = if self.site.has_address() { not_found(&self.site).render()? } else { NOT_FOUND.to_owned() };
        files.extend([api, ("404.html".to_owned(), missing.into_bytes())]);
        Ok(files)
    }
}

fn part<'a>(render: impl Fn() -> Result<Vec<SiteFile>, SiteError> + Send + Sync + 'a) -> Render<'a> {
    Box::new(move || render().map_err(RenderError::new))
}

/// An index. Its entries are read one by one, because an entry in memory takes several times its text.
#[derive(Deserialize)]
struct RawIndex<'a> {
    #[serde(borrow, default)]
    agents: Vec<&'a RawValue>,
}

/// Whether the tree has a file of this path. Paths with placeholders count as missing.
fn is_there(names: &[&str], path: &str) -> bool {
    let is_optional = [
        "history.json", "new.atom", "updated.atom", "examinations.json", "examined.atom", "examined/index.html",
        "sitemap.xml", "opensearch.xml", "revoked.json",
    ]
    .contains(&path);
    !path.contains('{') && (!is_optional || names.contains(&path))
}

/// Renders a page at a path that ends in a slash.
fn page(path: &str, template: &impl Template) -> Result<SiteFile, SiteError> {
    Ok((format!("{path}index.html"), template.render()?.into_bytes()))
}

/// The filter groups, with the values that at least one agent has. Groups in which no agent was tested are omitted.
fn shown_groups(listings: &[Listing<'_>]) -> Vec<ShownGroup> {
    let shown = GROUPS.iter().map(|group| {
        let count = |bits: u32| listings.iter().filter(|listing| listing.bits[group.column] & bits != 0).count();
        let values = group.values.iter();
        let values = values.map(|value| ShownValue { facet: value, count: count(value.bits), is_telling: true });
        ShownGroup { facet: group, values: values.filter(|value| value.count > 0).collect() }
    });
    let is_untested = |group: &ShownGroup| group.values.iter().all(|value| value.facet.slug == "untested");
    let mut shown: Vec<ShownGroup> = shown.filter(|group| !is_untested(group)).collect();
    for group in &mut shown {
        // What all agents have excludes none. Among alternatives it is an answer: that all agents run on Windows.
        let is_choice = !group.facet.is_all && group.values.len() > 1;
        for value in &mut group.values {
            value.is_telling = is_choice || value.count < listings.len();
        }
        // The capabilities that most agents have come first.
        if group.facet.is_all {
            group.values.sort_by_key(|value| std::cmp::Reverse(value.count));
        }
    }
    shown
}

fn home<'a>(site: &'a Site, listings: &'a [Listing<'a>]) -> Home<'a> {
    let total = listings.len();
    let mut cards: Vec<&Listing<'_>> = listings.iter().collect();
    if total > ALL {
        // Sorted by name until now, and the sort is stable.
        cards.sort_by_key(|listing| std::cmp::Reverse(listing.updated().map(Timestamp::days)));
        cards.truncate(FIRST);
    }
    let value = |key: &str, slug: &str| {
        let values = site.groups.iter().filter(|group| group.facet.key == key).flat_map(|group| &group.values);
        values.clone().find(|value| value.facet.slug == slug && value.is_telling)
    };
    let question = |(text, key, slug): (&'static str, &'static str, &'static str)| {
        Some(Question { text, key, slug, count: value(key, slug)?.count })
    };
    let description = format!("Find, compare and set up {} the Agent Client Protocol.", text::agents_that_speak(total));
    Home {
        f: Frame::new(site, "", "ACP agents", &description),
        agents: text::agents_that_speak(total),
        questions: QUESTIONS.into_iter().filter_map(question).collect(),
        by_date: total > ALL && site.has_feeds,
        shown: cards.len(),
        cards,
        total,
    }
}

/// Hosts serve this page at any path, so its links start at the root of the site.
fn not_found(site: &Site) -> NotFound<'_> {
    let path = url::Url::parse(&site.base_url).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
    let root = format!("{}/", path.trim_end_matches('/'));
    let frame = Frame::new(site, "", "Page not found", "Page not found.");
    NotFound { f: Frame { root, path: None, ..frame } }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Self {
        Self::unable(error).help("leave the site out with --no-site, and report this as a bug of acp-registry")
    }
}
