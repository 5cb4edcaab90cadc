//! Agents that open files with invented secrets while `verify` checks them.

use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{bwrap_works, fake_agent};
use crate::archives::{gz, tar};
use crate::server::{Server, ok};
use crate::support::{Env, Run, missing};
use crate::verify::{Verify, row, rows};

const KEY: &str =
    "the agent opened `~/.ssh/id_ed25519`, where a person's credentials would be, although nothing asked it to";

#[test]
fn who_opens_secrets_fails_with_the_names_and_who_lists_them_passes() {
    let verify = Verify::new();
    for way in ["list", "key", "copy", "fail", "examined", "end", "link"] {
        verify.npx(way, &["look", way]);
    }
    let out = verify.env.path("capabilities.json");
    let (code, document) = verify.json(&["--jobs", "2", "--out", out.to_str().unwrap()]);
    assert_eq!(code, 1);
    let caught = |id| (id, "fail", "reads_secrets");
    let expected = [
        caught("copy"),
        caught("end"),
        ("examined", "pass", ""),
        caught("fail"),
        caught("key"),
        caught("link"),
        ("list", "pass", ""),
    ];
    assert_eq!(rows(&document), expected);
    for id in ["end", "key", "link"] {
        assert_eq!(row(&document, id)["message"], KEY, "{id}");
    }
    let message = |id| row(&document, id)["message"].as_str().unwrap();
    for file in [".docker/config.json", ".git-credentials", ".kube/config", ".ssh/id_ed25519"] {
        assert!(message("copy").contains(&format!("`~/{file}`")), "{}", message("copy"));
    }
    assert!(message("fail").starts_with(&format!("{KEY}; besides, the agent ended")), "{}", message("fail"));
    assert_eq!((&document["summary"]["passed"], &document["summary"]["failed"]), (&2.into(), &5.into()));
    // The same agents are asked for more, and the one that waits for that is found.
    let (code, document) = verify.json(&["--level", "protocol", "examined", "list"]);
    assert_eq!((code, rows(&document)), (1, vec![caught("examined"), ("list", "pass", "")]));
    assert_eq!(row(&document, "examined")["message"], KEY);
}

#[test]
fn what_an_agent_leaves_in_its_home_is_recorded_and_kept() {
    let verify = Verify::new();
    verify.npx("write", &["look", "write"]).npx("list", &["look", "list"]);
    let out = verify.env.path("capabilities.json");
    let run = |more: &[&str]| verify.json(&[&["--out", out.to_str().unwrap()], more].concat());
    let (code, document) = run(&[]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(row(&document, "write")["writes"], json!([".config/fake"]));
    assert_eq!(row(&document, "list")["writes"], json!([]));
    let kept = || -> Value { serde_json::from_str(&verify.env.read("capabilities.json")).unwrap() };
    let writes = |snapshot: &Value| -> Vec<Value> {
        snapshot["agents"].as_array().unwrap().iter().map(|row| row["writes"].clone()).collect()
    };
    assert_eq!(writes(&kept()), [json!([]), json!([".config/fake"])]);
    // A later run of the same version that sees less forgets nothing, and one that is not repeated has what was known.
    let mut snapshot = kept();
    snapshot["agents"][1]["writes"] = json!([".earlier"]);
    verify.env.write("capabilities.json", snapshot.to_string());
    assert_eq!(run(&[]).0, 0);
    assert_eq!(writes(&kept()), [json!([]), json!([".config/fake", ".earlier"])]);
    let (_, document) = run(&["--reuse", out.to_str().unwrap()]);
    assert_eq!(
        (&row(&document, "write")["reused"], &row(&document, "write")["writes"]),
        (&true.into(), &json!([".config/fake", ".earlier"]))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_hosts_that_an_agent_asks_for_are_recorded_and_not_reached() {
    let verify = Verify::new();
    verify.npx("hosts", &["look", "hosts"]).npx("list", &["look", "list"]);
    let out = verify.env.path("capabilities.json");
    // With the network for the handshake alone, real name servers would be asked.
    let run = |more: &[&str]| {
        verify.json(&[&["--out", out.to_str().unwrap(), "--level", "protocol", "--network", "none"], more].concat())
    };
    let (code, document) = run(&[]);
    assert_eq!(code, 0, "{document}");
    if row(&document, "hosts").get("hosts").is_none() {
        let test = "the_hosts_that_an_agent_asks_for_are_recorded_and_not_reached";
        return missing(test, "this system asks a service of its own for names of hosts");
    }
    let hosts = json!(["models.example", "telemetry.example"]);
    assert_eq!(["hosts", "list"].map(|id| &row(&document, id)["hosts"]), [&hosts, &json!([])]);
    let kept = || -> Value { serde_json::from_str(&verify.env.read("capabilities.json")).unwrap() };
    assert_eq!(kept()["agents"][0]["hosts"], hosts);
    let mut snapshot = kept();
    snapshot["agents"][1]["hosts"] = json!(["earlier.example"]);
    verify.env.write("capabilities.json", snapshot.to_string());
    assert_eq!(run(&[]).0, 0);
    assert_eq!(kept()["agents"][1]["hosts"], json!(["earlier.example"]));
    let (_, document) = run(&["--reuse", out.to_str().unwrap()]);
    assert_eq!((&row(&document, "hosts")["reused"], &row(&document, "hosts")["hosts"]), (&true.into(), &hosts));
    // At the level `handshake`, an agent has the network of the host, and no name is recorded.
    let (_, document) = verify.json(&["--level", "handshake", "list"]);
    assert_eq!(row(&document, "list").get("hosts"), None);
}

#[test]
fn bubblewrap_hides_no_agent_that_opens_secrets() {
    if !bwrap_works() {
        return;
    }
    let Some(host) = acp_registry::manifest::Platform::host() else { return };
    let verify = Verify::new();
    let archive = gz(&tar(&[("agent", &std::fs::read(fake_agent()).unwrap())]));
    let server = Server::answering(move |_| ok(archive.clone()));
    for way in ["key", "list"] {
        let target = json!({ "archive": server.url("/a.tgz"), "cmd": "./agent", "args": ["look", way] });
        verify.agent(way, &json!({ "binary": { host.as_str(): target } }));
    }
    let (code, document) = verify.json(&["--sandbox", "bwrap", "--allow-host", &server.host]);
    assert_eq!((code, rows(&document)), (1, vec![("key", "fail", "reads_secrets"), ("list", "pass", "")]));
    assert_eq!(row(&document, "key")["isolation"], "bwrap");
}

#[test]
fn a_finding_is_about_the_agent_and_its_file() {
    let verify = Verify::new();
    verify.npx("key", &["look", "key"]).npx("list", &["look", "list"]);
    let run = Run::of(&mut verify.program(&["validate", "--handshake", "--json"]));
    verify.assert_clean();
    assert_eq!(run.code, 1);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let all = document["findings"].as_array().unwrap().iter();
    let found: Vec<_> = all.filter(|finding| finding["rule"] == "behaviour/reads-secrets").collect();
    let [finding] = found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&finding["agent"], &finding["level"], &finding["message"]),
        (&"key".into(), &"error".into(), &KEY.into())
    );
    assert!(finding["file"].as_str().unwrap().ends_with("agent.json") && finding["line"].is_u64());
    assert_eq!(finding["pointer"], "/distribution/npx/package");
}

#[test]
fn probe_puts_nothing_into_the_home() {
    let env = Env::empty();
    let probe = |way: &str| {
        let mut command: Command = env.command(&["probe", "--"]);
        command.arg(fake_agent()).args(["look", way]);
        Run::of(&mut command)
    };
    // Both fail, since the key is not there.
    for way in ["list", "key"] {
        let run = probe(way);
        assert!(run.code == 1 && !run.stdout.contains("credentials"), "{}{}", run.stdout, run.stderr);
    }
    assert_eq!(probe("copy").code, 0);
}
