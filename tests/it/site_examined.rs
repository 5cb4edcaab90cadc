//! Examinations on the pages of the catalog.

use acp_registry::examination::CHECKS;
use acp_registry::verify::Snapshot;
use serde_json::{Value, json};

use crate::site::{Files, agents, check_pages, compressed, site_of};

/// A snapshot in which only the first agent was examined.
fn snapshot(examination: &Value) -> Value {
    json!({ "agents": [
        { "id": "a00000", "version": "1.0.0", "protocol_version": 1, "checked_at": "2026-11-23T00:00:00Z",
          "features": { "session/load": true }, "examination": examination },
        { "id": "a00001", "version": "1.0.0", "protocol_version": 1, "features": { "session/load": false } },
    ] })
}

fn check(id: &str, result: &str, message: &Value) -> Value {
    json!({ "id": id, "result": result, "force": "must", "spec": "protocol/v1/x", "message": message,
            "duration_seconds": 0.034 })
}

fn examination(checks: &[Value]) -> Value {
    json!({ "examined_at": "2026-11-22T10:00:00Z", "version": "1.0.0", "platform": "linux-x86_64", "level": "protocol",
            "reached": "protocol", "model": null, "network": "none", "checks": checks })
}

fn text(files: &Files, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

fn catalog(files: &Files) -> Value {
    let bytes = files.iter().find(|(name, _)| name.starts_with("assets/catalog.")).unwrap().1;
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn texts_of_an_examination_stay_text() {
    let hostile =
        "</code></ul><script>alert(1)</script><img src=x onerror=y>\u{202e}\u{1b}[2J [a](https://h.example) `";
    let mut examined = examination(&[
        check(hostile, "fail", &json!(hostile)),
        check("protocol/ids", "warning", &json!("x".repeat(100_000))),
        check("protocol/version", "excellent", &json!(null)),
    ]);
    (examined["version"], examined["platform"]) = (json!(hostile), json!(hostile));
    let files = site_of(&agents(2), &snapshot(&examined));
    check_pages(&files);
    let page = text(&files, "agents/a00000/index.html");
    assert!(!page.contains("<script>") && !page.contains("<img src=x") && page.len() < 100_000, "{page}");
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
    assert!(!page.contains("excellent"));
    let markdown = text(&files, "agents/a00000/index.md");
    assert!(!markdown.split("```").step_by(2).collect::<String>().replace("\\<", "").contains("<script"), "{markdown}");
}

#[test]
fn the_page_of_an_agent_says_what_it_has_written_in_its_home() {
    let many: Vec<String> = (0..7).map(|number| format!(".d{number}")).collect();
    for (writes, shown) in [
        (json!([]), Some("nothing in your home, when it was tested")),
        (json!([".config/x", ".cache/y z"]), Some("~/.config/x, ~/.cache/y z")),
        (json!(many), Some("~/.d0, ~/.d1, ~/.d2, ~/.d3, ~/.d4, and 2 more")),
        (json!(["</dd><b>\u{202e}\u{1b}[2J"]), Some("~/&#60;/dd&#62;&#60;b&#62;[2J")),
        (json!(["x".repeat(100_000)]), Some("~/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…")),
        (Value::Null, None),
        (json!(".config/x"), None),
        (json!([7]), None),
    ] {
        let mut snapshot = snapshot(&Value::Null);
        snapshot["agents"][0]["writes"] = writes.clone();
        let files = site_of(&agents(2), &snapshot);
        check_pages(&files);
        let row = |id: &str| {
            let page = text(&files, &format!("agents/{id}/index.html"));
            let found = page.split_once("<dt>Writes</dt><dd><bdi>")?.1.split_once("</bdi></dd>")?.0.to_owned();
            Some(found)
        };
        assert_eq!((row("a00000").as_deref(), row("a00001")), (shown, None), "{writes}");
    }
}

#[test]
fn the_page_of_an_agent_says_which_hosts_it_asks_for() {
    for (hosts, shown) in [
        (json!([]), Some("no host, when it was tested")),
        (json!(["a.example", "b.example"]), Some("a.example, b.example")),
        (json!(["<b>\u{202e}"]), Some("&#60;b&#62;")),
        (Value::Null, None),
        (json!([7]), None),
    ] {
        let mut snapshot = snapshot(&Value::Null);
        snapshot["agents"][0]["hosts"] = hosts.clone();
        let files = site_of(&agents(2), &snapshot);
        let page = text(&files, "agents/a00000/index.html");
        let found =
            page.split_once("<dt>Looks up hosts</dt><dd><bdi>").map(|(_, rest)| rest.split_once("</bdi>").unwrap().0);
        assert_eq!(found, shown, "{hosts}");
    }
}

#[test]
fn what_is_no_examination_is_not_shown_and_changes_nothing() {
    let without = site_of(&agents(2), &snapshot(&Value::Null));
    for odd in [json!({}), json!("passed"), json!({ "level": "perfect", "checks": [] }), json!({ "level": "protocol" })]
    {
        assert!(site_of(&agents(2), &snapshot(&odd)) == without, "{odd}");
    }
    for (name, bytes) in &without {
        let is_reference = ["docs/", "schemas/", "api/"].iter().any(|folder| name.starts_with(folder));
        // The catalog has the phrases that searches understand.
        let is_reference = is_reference || name.starts_with("assets/catalog.");
        // Pages of agents say that they were not examined.
        let text = String::from_utf8_lossy(bytes).replace("Not examined", "");
        assert!(is_reference || !text.contains("xamined"), "{name}");
    }
    assert!(catalog(&without)["bits"].get("tested").is_none());
    assert!(without.keys().all(|name| !name.starts_with("tested/")));
}

#[test]
fn the_page_shows_what_was_tested_before_what_is_announced() {
    let files = site_of(
        &agents(2),
        &snapshot(&examination(&[
            check("protocol/ids", "pass", &Value::Null),
            check("protocol/version", "fail", &json!("the agent claims to support version 65535 of the protocol")),
            check("protocol/load-unknown-session", "not_exercised", &json!("`loadSession` is not advertised")),
            check("protocol/later", "pass", &Value::Null),
        ])),
    );
    check_pages(&files);
    let page = text(&files, "agents/a00000/index.html");
    for part in [
        "<p class=\"failed verdict\">Up to the level <code>protocol</code>: <bdi>failed: 1 requirement</bdi>. <small>\
         <bdi>1.0.0</bdi>, Linux, <time datetime=\"2026-11-22\">2026-11-22</time>, without access to the network.",
        "<h3>Failed: 1</h3>",
        ": <bdi>the agent claims to support version 65535 of the protocol</bdi> <code>protocol/version</code></li>",
        "<summary>Could not run: 1</summary>\n<p><bdi>`loadSession` is not advertised</bdi>: 1</p>",
        "<summary>Passed: 2</summary>",
        // A check that this program does not know is named by its id.
        "<li>protocol/later</li>",
        "<div class=\"none\" data-c><dt>Turns</dt><dd><bdi>Not examined</bdi></dd></div>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.find("id=\"tests\"").unwrap() < page.find("id=\"capabilities\"").unwrap());
    assert!(!text(&files, "agents/a00001/index.html").contains("id=\"tests\""));
    let markdown = text(&files, "agents/a00000/index.md");
    assert!(
        markdown.contains("Up to the level `protocol`: failed: 1 requirement (1.0.0, Linux, 2026-11-22"),
        "{markdown}"
    );
    assert!(markdown.contains(" (protocol/version): the agent claims"), "{markdown}");

    let matrix = text(&files, "matrix/index.html");
    assert!(matrix.contains("<th scope=\"col\">Level</th><th scope=\"col\">Version</th>"), "{matrix}");
    assert!(matrix.contains("<td class=\"info level failed\">protocol: failed</td>"), "{matrix}");
    // One requirement is violated, so only the filter for failures finds it.
    assert_eq!(catalog(&files)["bits"]["tested"], json!([16, 32]));
    assert!(files.contains_key("tested/failed/index.html") && !files.contains_key("tested/protocol/index.html"));
    let home = text(&files, "index.html");
    assert!(home.find("name=\"tested\"").unwrap() < home.find("name=\"cap\"").unwrap());
}

#[test]
fn levels_that_are_met_are_filters() {
    let mut examined = examination(&[check("protocol/ids", "pass", &Value::Null)]);
    let bits = |examined: &Value| catalog(&site_of(&agents(2), &snapshot(examined)))["bits"]["tested"][0].clone();
    assert_eq!(bits(&examined), 1);
    (examined["level"], examined["reached"]) = (json!("turns"), json!("turns"));
    assert_eq!(bits(&examined), 7);
    examined["checks"][0] = check("turns/cancel", "fail", &json!("it went on"));
    assert_eq!(bits(&examined), 3 + 16);
    examined["reached"] = Value::Null;
    assert_eq!(bits(&examined), 16);
    // Where nothing ran, nothing passed.
    examined["checks"][0] = check("turns/cancel", "not_exercised", &json!("it does not answer"));
    assert_eq!(bits(&examined), 64);
    let files = site_of(&agents(2), &snapshot(&examined));
    let words = "Incomplete: 1 of 1 checks could not run; mostly: it does not answer";
    let page = text(&files, "agents/a00000/index.html");
    assert!(page.contains(&format!("<div class=\"auth\" data-c><dt>Turns</dt><dd><bdi>{words}</bdi>")), "{page}");
    assert!(text(&files, "matrix/index.html").contains("<td class=\"info level auth\">turns: incomplete</td>"));
    assert!(files.contains_key("tested/incomplete/index.html"));
}

/// As many checks as all levels may have, most of which pass.
#[test]
fn a_page_with_an_examination_keeps_its_budget() {
    let ids = (0..9).flat_map(|round| CHECKS.iter().map(move |check| format!("{}{round}", check.id)));
    let checks: Vec<Value> = CHECKS
        .iter()
        .map(|check| check.id.to_owned())
        .chain(ids)
        .take(150)
        .enumerate()
        .map(|(at, id)| match at % 12 {
            0 => check(&id, "fail", &json!(format!("the agent answers request {at} with error -326{at} instead"))),
            1 => check(&id, "not_exercised", &json!(format!("`capability{at}` is not advertised"))),
            _ => check(&id, "pass", &Value::Null),
        })
        .collect();
    assert_eq!(checks.len(), 150);
    let with = site_of(&agents(2), &snapshot(&examination(&checks)));
    let without = site_of(&agents(2), &snapshot(&Value::Null));
    let size = |files: &Files, name: &str| compressed(&files[name]);
    let page = "agents/a00000/index.html";
    let (more, home) = (size(&with, page) - size(&without, page), size(&with, "index.html"));
    crate::support::told(&format!("{} checks: {more} B more on a page (brotli), {home} B home", checks.len()));
    assert!(more <= 3_500, "{more}");
    assert!(home - size(&without, "index.html") <= 200);
}

#[test]
fn an_examination_decides_between_equal_distributions() {
    let row = |kind: &str, examined: Value| {
        json!({ "id": "a", "distribution": kind, "version": kind, "protocol_version": 1, "features": { "x": true },
                "examination": examined })
    };
    let mut examined = examination(&[]);
    examined["version"] = json!("npx");
    for rows in [
        [row("binary", Value::Null), row("npx", examined.clone())],
        [row("npx", examined.clone()), row("uvx", Value::Null)],
    ] {
        let answers = Snapshot::parse(json!({ "agents": rows }).to_string().as_bytes()).unwrap().answers();
        assert_eq!(answers["a"].version.as_deref(), Some("npx"));
    }
}

#[test]
fn the_history_of_examinations_is_a_page_a_file_and_a_feed() {
    let line = |version: &str, day: &str, turns: &str, failed: &[&str]| json!({ "version": version, "day": day, "platform": "linux-x86_64", "judgements": { "turns": turns }, "failed": failed });
    let hostile = "2</td><script>";
    let mut row = snapshot(&examination(&[check("protocol/ids", "pass", &Value::Null)]));
    row["agents"][0]["history"] = json!([
        line("0.8.0", "2026-10-01", "failed", &["turns/cancel"]),
        line(hostile, "2026-10-02", "passed", &[]),
        line("1.0.0", "2026-11-01", "passed", &[]),
    ]);
    let examined = &mut row["agents"][0]["examination"];
    (examined["level"], examined["reached"]) = (json!("turns"), json!("turns"));
    let files = site_of(&agents(2), &row);
    check_pages(&files);
    let page = text(&files, "examined/index.html");
    assert!(page.find("1.0.0").unwrap() < page.find("0.8.0").unwrap() && page.contains("turns/cancel"), "{page}");
    assert!(!page.contains("<script>"));
    assert!(page.contains("<li class=\"auth\">Incomplete</li>"));
    let document: Value = serde_json::from_str(&text(&files, "examinations.json")).unwrap();
    assert_eq!(
        (&document["examinations"][2]["version"], &document["examinations"][2]["id"]),
        (&json!("0.8.0"), &json!("a00000"))
    );
    assert_eq!(document["examinations"].as_array().unwrap().len(), 3);
    // Only the second version was judged otherwise than the one before.
    let feed = text(&files, "examined.atom");
    assert_eq!(feed.matches("<entry>").count(), 1, "{feed}");
    assert!(feed.contains("turns: passed after failed in 0.8.0") && !feed.contains("<script>"), "{feed}");
    // Later verdicts leave the names of the earlier ones.
    assert!(feed.contains("/agents/a00000/#examined-2026-10-02T00:00:00Z-2%3C%2Ftd%3E%3Cscript%3E</id>"), "{feed}");
    let agent = text(&files, "agents/a00000/index.html");
    assert!(agent.contains("<bdi>Passed, since version 2&#60;/td&#62;&#60;script&#62;</bdi>"), "{agent}");
    assert!(text(&files, "matrix/index.html").contains("href=\"../examined/\""));
    // Without an examination there is none of this.
    let without = site_of(&agents(2), &snapshot(&Value::Null));
    assert!(
        !["examined/index.html", "examinations.json", "examined.atom"].iter().any(|name| without.contains_key(*name))
    );
}

#[test]
fn the_history_of_an_agent_that_starts_no_more_is_told() {
    let line = |version: &str, day: &str, turns: &str| json!({ "version": version, "day": day, "judgements": { "turns": turns }, "failed": [] });
    let row = json!({ "id": "a00000", "version": "1.0.0", "verdict": "fail", "reason": "exited", "checked_at": "2026-11-02T00:00:00Z",
        "history": [line("0.9.0", "2026-10-01", "passed"), line("1.0.0", "2026-11-02", "incomplete")] });
    let files = site_of(&agents(1), &json!({ "agents": [row] }));
    check_pages(&files);
    let document: Value = serde_json::from_str(&text(&files, "examinations.json")).unwrap();
    assert_eq!(document["examinations"].as_array().unwrap().len(), 2);
    assert!(text(&files, "examined.atom").contains("turns: incomplete after passed in 0.9.0"));
}

#[test]
fn an_examination_without_an_answer_is_incomplete_wherever_it_is_told() {
    let why = json!("the agent did not answer `initialize`");
    let mut examined = examination(&[check("protocol/ids", "not_exercised", &why)]);
    examined["reached"] = Value::Null;
    let row = json!({ "id": "a00000", "version": "1.0.0", "verdict": "fail", "reason": "exited", "checked_at": "2026-11-22T00:00:00Z",
        "examination": examined });
    let files = site_of(&agents(2), &json!({ "agents": [row] }));
    check_pages(&files);
    let agent = text(&files, "agents/a00000/index.html");
    let judged = "incomplete: 1 of 1 checks could not run; mostly: the agent did not answer `initialize`";
    assert!(agent.contains(&format!("Up to the level <code>protocol</code>: <bdi>{judged}</bdi>")), "{agent}");
    let facets: Value = serde_json::from_str(&text(&files, "facets.json")).unwrap();
    let tested = &facets["facets"]["tested"];
    assert_eq!((&tested["incomplete"], &tested["untested"]), (&json!(["a00000"]), &json!(["a00001"])));
    let document: Value = serde_json::from_str(&text(&files, "examinations.json")).unwrap();
    assert_eq!(document["examinations"][0]["judgements"], json!({ "protocol": "incomplete" }));
    // No verdict has changed: the feed is as old as the examination.
    let feed = text(&files, "examined.atom");
    assert!(!feed.contains("<entry>") && feed.contains("<updated>2026-11-22T00:00:00Z</updated>"), "{feed}");
}
