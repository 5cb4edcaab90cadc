//! The page of an agent: how to set it up, what that needs, and what is known of its downloads.

use acp_registry::history::History;
use acp_registry::revocations::Revocations;
use acp_registry::site::{Known, SiteOptions};
use acp_registry::verify::Snapshot;
use serde_json::{Value, json};

use crate::site::{BASE, Files, agents, check_pages, history, render, site_of, site_with, without_pictures};

fn page(agent: &Value, capabilities: &Value) -> String {
    let files: Files = site_of(std::slice::from_ref(agent), capabilities);
    check_pages(&files);
    String::from_utf8(files[&format!("agents/{}/index.html", agent["id"].as_str().unwrap())].clone()).unwrap()
}

/// The panel of an editor.
fn panel<'a>(page: &'a str, client: &str) -> &'a str {
    let start = page.find(&format!("id=\"{client}\"><h3>")).unwrap();
    page[start..].split("</section>").next().unwrap()
}

fn binary(digests: &[Option<&str>]) -> Value {
    let platforms = ["linux-x86_64", "darwin-aarch64"];
    let target =
        |digest: Option<&str>| json!({ "archive": "https://example.com/a.tar.gz", "cmd": "./a", "sha256": digest });
    let targets: serde_json::Map<String, Value> =
        platforms.iter().zip(digests).map(|(platform, digest)| ((*platform).to_owned(), target(*digest))).collect();
    let mut agent = agents(1).remove(0);
    agent["distribution"] = json!({ "binary": targets });
    agent
}

#[test]
fn an_agent_with_archives_only_is_not_said_to_run_without_the_program() {
    let page = page(&binary(&[None]), &json!({ "agents": [] }));
    for client in ["zed", "jetbrains", "codecompanion", "avante", "emacs", "vscode", "cli"] {
        let panel = panel(&page, client);
        assert!(panel.contains("acp-registry</a>, which installs the agent"), "{panel}");
        assert!(!panel.contains("With npx") && !panel.contains("With uvx"), "{panel}");
    }
}

#[test]
fn every_panel_says_what_it_needs_and_the_editors_own_registry_comes_first() {
    let page = page(&agents(1)[0], &json!({ "agents": [] }));
    for (client, title) in [
        ("zed", "Zed"),
        ("jetbrains", "JetBrains"),
        ("codecompanion", "Neovim (CodeCompanion)"),
        ("avante", "Neovim (avante)"),
        ("emacs", "Emacs"),
        ("vscode", "VS Code"),
        ("cli", "Shell"),
    ] {
        assert!(page.contains(&format!("<a href=\"#{client}\">{title}</a>")), "{title}");
        let panel = panel(&page, client);
        let at = |part: &str| panel.find(part).unwrap_or_else(|| panic!("{part}: {panel}"));
        // Through the program first, and the package runner as another way.
        assert!(at("docs/user/#install-the-tool") < at("<summary>With npx</summary>"), "{panel}");
        assert!(at("<summary>With npx</summary>") < at("Needs Node.js."), "{panel}");
        let prints = format!("acp-registry config {client} a00000</code> prints these settings");
        assert_eq!(panel.contains(&prints), client != "cli", "{panel}");
        assert_eq!(panel.contains("rel=\"noopener noreferrer\">"), client != "cli", "{panel}");
    }
    let zed = panel(&page, "zed");
    assert!(
        zed.find("type&#34;: &#34;registry").unwrap() < zed.find("<summary>With the acp-registry program").unwrap(),
        "{zed}"
    );
    let jetbrains = panel(&page, "jetbrains");
    assert!(jetbrains.find("Add ACP Agent").unwrap() < jetbrains.find("acp.json").unwrap(), "{jetbrains}");
    assert!(!jetbrains.contains("<summary>With the acp-registry program"), "{jetbrains}");
}

#[test]
fn the_panel_claims_only_what_is_known() {
    let (some, none) = (Some("00"), None);
    let row = json!({ "id": "a00000", "version": "1.0.0", "protocol_version": 1, "checked_at": "2026-11-02T00:00:00Z",
                      "features": { "session/load": true } });
    let failed = json!({ "id": "a00000", "version": "1.0.0", "verdict": "fail", "reason": "timeout", "checked_at": "2026-11-02T00:00:00Z" });
    for (agent, row, expected) in [
        (
            binary(&[none, none]),
            None,
            &[
                "none\" data-c><dt>Starts</dt><dd><bdi>Not started yet</bdi></dd>",
                "auth\" data-c><dt>Bytes</dt><dd><bdi>No SHA-256 for its downloads<",
            ][..],
        ),
        (binary(&[some, none]), None, &["auth\" data-c><dt>Bytes</dt><dd><bdi>A SHA-256 for 1 of 2 downloads<"]),
        (
            binary(&[some, some]),
            Some(&row),
            &[
                "tested\" data-c><dt>Starts</dt><dd><bdi>Started and answered</bdi> <small><bdi>1.0.0</bdi>, <time datetime=\"2026-11-02\">",
                "tested\" data-c><dt>Bytes</dt><dd><bdi>A SHA-256 for every download<",
            ],
        ),
        (
            agents(1).remove(0),
            Some(&failed),
            &[
                "failed\" data-c><dt>Starts</dt><dd><bdi>Started on 2026-11-02, did not answer: the time limit passed<",
                "announced\" data-c><dt>Bytes</dt><dd><bdi>Compared with the digests of npm for its package<",
            ],
        ),
    ] {
        let rows: Vec<&Value> = row.into_iter().collect();
        let page = page(&agent, &json!({ "agents": rows }));
        for part in expected {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}

#[test]
fn people_learn_what_the_agent_needs_and_how_to_sign_in() {
    let row = |methods: &[&str], session: &str| {
        let methods: Vec<Value> =
            methods.iter().map(|name| json!({ "id": "m", "name": name, "type": "agent" })).collect();
        json!({ "id": "a00000", "version": "1.0.0", "protocol_version": 1, "checked_at": "2026-11-02T00:00:00Z",
                "auth_methods": methods, "features": {}, "probes": { "session/new": session } })
    };
    let npx = || agents(1).remove(0);
    for (agent, row, expected) in [
        (binary(&[None]), None, &["<p>You need no runtime: the download is the agent’s program. The agent runs"][..]),
        (npx(), None, &["<p>You need Node.js. The agent runs", "Not known: it was never started"]),
        (
            npx(),
            Some(row(&["Log in"], "auth_required")),
            &["<bdi>Not examined; a session needs sign-in<", "sign in when the editor asks: Log in.</bdi>"],
        ),
        (
            npx(),
            Some(row(&["<i>", "Key"], "auth_required")),
            &["sign in one of these ways when the editor asks: &#60;i&#62;, Key.</bdi>"],
        ),
        (
            npx(),
            Some(row(&[], "ok")),
            &["<bdi>Not examined; a session opened without sign-in<", "which needs no sign-in; whether a prompt does"],
        ),
    ] {
        let rows: Vec<Value> = row.into_iter().collect();
        let page = page(&agent, &json!({ "agents": rows }));
        for part in expected {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(
            page.contains("sign in when") || page.contains("sign in one of"),
            page.contains("a session needs sign-in")
        );
    }
}

#[test]
fn facts_have_short_links_and_lead_to_a_comparison() {
    let mut agent = agents(1).remove(0);
    (agent["website"], agent["repository"]) = (json!("https://www.example.com/"), json!("https://github.com/a/b"));
    let page = page(&agent, &json!({ "agents": [] }));
    for part in ["><bdi>example.com</bdi></a>", "><bdi>a/b</bdi></a>", "matrix/?ids=a00000\">Compare with others</a>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

fn text(files: &Files, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

#[test]
fn a_distribution_that_failed_is_named_beside_the_one_that_answered() {
    let mut agent = binary(&[Some("00")]);
    agent["distribution"]["uvx"] = json!({ "package": "a==1.0.0" });
    let row = |kind: &str| json!({ "id": "a00000", "version": "1.0.0", "distribution": kind, "checked_at": "2026-11-02T00:00:00Z" });
    let (mut failed, mut passed) = (row("binary"), row("uvx"));
    (failed["verdict"], failed["reason"]) = (json!("fail"), json!("exited"));
    failed["exit"] = json!({ "how": "exited", "code": 1 });
    passed["protocol_version"] = json!(1);
    let files = site_of(std::slice::from_ref(&agent), &json!({ "agents": [failed, passed] }));
    let page = text(&files, "agents/a00000/index.html");
    let words = "auth\" data-c><dt>Starts</dt><dd><bdi>Started and answered by uvx; by its binary: Started on 2026-11-02, \
                 did not answer: the program ended with exit code 1</bdi>";
    assert!(page.contains(words), "{page}");
    assert!(text(&files, "index.html").contains("<li class=\"chip auth\">Answers by uvx only</li>"));
    // Where nothing failed, users may still get another distribution than the one that was started.
    let files = site_of(&[agent], &json!({ "agents": [passed] }));
    let page = text(&files, "agents/a00000/index.html");
    assert!(page.contains("tested\" data-c><dt>Starts</dt><dd><bdi>Started and answered by uvx</bdi>"), "{page}");
}

#[test]
fn a_result_of_an_earlier_version_names_it() {
    let mut agent = agents(1).remove(0);
    agent["version"] = json!("2.0.0");
    let row = |examination: Value| json!({ "agents": [ { "id": "a00000", "version": "1.0.0", "protocol_version": 1, "examination": examination } ] });
    let examined = json!({ "version": "1.0.0", "level": "turns", "reached": "turns",
        "checks": [ { "id": "protocol/ids", "result": "pass", "force": "must" } ] });
    let files = site_of(std::slice::from_ref(&agent), &row(examined));
    assert!(text(&files, "index.html").contains(">Passed turns (1.0.0)</li>"));
    assert!(text(&files, "agents/a00000/passes.svg").contains("passed turns (1.0.0)"));
    let files = site_of(&[agent], &row(Value::Null));
    assert!(text(&files, "index.html").contains(">Answered (1.0.0)</li>"));
}

#[test]
fn a_recall_is_said_on_cards_and_above_the_setup() {
    let agents = agents(2);
    let recalls = br#"{ "schema": 1, "revoked": [ { "id": "a00000", "versions": "1.0.0", "level": "deprecated", "reason": "Leaks tokens" } ] }"#;
    let files = render(SiteOptions {
        index: json!({ "version": "1.0.0", "agents": agents }).to_string().as_bytes(),
        base_url: BASE,
        registry_url: None,
        signer: None,
        config: &without_pictures(),
        known: &Known::of(&Snapshot::default()),
        history: &History::parse(history(&agents).to_string().as_bytes()).unwrap(),
        icon: &|_| None,
        revocations: &Revocations::parse(recalls).unwrap(),
        earlier: &|_| None,
    });
    check_pages(&files);
    assert_eq!(text(&files, "index.html").matches("<li class=\"chip failed\">Deprecated</li>").count(), 1);
    let page = text(&files, "agents/a00000/index.html");
    let sentence = "<p class=\"failed verdict\">This version <bdi>is deprecated: Leaks tokens</bdi></p>";
    assert!(page.find(sentence).unwrap() < page.find("class=\"setup\"").unwrap(), "{page}");
    assert!(page.contains("<div data-c><dt>Recalled</dt>"));
}

#[test]
fn github_may_state_the_digest_of_a_release() {
    let mut agent = binary(&[None, Some("00")]);
    let archive = "https://github.com/o/r/releases/download/v1/a.tar.gz";
    agent["distribution"]["binary"]["linux-x86_64"]["archive"] = json!(archive);
    let words = "announced\" data-c><dt>Bytes</dt><dd><bdi>A SHA-256 for 1 of 2 downloads, but GitHub may state one<";
    let page = page(&agent, &json!({ "agents": [] }));
    assert!(page.contains(words), "{page}");
}

#[test]
fn what_does_not_fit_is_counted_and_what_cannot_be_linked_is_text() {
    let mut agent = agents(1).remove(0);
    agent["authors"] = json!((0..23).map(|number| format!("Author {number}")).collect::<Vec<_>>());
    agent["website"] = json!("http://example.com/x");
    let methods: Vec<Value> =
        (0..23).map(|number| json!({ "id": format!("m{number}"), "name": format!("Way {number}") })).collect();
    let row = json!({ "id": "a00000", "version": "1.0.0", "protocol_version": 1, "auth_methods": methods });
    let files = site_of(std::slice::from_ref(&agent), &json!({ "agents": [row] }));
    let page = text(&files, "agents/a00000/index.html");
    for part in [
        "<bdi>and 3 more</bdi></dd></div>",
        "Way 19, and 3 more</bdi>",
        "(<bdi>agent</bdi>) and 3 more.",
        "<dt>Website</dt><dd><bdi>http://example.com/x</bdi>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("\"name\": \"and 3 more\"") && page.contains("\"name\": \"Author 19\""));
    assert!(text(&files, "agents/a00000/index.md").contains("- Website: http://example.com/x\n"));
}

#[test]
fn a_list_of_versions_without_the_current_one_says_so() {
    let agents = agents(1);
    let event =
        json!({ "time": "2026-11-01T10:00:00Z", "event": "added", "id": "a00000", "name": "A", "version": "0.9.0" });
    let files =
        site_with(&agents, &json!({ "agents": [] }), &json!({ "schema": 1, "events": [event] }), &without_pictures());
    let page = text(&files, "agents/a00000/index.html");
    assert!(page.contains("By the date they were added. Now <bdi>1.0.0</bdi>; day not known.</p>"), "{page}");
    assert!(text(&files, "agents/a00000/index.md").contains("- now 1.0.0; day not known\n"));
    let page = text(&site_of(&agents, &json!({ "agents": [] })), "agents/a00000/index.html");
    assert!(!page.contains("day not known"));
}

/// A hold keeps versions out of the index, and feeds tell what one can install.
#[test]
fn versions_that_a_hold_keeps_back_are_marked_and_in_no_feed() {
    let mut agents = agents(2);
    agents[0]["held"] = json!({ "version": "1.0.0", "reason": "r" });
    let event = |id: &str, day: &str, kind: &str, version: &str| json!({ "time": format!("2026-11-{day}T10:00:00Z"), "event": kind, "id": id, "name": "A", "version": version, "from": "0.9.0" });
    let history = json!({ "schema": 1, "events": [
        event("a00000", "04", "updated", "2.0.0"), event("a00000", "03", "updated", "1.0.0"),
        event("a00001", "02", "added", "1.0.0"), event("a00000", "01", "added", "0.9.0"),
    ] });
    let files = site_with(&agents, &json!({ "agents": [] }), &history, &without_pictures());
    let page = text(&files, "agents/a00000/index.html");
    assert!(page.contains("<bdi>2.0.0</bdi> <span class=\"version\">Held back</span>"), "{page}");
    assert!(page.contains("<dt>Updated</dt><dd><time datetime=\"2026-11-03\">") && !page.contains("day not known"));
    assert!(
        text(&files, "agents/a00000/index.md").contains("- 2026-11-04: held back 2.0.0\n- 2026-11-03: updated 1.0.0")
    );
    assert!(text(&files, "changes/index.html").contains("<span class=\"kind updated\">Held back</span>"));
    // A feed is as old as its newest entry, whatever other feeds have.
    for (feed, day, entries) in [("updated.atom", "03", 1), ("new.atom", "02", 2), ("agents/a00000/feed.atom", "03", 2)]
    {
        let feed = text(&files, feed);
        assert!(!feed.contains("2.0.0") && feed.matches("<entry>").count() == entries, "{feed}");
        let (head, _) = feed.split_once("<entry>").unwrap();
        assert!(head.contains(&format!("<updated>2026-11-{day}T10:00:00Z</updated>")), "{feed}");
    }
    assert!(text(&files, "history.json").contains("2.0.0"));
}

#[test]
fn events_of_the_same_second_have_ids_of_their_own() {
    let agents = agents(1);
    let event = |version: &str, from: &str| json!({ "time": "2026-11-01T10:00:00Z", "event": "updated", "id": "a00000", "name": "A", "version": version, "from": from });
    let history = json!({ "schema": 1, "events": [event("1.0.0", "0.9.0"), event("0.9.0", "0.8.0")] });
    let files = site_with(&agents, &json!({ "agents": [] }), &history, &without_pictures());
    let feed = text(&files, "updated.atom");
    for id in ["#updated-2026-11-01T10:00:00Z</id>", "#updated-2026-11-01T10:00:00Z-1.0.0</id>"] {
        assert_eq!(feed.matches(id).count(), 1, "{id}: {feed}");
    }
}
