//! The size of pages, and that the same input gives the same bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use acp_registry::config::SiteConfig;
use serde_json::{Value, json};

use crate::site::{Files, compressed, elements, site_with, snapshot};
use crate::support::{Env, tree};

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
        ("home, style, scripts", size("index.html") + home + theme + search, 16_000),
        ("scripts of the home page", theme + search, 5_000),
        ("scripts of an agent's page", theme + page + tabs, 5_000),
        ("the matrix", size("matrix/index.html") + style + theme + matrix + compare, 15_000),
        ("the script that comes with the catalog", asset("rank"), 2_500),
        ("the largest guide", guide.unwrap() + style + theme + page, 13_000),
        ("the largest page of an agent", detail.unwrap() + style + agent + theme + page + tabs, 15_000),
        ("catalog", asset("catalog"), 45 * count + 3_000),
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
