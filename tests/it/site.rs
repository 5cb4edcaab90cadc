//! The catalog site as tests render it, and the properties that all its pages have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acp_registry::config::{PreviewSetting, SiteConfig};
use acp_registry::history::History;
use acp_registry::revocations::Revocations;
use acp_registry::site::{Catalog, Known, SiteOptions};
use acp_registry::verify::Snapshot;
use html5gum::{Token, Tokenizer};
use serde_json::{Value, json};

pub(crate) const BASE: &str = "https://example.com/some/where";

const ICON: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"><path fill="currentColor" d="M2 2h12v12H2z"/></svg>"#;

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// An element: name and attributes.
pub(crate) type Element = (String, BTreeMap<String, String>);

pub(crate) fn site_of(agents: &[Value], capabilities: &Value) -> Files {
    site_with(agents, capabilities, &history(agents), &without_pictures())
}

/// Pictures take longer to draw than pages, and have tests of their own.
pub(crate) fn without_pictures() -> SiteConfig {
    SiteConfig { previews: PreviewSetting::Switch(false), ..SiteConfig::default() }
}

pub(crate) fn site_with(agents: &[Value], capabilities: &Value, history: &Value, config: &SiteConfig) -> Files {
    let index = json!({ "version": "1.0.0", "agents": agents }).to_string();
    let capabilities = Snapshot::parse(capabilities.to_string().as_bytes()).unwrap();
    let history = History::parse(history.to_string().as_bytes()).unwrap();
    let options = SiteOptions {
        index: index.as_bytes(),
        base_url: BASE,
        registry_url: None,
        signer: None,
        config,
        known: &Known::of(&capabilities),
        history: &history,
        icon: &|id| (id != "no-icon").then_some(ICON.as_bytes()),
        revocations: &Revocations::default(),
        earlier: &|_| None,
    };
    render(options)
}

/// All files of a site.
pub(crate) fn render(options: SiteOptions<'_>) -> BTreeMap<String, Vec<u8>> {
    let catalog = Catalog::new(options).unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = catalog.parts().iter().flat_map(|part| part().unwrap()).collect();
    let last = catalog.last(files.keys().map(String::as_str)).unwrap();
    files.extend(last);
    files
}

/// A history in which every agent was added one day and updated the next, and another one was removed.
pub(crate) fn history(agents: &[Value]) -> Value {
    let event = |time: &str, event: &str, agent: &Value, version: &Value| json!({ "time": time, "event": event, "id": agent["id"], "name": agent["name"], "version": version, "from": "0.9.0" });
    let is_plain = |agent: &&Value| !agent["id"].as_str().unwrap().contains(['.', '/', 'A']) && agent["id"] != "";
    let agents = agents.iter().filter(is_plain);
    let gone = json!({ "id": "gone", "name": "<b>Gone</b>" });
    let updated = agents.clone().map(|agent| event("2026-11-03T10:00:00Z", "updated", agent, &agent["version"]));
    let withdrawn = event("2026-11-02T10:00:00Z", "withdrawn", &gone, &json!("0.1.0"));
    let added = agents.map(|agent| event("2026-11-01T10:00:00Z", "added", agent, &json!("0.9.0")));
    json!({ "schema": 1, "events": updated.chain([withdrawn]).chain(added).collect::<Vec<Value>>() })
}

pub(crate) fn agent(id: &str) -> Value {
    json!({ "id": id, "name": format!("Agent {id}"), "version": "1.0.0", "description": "Made for a test",
            "license": "MIT", "distribution": { "npx": { "package": format!("{id}@1.0.0"), "args": ["--acp"] } } })
}

pub(crate) fn agents(count: usize) -> Vec<Value> {
    (0..count).map(|number| agent(&format!("a{number:05}"))).collect()
}

pub(crate) fn snapshot() -> Value {
    json!({ "agents": [ { "id": "a00000", "version": "1.0.0", "protocol_version": 1, "checked_at": "2026-11-02T00:00:00Z",
        "auth_methods": [ { "id": "k", "name": "Key", "type": "terminal" } ],
        "features": { "session/load": true, "session/list": true, "nes": false }, "probes": { "session/list": "auth_required" },
        "stderr_tail": "THE-STDERR", "command": ["THE-COMMAND"] } ] })
}

pub(crate) fn hostile() -> Vec<Value> {
    let texts = [
        "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"><svg onload=alert(1)>",
        "' onclick='x", "{{ 7 * 7 }} ${x} `y`", "\u{202e}gnp.exe\u{202c}\u{0}\u{1b}[31m", "עברית عربي",
        "👩‍👩‍👧 🇬🇧 e\u{301}", "]]><!--", "javascript:alert(1)",
    ];
    let long = "x".repeat(10_000);
    let make = |(number, text): (usize, &str)| {
        json!({ "id": format!("h{number}"), "name": text, "version": text, "description": format!("{text} {long}"), "license": text,
            "authors": [text, long], "website": text, "repository": format!("https://example.com/{text}"), "license_url": "http://example.com",
            "distribution": {
                "npx": { "package": format!("p@{text}"), "args": [text, "it's", "a\"b", "\\"], "env": { "K": text } },
                "binary": { "linux-x86_64": { "archive": format!("https://example.com/{text}"), "cmd": format!("./{text}"), "args": [text] },
                            text: { "archive": "javascript:alert(1)", "cmd": text, "sha256": text } } },
            "preview": { "version": text } })
    };
    texts.iter().copied().chain([long.as_str()]).enumerate().map(make).collect()
}

pub(crate) fn elements(html: &[u8]) -> Vec<Element> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let element = |token| match token {
        Token::StartTag(tag) => {
            let attributes = tag.attributes.iter().map(|(key, value)| (text(key), text(value))).collect();
            Some((text(&tag.name), attributes))
        }
        Token::Error(error) => panic!("{error:?}"),
        _ => None,
    };
    Tokenizer::new(html).flatten().filter_map(element).collect()
}

pub(crate) fn pages(files: &Files) -> impl Iterator<Item = (&String, &Vec<u8>)> {
    files.iter().filter(|(name, _)| Path::new(name).extension().is_some_and(|ending| ending == "html"))
}

/// The file that a link on a page refers to; `None` for external links.
pub(crate) fn target(page: &str, link: &str) -> Option<String> {
    let base = url::Url::parse(&format!("{BASE}/{page}")).unwrap();
    let url = base.join(link).unwrap();
    let path = url.as_str().split(['?', '#']).next().unwrap().strip_prefix(&format!("{BASE}/"))?.to_owned();
    Some(if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path })
}

/// Asserts the properties of every page of every site.
pub(crate) fn check_pages(files: &Files) {
    let published = ["registry.json", "entries.json", "registry.schema.json", "agent.schema.json", "SHA256SUMS"];
    let mut seen = 0;
    let ids_of = |html: &[u8]| -> BTreeSet<String> {
        elements(html).into_iter().filter_map(|(_, attributes)| attributes.get("id").cloned()).collect()
    };
    let ids: BTreeMap<&String, BTreeSet<String>> = pages(files).map(|(name, html)| (name, ids_of(html))).collect();
    for (name, html) in pages(files) {
        let mut own = BTreeSet::new();
        let elements = elements(html);
        for (element, attributes) in &elements {
            for (key, value) in attributes {
                assert!(!key.starts_with("on") && key != "style" && key != "srcdoc", "{name}: {key}");
                if key == "id" {
                    assert!(own.insert(value.clone()), "{name}: {value} is there twice");
                }
                if (key != "href" && key != "src" && key != "action")
                    || attributes.get("rel").is_some_and(|rel| rel == "canonical")
                {
                    continue;
                }
                seen += 1;
                if let Some(file) = target(name, value) {
                    let is_agent = |id| files.contains_key(&format!("agents/{id}/index.html"));
                    let is_icon = file.strip_suffix(".svg").is_some_and(is_agent);
                    let is_there = files.contains_key(&file) || published.contains(&file.as_str()) || is_icon;
                    assert!(is_there, "{name} links to {value}, which is not there");
                    if let Some((_, fragment)) = value.split_once('#') {
                        assert!(
                            ids[&file].contains(fragment),
                            "{name} links to {value}, which is no part of that page"
                        );
                    }
                } else {
                    assert!(element == "a" && value.starts_with("https://"), "{name}: {element} {value}");
                    assert!(
                        attributes["rel"].contains("noopener") && attributes["rel"].contains("noreferrer"),
                        "{name}: {value}"
                    );
                }
            }
            let kind = attributes.get("type").map(String::as_str);
            let is_data = kind == Some("application/ld+json");
            assert!(element != "script" || is_data || attributes.contains_key("src"), "{name} has a script inside");
            assert!(
                !["style", "iframe", "object", "embed", "base"].contains(&element.as_str()),
                "{name} has {element}"
            );
        }
        let policy = elements
            .iter()
            .find(|(_, attributes)| attributes.get("http-equiv").is_some_and(|it| it == "Content-Security-Policy"));
        let policy = &policy.unwrap().1["content"];
        assert!(
            !policy.contains("unsafe")
                && policy.starts_with("default-src 'none'")
                && policy.contains("trusted-types 'none'")
        );
    }
    assert!(seen > 20);
}

/// The size with the best compression of Brotli, which hosts use for static files.
pub(crate) fn compressed(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    out.len()
}
