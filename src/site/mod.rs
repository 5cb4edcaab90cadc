//! RENDER: a published index to the pages of the catalog site.
//!
//! * [`render`]: index and capability snapshot to files, without touching the disk
//! * [`Capabilities`]: the snapshot
//! * [`snippet`]: serialisers for the languages of settings
//!
//! Pages are templates in `templates/`; style and scripts are plain files in `src/site/assets/`. Links are relative, so that
//! the site works below any path. What manifests say is bounded and escaped; nothing on a page comes from another host.

mod assets;
mod capabilities;
mod catalog;
mod detail;
mod facets;
mod install;
mod listing;
mod lists;
mod pages;
mod rules;
pub mod snippet;
mod text;

use std::collections::BTreeMap;

use askama::Template;
use rayon::prelude::*;
use serde_json::Value;

pub use capabilities::{Capabilities, SnapshotError};
use facets::GROUPS;
use listing::Listing;
use pages::{Frame, Home, NotFound, OpenSearch, ShownGroup, ShownValue, Site, Sitemap};

/// How many agents the home page shows at a time.
const FIRST: usize = 24;

/// The policy of the icons of agents: opened directly, an SVG is a document.
pub const ICON_CSP: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The policy of every page. Nothing inline, nothing from elsewhere, and no text becomes markup or code.
pub const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

/// What the site is made of.
pub struct Options<'a> {
    /// The published index, as JSON.
    pub index: &'a [u8],
    /// Address under which the tree will be found, without a slash at the end.
    pub base_url: &'a str,
    /// What agents answered when they were last started.
    pub capabilities: &'a Capabilities,
    /// Whether `<id>.svg` is published for an agent.
    pub has_icon: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Why there is no site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The index is not JSON.
    #[error("the index cannot be read: {0}")]
    Index(#[from] serde_json::Error),
    /// A template fails.
    #[error("a page cannot be rendered: {0}")]
    Template(#[from] askama::Error),
}

/// A file of the site: its path and its content.
type File = (String, Vec<u8>);

/// Renders all pages. The same options give the same bytes.
///
/// # Errors
/// [`SiteError`]; a well-formed index gives none.
pub fn render(options: &Options<'_>) -> Result<BTreeMap<String, Vec<u8>>, SiteError> {
    let index: Value = serde_json::from_slice(options.index)?;
    let entries = index.get("agents").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut listings: Vec<Listing<'_>> =
        entries.par_iter().filter_map(|entry| Listing::new(entry, options.capabilities, options.has_icon)).collect();
    listings.par_sort_by(Listing::order);

    let (assets, mut files) = assets::Assets::all();
    let catalog_text = catalog::text(&listings);
    let catalog = assets::hashed("catalog", "json", catalog_text.as_bytes());
    files.push((catalog.clone(), catalog_text.into_bytes()));
    let site =
        Site { base_url: options.base_url.to_owned(), csp: CSP, assets, catalog, groups: shown_groups(&listings) };

    files.extend(
        listings
            .par_iter()
            .map(|listing| detail::files(&site, listing))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten(),
    );
    files.push(page("", &home(&site, &listings))?);
    files.extend(lists::all(&site, &listings)?);
    files.extend(lists::by_facet(&site, &listings)?);
    files.extend(lists::matrix(&site, &listings)?);
    files.push(page("docs/rules/", &rules::page(&site))?);
    files.push(("404.html".to_owned(), not_found(&site).render()?.into_bytes()));
    files.push(("opensearch.xml".to_owned(), OpenSearch { base_url: &site.base_url }.render()?.into_bytes()));
    files.push(("sitemap.xml".to_owned(), sitemap(&site, &listings).render()?.into_bytes()));
    files.push((
        "robots.txt".to_owned(),
        format!("User-agent: *\nAllow: /\nSitemap: {}/sitemap.xml\n", site.base_url).into_bytes(),
    ));
    files.push(("llms.txt".to_owned(), llms(&site, &listings).into_bytes()));
    files.push(("_headers".to_owned(), headers().into_bytes()));
    Ok(files.into_iter().collect())
}

/// The file of a page at a path that ends in a slash.
fn page(path: &str, template: &impl Template) -> Result<File, SiteError> {
    Ok((format!("{path}index.html"), template.render()?.into_bytes()))
}

/// The groups and values that at least one agent has. Where all are alike there is nothing to choose, but much to read.
fn shown_groups(listings: &[Listing<'_>]) -> Vec<ShownGroup> {
    let shown = GROUPS.iter().map(|group| {
        let count = |bits: u32| listings.iter().filter(|listing| listing.bits[group.column] & bits != 0).count();
        let values = group.values.iter().map(|value| ShownValue {
            slug: value.slug,
            label: value.label,
            bits: value.bits,
            count: count(value.bits),
        });
        let values = values.filter(|value| value.count > 0).collect();
        ShownGroup { key: group.key, title: group.title, column: group.column, is_all: group.is_all, values }
    });
    let is_untested = |group: &ShownGroup| group.values.iter().all(|value| value.slug == "untested");
    shown.filter(|group| !is_untested(group)).collect()
}

fn home<'a>(site: &'a Site, listings: &'a [Listing<'a>]) -> Home<'a> {
    let (shown, total) = (listings.len().min(FIRST), listings.len());
    let description = format!("Find, compare and set up {total} agents that speak the Agent Client Protocol.");
    Home { f: Frame::new(site, "", "ACP agents", &description), cards: &listings[..shown], shown, total }
}

/// The page is shown in place of any other, so that its links begin at the root of the host.
fn not_found(site: &Site) -> NotFound<'_> {
    let path = url::Url::parse(&site.base_url).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
    let root = format!("{}/", path.trim_end_matches('/'));
    let frame = Frame::new(site, "", "There is no such page", "There is no such page.");
    NotFound { f: Frame { root, path: None, ..frame } }
}

fn sitemap<'a>(site: &'a Site, listings: &[Listing<'_>]) -> Sitemap<'a> {
    let mut paths = vec![String::new(), "all/1/".to_owned(), "matrix/".to_owned(), "docs/rules/".to_owned()];
    for group in &site.groups {
        paths.extend(group.values.iter().map(|value| format!("{}/{}/", group.key, value.slug)));
    }
    paths.extend(listings.iter().map(|listing| format!("agents/{}/", listing.id)));
    Sitemap { base_url: &site.base_url, paths }
}

fn llms(site: &Site, listings: &[Listing<'_>]) -> String {
    let mut out = format!(
        "# ACP agents\n\n> {} agents that speak the Agent Client Protocol, with the ways to install and start them.\n\n## Data\n\n\
         - [registry.json]({base}/registry.json): all agents\n- [agent.schema.json]({base}/agent.schema.json): what a member means\n\n## Agents\n\n",
        listings.len(),
        base = site.base_url
    );
    for listing in listings {
        let [name, summary] = [&listing.name, &listing.summary].map(|text| text::markdown(text));
        out.push_str(&format!("- [{name}]({}/agents/{}/agent.json): {summary}\n", site.base_url, listing.id));
    }
    out
}

/// For hosts that read `_headers`. Icons get a policy of their own instead of the pages'.
fn headers() -> String {
    format!(
        "/*\n  Content-Security-Policy: {CSP}; frame-ancestors 'none'\n  X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n\
         /*.svg\n  ! Content-Security-Policy\n  Content-Security-Policy: {ICON_CSP}\n\
         /assets/*\n  Cache-Control: public, max-age=31536000, immutable\n"
    )
}
