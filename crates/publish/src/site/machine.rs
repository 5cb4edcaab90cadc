//! Files for search engines, browsers, hosts and language models.

use askama::Template;

use super::guides::GUIDES;
use super::listing::Listing;
use super::pages::Site;
use super::{CSP, File, ICON_CSP, SiteError, text};
use acp_registry_gate::config::AgentFile;

/// How many addresses one sitemap may have.
const SITEMAP: usize = 50_000;

#[derive(Template)]
#[template(path = "sitemap.xml")]
struct Sitemap<'a> {
    base_url: &'a str,
    paths: &'a [String],
}

#[derive(Template)]
#[template(path = "sitemap-index.xml")]
struct SitemapIndex<'a> {
    base_url: &'a str,
    parts: usize,
}

#[derive(Template)]
#[template(path = "opensearch.xml")]
struct OpenSearch<'a> {
    base_url: &'a str,
}

/// All of them. `pages` are the names of the pages' files.
pub(super) fn files<'a>(
    site: &Site,
    listings: &[Listing<'_>],
    pages: impl Iterator<Item = &'a str>,
) -> Result<Vec<File>, SiteError> {
    let mut paths: Vec<String> =
        pages.filter_map(|name| name.strip_suffix("index.html")).map(ToOwned::to_owned).collect();
    paths.sort_unstable();
    let robots = format!("User-agent: *\nAllow: /\nSitemap: {}/sitemap.xml\n", site.base_url);
    let mut files = sitemaps(&site.base_url, &paths, SITEMAP)?;
    files.extend([
        ("opensearch.xml".to_owned(), OpenSearch { base_url: &site.base_url }.render()?.into_bytes()),
        ("robots.txt".to_owned(), robots.into_bytes()),
        ("llms.txt".to_owned(), llms(site, listings).into_bytes()),
        ("_headers".to_owned(), headers().into_bytes()),
    ]);
    Ok(files)
}

fn sitemaps(base_url: &str, paths: &[String], limit: usize) -> Result<Vec<File>, SiteError> {
    if paths.len() <= limit {
        return Ok(vec![("sitemap.xml".to_owned(), Sitemap { base_url, paths }.render()?.into_bytes())]);
    }
    let parts = paths.len().div_ceil(limit);
    let mut files = vec![("sitemap.xml".to_owned(), SitemapIndex { base_url, parts }.render()?.into_bytes())];
    for (at, paths) in paths.chunks(limit).enumerate() {
        files.push((format!("sitemap-{}.xml", at + 1), Sitemap { base_url, paths }.render()?.into_bytes()));
    }
    Ok(files)
}

fn llms(site: &Site, listings: &[Listing<'_>]) -> String {
    let mut out = format!(
        "# ACP agents\n\n> {} the Agent Client Protocol, with the ways to install and start them.\n\n## Data\n\n\
         - [registry.json]({base}/registry.json): all agents\n- [agent.schema.json]({base}/agent.schema.json): what a member means\n\
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
    for listing in listings {
        let [name, summary] = [&listing.name, &listing.summary].map(|text| text::markdown(text));
        out.push_str(&format!("- [{name}]({}/agents/{}/{file}): {summary}\n", site.base_url, listing.id));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_that_would_be_too_long_is_divided() {
        let paths: Vec<String> = (0..5).map(|number| format!("p{number}/")).collect();
        let names = |limit| {
            let files = sitemaps("https://example.com", &paths, limit).unwrap();
            files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(names(5).len(), 1);
        let files = names(2);
        let listed: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(listed, ["sitemap.xml", "sitemap-1.xml", "sitemap-2.xml", "sitemap-3.xml"]);
        assert_eq!(files[0].1.matches("<loc>https://example.com/sitemap-").count(), 3);
        assert_eq!(files[1..].iter().map(|(_, text)| text.matches("<loc>").count()).sum::<usize>(), 5);
    }
}
