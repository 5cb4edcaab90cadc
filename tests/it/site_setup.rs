//! The page of an agent: how to set it up, what that needs, and what is known of its downloads.

use serde_json::{Value, json};

use crate::site::{Files, agents, check_pages, site_of};

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
