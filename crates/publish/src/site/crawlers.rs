//! Files for search engines, browsers, hosts and language models. The sitemap is split if it has too many addresses.

use std::collections::HashMap;
use std::io;

use acp_registry_gate::config::AgentFile;
use acp_registry_plan::timestamp::Timestamp;

use super::docs::GUIDES;
use super::listing::Listing;
use super::pages::Site;
use super::text::{Xml, empty_line, end_line, text_line};
use super::{CSP, ICON_CSP, SiteError, SiteFile, text};
use crate::contents::{ENTRY, FIXED};

/// The number of agents that `llms.txt` lists: more than these do not fit what language models read at once.
const LISTED: usize = 500;

/// Renders all of these files. `pages` are the file names of the pages.
pub(super) fn files<'a>(
    site: &Site,
    listings: &[Listing<'_>],
    pages: impl Iterator<Item = &'a str>,
) -> Result<Vec<SiteFile>, SiteError> {
    let mut paths: Vec<String> =
        pages.filter_map(|name| name.strip_suffix("index.html")).map(ToOwned::to_owned).collect();
    paths.sort_unstable();
    let mut robots = "User-agent: *\nAllow: /\n".to_owned();
    let mut files = Vec::new();
    if site.has_address() {
        robots.push_str(&format!("Sitemap: {}/sitemap.xml\n", site.base_url));
        // When what an agent's page says of it changed: its version, or how it was found to be.
        let days = listings.iter().filter_map(|listing| {
            let found = listing.answered_on().map(ToOwned::to_owned);
            Some((format!("agents/{}/", listing.id), found.max(listing.updated().map(Timestamp::day))?))
        });
        files.extend(sitemap(&site.base_url, &paths, &days.collect())?);
        files.push(("opensearch.xml".to_owned(), open_search(&site.base_url)?));
    }
    files.extend([
        ("robots.txt".to_owned(), robots.into_bytes()),
        ("llms.txt".to_owned(), llms(site, listings).into_bytes()),
        ("_headers".to_owned(), headers(site.config.agent_files.contains(&AgentFile::Card)).into_bytes()),
    ]);
    Ok(files)
}

/// Renders `opensearch.xml`, which lets browsers search the catalog from the address bar.
fn open_search(base_url: &str) -> io::Result<Vec<u8>> {
    text::document("OpenSearchDescription", "http://a9.com/-/spec/opensearch/1.1/", |xml| {
        text_line(xml, "ShortName", "ACP agents")?;
        text_line(xml, "Description", "Agents that speak the Agent Client Protocol")?;
        text_line(xml, "InputEncoding", "UTF-8")?;
        let template = format!("{base_url}/?q={{searchTerms}}");
        empty_line(xml, "Url", &[("type", "text/html"), ("method", "get"), ("template", &template)])
    })
}

fn llms(site: &Site, listings: &[Listing<'_>]) -> String {
    let mut out = format!(
        "# ACP agents\n\n> {} the Agent Client Protocol, with the ways to install and start them.\n\n## Data\n\n\
         - [registry.json]({base}/registry.json): all agents\n- [agent.schema.json]({base}/agent.schema.json): the meaning of each member\n\
         - [All files]({base}/api/): what else there is\n\n## Documentation\n\n",
        text::agents_that_speak(listings.len()),
        base = site.base_url
    );
    for guide in &GUIDES {
        out.push_str(&format!("- [{}]({}/docs/{}/): {}\n", guide.title, site.base_url, guide.id, guide.about));
    }
    out.push_str("\n## Agents\n\n");
    let has = |file| site.config.agent_files.contains(&file);
    let file = if has(AgentFile::Markdown) {
        "index.md"
    } else if has(AgentFile::Json) {
        "agent.json"
    } else {
        ""
    };
    for listing in listings.iter().take(LISTED) {
        let [name, summary] = [&listing.name, &listing.summary].map(|text| text::markdown(text));
        out.push_str(&format!("- [{name}]({}/agents/{}/{file}): {summary}\n", site.base_url, listing.id));
    }
    if listings.len() > LISTED {
        out.push_str(&format!(
            "\nThese are the first {LISTED} of {} agents by name. [registry.json]({base}/registry.json) has all; \
             [the lists from A to Z]({base}/all/1/) have 100 on each page.\n",
            listings.len(),
            base = site.base_url
        ));
    }
    out
}

/// Renders `_headers` for hosts that read it. Icons have a policy of their own.
fn headers(has_cards: bool) -> String {
    // A card has its policy in itself, and other pages may frame it.
    let cards = if has_cards { "/agents/*/card.html\n  ! Content-Security-Policy\n" } else { "" };
    format!(
        "/*\n  Content-Security-Policy: {CSP}; frame-ancestors 'none'\n  X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n\
         /*.svg\n  ! Content-Security-Policy\n  Content-Security-Policy: {ICON_CSP}\n\
         {cards}/assets/*\n  Cache-Control: {FIXED}\n\
         /entry-lists/*\n  Cache-Control: {FIXED}\n\
         /entries.json\n  Cache-Control: {ENTRY}\n\
         /entries/*\n  Cache-Control: {ENTRY}\n"
    )
}

/// The maximum number of addresses in a sitemap, set by the sitemap protocol.
const ADDRESSES: usize = 50_000;

const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// Renders `sitemap.xml`: all pages, or an index of the parts that list them.
fn sitemap(base_url: &str, paths: &[String], days: &Days) -> Result<Vec<SiteFile>, SiteError> {
    parts(base_url, paths, days, ADDRESSES).map_err(SiteError::from)
}

/// The day of the last change of pages, `YYYY-MM-DD`, where it is known.
type Days = HashMap<String, String>;

fn parts(base_url: &str, paths: &[String], days: &Days, limit: usize) -> io::Result<Vec<SiteFile>> {
    let address = |path: &String| (format!("{base_url}/{path}"), days.get(path));
    let pages = |paths: &[String]| list("urlset", "url", paths.iter().map(address));
    if paths.len() <= limit {
        return Ok(vec![("sitemap.xml".to_owned(), pages(paths)?)]);
    }
    let names: Vec<String> = (1..=paths.len().div_ceil(limit)).map(|number| format!("sitemap-{number}.xml")).collect();
    let mut files = vec![("sitemap.xml".to_owned(), list("sitemapindex", "sitemap", names.iter().map(address))?)];
    for (name, paths) in names.into_iter().zip(paths.chunks(limit)) {
        files.push((name, pages(paths)?));
    }
    Ok(files)
}

/// Renders a document that lists addresses, with the days on which they last changed.
fn list<'a>(
    root: &str,
    item: &str,
    addresses: impl Iterator<Item = (String, Option<&'a String>)>,
) -> io::Result<Vec<u8>> {
    text::document(root, NAMESPACE, |xml: &mut Xml| {
        for (address, day) in addresses {
            xml.create_element(item).write_inner_content(|xml| {
                text::text(xml, "loc", &[], &address)?;
                day.map_or(Ok(()), |day| text::text(xml, "lastmod", &[], day))
            })?;
            end_line(xml)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_that_would_be_too_long_is_divided() {
        let paths: Vec<String> = (0..5).map(|number| format!("p{number}/")).collect();
        let days = Days::from([("p3/".to_owned(), "2026-01-02".to_owned())]);
        let names = |limit| {
            let files = parts("https://example.com", &paths, &days, limit).unwrap();
            files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(names(5).len(), 1);
        let files = names(2);
        let listed: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(listed, ["sitemap.xml", "sitemap-1.xml", "sitemap-2.xml", "sitemap-3.xml"]);
        assert!(files[2].1.contains("<loc>https://example.com/p3/</loc><lastmod>2026-01-02</lastmod></url>"));
        assert_eq!(files.iter().map(|(_, text)| text.matches("lastmod>").count()).sum::<usize>(), 2);
        assert_eq!(files[0].1.matches("<loc>https://example.com/sitemap-").count(), 3);
        assert_eq!(files[1..].iter().map(|(_, text)| text.matches("<loc>").count()).sum::<usize>(), 5);
    }
}
