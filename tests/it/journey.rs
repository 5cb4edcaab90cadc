//! From an empty directory to an agent that was installed from the published registry, with real packages.

use std::process::Command;

use serde_json::Value;

use crate::real::{is_there, people};
use crate::s3::{Moto, ask, bucket};
use crate::server::Server;
use crate::support::{Env, PROGRAM, Run, missing};

/// The program, run in the directory of the new registry.
fn maintainer(env: &Env, arguments: &[&str]) -> Command {
    let mut command = people(env, &[&["--registry-dir", "registry"], arguments].concat());
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret").env_remove("ACP_REGISTRY_INDEX");
    command
}

fn json(command: &mut Command) -> Value {
    let run = Run::of(command.arg("--json"));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn an_empty_folder_becomes_a_registry_from_which_agents_are_installed() {
    const TEST: &str = "an_empty_folder_becomes_a_registry_from_which_agents_are_installed";
    if !is_there("npm") || !is_there("uv") {
        return missing(TEST, "npm or uv is not installed");
    }
    let Some(moto) = Moto::shared(TEST) else { return };
    bucket(&moto, "journey");
    // The bucket is private: readers fetch from a server in front of it.
    let store = moto.host.clone();
    let front = Server::answering(move |asked| {
        let (status, headers, body) = ask(&store, "GET", &asked.path).unwrap();
        (status, vec![("Content-Type", headers["content-type"].clone())], body)
    });
    let base = front.url("/journey/v1/latest");
    let env = Env::empty();
    let run = Run::of(&mut maintainer(&env, &["init", "registry", "--program", "o/acp-registry"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let config = env.read("registry/registry.toml");
    let unset = config.lines().find(|line| line.starts_with("# base-url")).unwrap();
    env.write("registry/registry.toml", config.replace(unset, &format!("base-url = \"{base}\"")));

    for (id, source, package) in
        [("pi-acp", "--npm", "pi-acp@0.0.34"), ("minion-code", "--pypi", "minion-code==0.1.45")]
    {
        let run = Run::of(&mut maintainer(&env, &["new", id, source, package]));
        if run.code == 3 {
            return missing(TEST, &format!("{package} cannot be reached: {}", run.stderr));
        }
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("it answers, and people sign in by"), "{}", run.stdout);
        // Completes the manual steps, with URLs that lead to no other host.
        let path = format!("registry/{id}/agent.json");
        let mut manifest: Value = serde_json::from_str(&env.read(&path)).unwrap();
        manifest["description"] = "Made for a test".into();
        let members = manifest.as_object_mut().unwrap();
        members.retain(|name, _| !["repository", "website"].contains(&name.as_str()));
        members.entry("license").or_insert_with(|| "MIT".into());
        members.entry("authors").or_insert_with(|| serde_json::json!(["Its authors"]));
        env.write(&path, acp_registry::json::to_string(&manifest));
    }
    let report = json(&mut maintainer(&env, &["validate", "--all"]));
    let nothing = Value::Array(Vec::new());
    assert_eq!((&report["findings"], &report["notes"]), (&nothing, &nothing), "{report}");
    assert_eq!(report["summary"]["agents"], 2);

    json(&mut maintainer(&env, &["build", "--out", "dist"]));
    let mut command = maintainer(&env, &["publish", "--from", "dist", "--to", "s3://journey/v1"]);
    let published = json(command.env("AWS_ENDPOINT_URL", format!("http://{}", moto.host)));
    assert!(published["snapshot"].as_str().unwrap().starts_with('v'), "{published}");

    let index = format!("{base}/registry.json");
    let person = |arguments: &[&str]| {
        let mut command = people(&env, &[&["--allow-host", &front.host], arguments].concat());
        command.env("ACP_REGISTRY_INDEX", &index);
        command
    };
    let list = json(&mut person(&["list"]));
    assert_eq!((&list["agents"][0]["id"], &list["agents"][1]["id"]), (&"minion-code".into(), &"pi-acp".into()));
    let installed = json(&mut person(&["install", "pi-acp", "minion-code"]));
    assert_eq!(installed["errors"], nothing);
    for id in ["pi-acp", "minion-code"] {
        let root = env.path("root");
        let agent = [PROGRAM, "run", "--root", root.to_str().unwrap(), "--offline", id];
        let run = Run::of(&mut person(&[&["probe", "--timeout", "120", "--json", "--"], &agent[..]].concat()));
        let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(outcome["verdict"], "pass", "{id}: {outcome}");
    }
}
