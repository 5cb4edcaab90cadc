//! That the command and the catalog find the same agents: both answer the queries of `tests/fixtures/search.json`, the catalog by
//! its published script, and the command by what is published beside the index.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use acp_registry::index::{FACETS, Facts, Index, IndexLocation, IndexReader, LoadOptions, Match, PHRASES, Query};
use serde_json::{Value, json};

use crate::people::People;
use crate::server::{ok, status};
use crate::support::{Env, Run, skipped};

/// A query, the agents that match as a whole, and those that match in part.
type Answer = (String, Vec<String>, Vec<String>);

fn vectors() -> Value {
    serde_json::from_str(include_str!("../fixtures/search.json")).unwrap()
}

fn answers(vectors: &Value) -> Vec<Answer> {
    let rows: Vec<(String, String, String)> = serde_json::from_value(vectors["queries"].clone()).unwrap();
    let ids = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect();
    rows.iter().map(|(query, whole, partial)| (query.clone(), ids(whole), ids(partial))).collect()
}

/// Builds the tree of the fixture.
fn publish(vectors: &Value) -> Env {
    let env = Env::empty();
    for agent in vectors["agents"].as_array().unwrap() {
        let folder = format!("registry/{}", agent["id"].as_str().unwrap());
        env.write(&format!("{folder}/agent.json"), agent.to_string());
        env.write(&format!("{folder}/icon.svg"), crate::support::ICON);
    }
    env.write("registry/capabilities.json", vectors["capabilities"].to_string());
    env.write("registry/registry.toml", "[rules]\n\"distribution/missing-os\" = \"off\"\n");
    let run = env.run(&["--registry-dir", "registry", "build", "--out", "tree"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    env
}

/// The facts and the index that a client reads.
fn read(env: &Env) -> (Facts, Index) {
    let place = IndexLocation::Path(env.path("tree"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let client = Box::new(|| unreachable!("a file needs no client"));
    let reader = IndexReader { place: &place, options: LoadOptions::default(), client };
    let facts = runtime.block_on(reader.load_facts());
    (facts.unwrap(), Index::parse(fs::read_to_string(env.path("tree/registry.json")).unwrap()).unwrap())
}

#[test]
fn the_command_answers_all_queries() {
    let vectors = vectors();
    let env = publish(&vectors);
    let (facts, index) = read(&env);
    let answers = answers(&vectors);
    assert!(answers.len() >= 300);
    for (query, whole, partial) in answers {
        let found = Query::new([query.as_str()]).search(index.entries(), Some(&facts));
        let ids = |is_whole: bool| -> Vec<&str> {
            let hits = found.hits.iter().filter(|hit| (hit.matched == Match::Whole) == is_whole);
            hits.map(|hit| hit.entry.id.as_str()).collect()
        };
        assert_eq!(
            (ids(true), ids(false)),
            (whole.iter().map(String::as_str).collect(), partial.iter().map(String::as_str).collect()),
            "{query}"
        );
        assert!(found.hits.is_sorted_by_key(|hit| std::cmp::Reverse(hit.matched)), "{query}");
    }
}

/// Folds texts and answers queries by the published script: `node rank.mjs SCRIPT CATALOG INPUT`.
const RANK: &str = "
import { readFileSync } from 'node:fs';
const [, , script, ...files] = process.argv;
const { open, UNKNOWN, WHOLE } = await import(`data:text/javascript,${encodeURIComponent(readFileSync(script, 'utf8'))}`);
const [catalog, input] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const { fold, parse, rank } = await open(catalog, async (list, size, use) => list.forEach(use));
const answers = [];
for (const query of input.queries) {
  const text = fold(query).trim().replace(/\\s+/g, ' ');
  const ranks = await rank(parse(text), text, () => true);
  const above = (least) => catalog.id.map((id, i) => i).filter((i) => ranks[i] && ranks[i] >= least);
  const found = above(UNKNOWN).length < 5 ? above(0) : above(UNKNOWN);
  found.sort((a, b) => ranks[b] - ranks[a] || a - b);
  const ids = (isWhole) => found.filter((i) => ranks[i] >= WHOLE === isWhole).map((i) => catalog.id[i]);
  answers.push([query, ids(true), ids(false)]);
}
console.log(JSON.stringify({ answers, folds: input.texts.map(fold) }));
";

#[test]
fn the_catalog_answers_all_queries() {
    if Command::new("node").arg("--version").output().is_err() {
        return skipped("the_catalog_answers_all_queries", "node is not installed");
    }
    let vectors = vectors();
    let env = publish(&vectors);
    let asset = |stem: &str| {
        let files = fs::read_dir(env.path("tree/assets")).unwrap().map(|file| file.unwrap().path());
        let is_it = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{stem}."));
        files.into_iter().find(|path| is_it(path)).unwrap()
    };
    let expected = answers(&vectors);
    let (texts, folded): (Vec<&String>, Vec<&Value>) = vectors["folds"].as_object().unwrap().iter().unzip();
    let queries: Vec<&String> = expected.iter().map(|(query, ..)| query).collect();
    env.write("input.json", json!({ "queries": queries, "texts": texts }).to_string());
    env.write("rank.mjs", RANK);
    let mut node = Command::new("node");
    let run = Run::of(node.args([env.path("rank.mjs"), asset("rank"), asset("catalog"), env.path("input.json")]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(output["folds"], json!(folded));
    let found: Vec<Answer> = serde_json::from_value(output["answers"].clone()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_phrase_for_a_filter_finds_the_agents_that_the_filter_leaves() {
    let env = publish(&vectors());
    let (facts, index) = read(&env);
    let published: Value = serde_json::from_slice(&fs::read(env.path("tree").join(FACETS)).unwrap()).unwrap();
    let mut values = BTreeSet::new();
    for (phrases, meaning) in PHRASES {
        let acp_registry::index::Meaning::Fact(filter, value) = meaning else { continue };
        let holders: BTreeSet<&str> =
            published["facets"][filter][value].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        values.insert((filter, value));
        for phrase in *phrases {
            let found = Query::new([*phrase]).search(index.entries(), Some(&facts));
            let whole: BTreeMap<&str, String> = found
                .hits
                .iter()
                .filter(|hit| hit.matched == Match::Whole)
                .map(|hit| (hit.entry.id.as_str(), hit.entry.description.to_lowercase()))
                .collect();
            assert!(holders.iter().all(|id| whole.contains_key(id)), "{phrase}: {whole:?}");
            // Besides, agents that mention the phrase.
            assert!(
                whole.iter().all(|(id, text)| holders.contains(id) || text.contains(phrase)),
                "{phrase}: {whole:?}"
            );
        }
    }
    assert!(values.len() > 30, "{values:?}");
}

#[test]
fn words_that_no_agent_has_are_said_and_leave_the_others_as_they_are() {
    let env = publish(&vectors());
    let search = |index: &str, words: &[&str]| env.run(&[&["search", "--index", index], words].concat());
    let run = search("tree", &["gemni", "qqqq"]);
    assert!(run.stdout.contains("gemini") && !run.stdout.contains("claude-acp"), "{}", run.stdout);
    assert!(run.stderr.contains("`gemni` is read as `gemini`"), "{}", run.stderr);
    assert!(run.stderr.contains("no agent mentions `qqqq`"), "{}", run.stderr);
    assert!(search("tree", &["session", "resume"]).stdout.contains("claude-acp"));
    // A registry that publishes no facts.
    let run = search("tree/registry.json", &["session", "resume"]);
    assert!(run.stdout.contains("claude-acp"), "{}", run.stdout);
    fs::remove_file(env.path("tree").join(FACETS)).unwrap();
    let run = search("tree", &["claude", "session", "resume"]);
    assert!(run.stdout.contains("claude-acp"), "{}", run.stdout);
    assert!(run.stderr.contains("the registry publishes nothing about `session resume`"), "{}", run.stderr);
}

#[test]
fn facts_are_asked_for_where_a_phrase_needs_them_and_kept() {
    let people = People::new();
    people.publish(&[people.agent("ant", "1.0.0"), people.agent("bee", "1.0.0")]);
    let facets = |id: &str| json!({ "schema": 1, "facets": { "cap": { "session-resume": [id] } } }).to_string();
    people.serve("/facets.json", facets("ant"));
    let asked = || people.server.asked().iter().filter(|path| *path == "/facets.json").count();
    let search = |words: &[&str]| people.run(&[&["search"], words].concat());
    let finds_ant = |run: &Run| run.stdout.contains("ant") && !run.stdout.contains("bee");
    assert!(search(&["bee"]).stdout.contains("bee"));
    assert_eq!(asked(), 0);
    assert!(finds_ant(&search(&["session", "resume"])));
    // From the copy, also where nothing may be asked, or where the host fails.
    assert!(finds_ant(&search(&["session", "resume"])));
    assert!(finds_ant(&search(&["session", "resume", "--offline"])));
    assert_eq!(asked(), 1);
    people.answer("/facets.json", status(503));
    assert!(finds_ant(&search(&["session", "resume", "--refresh"])));
    assert!(asked() > 1);
    people.serve("/facets.json", facets("bee"));
    assert!(search(&["session", "resume", "--refresh"]).stdout.contains("bee"));
    // What is none, and what is gone, are said.
    for answer in [ok("<html>"), status(404)] {
        people.answer("/facets.json", answer);
        let run = search(&["ant", "session", "resume", "--refresh"]);
        assert!(
            finds_ant(&run) && run.stderr.contains("nothing about `session resume`"),
            "{}{}",
            run.stdout,
            run.stderr
        );
    }
}
