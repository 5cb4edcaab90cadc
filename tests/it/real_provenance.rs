//! Who has built npm packages: with npm itself, a registry on loopback, and the mock signer of npm's own library.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::agent::fake_agent;
use crate::archives::{gz, tar};
use crate::attester::{Attestation, Sigstore, text};
use crate::real::{is_there, people};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON, Run, missing};

/// A package that is the fake agent, whose install script leaves a trace.
fn package(version: &str, trace: &Path) -> Vec<u8> {
    let script = format!("touch '{}'", trace.display());
    let own = json!({ "name": "p", "version": version, "bin": "cli.sh", "scripts": { "postinstall": script } });
    let program = format!("#!/bin/sh\nexec '{}' ok\n", fake_agent().display());
    gz(&tar(&[("package/package.json", own.to_string().as_bytes()), ("package/cli.sh", program.as_bytes())]))
}

/// What the registry states and sends.
#[derive(Default)]
struct Sent {
    version: String,
    archive: Vec<u8>,
    /// Whose digest it states.
    stated: Vec<u8>,
    bundles: Vec<Value>,
}

struct Scene {
    env: Env,
    server: Server,
    sent: Arc<Mutex<Sent>>,
    sigstore: Sigstore,
}

fn integrity(archive: &[u8]) -> String {
    format!("sha512-{}", text(&Sha512::digest(archive)))
}

fn subject(version: &str, archive: &[u8]) -> Value {
    let digest: String = Sha512::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    json!([{ "name": format!("pkg:npm/p@{version}"), "digest": { "sha512": digest } }])
}

impl Scene {
    fn new() -> Self {
        let (sent, sigstore) = (Arc::new(Mutex::new(Sent::default())), Sigstore::new());
        let known = sent.clone();
        // The registry signs with a key of its own that it was published.
        let predicate = "https://registry.example/publish/v0.1".to_owned();
        let mut notice = sigstore.sign(&Attestation { predicate, ..Attestation::new("o/r", json!([])) });
        notice["verificationMaterial"].as_object_mut().unwrap().remove("certificate");
        notice["verificationMaterial"]["publicKey"] = json!({ "hint": "SHA256:x" });
        let server = Server::answering(move |asked| {
            let sent = known.lock().unwrap();
            let version = &sent.version;
            if asked.path == format!("/-/npm/v1/attestations/p@{version}") {
                let list = sent.bundles.iter().chain([&notice]).map(|bundle| json!({ "bundle": bundle }));
                return ok(json!({ "attestations": list.collect::<Vec<_>>() }).to_string());
            }
            match asked.path.as_str() {
                "/p.tgz" => ok(sent.archive.clone()),
                "/p" => {
                    let tarball = format!("http://{}/p.tgz", asked.header("host"));
                    let dist = json!({ "tarball": tarball, "integrity": integrity(&sent.stated) });
                    let own = json!({ "name": "p", "version": version, "bin": "cli.sh", "hasInstallScript": true, "dist": dist });
                    ok(json!({ "name": "p", "dist-tags": { "latest": version }, "versions": { version: own } })
                        .to_string())
                }
                _ => not_found(),
            }
        });
        let scene = Self { env: Env::empty(), server, sent, sigstore };
        scene.env.write("trusted_root.json", scene.sigstore.root().to_string());
        scene
    }

    /// Publishes a version, with a statement about these bytes.
    fn publish(&self, version: &str, change: impl FnOnce(&mut Sent)) {
        let manifest = json!({ "id": "p", "name": "P", "version": version, "description": "An agent", "license": "MIT",
                               "repository": "https://github.com/o/r",
                               "distribution": { "npx": { "package": format!("p@{version}") } } });
        self.env.write("r/p/agent.json", manifest.to_string());
        self.env.write("r/p/icon.svg", ICON);
        let archive = package(version, &self.trace());
        let bundle = self.sigstore.sign(&Attestation::new("o/r", subject(version, &archive)));
        let mut sent = Sent { version: version.to_owned(), stated: archive.clone(), archive, bundles: vec![bundle] };
        change(&mut sent);
        *self.sent.lock().unwrap() = sent;
    }

    fn trace(&self) -> std::path::PathBuf {
        self.env.path("trace")
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = people(&self.env, &[arguments, &["--no-cache"]].concat());
        command.env("ACP_REGISTRY_NPM", self.server.url("/"));
        Run::of(command.env("ACP_REGISTRY_TRUSTED_ROOT", self.env.path("trusted_root.json")))
    }
}

#[test]
fn npm_runs_no_script_of_a_package_whose_publisher_is_not_proven() {
    const TEST: &str = "npm_runs_no_script_of_a_package_whose_publisher_is_not_proven";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let scene = Scene::new();
    let install = ["install", "p", "--require", "attested", "--json"];
    let refused = |code: &str| {
        let run = scene.run(&install);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["error"]["code"]), (4, &json!(code)), "{document}");
        assert!(!scene.trace().exists(), "{code}: an install script has run");
    };
    scene.publish("1.0.0", |sent| sent.bundles.clear());
    // The notice of the publication says nothing of who has built it.
    refused("provenance_missing");
    scene.publish("1.0.0", |sent| {
        sent.bundles = vec![scene.sigstore.sign(&Attestation::new("evil/r", subject("1.0.0", &sent.archive)))];
    });
    refused("provenance_mismatch");
    scene.publish("1.0.0", |sent| {
        sent.bundles = vec![scene.sigstore.sign(&Attestation::new("o/r", subject("0.9.0", &sent.archive)))];
    });
    refused("provenance_mismatch");
    // The registry states what was attested, and sends something else.
    scene.publish("1.0.0", |sent| sent.archive = package("1.0.0-evil", &scene.trace()));
    refused("digest_mismatch");
    scene.publish("1.0.0", |_| ());
    let run = scene.run(&install);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &document["answers"], &document["verified"]), (0, &json!(true), &json!("npm")), "{document}");
    assert_eq!(document["provenance"]["publisher"]["repository"], "https://github.com/o/r");
    assert_eq!(document["integrity"], integrity(&scene.sent.lock().unwrap().stated));
    assert!(scene.trace().exists());
    fs::remove_file(scene.trace()).unwrap();
    // An update without the flag is checked before its script runs.
    scene.publish("2.0.0", |sent| {
        sent.bundles = vec![scene.sigstore.sign(&Attestation::new("evil/r", subject("2.0.0", &sent.archive)))];
    });
    assert_eq!(scene.run(&["update", "p"]).code, 4);
    assert!(!scene.trace().exists());
    scene.publish("2.0.0", |_| ());
    assert_eq!(scene.run(&["update", "p"]).code, 0);
    assert!(scene.trace().exists());
}

#[test]
fn what_the_mock_signer_of_npms_library_attests_is_accepted() {
    const TEST: &str = "what_the_mock_signer_of_npms_library_attests_is_accepted";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let scene = Scene::new();
    let fetched = Command::new("npm")
        .args([
            "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "mock",
            "@sigstore/mock@0.13.0",
        ])
        .current_dir(scene.env.path(""))
        .output()
        .unwrap();
    if !fetched.status.success() {
        return missing(TEST, "the npm registry cannot be reached");
    }
    fs::write(scene.env.path("mock/attest.cjs"), include_str!("../fixtures/attest.cjs")).unwrap();
    let attest = |repository: &str, subjects: Value| -> Value {
        let statement = json!({ "_type": "https://in-toto.io/Statement/v1", "subject": subjects,
                                "predicateType": "https://slsa.dev/provenance/v1", "predicate": {} });
        let mut node = Command::new("node");
        let made = node.args(["attest.cjs", repository, &statement.to_string()]).current_dir(scene.env.path("mock"));
        let made = made.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        serde_json::from_slice(&made.stdout).unwrap()
    };
    for (repository, code) in [("evil/r", 4), ("o/r", 0)] {
        scene.publish("1.0.0", |sent| {
            let made = attest(repository, subject("1.0.0", &sent.archive));
            scene.env.write("trusted_root.json", made["root"].to_string());
            sent.bundles = vec![made["bundle"].clone()];
        });
        let run = scene.run(&["install", "p", "--require", "attested"]);
        assert_eq!(run.code, code, "{}", run.stderr);
    }
}
