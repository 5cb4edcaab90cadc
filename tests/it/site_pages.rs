//! What the pages of the catalog contain.

use acp_registry::config::SiteConfig;
use serde_json::{Value, json};

use crate::site::{
    BASE, Element, agents, check_pages, elements, history, hostile, pages, site_of, site_with, snapshot, target,
    without_pictures,
};
use crate::support::{Env, tree};

#[test]
fn no_page_has_a_dead_link_or_anything_that_its_policy_would_stop() {
    for count in [0, 1, 60, 61, 230] {
        let files = site_of(&agents(count), &snapshot());
        check_pages(&files);
        let home = String::from_utf8(files["index.html"].clone()).unwrap();
        let shown = if count > 60 { 24 } else { count };
        assert_eq!(home.matches("<img class=\"icon\"").count(), shown);
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

/// A publication after a new version sends few files, whatever the number of lists that the agent is in.
#[test]
fn a_new_version_changes_the_pages_of_its_agent_and_no_list() {
    let mut agents = agents(130);
    let known = history(&agents);
    let render = |agents: &[Value]| site_with(agents, &json!({ "agents": [] }), &known, &without_pictures());
    let before = render(&agents);
    agents[50]["version"] = json!("9.9.9");
    let after = render(&agents);
    let changed = after.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes)).map(|(name, _)| name.as_str());
    let changed: Vec<&str> = changed.filter(|name| !name.starts_with("agents/a00050/")).collect();
    let [catalog, "index.html", "matrix/index.html", "sitemap.xml"] = changed[..] else { panic!("{changed:?}") };
    assert!(catalog.starts_with("assets/catalog."), "{catalog}");
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
fn filters_of_home_are_choices() {
    let mut agents = agents(3);
    agents[0]["license"] = json!("proprietary");
    let files = site_of(&agents, &snapshot());
    let home = String::from_utf8(files["index.html"].clone()).unwrap();
    // All agents are npx packages, which is no choice, and run on each system, which is the answer to a question.
    assert!(!home.contains("name=\"dist\"") && home.contains("name=\"license\""));
    assert!(home.contains("name=\"os\" value=\"windows\""));
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
