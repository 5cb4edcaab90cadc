//! Pictures for link previews: which pages have which, and what they may hold.

use std::collections::{BTreeMap, BTreeSet};

use acp_registry::config::{PreviewSetting, SiteConfig};
use serde_json::{Value, json};

use crate::site::{BASE, Files, agents, elements, hostile, pages, site_with};

/// The size of a PNG, from its header.
fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&png[12..16], b"IHDR");
    assert_eq!(&png[png.len() - 8..png.len() - 4], b"IEND");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

fn site(agents: &[Value], previews: PreviewSetting) -> Files {
    let config = SiteConfig { previews, agent_files: BTreeSet::new(), ..SiteConfig::default() };
    site_with(agents, &json!({ "agents": [] }), &json!({ "schema": 1, "events": [] }), &config)
}

fn pictures(files: &Files) -> Vec<&str> {
    files.keys().map(String::as_str).filter(|name| name.rsplit('.').next() == Some("png")).collect()
}

/// The metadata of a page: `og:…` and `twitter:…`.
fn metadata(html: &[u8]) -> BTreeMap<String, String> {
    let content = |(name, attributes): (String, BTreeMap<String, String>)| {
        let key = attributes.get("property").or_else(|| attributes.get("name"))?.clone();
        (name == "meta").then(|| (key, attributes["content"].clone()))
    };
    elements(html).into_iter().filter_map(content).collect()
}

#[test]
fn each_page_names_a_picture_that_exists_and_its_size() {
    let agents = agents(2);
    for (previews, expected) in [
        (PreviewSetting::Limit(2), vec!["agents/a00000/preview.png", "agents/a00001/preview.png", "preview.png"]),
        (PreviewSetting::Switch(true), vec!["agents/a00000/preview.png", "agents/a00001/preview.png", "preview.png"]),
        (PreviewSetting::Limit(1), vec!["preview.png"]),
        (PreviewSetting::Switch(false), vec![]),
    ] {
        let files = site(&agents, previews);
        assert_eq!(pictures(&files), expected, "{previews:?}");
        for (name, html) in pages(&files) {
            let data = metadata(html);
            if expected.is_empty() {
                assert!(!data.contains_key("og:image") && !data.contains_key("twitter:card"), "{name}");
                continue;
            }
            let own = name.replace("index.html", "preview.png");
            let is_agent = name.starts_with("agents/") && expected.contains(&own.as_str());
            let picture = if is_agent { own.as_str() } else { "preview.png" };
            assert_eq!(data["og:image"], format!("{BASE}/{picture}"), "{name}");
            let (width, height) = size(&files[picture]);
            assert_eq!((width, height), (1200, 630), "{name}");
            assert_eq!((&data["og:image:width"], &data["og:image:height"]), (&width.to_string(), &height.to_string()));
            assert_eq!(data["twitter:card"], "summary_large_image");
            assert!(!data["og:image:alt"].is_empty() && data["og:image:alt"].contains("Agent") == is_agent, "{name}");
        }
    }
}

#[test]
fn agents_of_any_text_have_small_pictures_that_are_the_same_every_time() {
    let agents = [hostile(), agents(1)].concat();
    let (files, again) = (site(&agents, PreviewSetting::default()), site(&agents, PreviewSetting::default()));
    assert_eq!(pictures(&files).len(), agents.len() + 1);
    for name in pictures(&files) {
        assert_eq!(size(&files[name]), (1200, 630), "{name}");
        assert!(files[name].len() < 40_000, "{name}: {} bytes", files[name].len());
        assert!(files[name] == again[name], "{name}");
    }
    // What is shown of two agents differs.
    assert!(files["agents/h0/preview.png"] != files["agents/a00000/preview.png"]);
}
