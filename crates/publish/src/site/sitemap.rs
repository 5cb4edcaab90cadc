//! The sitemap, which is split if it has too many addresses.

use std::io;

use super::xml::{self, Xml, end_line};
use super::{SiteError, SiteFile};

/// The maximum number of addresses in a sitemap, set by the sitemap protocol.
const ADDRESSES: usize = 50_000;

const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// Renders `sitemap.xml`: all pages, or an index of the parts that list them.
pub(super) fn files(base_url: &str, paths: &[String]) -> Result<Vec<SiteFile>, SiteError> {
    parts(base_url, paths, ADDRESSES).map_err(SiteError::from)
}

fn parts(base_url: &str, paths: &[String], limit: usize) -> io::Result<Vec<SiteFile>> {
    let address = |path: &String| format!("{base_url}/{path}");
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

/// Renders a document that lists addresses.
fn list(root: &str, item: &str, addresses: impl Iterator<Item = String>) -> io::Result<Vec<u8>> {
    xml::document(root, NAMESPACE, |xml: &mut Xml| {
        for address in addresses {
            xml.create_element(item).write_inner_content(|xml| xml::text(xml, "loc", &[], &address))?;
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
        let names = |limit| {
            let files = parts("https://example.com", &paths, limit).unwrap();
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
