//! The matrix of capabilities: who is in it, which columns it has, and how it is paged.

use serde_json::{Value, json};

use crate::site::{Files, agents, check_pages, compressed, site_of};

fn text(files: &Files, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

/// A row of the snapshot for an agent that answered.
fn answered(number: usize, features: &Value) -> Value {
    json!({ "id": format!("a{number:05}"), "version": "1.0.0", "protocol_version": 1,
            "checked_at": "2026-11-02T00:00:00Z", "features": features, "probes": { "session/list": "ok" } })
}

#[test]
fn texts_of_agents_stay_text() {
    let mut agent = agents(1).remove(0);
    agent["name"] = json!("<b onclick=x>\"'&\u{202e}");
    let mut row = answered(0, &json!({ "session/load": true }));
    (row["version"], row["checked_at"]) = (json!("<i>1</i>"), json!("<u>"));
    let files = site_of(&[agent], &json!({ "agents": [row] }));
    check_pages(&files);
    let page = text(&files, "matrix/index.html");
    assert!(
        !page.contains("<b onclick") && !page.contains("<i>1") && !page.contains("<u>") && !page.contains('\u{202e}')
    );
}

#[test]
fn only_agents_that_answered_have_rows_and_the_others_have_reasons() {
    let rows = [
        answered(0, &json!({ "session/load": true, "session/list": true, "mcp/http": false })),
        json!({ "id": "a00001", "version": "1.0.0", "verdict": "fail", "reason": "exited",
                "checked_at": "2026-11-03T00:00:00Z", "protocol_version": null, "features": {} }),
    ];
    let files = site_of(&agents(3), &json!({ "agents": rows }));
    check_pages(&files);
    let page = text(&files, "matrix/index.html");
    let (table, rest) = page.split_once("</tbody>").unwrap();
    assert_eq!(table.matches("<th scope=\"row\">").count(), 1);
    assert!(table.contains(">Agent a00000</a>") && !table.contains("Agent a00001"));
    assert!(page.contains("1 of 3 agents answered"), "{page}");
    for part in [
        "<summary>2 agents that have not answered yet</summary>",
        "Agent a00001</a> <small>Started on 2026-11-03, did not answer: the program ended</small>",
        "Agent a00002</a> <small>Not started yet</small>",
    ] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
}

#[test]
fn columns_are_grouped_and_those_that_no_agent_has_are_a_sentence() {
    let files = site_of(
        &agents(2),
        &json!({ "agents": [
            answered(0, &json!({ "session/load": true, "session/list": true, "mcp/http": false, "nes": true })),
            answered(1, &json!({ "session/load": false, "prompt/image": true })),
        ] }),
    );
    let page = text(&files, "matrix/index.html");
    for part in [
        "<th scope=\"colgroup\" colspan=\"2\">Sessions</th><th scope=\"colgroup\" colspan=\"1\">Prompts</th>\
         <th scope=\"colgroup\" colspan=\"1\">Proposals</th><th scope=\"colgroup\" colspan=\"2\">Tested</th>",
        "<th scope=\"col\">Load</th><th scope=\"col\">List</th><th scope=\"col\">Images</th><th scope=\"col\">Next edit</th>",
        "<td class=\"announced\"><span>Announced</span></td><td class=\"tested\"><span>Tested</span></td>",
        "<td class=\"no\"><span>Not announced</span></td><td class=\"none\"><span>Not known</span></td>",
        "No agent offers: Sessions: Resume,",
        "MCP: HTTP, MCP: SSE, Sign out, Elicitation, Proposals: Fork,",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for (class, label, is_there) in
        [("tested", "Tested", true), ("announced", "Announced", true), ("failed", "Failed", false)]
    {
        assert_eq!(page.contains(&format!("<li class=\"{class}\">{label}</li>")), is_there, "{label}");
    }
}

#[test]
fn a_registry_without_answers_says_so_and_has_no_table() {
    let files = site_of(&agents(2), &json!({ "agents": [] }));
    check_pages(&files);
    let page = text(&files, "matrix/index.html");
    assert!(page.contains("No agent has been started yet.") && !page.contains("class=\"matrix\""), "{page}");
    assert!(page.contains("<summary>2 agents that have not answered yet</summary>"));
}

#[test]
fn a_large_matrix_is_paged_and_stays_small() {
    let all = json!({ "session/load": true, "session/list": true, "prompt/image": true, "mcp/http": true });
    let rows: Vec<Value> = (0..230).map(|number| answered(number, &all)).collect();
    let files = site_of(&agents(400), &json!({ "agents": rows }));
    check_pages(&files);
    let rows_of = |name: &str| text(&files, name).matches("<th scope=\"row\">").count();
    assert_eq!(["matrix/index.html", "matrix/2/index.html", "matrix/3/index.html"].map(rows_of), [100, 100, 30]);
    assert!(!files.contains_key("matrix/4/index.html"));
    let page = text(&files, "matrix/2/index.html");
    assert!(page.contains("Page 2 of 3.") && page.contains("And 70 more, <a"), "{page}");
    let (bytes, budget) = (compressed(page.as_bytes()), 6_000);
    crate::support::told(&format!("100 of 400 agents: matrix: {bytes} of {budget} B (brotli)"));
    assert!(bytes <= budget);
}
