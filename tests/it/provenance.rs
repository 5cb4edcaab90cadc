//! Who has built what is installed: what forged, replayed, lost and foreign attestations lead to, and what honest ones do.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use acp_registry::provenance::{Artifact, Error, TrustRoots};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::{Value, json};
use time::Duration;

use crate::archives::sha256;
use crate::attester::{Attestation, Sigstore, text, until};
use crate::people::{People, archive};
use crate::server::{Server, not_found, ok, status};
use crate::support::{Env, ICON, Run, manifest, skipped};

pub(crate) const REPOSITORY: &str = "https://github.com/o/r";

/// An instance of sigstore, what it attests of versions, and what is trusted.
pub(crate) struct World {
    pub(crate) sigstore: Sigstore,
    pub(crate) trusted: RefCell<Value>,
    /// The subject of the attestation of a version.
    subject: fn(&str) -> Value,
}

impl World {
    pub(crate) fn new(subject: fn(&str) -> Value) -> Self {
        let sigstore = Sigstore::new();
        Self { trusted: RefCell::new(sigstore.root()), sigstore, subject }
    }

    /// What is attested of a version.
    pub(crate) fn of(&self, version: &str) -> Attestation {
        Attestation::new("o/r", json!([(self.subject)(version)]))
    }

    fn trust(&self, root: &Value) {
        self.trusted.borrow_mut().clone_from(root);
    }
}

/// An agent on loopback whose versions are archives, with what GitHub attests of them.
struct Scene {
    people: People,
    world: World,
}

/// The bytes of a version.
fn bytes(version: &str) -> Vec<u8> {
    archive(&format!("a-{version}"))
}

/// The archive of a version.
fn subject(version: &str) -> Value {
    json!({ "name": "a.tar.gz", "digest": { "sha256": sha256(&bytes(version)) } })
}

/// What is attested of the archive of a version.
fn of(version: &str) -> Attestation {
    Attestation::new("o/r", json!([subject(version)]))
}

/// Other bytes than those of any version.
fn other() -> Value {
    json!({ "name": "other", "digest": { "sha256": "0".repeat(64), "sha512": "0".repeat(128) } })
}

impl Scene {
    fn new() -> Self {
        let scene = Self { people: People::new(), world: World::new(subject) };
        scene.trust();
        scene
    }

    fn trust(&self) {
        self.people.env.write("trusted_root.json", self.world.trusted.borrow().to_string());
    }

    /// Publishes a version, and what is attested of it.
    fn publish(&self, version: &str, bundles: &[Value]) {
        let bytes = bytes(version);
        let mut agent = self.people.agent_of("a", version, &bytes, Some(&sha256(&bytes)));
        agent["repository"] = REPOSITORY.into();
        self.people.publish(&[agent]);
        let list: Vec<Value> = bundles.iter().map(|bundle| json!({ "bundle": bundle })).collect();
        self.people.serve(&attestations(version), json!({ "attestations": list }).to_string());
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.people.command(arguments);
        Run::of(command.env("ACP_REGISTRY_TRUSTED_ROOT", self.people.env.path("trusted_root.json")))
    }

    /// The exit code, and the code of the error.
    fn code(&self, arguments: &[&str]) -> (i32, String) {
        let run = self.run(&[arguments, &["--refresh", "--json"]].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let error = document["error"]["code"].as_str();
        (run.code, error.unwrap_or_default().to_owned())
    }

    fn installed(&self) -> Vec<String> {
        let run = self.run(&["list", "--installed", "--json"]);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let versions =
            document["agents"].as_array().unwrap().iter().map(|agent| agent["version"].as_str().unwrap().to_owned());
        versions.collect()
    }
}

fn attestations(version: &str) -> String {
    format!("/api/v3/repos/o/r/attestations/sha256:{}?per_page=64", sha256(&bytes(version)))
}

const FIRST: [&str; 5] = ["install", "a", "--no-check", "--require", "attested"];

/// What comes with version 2.0.0, when 1.0.0 was built by the repository of the manifest.
pub(crate) type Coming = fn(&World) -> Vec<Value>;

/// A change of an attestation before it is signed.
fn signed(world: &World, change: impl FnOnce(&mut Attestation)) -> Vec<Value> {
    let mut attestation = world.of("2.0.0");
    change(&mut attestation);
    vec![world.sigstore.sign(&attestation)]
}

/// A change of what was signed.
fn bent(world: &World, change: impl FnOnce(&mut Value)) -> Vec<Value> {
    let mut bundle = world.sigstore.sign(&world.of("2.0.0"));
    change(&mut bundle);
    vec![bundle]
}

/// The attack, the code with which it is refused, how it is made, and an honest version that looks like it.
pub(crate) const CASES: [(&str, &str, Coming, Coming); 25] = [
    ("lost", "provenance_missing", |_| vec![], |s| signed(s, |_| ())),
    (
        "only a list of dependencies",
        "provenance_missing",
        |s| signed(s, |a| a.predicate = "https://spdx.dev/Document".into()),
        |s| {
            let list = signed(s, |a| a.predicate = "https://spdx.dev/Document".into());
            [list, signed(s, |_| ())].concat()
        },
    ),
    (
        "signed by another authority",
        "provenance_mismatch",
        |s| vec![Sigstore::new().sign(&s.of("2.0.0"))],
        |s| vec![Sigstore::new().sign(&s.of("2.0.0")), s.sigstore.sign(&s.of("2.0.0"))],
    ),
    (
        "a certificate that no certificate log has seen",
        "provenance_mismatch",
        |s| {
            let other = Sigstore::new().root()["ctlogs"].clone();
            let mut root = s.sigstore.root();
            root["ctlogs"] = other;
            s.trust(&root);
            signed(s, |_| ())
        },
        |s| {
            let mut root = s.sigstore.root();
            let more = Sigstore::new().root()["ctlogs"][0].clone();
            root["ctlogs"].as_array_mut().unwrap().insert(0, more);
            s.trust(&root);
            signed(s, |_| ())
        },
    ),
    (
        "recorded in another log",
        "provenance_mismatch",
        |s| {
            let other = Sigstore::new();
            bent(s, |b| {
                b["verificationMaterial"]["tlogEntries"] =
                    other.sign(&s.of("2.0.0"))["verificationMaterial"]["tlogEntries"].clone();
            })
        },
        |s| signed(s, |_| ()),
    ),
    ("recorded in no log", "provenance_mismatch", |s| signed(s, |a| a.is_logged = false), |s| signed(s, |_| ())),
    (
        "the entry of another attestation",
        "provenance_mismatch",
        |s| {
            let entries = signed(s, |_| ())[0]["verificationMaterial"]["tlogEntries"].clone();
            bent(s, |b| b["verificationMaterial"]["tlogEntries"] = entries)
        },
        |s| signed(s, |_| ()),
    ),
    (
        "another time in the entry",
        "provenance_mismatch",
        |s| bent(s, |b| b["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "1700000000".into()),
        |s| signed(s, |a| a.logged += Duration::minutes(1)),
    ),
    (
        "another root of the log",
        "provenance_mismatch",
        |s| {
            bent(s, |b| {
                b["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["rootHash"] = text(&[0; 32]).into();
            })
        },
        |s| signed(s, |_| ()),
    ),
    (
        "a checkpoint that the log has not signed",
        "provenance_mismatch",
        |s| {
            bent(s, |b| {
                let proof = &mut b["verificationMaterial"]["tlogEntries"][0]["inclusionProof"];
                let note =
                    proof["checkpoint"]["envelope"].as_str().unwrap().replace("log.example - 1", "log.example - 2");
                proof["checkpoint"]["envelope"] = note.into();
            })
        },
        |s| signed(s, |_| ()),
    ),
    (
        "a changed statement",
        "provenance_mismatch",
        |s| {
            bent(s, |b| {
                let statement = BASE64_STANDARD.decode(b["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
                let statement = String::from_utf8(statement).unwrap().replace("\"predicate\":{}", "\"predicate\":[]");
                b["dsseEnvelope"]["payload"] = text(statement.as_bytes()).into();
            })
        },
        |s| signed(s, |_| ()),
    ),
    (
        "the signature of another statement",
        "provenance_mismatch",
        |s| {
            let other = s.sigstore.sign(&s.of("1.0.0"))["dsseEnvelope"]["signatures"].clone();
            bent(s, |b| b["dsseEnvelope"]["signatures"] = other)
        },
        |s| signed(s, |_| ()),
    ),
    (
        "the attestation of the version before",
        "provenance_mismatch",
        |s| vec![s.sigstore.sign(&s.of("1.0.0"))],
        |s| vec![s.sigstore.sign(&s.of("1.0.0")), s.sigstore.sign(&s.of("2.0.0"))],
    ),
    (
        "another subject",
        "provenance_mismatch",
        |s| signed(s, |a| a.subjects = json!([other()])),
        |s| signed(s, |a| a.subjects.as_array_mut().unwrap().insert(0, other())),
    ),
    (
        "recorded after the certificate had expired",
        "provenance_mismatch",
        |s| signed(s, |a| a.logged = a.issued + a.lifetime + Duration::SECOND),
        |s| signed(s, |a| a.logged = a.issued + a.lifetime),
    ),
    (
        "recorded before the certificate was issued",
        "provenance_mismatch",
        |s| signed(s, |a| a.logged = a.issued - Duration::SECOND),
        |s| signed(s, |a| a.logged = a.issued),
    ),
    (
        "recorded in the future",
        "provenance_mismatch",
        |s| signed(s, |a| (a.lifetime, a.logged) = (Duration::DAY, a.issued + 12 * Duration::HOUR)),
        |s| signed(s, |a| a.lifetime = Duration::DAY),
    ),
    (
        "an authority that had expired",
        "provenance_mismatch",
        |s| {
            s.trust(&until(s.sigstore.root(), s.of("2.0.0").issued - Duration::DAY));
            signed(s, |_| ())
        },
        |s| {
            s.trust(&until(s.sigstore.root(), s.of("2.0.0").issued + Duration::HOUR));
            signed(s, |_| ())
        },
    ),
    (
        "a certificate for something else",
        "provenance_mismatch",
        |s| signed(s, |a| a.usage = ExtendedKeyUsagePurpose::ServerAuth),
        |s| signed(s, |_| ()),
    ),
    (
        "another repository",
        "provenance_mismatch",
        |s| signed(s, |a| *a = Attestation { subjects: a.subjects.clone(), ..Attestation::new("evil/r", json!([])) }),
        |s| signed(s, |a| *a = Attestation { subjects: a.subjects.clone(), ..Attestation::new("O/R", json!([])) }),
    ),
    (
        "an issuer whose users name any repository",
        "provenance_mismatch",
        |s| signed(s, |a| a.issuer = Some("https://ci.example".into())),
        |s| signed(s, |_| ()),
    ),
    (
        "a person, who has no repository",
        "provenance_mismatch",
        |s| signed(s, |a| (a.repository, a.issuer) = (None, Some("https://accounts.example".into()))),
        |s| signed(s, |_| ()),
    ),
    (
        "another repository of the same name",
        "publisher_changed",
        |s| signed(s, |a| a.repository_id = Some("2".into())),
        |s| signed(s, |a| a.repository_id = Some("1".into())),
    ),
    (
        "a workflow of another repository",
        "publisher_changed",
        |s| {
            signed(s, |a| {
                a.workflow = Some("https://github.com/evil/r/.github/workflows/release.yml@refs/heads/main".into());
            })
        },
        |s| {
            signed(s, |a| {
                a.workflow = Some("https://github.com/o/r/.github/workflows/other.yml@refs/heads/main".into());
            })
        },
    ),
    (
        "a machine of the repository's owner",
        "provenance_weaker",
        |s| signed(s, |a| a.runner = "self-hosted".into()),
        |s| signed(s, |a| a.runner = "github-hosted".into()),
    ),
];

#[test]
fn no_attack_on_an_attestation_is_accepted_and_each_honest_twin_is() {
    for (name, expected, attack, twin) in CASES {
        let scene = Scene::new();
        scene.publish("1.0.0", &[scene.world.sigstore.sign(&of("1.0.0"))]);
        let first = scene.run(&FIRST);
        assert_eq!(first.code, 0, "{name}: {}", first.stderr);
        scene.publish("2.0.0", &attack(&scene.world));
        scene.trust();
        assert_eq!(scene.code(&["update", "--no-check"]), (4, expected.to_owned()), "{name}");
        assert_eq!(scene.installed(), ["1.0.0"], "{name}");
        // A person agrees to what is new, and not to what is forged.
        let agreed = scene.code(&["update", "--no-check", "--accept-publisher", "--dry-run"]);
        assert_eq!(agreed, (1, String::new()), "{name}");
        if expected == "provenance_mismatch" {
            let agreed = scene.code(&["update", "--no-check", "--accept-publisher"]);
            assert_eq!(agreed, (4, expected.to_owned()), "{name}");
        }
        scene.world.trust(&scene.world.sigstore.root());
        scene.publish("2.0.0", &twin(&scene.world));
        scene.trust();
        let done = scene.run(&["update", "--no-check", "--refresh"]);
        assert_eq!((done.code, scene.installed()), (0, vec!["2.0.0".to_owned()]), "{name}: {}", done.stderr);
    }
}

/// Nothing is asked that was not asked before, until a person requires it.
#[test]
fn attestations_are_asked_for_once_they_are_required() {
    let scene = Scene::new();
    let asked =
        |scene: &Scene| scene.people.server.asked().into_iter().filter(|path| path.contains("attestations")).count();
    let attested = |version| vec![scene.world.sigstore.sign(&of(version))];
    scene.publish("1.0.0", &attested("1.0.0"));
    assert_eq!(scene.code(&["install", "a", "--no-check"]), (0, String::new()));
    scene.publish("1.1.0", &[]);
    assert_eq!((scene.code(&["update", "--no-check"]).0, asked(&scene)), (0, 0));
    // An installed version whose publisher is not known is installed again.
    let first = scene.run(&[&FIRST[..], &["--refresh"]].concat());
    let told = "`a` was not installed: nothing attests who has built the archive with the SHA-256 ";
    assert!(first.code == 4 && first.stderr.contains(told), "{}", first.stderr);
    scene.publish("1.1.0", &attested("1.1.0"));
    assert_eq!(scene.run(&["run", "a", "--require", "attested"]).stdout.trim(), "a-1.1.0 acp");
    assert_eq!(asked(&scene), 2);
    assert_eq!(scene.run(&["run", "a", "--require", "attested"]).stdout.trim(), "a-1.1.0 acp");
    assert_eq!(scene.code(&FIRST).0, 0);
    assert_eq!(asked(&scene), 2, "what is proven is asked again");
    let run = scene.run(&["which", "a", "--json"]);
    let known: Value = serde_json::from_str(&run.stdout).unwrap();
    let workflow = "https://github.com/o/r/.github/workflows/release.yml";
    let expected = json!({
        "publisher": {
            "issuer": "https://token.actions.githubusercontent.com", "repository": REPOSITORY, "repository_id": "1",
            "workflow": workflow,
        },
        "logged": true, "hosted": true,
    });
    assert_eq!(known["provenance"], expected);
    let info = scene.run(&["info", "a"]).stdout;
    assert!(info.contains(&format!("  built by     {workflow}\n")), "{info}");
    // From now on, updates are checked without a flag.
    scene.publish("1.2.0", &[]);
    let run = scene.run(&["update", "--no-check", "--refresh"]);
    let told = "; `https://github.com/o/r` has attested the installed version\nhelp: if you know why, agree with --accept-publisher\n";
    assert!(run.code == 4 && run.stderr.ends_with(told), "{}", run.stderr);
    assert_eq!(
        scene.code(&["update", "--no-check", "--accept-publisher", "--require", "attested"]).1,
        "provenance_missing"
    );
    assert_eq!(scene.code(&["update", "--no-check", "--accept-publisher"]).0, 0);
    // Who has agreed to a version without a publisher has none that could be lost.
    scene.publish("1.3.0", &[]);
    assert_eq!((scene.code(&["update", "--no-check"]).0, scene.installed()), (0, vec!["1.3.0".to_owned()]));
}

#[test]
fn a_person_agrees_to_a_new_publisher_and_then_that_one_is_remembered() {
    let scene = Scene::new();
    scene.publish("1.0.0", &[scene.world.sigstore.sign(&of("1.0.0"))]);
    assert_eq!(scene.code(&FIRST).0, 0);
    let by = |version, id: &str, runner: &str| {
        let attestation = Attestation { repository_id: Some(id.to_owned()), runner: runner.to_owned(), ..of(version) };
        vec![scene.world.sigstore.sign(&attestation)]
    };
    scene.publish("2.0.0", &by("2.0.0", "2", "self-hosted"));
    let run = scene.run(&["update", "--no-check", "--refresh"]);
    let told = "was built by `https://github.com/o/r/.github/workflows/release.yml` of `https://github.com/o/r` (number `2`), and the \
                installed version by `https://github.com/o/r/.github/workflows/release.yml` of `https://github.com/o/r` (number `1`)\n";
    assert!(run.code == 4 && run.stderr.contains(told), "{}", run.stderr);
    assert_eq!(scene.code(&["update", "--no-check", "--accept-publisher"]).0, 0);
    scene.publish("3.0.0", &by("3.0.0", "2", "self-hosted"));
    assert_eq!(scene.code(&["update", "--no-check"]).0, 0);
    scene.publish("4.0.0", &by("4.0.0", "1", "github-hosted"));
    assert_eq!(scene.code(&["update", "--no-check"]), (4, "publisher_changed".to_owned()));
    // The manifest decides which repository counts, and not the memory.
    let mut agent = scene.people.agent_of("a", "4.0.0", &bytes("4.0.0"), Some(&sha256(&bytes("4.0.0"))));
    scene.people.publish(&[agent.clone()]);
    assert_eq!(scene.code(&["update", "--no-check"]), (4, "provenance_missing".to_owned()));
    agent["repository"] = "https://github.com/other/r".into();
    scene.people.publish(&[agent]);
    assert_eq!(scene.code(&["update", "--no-check"]), (4, "provenance_missing".to_owned()));
}

#[test]
fn what_cannot_be_asked_or_checked_is_not_installed() {
    let scene = Scene::new();
    let bundle = scene.world.sigstore.sign(&of("1.0.0"));
    scene.publish("1.0.0", std::slice::from_ref(&bundle));
    let path = attestations("1.0.0");
    let mut crowded = bundle.clone();
    let entries = crowded["verificationMaterial"]["tlogEntries"].as_array_mut().unwrap();
    entries.extend(vec![entries[0].clone(); 8]);
    for (answer, expected) in [
        (status(500), (3, "install_failed")),
        (ok("[]"), (3, "install_failed")),
        (not_found(), (4, "provenance_missing")),
        (ok(r#"{"attestations":[]}"#), (4, "provenance_missing")),
        (ok(r#"{"attestations":[{"bundle":null,"bundle_url":"https://h.example/"}]}"#), (4, "provenance_mismatch")),
        (ok(r#"{"attestations":[{"bundle":{"mediaType":"x"}}]}"#), (4, "provenance_mismatch")),
        (ok(json!({ "attestations": [{ "bundle": crowded }] }).to_string()), (4, "provenance_mismatch")),
        (ok(" ".repeat(9 << 20)), (3, "install_failed")),
    ] {
        scene.people.answer(&path, answer);
        let (code, error) = scene.code(&FIRST);
        assert_eq!((code, error.as_str()), expected);
        assert!(scene.people.is_gone());
    }
    scene.people.serve(&path, json!({ "attestations": [{ "bundle": bundle }] }).to_string());
    for root in ["", "{}", "[]"] {
        scene.people.env.write("trusted_root.json", root);
        let run = scene.run(&FIRST);
        assert!(run.code == 2 && run.stderr.contains("ACP_REGISTRY_TRUSTED_ROOT: "), "{}", run.stderr);
    }
    // By the roots that the program holds, it is forged.
    let run = Run::of(&mut scene.people.command(&FIRST));
    assert!(run.code == 4 && run.stderr.contains(" does not count: "), "{}", run.stderr);
    scene.trust();
    assert_eq!(scene.code(&FIRST).0, 0);
}

/// A lock file says whose attestation is required, where one was.
#[test]
fn a_lock_file_keeps_the_repository_of_what_was_attested() {
    let scene = Scene::new();
    scene.publish("1.0.0", &[scene.world.sigstore.sign(&of("1.0.0"))]);
    let file = scene.people.env.path("a.lock");
    let lock = ["--lock", file.to_str().unwrap()];
    assert_eq!(scene.code(&[&["install", "a", "--no-check"][..], &lock].concat()).0, 0);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("repository"));
    assert_eq!(scene.code(&["uninstall", "a"]).0, 0);
    let locked = [&FIRST[..], &lock, &["--locked"]].concat();
    let run = scene.run(&locked);
    assert!(run.code == 4 && run.stderr.contains("names no repository"), "{}", run.stderr);
    assert_eq!(scene.code(&[&FIRST[..], &lock].concat()).0, 0);
    assert_eq!(scene.code(&["uninstall", "a"]).0, 0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("repository = \"https://github.com/o/r\"\n"));
    assert_eq!(scene.code(&locked).0, 0);
}

#[test]
fn bytes_without_a_stated_digest_are_refused_where_one_is_required() {
    let people = People::new();
    let bytes = bytes("1.0.0");
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, None)]);
    let arguments = ["install", "a", "--no-check", "--require", "digest", "--refresh"];
    let run = people.run(&arguments);
    assert!(
        run.code == 4 && run.stderr.contains("no digest is stated with which all bytes of `http://127.0.0.1:"),
        "{}",
        run.stderr
    );
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    assert_eq!(people.run(&arguments).code, 4, "it is there, and nothing has proven its bytes");
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&arguments).code, 0);
}

/// npm's packages are named in the statement, since a registry could send the bytes of another one.
#[test]
fn the_statement_about_an_npm_package_is_about_its_name_version_and_bytes() {
    let sigstore = Sigstore::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trusted_root.json");
    std::fs::write(&file, sigstore.root().to_string()).unwrap();
    let roots = TrustRoots::open(Some(&file)).unwrap();
    let wanted = Artifact::npm("@s/p", "1.0.0", &format!("sha512-{}", text(&[7; 64]))).unwrap();
    for (name, byte, is_right) in [
        ("pkg:npm/%40s/p@1.0.0", "07", true),
        ("pkg:npm/@s/p@1.0.0", "07", false),
        ("pkg:npm/%40s/p@1.0.1", "07", false),
        ("pkg:npm/p@1.0.0", "07", false),
        ("pkg:npm/%40s/p@1.0.0", "08", false),
    ] {
        let own = json!({ "name": name, "digest": { "sha512": byte.repeat(64) } });
        let other = json!({ "name": "pkg:npm/other@1.0.0", "digest": { "sha512": "07".repeat(64) } });
        for subjects in [json!([own]), json!([other, own])] {
            let bundle = sigstore.sign(&Attestation::new("o/r", subjects)).to_string();
            match roots.check(&[bundle], &wanted, REPOSITORY) {
                Ok(found) => assert!(is_right && found.len() == 1, "{name} {byte}"),
                Err(error) => assert!(!is_right && matches!(error, Error::Mismatch { .. }), "{name} {byte}: {error}"),
            }
        }
    }
    assert!(TrustRoots::open(None).is_ok(), "the roots that the program holds cannot be used");
}

/// The wheel of a version.
fn wheel(version: &str) -> Value {
    json!({ "name": format!("q-{version}-py3-none-any.whl"), "digest": { "sha256": sha256(version.as_bytes()) } })
}

/// A bundle as a Python package index has it.
fn python(bundle: &Value) -> Value {
    let (material, envelope) = (&bundle["verificationMaterial"], &bundle["dsseEnvelope"]);
    let attestation = json!({
        "version": 1,
        "verification_material": {
            "certificate": material["certificate"]["rawBytes"], "transparency_entries": material["tlogEntries"],
        },
        "envelope": { "statement": envelope["payload"], "signature": envelope["signatures"][0]["sig"] },
    });
    json!({ "version": 1, "attestation_bundles": [{ "publisher": { "kind": "GitHub" }, "attestations": [attestation] }] })
}

/// A `uv` that makes an environment with a program, and notes the list that it is given.
#[cfg(unix)]
const UV: &str = r#"#!/bin/sh
case "$1" in
  venv)
    for place in "$@"; do :; done
    own=$place/lib/python3/site-packages/q-1.0.0.dist-info
    mkdir -p "$place/bin" "$own" && printf '[console_scripts]\nq = q:main\n' > "$own/entry_points.txt"
    printf '#!/bin/sh\n' > "$place/bin/q" && chmod +x "$place/bin/q" ;;
  pip) cp packages.txt "${0%/*}/installed" ;;
  *) exit 9 ;;
esac
"#;

/// The files of a Python package are attested one by one (PEP 740), and one that is attested is installed.
#[cfg(unix)]
#[test]
fn only_attested_files_of_a_python_package_are_installed() {
    let (people, world) = (People::new(), World::new(wheel));
    people.env.write_program("bin/uv", UV);
    people.env.write("trusted_root.json", world.trusted.borrow().to_string());
    let publish = |version: &str| {
        let [wheel, source] = [sha256(version.as_bytes()), "5".repeat(64)];
        let page = format!(
            "<html><body><a href=\"x#sha256={wheel}\">q-{version}-py3-none-any.whl</a><a href=\"y#sha256={source}\">q-{version}.tar.gz</a>"
        );
        people.serve("/simple/q/", page);
        people.env.write(
            "r/q/agent.json",
            json!({ "id": "q", "name": "Q", "version": version, "description": "An agent", "license": "MIT", "authors": ["A"],
                    "repository": REPOSITORY, "distribution": { "uvx": { "package": format!("q=={version}") } } })
            .to_string(),
        );
        people.env.write("r/q/icon.svg", ICON);
        let hash = |digest: &str| format!(" \\\n    --hash=sha256:{digest}");
        let list =
            format!("# python 3.13\ndep==1.0.0{}\nq=={version}{}{}\n", hash(&source), hash(&source), hash(&wheel));
        people.env.write("r/q/requirements.txt", list);
        let _ = std::fs::remove_dir_all(people.env.path("tree"));
        let build = ["--registry-dir", "r", "build", "--out", "tree", "--base-url", "https://h.example/r"];
        let run = people.env.run(&build);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    let index = people.env.path("tree/registry.json");
    let run = |root: &str, words: &[&str]| {
        let _ = std::fs::remove_file(people.env.path("bin/installed"));
        let mut command = people.command(&[words, &["--index", index.to_str().unwrap(), "--json"]].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", people.env.path("bin").display()));
        command.env("ACP_REGISTRY_PYPI", people.server.url("/simple/"));
        command.env("ACP_REGISTRY_TRUSTED_ROOT", people.env.path("trusted_root.json"));
        let run = Run::of(command.env("ACP_REGISTRY_ROOT", people.env.path(root)));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let installed = std::fs::read_to_string(people.env.path("bin/installed")).unwrap_or_default();
        (run.code, document["error"]["code"].as_str().unwrap_or_default().to_owned(), installed, run.stderr)
    };
    let of = |version: &str, change: fn(&mut Attestation)| {
        let mut attestation = world.of(version);
        attestation.predicate = "https://index.example/attestations/publish/v1".to_owned();
        change(&mut attestation);
        ok(python(&world.sigstore.sign(&attestation)).to_string())
    };
    let path = |version: &str| format!("/integrity/q/{version}/q-{version}-py3-none-any.whl/provenance");
    publish("1.0.0");
    let install = ["install", "q", "--no-check", "--require", "attested"];
    let foreign = python(&Sigstore::new().sign(&world.of("1.0.0"))).to_string();
    for (what, answer, expected) in [
        ("nothing", not_found(), (4, "provenance_missing")),
        ("an outage", status(500), (3, "install_failed")),
        ("a page", ok("<html>"), (3, "install_failed")),
        ("no bundles", ok(r#"{"attestation_bundles":[]}"#), (4, "provenance_missing")),
        ("no parts", ok(r#"{"attestation_bundles":[{"attestations":[{}]}]}"#), (4, "provenance_mismatch")),
        ("another authority", ok(foreign), (4, "provenance_mismatch")),
        ("another version", of("2.0.0", |_| ()), (4, "provenance_mismatch")),
        (
            "another file",
            of("1.0.0", |a| a.subjects[0]["name"] = "p-1.0.0-py3-none-any.whl".into()),
            (4, "provenance_mismatch"),
        ),
        (
            "another statement",
            of("1.0.0", |a| a.predicate = "https://spdx.dev/Document".into()),
            (4, "provenance_missing"),
        ),
        (
            "another repository",
            of("1.0.0", |a| *a = Attestation { subjects: a.subjects.clone(), ..Attestation::new("evil/r", json!([])) }),
            (4, "provenance_mismatch"),
        ),
        (
            "an expired certificate",
            of("1.0.0", |a| a.logged = a.issued + a.lifetime + Duration::SECOND),
            (4, "provenance_mismatch"),
        ),
    ] {
        people.answer(&path("1.0.0"), answer);
        let (code, error, installed, said) = run("data", &install);
        assert_eq!((code, error.as_str(), installed.as_str()), (expected.0, expected.1, ""), "{what}: {said}");
        assert!(people.is_gone(), "{what}");
    }
    let [attested, source] = [sha256(b"1.0.0"), "5".repeat(64)];
    let list = format!("dep==1.0.0 --hash=sha256:{source}\nq==1.0.0 --hash=sha256:{attested}\n");
    for (root, answer) in [
        ("built", of("1.0.0", |a| a.predicate = "https://slsa.dev/provenance/v1".into())),
        ("written", of("1.0.0", |a| a.subjects[0]["name"] = "Q-1.0.0-py3-none-any.whl".into())),
        ("data", of("1.0.0", |_| ())),
    ] {
        people.answer(&path("1.0.0"), answer);
        let (code, _, installed, said) = run(root, &install);
        assert_eq!((code, installed), (0, list.clone()), "{root}: {said}");
    }
    // The publisher is remembered.
    publish("2.0.0");
    let update = |more: &[&str]| run("data", &[&["update", "--no-check"], more].concat());
    assert_eq!(update(&[]).1, "provenance_missing");
    people.answer(&path("2.0.0"), of("2.0.0", |a| a.repository_id = Some("2".into())));
    assert_eq!(update(&[]).1, "publisher_changed");
    people.answer(&path("2.0.0"), of("2.0.0", |_| ()));
    let (code, _, installed, said) = update(&[]);
    assert!(
        code == 0 && installed.contains(&format!("q==2.0.0 --hash=sha256:{}", sha256(b"2.0.0"))),
        "{said}: {installed}"
    );
    publish("3.0.0");
    let (code, _, installed, said) = update(&["--accept-publisher"]);
    assert!(code == 0 && installed.contains(&sha256(b"3.0.0")), "{said}");
}

/// A registry asks only for attestations that the package registry announces.
#[test]
fn the_gate_finds_packages_that_others_have_built() {
    let env = Env::with(&["p"]);
    let sigstore = Sigstore::new();
    env.write("trusted_root.json", sigstore.root().to_string());
    let integrity = format!("sha512-{}", text(&[7; 64]));
    let sign = |repository: &str, version: &str| {
        let subjects = json!([{ "name": format!("pkg:npm/p@{version}"), "digest": { "sha512": "07".repeat(64) } }]);
        sigstore.sign(&Attestation::new(repository, subjects))
    };
    let list = |bundle: Value| ok(json!({ "attestations": [{ "bundle": bundle }] }).to_string());
    for (name, is_attested, answer, rule) in [
        ("its own", true, list(sign("o/r", "1.1.0")), ""),
        ("another repository", true, list(sign("evil/r", "1.1.0")), "provenance/mismatch"),
        ("another version", true, list(sign("o/r", "1.0.0")), "provenance/mismatch"),
        ("another authority", true, list(Sigstore::new().sign(&of("1.1.0"))), "provenance/mismatch"),
        ("not read", true, list(json!({ "mediaType": "x" })), "provenance/unverifiable"),
        ("none", true, ok(r#"{"attestations":[]}"#), "provenance/unverifiable"),
        ("not there", true, not_found(), "provenance/unverifiable"),
        ("an outage", true, status(500), "provenance/unverifiable"),
        ("lost", false, status(500), "provenance/lost"),
    ] {
        let integrity = integrity.clone();
        let server = Server::answering(move |asked| {
            if asked.path.contains("/attestations/") {
                return answer.clone();
            }
            if asked.path != "/npm/p" {
                return ok("x");
            }
            let version = |is_attested: bool| {
                let mut version = json!({ "bin": "cli.js", "dist": { "integrity": integrity } });
                if is_attested {
                    version["dist"]["attestations"] = json!({ "url": "https://elsewhere.example/", "provenance": {} });
                }
                version
            };
            let versions = json!({ "1.0.0": version(true), "1.1.0": version(is_attested), "2.0.0": version(true) });
            ok(json!({ "dist-tags": { "latest": "2.0.0" }, "versions": versions }).to_string())
        });
        let manifest = manifest("p").replace("1.0.0", "1.1.0");
        env.write("r/p/agent.json", manifest.replacen('{', &format!("{{\n  \"repository\": \"{REPOSITORY}\","), 1));
        let mut command = env.command(&["--allow-host", &server.host, "validate", "--urls", "--no-cache", "--json"]);
        command
            .env("ACP_REGISTRY_NPM", server.url("/npm"))
            .env("ACP_REGISTRY_TRUSTED_ROOT", env.path("trusted_root.json"));
        command.env("HTTPS_PROXY", "http://127.0.0.1:9");
        let run = Run::of(&mut command);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let found = report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap().to_owned());
        let found: Vec<String> = found.filter(|rule| rule.starts_with("provenance/")).collect();
        assert_eq!(found.join(" "), rule, "{name}: {}", run.stdout);
        let asked = server.asked().into_iter().filter(|path| path.contains("attestations")).collect::<Vec<_>>();
        assert!(asked.iter().all(|path| path == "/npm/-/npm/v1/attestations/p@1.1.0"), "{asked:?}");
        assert_eq!(!asked.is_empty(), is_attested, "{name}");
    }
}

/// A wheel is asked for where the index says that it has attestations: at the address that it names, if that is its own.
#[test]
fn the_gate_finds_python_packages_that_others_have_built() {
    let env = Env::with(&["p"]);
    let sigstore = Sigstore::new();
    env.write("trusted_root.json", sigstore.root().to_string());
    let digest = "07".repeat(32);
    let sign = |repository: &str, file: &str| {
        let subjects = json!([{ "name": file, "digest": { "sha256": digest } }]);
        ok(python(&sigstore.sign(&Attestation::new(repository, subjects))).to_string())
    };
    let (linux, mac) = ("q-1.1.0-cp313-cp313-linux_x86_64.whl", "q-1.1.0-cp313-cp313-macosx_11_0_arm64.whl");
    let (own, others) = ("/own/{file}", "https://elsewhere.example/{file}");
    let integrity = "/integrity/q/1.1.0/{file}/provenance";
    for (name, base, announced, asked, answers, rule) in [
        ("its own", "/simple/", own, own, [sign("o/r", linux), sign("o/r", mac)], ""),
        ("at another host", "/simple/", others, integrity, [sign("o/r", linux), sign("o/r", mac)], ""),
        ("of an index without a name", "/index/", own, own, [sign("o/r", linux), sign("o/r", mac)], ""),
        (
            "one of another repository",
            "/simple/",
            own,
            own,
            [sign("o/r", linux), sign("evil/r", mac)],
            "provenance/mismatch",
        ),
        ("about another file", "/simple/", own, own, [sign("o/r", linux), sign("o/r", linux)], "provenance/mismatch"),
        ("one that is none", "/simple/", own, own, [sign("o/r", linux), not_found()], "provenance/unverifiable"),
        ("an outage", "/simple/", own, own, [status(500), sign("o/r", mac)], "provenance/unverifiable"),
        ("nowhere", "/index/", others, "", [not_found(), not_found()], "provenance/unverifiable"),
        ("lost", "/simple/", "", "", [not_found(), not_found()], "provenance/lost"),
    ] {
        let paths = [linux, mac].map(|file| asked.replace("{file}", file));
        let (files, digest, known) = ([linux, mac], digest.clone(), paths.clone());
        let server = Server::answering(move |asked| {
            if let Some(at) = known.iter().position(|path| *path == asked.path) {
                return answers[at].clone();
            }
            if asked.path != format!("{base}q/") {
                return ok("x");
            }
            let file = |file: &str, announced: &str| {
                json!({ "filename": file, "url": "x", "hashes": { "sha256": digest },
                        "provenance": Some(announced.replace("{file}", file)).filter(|url| !url.is_empty()) })
            };
            let earlier = "q-1.0.0-py3-none-any.whl";
            let files = json!([file(earlier, own), file(files[0], announced), file(files[1], announced)]);
            let form = ("Content-Type", "application/vnd.pypi.simple.v1+json".to_owned());
            (200, vec![form], json!({ "files": files }).to_string().into_bytes())
        });
        let manifest = json!({ "id": "p", "name": "P", "version": "1.1.0", "description": "An agent for tests.",
                               "repository": REPOSITORY, "authors": ["A"], "license": "MIT",
                               "distribution": { "uvx": { "package": "q==1.1.0" } } });
        env.write("r/p/agent.json", manifest.to_string());
        let mut command = env.command(&["--allow-host", &server.host, "validate", "--urls", "--no-cache", "--json"]);
        command
            .env("ACP_REGISTRY_PYPI", server.url(base))
            .env("ACP_REGISTRY_TRUSTED_ROOT", env.path("trusted_root.json"))
            .env("HTTPS_PROXY", "http://127.0.0.1:9");
        let run = Run::of(&mut command);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let found = report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap().to_owned());
        let found: Vec<String> = found.filter(|rule| rule.starts_with("provenance/")).collect();
        assert_eq!(found.join(" "), rule, "{name}: {}", run.stdout);
        let attestations =
            server.asked().into_iter().filter(|path| path.contains("/own/") || path.contains("integrity"));
        assert!(attestations.clone().all(|path| paths.contains(&path)), "{name}");
        assert_eq!(attestations.count() > 0, !asked.is_empty(), "{name}");
    }
}

/// sigstore's crate brings bundles of its public instance for its own tests: the roots that the program holds accept them.
#[test]
fn what_the_public_instance_has_signed_is_accepted() {
    const TEST: &str = "what_the_public_instance_has_signed_is_accepted";
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = Command::new("rustc").arg("-vV").output().map(|run| run.stdout).unwrap_or_default();
    let rustc = String::from_utf8_lossy(&rustc).into_owned();
    // Crates for other platforms need not be there.
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let arguments = ["metadata", "--format-version", "1", "--offline", "--all-features", "--filter-platform", host];
    let listed = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let listed: Value = listed.ok().and_then(|listed| serde_json::from_slice(&listed.stdout).ok()).unwrap_or_default();
    let packages = listed["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = packages.iter().find(|package| package["name"] == "sigstore-verify");
    let folder = own.and_then(|own| Path::new(own["manifest_path"].as_str()?).parent());
    let path = folder.unwrap_or(Path::new("")).join("test_data/bundles/sigstore.js@2.0.0-provenance.sigstore.json");
    let Ok(bundle) = std::fs::read_to_string(path) else {
        return skipped(TEST, "the sources of sigstore-verify have no such bundle");
    };
    let read: Value = serde_json::from_str(&bundle).unwrap();
    let statement = BASE64_STANDARD.decode(read["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
    let statement: Value = serde_json::from_slice(&statement).unwrap();
    let digest = statement["subject"][0]["digest"]["sha512"].as_str().unwrap();
    let bytes: Vec<u8> = (0..64).map(|at| u8::from_str_radix(&digest[2 * at..2 * at + 2], 16).unwrap()).collect();
    let artifact = Artifact::npm("sigstore", "2.0.0", &format!("sha512-{}", text(&bytes))).unwrap();
    let roots = TrustRoots::open(None).unwrap();
    let found = roots
        .check(std::slice::from_ref(&bundle), &artifact, "git+https://github.com/sigstore/sigstore-js.git")
        .unwrap();
    assert!(found.len() == 1 && found[0].is_logged && found[0].is_hosted, "{found:?}");
    assert_eq!(found[0].publisher.workflow, "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml");
    let other = roots.check(&[bundle], &artifact, "https://github.com/sigstore/other");
    assert!(matches!(other, Err(Error::Mismatch { .. })), "{other:?}");
}
