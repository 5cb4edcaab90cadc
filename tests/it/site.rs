//! The catalog site: what its pages contain, and what they must never contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use acp_registry::config::{PreviewSetting, SiteConfig};
use acp_registry::history::History;
use acp_registry::site::{Known, Options, render};
use acp_registry::verify::Snapshot;
use html5gum::{Token, Tokenizer};
use serde_json::{Value, json};

use crate::support::{Env, tree};

pub(crate) const BASE: &str = "https://example.com/some/where";

const ICON: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"><path fill="currentColor" d="M2 2h12v12H2z"/></svg>"#;

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// An element: name and attributes.
pub(crate) type Element = (String, BTreeMap<String, String>);

pub(crate) fn site_of(agents: &[Value], capabilities: &Value) -> Files {
    site_with(agents, capabilities, &history(agents), &without_pictures())
}

/// Pictures take longer to draw than pages, and have tests of their own.
fn without_pictures() -> SiteConfig {
    SiteConfig { previews: PreviewSetting::Switch(false), ..SiteConfig::default() }
}

pub(crate) fn site_with(agents: &[Value], capabilities: &Value, history: &Value, config: &SiteConfig) -> Files {
    let index = json!({ "version": "1.0.0", "agents": agents }).to_string();
    let capabilities = Snapshot::parse(capabilities.to_string().as_bytes()).unwrap();
    let history = History::parse(history.to_string().as_bytes()).unwrap();
    let options = Options {
        index: index.as_bytes(),
        base_url: BASE,
        registry_url: None,
        config,
        known: &Known::of(&capabilities),
        history: &history,
        icon: &|id| (id != "no-icon").then_some(ICON.as_bytes()),
    };
    render(options).unwrap()
}

/// A history in which every agent was added one day and updated the next, and another one was removed.
fn history(agents: &[Value]) -> Value {
    let event = |time: &str, event: &str, agent: &Value, version: &Value| json!({ "time": time, "event": event, "id": agent["id"], "name": agent["name"], "version": version, "from": "0.9.0" });
    let is_plain = |agent: &&Value| !agent["id"].as_str().unwrap().contains(['.', '/', 'A']) && agent["id"] != "";
    let agents = agents.iter().filter(is_plain);
    let gone = json!({ "id": "gone", "name": "<b>Gone</b>" });
    let updated = agents.clone().map(|agent| event("2026-11-03T10:00:00Z", "updated", agent, &agent["version"]));
    let withdrawn = event("2026-11-02T10:00:00Z", "withdrawn", &gone, &json!("0.1.0"));
    let added = agents.map(|agent| event("2026-11-01T10:00:00Z", "added", agent, &json!("0.9.0")));
    json!({ "schema": 1, "events": updated.chain([withdrawn]).chain(added).collect::<Vec<Value>>() })
}

fn agent(id: &str) -> Value {
    json!({ "id": id, "name": format!("Agent {id}"), "version": "1.0.0", "description": "Made for a test",
            "license": "MIT", "distribution": { "npx": { "package": format!("{id}@1.0.0"), "args": ["--acp"] } } })
}

pub(crate) fn agents(count: usize) -> Vec<Value> {
    (0..count).map(|number| agent(&format!("a{number:05}"))).collect()
}

fn snapshot() -> Value {
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
fn target(page: &str, link: &str) -> Option<String> {
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

#[test]
fn no_page_has_a_dead_link_or_anything_that_its_policy_would_stop() {
    for count in [0, 1, 60, 61, 230] {
        let files = site_of(&agents(count), &snapshot());
        check_pages(&files);
        let home = String::from_utf8(files["index.html"].clone()).unwrap();
        let shown = if count > 60 { 24 } else { count };
        assert_eq!(home.matches("<span class=\"tile\"><img").count(), shown);
        let counted = match count {
            1 => "1 agent".to_owned(),
            61.. => format!("24 of {count} agents"),
            _ => format!("{count} agents"),
        };
        assert!(home.contains(&format!("<p id=\"count\">{counted}</p>")));
        assert_eq!(home.contains("id=\"more\" class=\"needs-js\" hidden"), count <= 60);
    }
}

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
fn the_header_marks_the_part_of_the_site_and_has_a_search_unless_the_page_has_one() {
    let files = site_of(&agents(101), &snapshot());
    for (name, html) in pages(&files) {
        let elements = elements(html);
        let is_current = |(element, attributes): &&Element| element == "a" && attributes.contains_key("aria-current");
        let current: Vec<(String, &str)> = elements
            .iter()
            .filter(is_current)
            .map(|(_, attributes)| (target(name, &attributes["href"]).unwrap(), attributes["aria-current"].as_str()))
            .collect();
        let of = |path: &str| current.iter().find(|(target, _)| target == path).map(|(_, value)| *value);
        assert!(current.iter().all(|(target, value)| *value == "true" || target == name), "{name}: {current:?}");
        let sections = [
            ("all/", "all/1/"),
            ("matrix/", "matrix/"),
            ("editors/", "editors/"),
            ("changes/", "changes/"),
            ("docs/", "docs/"),
        ];
        for (folder, link) in sections {
            let link = format!("{link}index.html");
            let expected = if *name == link { Some("page") } else { name.starts_with(folder).then_some("true") };
            assert_eq!(of(&link), expected, "{name}, {link}");
        }
        let searches = elements.iter().filter(|(_, attributes)| attributes.get("name").is_some_and(|name| name == "q"));
        assert_eq!(searches.count(), 1, "{name}");
        let form = elements.iter().find(|(_, attributes)| attributes.get("role").is_some_and(|role| role == "search"));
        let action = form.unwrap().1.get("action").map(|action| target(name, action).unwrap());
        assert_eq!(action.as_deref(), (name != "index.html").then_some("index.html"), "{name}");
    }
}

#[test]
fn documents_for_machines_parse() {
    let files = site_of(&[hostile(), agents(3)].concat(), &snapshot());
    for name in ["sitemap.xml", "opensearch.xml"] {
        let text = std::str::from_utf8(&files[name]).unwrap();
        let document = roxmltree::Document::parse(text).unwrap();
        for place in document.descendants().filter(|node| node.has_tag_name("loc")) {
            let path = place.text().unwrap().strip_prefix(&format!("{BASE}/")).unwrap();
            assert!(files.contains_key(&format!("{path}index.html")), "{path}");
        }
    }
    for (name, html) in pages(&files).filter(|(name, _)| name.starts_with("agents/")) {
        let text = std::str::from_utf8(html).unwrap();
        let (_, rest) = text.split_once("<script type=\"application/ld+json\">").unwrap();
        let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["@type"], "SoftwareApplication", "{name}");
        let entry: Value = serde_json::from_slice(&files[&name.replace("index.html", "agent.json")]).unwrap();
        assert_eq!(data["url"], format!("{BASE}/agents/{}/", entry["id"].as_str().unwrap()));
    }
    let home = std::str::from_utf8(&files["index.html"]).unwrap();
    let (_, rest) = home.split_once("<script type=\"application/ld+json\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    assert_eq!((&data["@type"], &data["url"]), (&json!("WebSite"), &json!(format!("{BASE}/"))));
    assert_eq!(data["potentialAction"]["target"]["urlTemplate"], format!("{BASE}/?q={{search_term_string}}"));
    let llms = String::from_utf8(files["llms.txt"].clone()).unwrap();
    assert_eq!(llms.lines().filter(|line| line.starts_with("- [")).count(), hostile().len() + 3 + 3 + 4);
    assert!(llms.contains("\\<img") && !llms.replace("\\<", "").contains('<'));
}

/// The size with the best compression of Brotli, which hosts use for static files.
pub(crate) fn compressed(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    out.len()
}

#[test]
fn pages_keep_their_budgets() {
    let env = Env::empty();
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("registry");
    let run = env.run(&["--registry-dir", registry.to_str().unwrap(), "build", "--out", "out"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files: Files = tree(&env.path("out")).into_iter().collect();
    let size = |name: &str| compressed(&files[name]);
    let asset = |stem: &str| {
        let name = files.keys().find(|name| name.starts_with(&format!("assets/{stem}."))).unwrap();
        size(name)
    };
    let count = serde_json::from_slice::<Value>(&files["registry.json"]).unwrap()["agents"].as_array().unwrap().len();
    let [style, theme, search, page, tabs] = ["style", "theme", "search", "page", "tabs"].map(asset);
    let [home, agent, matrix, compare] = ["home", "agent", "matrix", "compare"].map(asset);
    let is_guide = |name: &&String| name.starts_with("docs/") && !name.starts_with("docs/rules/");
    let guide = files.keys().filter(is_guide).map(|name| size(name)).max();
    let detail =
        files.keys().filter(|name| name.starts_with("agents/") && name.ends_with("html")).map(|name| size(name)).max();
    for (name, bytes, budget) in [
        ("home, style, scripts", size("index.html") + home + theme + search, 15_000),
        ("scripts of the home page", theme + search, 5_000),
        ("scripts of an agent's page", theme + page + tabs, 5_000),
        ("the matrix", size("matrix/index.html") + style + theme + matrix + compare, 15_000),
        ("the script that comes with the catalog", asset("similar"), 1_000),
        ("the largest guide", guide.unwrap() + style + theme + page, 12_000),
        ("the largest page of an agent", detail.unwrap() + style + agent + theme + page + tabs, 12_000),
        ("catalog", asset("catalog"), 45 * count + 2_000),
    ] {
        crate::support::told(&format!("{count} agents: {name}: {bytes} of {budget} B (brotli)"));
        assert!(bytes <= budget, "{name}: {bytes} of {budget} B");
    }
    // Resources that a browser fetches before it renders.
    let blocking = elements(&files["index.html"]).into_iter().filter(|(element, attributes)| {
        let is = |key: &str, value: &str| attributes.get(key).is_some_and(|it| it == value);
        (element == "script" && attributes.contains_key("src") && !attributes.contains_key("defer"))
            || (element == "link" && is("rel", "stylesheet"))
    });
    assert!(blocking.count() < 4);
}

#[test]
fn a_large_catalog_keeps_its_budget() {
    // The budget grows with the catalog; the benchmark uses five times as many agents.
    let count = 2_000;
    let words =
        ["amber", "birch", "cobalt", "drift", "ember", "frost", "garnet", "heron", "indigo", "jasper", "kestrel"];
    let mut random = fastrand::Rng::with_seed(7);
    let mut text = |count: usize| -> String {
        let letters =
            |random: &mut fastrand::Rng| (0..random.usize(3..8)).map(|_| random.lowercase()).collect::<String>();
        let mut word =
            || if random.bool() { words[random.usize(..words.len())].to_owned() } else { letters(&mut random) };
        (0..count).map(|_| word()).collect::<Vec<String>>().join(" ")
    };
    let mut agent = |number: usize| {
        let id = format!("{}-{number:05}", text(2).replace(' ', "-"));
        json!({ "id": id, "name": id.replace('-', " "), "version": format!("{}.{}.{}", number % 4, number % 41, number % 97),
                "description": text(9), "authors": [format!("{} Team", text(1))], "license": "MIT",
                "distribution": { "npx": { "package": format!("{id}@1.0.0") } } })
    };
    let agents: Vec<Value> = (0..count).map(&mut agent).collect();
    let event = |(number, agent): (usize, &Value)| {
        let day = format!("20{}-{:02}-{:02}T00:00:00Z", 20 + number % 7, number % 12 + 1, number % 28 + 1);
        json!({ "time": day, "event": "added", "id": agent["id"], "version": agent["version"] })
    };
    let events: Vec<Value> = agents.iter().enumerate().map(event).collect();
    let config = SiteConfig { agent_files: BTreeSet::new(), ..SiteConfig::default() };
    let files = site_with(&agents, &json!({ "agents": [] }), &json!({ "schema": 1, "events": events }), &config);
    let catalog = files.iter().find(|(name, _)| name.starts_with("assets/catalog.")).unwrap().1;
    let (bytes, budget) = (compressed(catalog), 45 * count + 2_000);
    crate::support::told(&format!("{count} agents: catalog: {bytes} of {budget} B (brotli)"));
    assert!(bytes <= budget);
    assert!(compressed(&files["index.html"]) <= 6_000);
}

#[test]
fn the_same_input_gives_the_same_bytes_and_check_sees_no_difference() {
    let env = Env::with(&["one", "two"]).file("caps.json", snapshot().to_string());
    for out in ["out", "again"] {
        let run = env.run(&["build", "--out", out, "--capabilities", "caps.json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    }
    assert_eq!(tree(&env.path("out")), tree(&env.path("again")));
    let sums = env.read("out/SHA256SUMS");
    assert_eq!(sums.lines().count(), tree(&env.path("out")).len() - 1);
    let check = ["build", "--out", "out", "--capabilities", "caps.json", "--check"];
    assert_eq!(env.json(&check).0, 0);
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0, "a tree with folders is replaced");

    // Folders of a tree are compared as well: a change in one is found, and foreign files are not deleted.
    env.write("out/agents/one/index.html", "changed");
    env.write("out/agents/one/mine.txt", "mine");
    env.write("out/own/x", "mine");
    fs::remove_file(env.path("out/404.html")).unwrap();
    let (code, report) = env.json(&["build", "--out", "out", "--check"]);
    let kinds: Vec<(&str, &str)> = report["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| (difference["kind"].as_str().unwrap(), difference["file"].as_str().unwrap()))
        .collect();
    let expected = [
        ("missing", "404.html"),
        ("changed", "agents/one/index.html"),
        ("extra", "agents/one/mine.txt"),
        ("extra", "own"),
    ];
    assert_eq!((code, kinds.as_slice()), (1, expected.as_slice()));
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("agents/one/mine.txt"), "{}", run.stderr);
    assert!(env.path("out/own/x").exists());
}

#[test]
fn without_a_site_there_are_only_the_files_of_the_index() {
    let env = Env::with(&["one"]);
    assert_eq!(env.run(&["build", "--out", "out", "--no-site"]).code, 0);
    let names: Vec<String> = tree(&env.path("out")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["SHA256SUMS", "agent.schema.json", "one.svg", "registry.json", "registry.schema.json"]);
}

#[test]
fn a_snapshot_that_is_none_is_wrong_usage_and_nothing_is_written() {
    let env = Env::with(&["one"]).file("broken.json", "{").file("other.json", "{}");
    for (file, message) in [
        ("broken.json", "broken.json is not JSON"),
        ("other.json", "has no list"),
        ("none.json", "none.json: "),
        (".", ".: is a directory"),
    ] {
        let run = env.run(&["build", "--out", "out", "--capabilities", file]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    assert!(!env.path("out").exists());
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

#[test]
fn every_rule_is_explained() {
    let files = site_of(&agents(1), &snapshot());
    let page = String::from_utf8(files["docs/rules/index.html"].clone()).unwrap();
    for rule in acp_registry::check::RULES {
        assert!(page.contains(&format!("id=\"{}\"", rule.name.replace('/', "-"))), "{}", rule.name);
    }
}

#[test]
fn an_agent_that_gave_no_answer_says_why_and_when() {
    let hostile = "<script>\u{202e}".to_owned() + &"x".repeat(5_000);
    let row = |id: &str, reason: &str, day: Value| json!({ "id": id, "verdict": "fail", "reason": reason, "checked_at": day, "version": "1.0.0" });
    let capabilities = json!({ "agents": [
        row("a00000", "exited", json!("2026-11-21T11:42:04Z")), row("a00001", "install_failed", Value::Null),
        row("a00002", &hostile, json!("2026-11-21T11:42:04Z")),
    ] });
    let files = site_of(&agents(4), &capabilities);
    check_pages(&files);
    let page = |id: &str| String::from_utf8(files[&format!("agents/{id}/index.html")].clone()).unwrap();
    assert!(page("a00000").contains("Started on 2026-11-21, did not answer: the program ended."));
    assert!(page("a00001").contains("Could not be started: the installation failed."));
    let odd = page("a00002");
    assert!(!odd.contains("<script>\u{202e}") && !odd.contains(&"x".repeat(100)), "the reason is bounded and escaped");
    assert!(page("a00003").contains("has not been tested yet"));
    // The filter counts each once.
    for (value, count) in [("silent", 2), ("failed", 1), ("untested", 1)] {
        let list = String::from_utf8(files[&format!("started/{value}/index.html")].clone()).unwrap();
        assert_eq!(list.matches("<li class=\"card\">").count(), count, "{value}");
    }
    assert!(!files.contains_key("started/answered/index.html"));
}

#[test]
fn filters_of_home_exclude_some_agents() {
    let mut agents = agents(3);
    agents[0]["license"] = json!("proprietary");
    let files = site_of(&agents, &snapshot());
    let home = String::from_utf8(files["index.html"].clone()).unwrap();
    // All agents are npx packages, and one has another licence.
    assert!(!home.contains("name=\"dist\"") && !home.contains("name=\"os\"") && home.contains("name=\"license\""));
    assert!(home.contains("data-is=\"license=open\">Open source <small>2</small>"));
    assert!(!home.contains("data-is=\"dist=binary\""));
    // The lists of values exist without a filter for them.
    assert!(files.contains_key("dist/npx/index.html"));
}

#[test]
fn large_registries_start_with_what_is_new_and_have_letters() {
    let count = 561;
    let mut agents = agents(count);
    agents[559]["name"] = json!("Zebra");
    agents[560]["name"] = json!("Émile");
    let event = |id: &str, day: &str| json!({ "time": format!("{day}T00:00:00Z"), "event": "added", "id": id, "version": "1.0.0" });
    let mut events: Vec<Value> =
        agents.iter().map(|agent| event(agent["id"].as_str().unwrap(), "2026-01-01")).collect();
    events.insert(0, event("a00559", "2026-11-20"));
    let files =
        site_with(&agents, &json!({ "agents": [] }), &json!({ "schema": 1, "events": events }), &SiteConfig::default());
    check_pages(&files);
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let home = text("index.html");
    assert_eq!(home.matches("<li class=\"card\">").count(), 24 + 1, "and the one in the template");
    assert!(home.find("agents/a00559/").unwrap() < home.find("agents/a00000/").unwrap());
    for link in ["all/1/#letter-A", "all/6/#letter-Z", "all/6/#letter-other"] {
        assert!(home.contains(&format!("href=\"{link}\"")), "{link}");
    }
    assert!(text("all/6/index.html").contains("id=\"letter-Z\""));
    let llms = text("llms.txt");
    assert_eq!(llms.matches("/index.md)").count(), 500);
    assert!(llms.contains("the first 500 of 561 agents") && llms.contains("/all/1/)"), "{llms}");
    // Sixty agents are all there.
    let home =
        String::from_utf8(site_of(&crate::site::agents(60), &json!({ "agents": [] }))["index.html"].clone()).unwrap();
    assert_eq!(home.matches("<li class=\"card\">").count(), 61);
}
