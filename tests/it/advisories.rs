//! Advisories about malicious packages: what `registry.toml` names, which agents they are about, and what does not start.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::archives::zip;
use crate::closures::{called, list, people, registry, with_npm};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, Run};

/// A registry whose agent needs `evil@1.0.0` through `a` and `b`.
fn with_evil(env: &Env) -> String {
    let digest = format!("sha512-{}==", "A".repeat(86));
    let package =
        |version: &str, needs: Value| json!({ "version": version, "integrity": digest, "dependencies": needs });
    let own =
        serde_json::from_str::<Value>(&list("1.0.0", &json!({}))).unwrap()["packages"]["node_modules/own"].clone();
    let mut own = own;
    own["dependencies"] = json!({ "a": "^2" });
    let list = list(
        "1.0.0",
        &json!({ "node_modules/own": own, "node_modules/a": package("2.0.0", json!({ "b": "1" })),
            "node_modules/b": package("1.5.0", json!({ "evil": "1" })), "node_modules/evil": package("1.0.0", json!({})) }),
    );
    registry(env, Some(&list));
    list
}

/// An advisory with these members, about versions of a package.
pub(crate) fn advisory(id: &str, ecosystem: &str, name: &str, members: &Value) -> Value {
    let mut affected = json!({ "package": { "ecosystem": ecosystem, "name": name } });
    affected.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({ "id": id, "modified": "2026-01-01T00:00:00Z", "affected": [affected] })
}

fn evil() -> Value {
    advisory("MAL-2026-1", "npm", "evil", &json!({ "versions": ["1.0.0"] }))
}

fn configure(env: &Env, source: &str) {
    env.write("r/registry.toml", format!("[advisories]\nsources = [\"{source}\"]\n"));
}

fn validate(env: &Env, more: &[&str]) -> Run {
    env.run(&[&["--registry-dir", "r", "validate"], more].concat())
}

#[test]
fn no_malicious_package_passes_and_each_honest_twin_does() {
    let way = "`MAL-2026-1` says that `evil@1.0.0` is malicious, which the agent needs: \
               `own@1.0.0 > a@2.0.0 > b@1.5.0 > evil@1.0.0`";
    let range = |events: Value| json!({ "ranges": [{ "type": "SEMVER", "events": events }] });
    let mut alias = advisory("GHSA-x", "npm", "evil", &json!({ "versions": ["1.0.0"] }));
    alias["aliases"] = json!(["CVE-2026-1", "MAL-2026-1"]);
    let mut withdrawn = evil();
    withdrawn["withdrawn"] = "2026-02-01T00:00:00Z".into();
    for (attack, expected) in [
        (evil(), Some(way)),
        (alias, Some(way)),
        (advisory("MAL-2026-1", "npm", "evil", &range(json!([{ "introduced": "0" }]))), Some(way)),
        (
            advisory("MAL-2026-1", "npm", "evil", &range(json!([{ "introduced": "0.9.0" }, { "fixed": "1.0.1" }]))),
            Some(way),
        ),
        (
            advisory("MAL-2026-1", "npm", "own", &json!({ "versions": ["1.0.0"] })),
            Some("`MAL-2026-1` says that `own@1.0.0` is malicious"),
        ),
        (advisory("MAL-2026-1", "npm", "a", &range(json!([{ "introduced": "2.0.0" }]))), Some("`own@1.0.0 > a@2.0.0`")),
        // Honest twins.
        (withdrawn, None),
        (advisory("GHSA-x", "npm", "evil", &json!({ "versions": ["1.0.0"] })), None),
        (advisory("CVE-2026-1", "npm", "own", &json!({ "versions": ["1.0.0"] })), None),
        (advisory("MAL-2026-1", "npm", "evil", &json!({ "versions": ["1.0.1"] })), None),
        (advisory("MAL-2026-1", "npm", "evil", &range(json!([{ "introduced": "0" }, { "fixed": "1.0.0" }]))), None),
        (advisory("MAL-2026-1", "PyPI", "evil", &json!({ "versions": ["1.0.0"] })), None),
        (advisory("MAL-2026-1", "npm", "Evil", &json!({ "versions": ["1.0.0"] })), None),
    ] {
        let env = Env::empty();
        with_evil(&env);
        configure(&env, "osv.json");
        env.write("r/osv.json", attack.to_string());
        let run = validate(&env, &[]);
        match expected {
            Some(expected) => {
                assert!(run.code == 1 && run.stdout.contains("error[advisory/malicious]"), "{attack}: {}", run.stdout);
                assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
            }
            None => assert_eq!(run.code, 0, "{attack}: {}", run.stdout),
        }
    }
}

#[test]
fn python_packages_are_found_by_their_normalised_names() {
    let env = Env::empty();
    registry(&env, None);
    let manifest = env.read("r/own/agent.json");
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["distribution"] = json!({ "uvx": { "package": "own==1.0.0" } });
    env.write("r/own/agent.json", manifest.to_string());
    let hash = format!("    --hash=sha256:{}\n", "a0".repeat(32));
    env.write("r/own/requirements.txt", format!("# python 3.13\nown==1.0.0 \\\n{hash}some-evil==1.0 \\\n{hash}"));
    configure(&env, "osv.json");
    for (versions, code) in [(json!(["1.0.0"]), 1), (json!(["1.0.1"]), 0)] {
        env.write("r/osv.json", advisory("MAL-7", "PyPI", "Some_Evil", &json!({ "versions": versions })).to_string());
        let run = validate(&env, &[]);
        assert_eq!(run.code, code, "{}", run.stdout);
        let expected = "`some-evil@1.0` is malicious, which the agent needs: `own@1.0.0 > … > some-evil@1.0`";
        assert_eq!(run.stdout.contains(expected), code == 1, "{}", run.stdout);
        assert_eq!(run.stdout.contains("own/requirements.txt"), code == 1);
    }
}

#[test]
fn every_form_of_an_export_is_read_and_a_broken_one_is_an_error() {
    let (evil, other) = (evil().to_string(), advisory("MAL-2", "npm", "x", &json!({ "versions": ["1"] })).to_string());
    let pair = [("npm/MAL-2.json", other.as_bytes()), ("npm/MAL-2026-1.json", evil.as_bytes())];
    let whole = zip(&pair);
    let range = r#"{ "id": "MAL-3", "affected": [{ "package": { "ecosystem": "npm", "name": "y" },
        "ranges": [{ "type": "SEMVER", "events": [{ "introduced": "one" }] }] }] }"#;
    let broken = zip(&[("a.json", b"{" as &[u8]), ("b.json", evil.as_bytes())]);
    let cut = whole[..whole.len() - 30].to_vec();
    let text = |text: String| text.into_bytes();
    for (source, file, bytes, problem) in [
        ("osv.json", "osv.json", text(evil.clone()), None),
        ("osv.json", "osv.json", text(format!("[{other},\n{evil}]")), None),
        ("osv.jsonl", "osv.jsonl", text(format!("{other}\n{evil}\n")), None),
        ("all.zip", "all.zip", whole, None),
        (".advisories", ".advisories/npm/evil/MAL-2026-1.json", text(evil.clone()), None),
        (".advisories", ".advisories/all.zip", zip(&pair), None),
        (".advisories", ".advisories/MAL.JSON", text(evil.clone()), None),
        // A download that has failed, perhaps.
        (
            ".advisories",
            ".advisories/README",
            text("x".to_owned()),
            Some("`.advisories` cannot be used: it has no advisories"),
        ),
        (
            "all.zip",
            "all.zip",
            zip(&[("a.txt", b"x" as &[u8])]),
            Some("`all.zip` cannot be used: it has no advisories"),
        ),
        ("osv.json", "other.json", text(evil.clone()), Some("`osv.json` cannot be used: there is no such file")),
        ("osv.json", "osv.json", text(String::new()), Some("`osv.json` cannot be used: it is empty")),
        ("osv.json", "osv.json", text(format!("[{evil}")), Some("is not a list of OSV advisories: EOF")),
        ("osv.jsonl", "osv.jsonl", text(format!("{evil}\n{{}}\n")), Some("is not an OSV advisory: missing field `id`")),
        ("osv.json", "osv.json", text(range.to_owned()), Some("`MAL-3` has a range with the version `one`")),
        ("all.zip", "all.zip", broken, Some("`all.zip/a.json` cannot be used: it is not an OSV advisory")),
        ("all.zip", "all.zip", cut, Some("`all.zip` cannot be used")),
        (
            ".advisories",
            ".advisories/npm/a.json",
            text("7".to_owned()),
            Some("`.advisories/npm/a.json` cannot be used"),
        ),
    ] {
        let env = Env::empty();
        with_evil(&env);
        configure(&env, source);
        env.write(&format!("r/{file}"), bytes);
        let run = validate(&env, &[]);
        assert_eq!(run.code, 1, "{source}: {}", run.stdout);
        match problem {
            None => assert!(
                run.stdout.contains("`MAL-2026-1` says") && !run.stdout.contains("unreadable"),
                "{}",
                run.stdout
            ),
            Some(problem) => {
                assert!(run.stdout.contains("error[advisory/unreadable]"), "{problem}: {}", run.stdout);
                assert!(
                    run.stdout.contains(problem) && run.stdout.contains("fetch the export again"),
                    "{}",
                    run.stdout
                );
            }
        }
    }
    // It is not passed over if only some agents are checked.
    let env = Env::empty();
    registry(&env, None);
    configure(&env, "osv.json");
    let run = validate(&env, &["own"]);
    assert!(run.code == 3 && run.stderr.contains("`osv.json` cannot be used: there is no such file"), "{}", run.stderr);
    // A link does not lead out of the registry.
    let env = Env::empty();
    with_evil(&env);
    configure(&env, "osv.json");
    env.write("osv.json", &evil);
    std::os::unix::fs::symlink(env.path("osv.json"), env.path("r/osv.json")).unwrap();
    let run = validate(&env, &[]);
    assert!(run.stdout.contains("`osv.json` cannot be used: is a symbolic link that leads out"), "{}", run.stdout);
}

#[test]
fn addresses_are_asked_with_urls_and_otherwise_named() {
    let answer = zip(&[("MAL-2026-1.json", evil().to_string().as_bytes())]);
    let server =
        Server::answering(move |asked| if asked.path == "/all.zip" { ok(answer.clone()) } else { not_found() });
    let env = Env::empty();
    with_evil(&env);
    configure(&env, &server.url("/all.zip"));
    let run = validate(&env, &["--json"]);
    assert_eq!((run.code, server.asked()), (0, vec![]), "{}", run.stdout);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let note = format!("advisories were not fetched from `{}`: add --urls", server.url("/all.zip"));
    assert_eq!(document["notes"], json!([note]));
    let ask = |arguments: &[&str]| {
        let mut command = env.command(&[&["--registry-dir", "r", "--allow-host", &server.host], arguments].concat());
        Run::of(command.env("ACP_REGISTRY_NPM", server.url("/npm/")))
    };
    let run = ask(&["validate", "--urls", "--no-cache"]);
    assert!(
        run.code == 1 && run.stdout.contains("`MAL-2026-1` says that `evil@1.0.0`"),
        "{} {}",
        run.stdout,
        run.stderr
    );
    // Other hosts of this machine are not asked.
    let run = env.run(&["--registry-dir", "r", "verify", "--no-cache"]);
    assert!(run.code == 3 && run.stderr.contains("the advisories in"), "{}", run.stderr);
    configure(&env, &server.url("/gone.zip"));
    let run = ask(&["validate", "--urls", "--no-cache"]);
    assert!(run.stdout.contains("gone.zip` cannot be used: there is no such document"), "{}", run.stdout);
}

#[test]
fn an_agent_with_a_malicious_package_is_neither_installed_nor_started_nor_published() {
    let people = people();
    let list = with_evil(&people.env);
    let run = |arguments: &[&str]| {
        let mut command = people.env.command(&[&["--registry-dir", "r"], arguments].concat());
        with_npm(&people, &mut command)
    };
    // The honest twin is started, and its row can be reused.
    let good = run(&["verify", "own", "--no-cache", "--out", "snapshot.json"]);
    assert!(good.code == 0 && called(&people).contains("install"), "{} {}", good.stdout, good.stderr);
    people.env.write("bin/called", "");
    configure(&people.env, "osv.json");
    people.env.write("r/osv.json", evil().to_string());
    let refused = run(&["verify", "--no-cache", "--reuse", "snapshot.json", "--json"]);
    assert_eq!((refused.code, called(&people).as_str()), (1, ""), "{}", refused.stdout);
    let document: Value = serde_json::from_str(&refused.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!((&result["verdict"], &result["reason"]), (&json!("fail"), &json!("malicious")), "{result}");
    assert!(result["message"].as_str().unwrap().contains("own@1.0.0 > a@2.0.0 > b@1.5.0 > evil@1.0.0"), "{result}");
    let all = run(&["validate", "--handshake", "--no-cache"]);
    assert!(
        all.code == 1 && all.stdout.contains("advisory/malicious") && !all.stdout.contains("handshake/"),
        "{}",
        all.stdout
    );
    let built = run(&["build", "--out", "tree", "--base-url", "https://h.example/r"]);
    assert!(built.code == 1 && !people.env.path("tree/registry.json").exists(), "{}", built.stderr);
    assert_eq!(called(&people), "");
    // A list that npm makes anew is not written either.
    std::fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    people.env.write("bin/list", &list);
    let listed = run(&["verify", "own", "--closures", "--no-cache"]);
    assert!(listed.code == 1 && listed.stderr.contains("was not written: `MAL-2026-1` says"), "{}", listed.stderr);
    assert!(!people.env.path("r/own/package-lock.json").exists());
    // If it is not known what is malicious, nothing is started.
    people.env.write("bin/called", "");
    people.env.write("r/osv.json", "{");
    let unknown = run(&["verify", "own", "--no-cache"]);
    assert!(unknown.code == 3 && unknown.stderr.contains("`osv.json` cannot be used"), "{}", unknown.stderr);
    let all = run(&["validate", "--handshake", "--no-cache"]);
    assert!(all.code == 1 && all.stdout.contains("advisory/unreadable"), "{}", all.stdout);
    assert_eq!(called(&people), "");
}
