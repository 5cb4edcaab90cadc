//! The page of an agent, and its entry as a file of its own.

use serde_json::{Map, Value, json};

use super::facets::capabilities;
use super::install::{clients, start};
use super::listing::Listing;
use super::pages::{Detail, Frame, Site, Target};
use super::text::{json_in_html, link, shown};
use super::{File, SiteError, page};
use crate::manifest::BinaryTarget;

/// The files of an agent.
pub(super) fn files(site: &Site, listing: &Listing<'_>) -> Result<[File; 2], SiteError> {
    let path = format!("agents/{}/", listing.id);
    let description = if listing.summary.is_empty() { &listing.name } else { &listing.summary };
    let distribution = &listing.agent.distribution;
    let row_version =
        listing.row.and_then(|row| row.version.as_deref()).map_or_else(String::new, |text| shown(text, 40));
    let auth = listing.row.into_iter().flat_map(|row| &row.auth_methods).take(20);
    let detail = Detail {
        f: Frame::new(site, &path, &format!("{} – ACP agents", listing.name), description),
        a: listing,
        json_ld: json_in_html(&json_ld(site, listing)),
        preview: listing.agent.preview.as_ref().map(|preview| shown(&preview.version, 40)),
        clients: clients(listing),
        packages: distribution
            .packages()
            .map(|(kind, package)| (kind.as_str(), shown(&package.package, 200)))
            .collect(),
        targets: distribution.binary.iter().take(20).map(target).collect(),
        row_version: if row_version.is_empty() { listing.version.clone() } else { row_version },
        capabilities: listing
            .row
            .map(|row| capabilities().map(|(feature, value)| (value.label, row.state(&feature))).collect())
            .unwrap_or_default(),
        auth: auth.map(|(name, kind)| (shown(name, 80), shown(kind, 40))).collect(),
    };
    let entry = crate::json::to_string(listing.entry).into_bytes();
    Ok([page(&path, &detail)?, (format!("{path}agent.json"), entry)])
}

fn target(target: &BinaryTarget) -> Target {
    let (os, arch) = target.platform.split_once('-').unwrap_or((&target.platform, ""));
    let os = match os {
        "darwin" => "macOS".to_owned(),
        "linux" => "Linux".to_owned(),
        "windows" => "Windows".to_owned(),
        other => shown(other, 40),
    };
    let url = link(&target.archive);
    let file = url.as_deref().and_then(|url| url.split(['?', '#']).next()?.rsplit('/').next());
    let file = file.filter(|file| !file.is_empty()).map_or_else(|| "archive".to_owned(), |file| shown(file, 80));
    Target {
        os,
        arch: shown(arch, 40),
        file,
        url,
        digest: target.sha256.as_deref().map(|digest| shown(digest, 64)),
        start: start(&target.platform, &target.cmd, &target.args, &target.env),
    }
}

/// What search engines may know, all of it from the manifest.
fn json_ld(site: &Site, listing: &Listing<'_>) -> Value {
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    set("@context", json!("https://schema.org"));
    set("@type", json!("SoftwareApplication"));
    set("name", json!(listing.name));
    if !listing.description.is_empty() {
        set("description", json!(listing.description));
    }
    set("url", json!(format!("{}/agents/{}/", site.base_url, listing.id)));
    set("applicationCategory", json!("DeveloperApplication"));
    set("softwareVersion", json!(listing.version));
    if let Some(url) = &listing.license_url {
        set("license", json!(url));
    }
    if let Some(url) = &listing.website {
        set("sameAs", json!(url));
    }
    if !listing.authors.is_empty() {
        set("author", listing.authors.iter().map(|name| json!({ "@type": "Thing", "name": name })).collect());
    }
    if !listing.agent.distribution.binary.is_empty() {
        set("operatingSystem", json!(listing.labels("os")));
    }
    Value::Object(object)
}
