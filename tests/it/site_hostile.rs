//! What texts of strangers must not do on a page.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::site::{
    agent, agents, check_pages, elements, history, hostile, pages, site_of, site_with, snapshot, without_pictures,
};
use crate::support::tree;

#[test]
fn text_of_strangers_stays_text() {
    let mut history = history(&hostile());
    for event in history["events"].as_array_mut().unwrap() {
        event["from"] = event["name"].clone();
    }
    let files = site_with(
        &hostile(),
        &json!({ "agents": [ { "id": "h0", "protocol_version": 1, "version": "<b>",
        "auth_methods": [ { "name": "</script><b>", "type": "<i>" } ], "features": { "<u>": true } } ] }),
        &history,
        &without_pictures(),
    );
    check_pages(&files);
    for (name, bytes) in &files {
        // Icons and feeds are documents of their own.
        if [".svg", ".atom", ".xml"].iter().any(|ending| name.ends_with(ending)) {
            let document = roxmltree::Document::parse(std::str::from_utf8(bytes).unwrap()).unwrap();
            let elements = document.descendants().filter(roxmltree::Node::is_element);
            for element in elements {
                assert!(!["script", "img", "b"].contains(&element.tag_name().name()), "{name}");
            }
        }
        if name.ends_with("index.md") {
            let text = std::str::from_utf8(bytes).unwrap();
            assert!(!text.contains(['\u{202e}', '\u{0}', '\u{1b}']) && text.len() < 100_000, "{name}");
            let outside = text.split("```").step_by(2).collect::<String>();
            let outside = outside.replace("\\<", "").replace("<https://", "");
            assert!(!outside.contains('<'), "{name}: {outside}");
        }
    }
    let known: BTreeSet<String> =
        pages(&site_of(&agents(3), &snapshot())).flat_map(|(_, html)| elements(html)).map(|(name, _)| name).collect();
    for (name, html) in pages(&files) {
        // Elements that a page of harmless agents does not have would come from agents.
        for (element, _) in elements(html) {
            assert!(
                known.contains(&element) || ["small", "table", "li"].contains(&element.as_str()),
                "{name} has {element}"
            );
        }
        let text = std::str::from_utf8(html).unwrap();
        assert!(!text.contains(['\u{202e}', '\u{0}', '\u{1b}']), "{name} has hidden characters");
        assert!(name.starts_with("docs/") || html.len() < 100_000, "{name}: {} bytes", html.len());
    }
    let catalog = files.iter().find(|(name, _)| name.starts_with("assets/catalog.")).unwrap().1;
    let catalog: Value = serde_json::from_slice(catalog).unwrap();
    assert_eq!(catalog["id"].as_array().unwrap().len(), hostile().len());
    for text in catalog["text"].as_array().unwrap() {
        assert!(text.as_str().unwrap().chars().count() <= 161);
    }
}

#[test]
fn an_id_that_could_be_a_path_has_no_page() {
    let mut agents = agents(1);
    agents.extend(["../x", "", "a/b", "A", "."].map(agent));
    let files = site_of(&agents, &snapshot());
    assert_eq!(files.keys().filter(|name| name.starts_with("agents/")).count(), 5);
    assert!(files.keys().all(|name| !name.contains("..") && !name.starts_with('/')));
}

#[test]
fn a_snapshot_tells_states_by_their_evidence_and_nothing_of_the_machine() {
    let files = site_of(&agents(2), &snapshot());
    let page = String::from_utf8(files["agents/a00000/index.html"].clone()).unwrap();
    for row in [
        "<div class=\"announced\"><dt>Load</dt><dd>Announced",
        "<div class=\"auth\"><dt>List</dt><dd>Needs sign-in",
        "<div class=\"no\"><dt>Next edit</dt><dd>Not announced",
        "<div class=\"none\"><dt>Fork</dt><dd>Not known",
        "<time datetime=\"2026-11-02\">",
    ] {
        assert!(page.contains(row), "{row}");
    }
    assert!(String::from_utf8_lossy(&files["agents/a00001/index.html"]).contains("has not been tested yet"));
    for (name, bytes) in &files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("THE-STDERR") && !text.contains("THE-COMMAND"), "{name}");
    }
}

#[test]
fn templates_escape_everything_but_the_data_block() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut unescaped = Vec::new();
    // The templates of `init` are written unchanged, and the guides, in Markdown, have another test.
    let is_page = |name: &str| !name.starts_with("init/") && !name.starts_with("docs/");
    for (name, bytes) in tree(&folder).into_iter().filter(|(name, _)| is_page(name)) {
        let text = String::from_utf8(bytes).unwrap().replace(' ', "");
        let is_escaped = [".html", ".xml", ".svg"].iter().any(|ending| name.ends_with(ending));
        assert!(is_escaped, "{name}: the ending decides how text is escaped");
        for forbidden in ["|e(", "|escape(", "{%filter", "escape=\"none\"", "style=\"", "<style", "javascript:"] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
        let value = |at: usize| &text[text[..at].rfind("{{").unwrap() + 2..at];
        unescaped.extend(text.match_indices("|safe").map(|(at, _)| format!("{name}: {}", value(at))));
    }
    let expected =
        ["agent.html: json_ld", "guide.html: text.intro", "guide.html: text.body", "layout.html: f.site_json_ld()"];
    assert_eq!(unescaped, expected);
    for (name, bytes) in tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/publish/src/site")) {
        let text = String::from_utf8(bytes).unwrap();
        for forbidden in [
            "escape = \"none\"", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
            "MarkupDisplay", "filters::Safe",
        ] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
    }
}
