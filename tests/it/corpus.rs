//! Tests with real registries, if `ACP_REGISTRY_CORPUS` names their folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Env, manifest, skipped, tree};

pub(crate) fn corpus(test: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("ACP_REGISTRY_CORPUS") else {
        skipped(test, "ACP_REGISTRY_CORPUS names no folder of real registries");
        return None;
    };
    Some(PathBuf::from(folder).canonicalize().unwrap())
}

pub(crate) fn public_config() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/public-registry.toml").to_str().unwrap().to_owned()
}

#[test]
fn the_public_registry_is_reproduced_byte_for_byte() {
    let Some(corpus) = corpus("the_public_registry_is_reproduced_byte_for_byte") else { return };
    let env = Env::empty();
    let registry = corpus.join("registry-2026-10");
    let arguments = [
        "--registry-dir",
        registry.to_str().unwrap(),
        "--config",
        &public_config(),
        "build",
        "--out",
        "out",
        "--no-site",
    ];
    let run = env.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = tree(&corpus.join("registry-2026-10.expected"));
    assert_eq!(expected.len(), 3);
    for (name, bytes) in expected {
        assert!(fs::read(env.path("out").join(&name)).unwrap() == bytes, "{name} differs");
        let index: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(acp_registry::check::schema::index_errors(&index), [] as [String; 0], "{name}");
    }
    assert_eq!(
        fs::read_dir(env.path("out"))
            .unwrap()
            .filter(|item| item.as_ref().unwrap().path().extension().is_some_and(|e| e == "svg"))
            .count(),
        42
    );
}

/// Follows the documentation: with one file added, the checkout is a registry of this program.
#[test]
fn the_public_registry_can_move() {
    let Some(corpus) = corpus("the_public_registry_can_move") else { return };
    let env = Env::empty();
    for (name, bytes) in tree(&corpus.join("registry-2026-10")) {
        env.write(&format!("r/{name}"), bytes);
    }
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/registries.md")).unwrap();
    let (_, recipe) = guide.split_once("## Move an existing registry\n").unwrap();
    let (_, config) = recipe.split_once("```toml\n").unwrap();
    let config = config.split("```").next().unwrap();
    env.write("r/registry.toml", config);
    let same = fs::read_to_string(public_config()).unwrap();
    let plain = |text: &str| toml::from_str::<toml::Value>(text).unwrap();
    assert_eq!(plain(config), plain(&same), "the recipe and the tests use one configuration");
    for arguments in [&["validate"][..], &["build", "--out", "dist"]] {
        let run = env.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
    }
    for (name, bytes) in tree(&corpus.join("registry-2026-10.expected")) {
        assert!(fs::read(env.path("dist").join(&name)).unwrap() == bytes, "{name} differs");
    }
    for schema in ["agent.schema.json", "registry.schema.json"] {
        assert_eq!(env.read(&format!("dist/{schema}")), env.read(&format!("r/{schema}")), "{schema}");
    }
    // Only one agent may lack the URL.
    let goose = env.read("r/goose/agent.json");
    let lacking = goose.lines().filter(|line| !line.contains("\"license_url\"")).collect::<Vec<_>>().join("\n");
    env.write("r/goose/agent.json", lacking);
    let (code, report) = env.json(&["validate"]);
    assert_eq!((code, &report["summary"]["errors"]), (1, &1.into()), "{report}");
    for page in ["index.html", "agents/goose/index.html", "matrix/index.html", "SHA256SUMS"] {
        assert!(env.path("dist").join(page).is_file(), "{page}");
    }
}

#[test]
fn the_public_registry_has_no_errors() {
    let Some(corpus) = corpus("the_public_registry_has_no_errors") else { return };
    let registry = corpus.join("registry-2026-10");
    let (code, report) = Env::empty().json(&["--registry-dir", registry.to_str().unwrap(), "validate"]);
    assert_eq!((code, &report["summary"]["agents"], &report["summary"]["errors"]), (0, &42.into(), &0.into()));
}

/// The reference's verdicts hold for all the icons that it knows; the tests of the rules cover its mistakes.
#[test]
fn real_icons_are_judged_as_before() {
    let Some(corpus) = corpus("real_icons_are_judged_as_before") else { return };
    let verdicts: Value = serde_json::from_slice(&fs::read(corpus.join("icons/verdicts.json")).unwrap()).unwrap();
    let verdicts = verdicts.as_object().unwrap();
    let env = verdicts.keys().fold(Env::empty(), |env, file| {
        let id = format!("i{}", &file[..8]);
        env.file(&format!("r/{id}/agent.json"), manifest(&id))
            .file(&format!("r/{id}/icon.svg"), fs::read(corpus.join("icons").join(file)).unwrap())
    });
    let (_, report) = env.json(&["validate"]);
    for (file, errors) in verdicts {
        let id = format!("i{}", &file[..8]);
        let status =
            report["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == id).unwrap()["status"].clone();
        let expected = if errors.as_array().unwrap().is_empty() { "ok" } else { "failed" };
        assert_eq!(status, expected, "{file}: {errors}");
    }
}

/// Recorded answers of agents, with the reference's results.
#[test]
fn the_answers_of_real_agents_are_read() {
    let Some(corpus) = corpus("the_answers_of_real_agents_are_read") else { return };
    let mut seen = 0;
    for item in fs::read_dir(corpus.join("initialize")).unwrap() {
        let path = item.unwrap().path();
        let answer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let line = format!("{answer}\n");
        let outcome = crate::agent::check_with(&["reply", &line], |_| (), |options| options.probe = None).outcome;
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(outcome.verdict, acp_registry::handshake::Verdict::Pass, "{name}: {:?}", outcome.message);
        let handshake = outcome.handshake;
        assert_eq!(handshake.warnings, [] as [&str; 0], "{name}");
        let methods = answer["result"]["authMethods"].as_array().unwrap();
        assert_eq!(handshake.auth_methods.len(), methods.len(), "{name}");
        assert_eq!(handshake.capabilities, answer["result"]["agentCapabilities"], "{name}");
        let session = &answer["result"]["agentCapabilities"]["sessionCapabilities"];
        for feature in ["list", "resume", "close", "delete", "fork"] {
            assert_eq!(handshake.features.has(&format!("session/{feature}")), session.get(feature).is_some(), "{name}");
        }
        let load = &answer["result"]["agentCapabilities"]["loadSession"];
        assert_eq!(handshake.features.has("session/load"), load == true, "{name}");
        seen += 1;
    }
    assert!(seen >= 15, "only {seen}");
}
