//! npm and uv during an installation: their settings, limits and caches.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::agents::text;
use crate::people::entry;
use crate::runtimes::{NEW, OLD, Scene};
use crate::support::Run;

#[test]
fn a_package_manager_that_never_ends_is_ended_with_a_word_on_the_limit() {
    let scene = Scene::new();
    scene.0.env.write("bin/hangs", "");
    let run = scene.run(&["bin", "old"], &["install", "p", "--install-timeout", "1s"]);
    assert!(run.code == 3 && run.stderr.contains("npm did not end within 1 s"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhelp: run `acp-registry install p --install-timeout 5m`\n"), "{}", run.stderr);
}

#[test]
fn a_registry_that_is_configured_is_named_where_it_lacks_the_package() {
    let scene = Scene::new();
    let says = "npm error code E404\nnpm error 404 Not Found - GET http://127.0.0.1:9/npm/p\nnpm error 404\n\
                npm error 404  The requested resource 'p@1.0.0' could not be found or you do not have permission to access it.\n";
    scene.0.env.write("bin/says", says);
    scene.0.env.write("bin/fails", "");
    let run = scene.run(&["bin", "old"], &["install", "p"]);
    assert!(run.code == 3 && run.stderr.contains("npm has no package `p`\n"), "{}", run.stderr);
    let address = "http://u:secret@127.0.0.1:9/npm/";
    let run = Run::of(scene.command(&["bin", "old"], &["install", "p"]).env("npm_config_registry", address));
    let told = "npm has no package `p` at http://127.0.0.1:9/npm/, as npm_config_registry says\n\
                help: correct npm_config_registry if that is not where the package is\n";
    assert!(run.code == 3 && run.stderr.ends_with(told) && !run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn the_setting_that_forbids_install_scripts_is_named_everywhere_until_it_is_gone() {
    const MESSAGE: &str =
        "npm has not run the install scripts of p@1.0.0, because npm's setting `ignore-scripts` forbids it";
    const HELP: &str = "run `npm config set ignore-scripts false`, then `acp-registry install p`";
    let (scene, folders) = (Scene::new(), ["bin", "new"]);
    scene.program("new/node", NEW);
    scene.0.env.write("bin/notes", r#"{"packages":{"node_modules/p":{"version":"1.0.0","hasInstallScript":true}}}"#);
    scene.0.env.write("bin/ignores", "");
    let is_told = |run: &Run, texts: &[&str]| {
        let said = format!("{}{}", run.stdout, run.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(texts.iter().all(|text| said.contains(text)), "{texts:?} {said}");
    };
    let run = scene.run(&folders, &["install", "p"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    is_told(&run, &[MESSAGE, HELP]);
    let document = |arguments: &[&str]| serde_json::from_str::<Value>(&scene.run(&folders, arguments).stdout).unwrap();
    let which = document(&["which", "p", "--json"]);
    assert_eq!(
        (&which["scripts_not_run"], text(&which, "scripts_ignored_by")),
        (&json!(["p@1.0.0"]), "ignore-scripts")
    );
    is_told(&scene.run(&folders, &["doctor"]), &[MESSAGE, HELP]);
    // Reinstalling would leave out the same scripts.
    scene.program("new/node", &OLD.replace("v899.2.0", "v900.0.1"));
    let run = scene.run(&folders, &["doctor", "p"]);
    is_told(&run, &[MESSAGE, HELP, "ended at once"]);
    assert!(!run.stdout.contains("doctor --fix"), "{}", run.stdout);
    scene.program("new/node", NEW);
    let (_, row) = scene.row(&folders, &["p"]);
    assert_eq!((&row["scripts_not_run"], text(&row, "scripts_ignored_by")), (&json!(["p@1.0.0"]), "ignore-scripts"));
    is_told(&scene.run(&folders, &["verify", "p"]), &[MESSAGE]);
    // It is installed, and the setting is unchanged.
    assert_eq!(scene.run(&folders, &["install", "p"]).stdout, "p 1.0.0 is installed\n");
    fs::remove_file(scene.path("bin/ignores")).unwrap();
    let run = scene.run(&folders, &["install", "p"]);
    assert!(run.stdout.starts_with("installed p 1.0.0") && !run.stderr.contains("scripts"), "{}", run.stderr);
    assert_eq!(scene.doctor(&folders, &[]), []);
    assert_eq!(scene.run(&folders, &["uninstall", "p"]).code, 0);
    scene.0.env.write("bin/ignores", "");
    let run = Run::of(scene.command(&folders, &["install", "p"]).env("NPM_CONFIG_IGNORE_SCRIPTS", "true"));
    is_told(
        &run,
        &["because the variable `npm_config_ignore_scripts` forbids it", "unset `npm_config_ignore_scripts`"],
    );
}

#[test]
fn packages_are_built_only_when_that_is_allowed_and_then_for_later_versions_too() {
    let scene = Scene::new();
    scene.0.env.write("bin/source", "");
    let folders = ["bin", "old"];
    let run = scene.run(&folders, &["install", "q"]);
    assert!(run.code == 3 && run.stderr.contains("`q==1.0.0`") && run.stderr.contains("`deep`"), "{}", run.stderr);
    assert!(run.stderr.contains("help: if you trust that package, allow it with --allow-build"), "{}", run.stderr);
    let (_, row) = scene.row(&folders, &["q"]);
    assert_eq!((text(&row, "verdict"), text(&row, "reason")), ("error", "install_failed"), "{row}");
    let (_, row) = scene.row(&folders, &["q", "--allow-build"]);
    assert_eq!(text(&row, "verdict"), "pass", "{row}");
    // The maintainer's permission holds for the gate, and for those who install from the registry's folder.
    scene.0.env.write("r/registry.toml", "[uv.q]\nallow-build = true\n");
    let (_, row) = scene.row(&folders, &["q"]);
    assert_eq!(text(&row, "verdict"), "pass", "{row}");
    let run = scene.run(&folders, &["install", "q", "--index", "r", "--root", "own"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    scene.0.env.write("r/registry.toml", "[uv.p]\nallow-build = true\n");
    let run = scene.run(&folders, &["install", "q", "--index", "r", "--root", "other"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    fs::remove_file(scene.path("r/registry.toml")).unwrap();
    let run = scene.run(&folders, &["install", "q", "--allow-build"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The next version of the agent needs no new permission; another agent would.
    let uvx = json!({ "uvx": { "package": "q==1.0.1" } });
    scene.0.publish(&[entry("q", "1.0.1", &uvx)]);
    let run = scene.run(&folders, &["update", "--refresh"]);
    assert!(run.code == 0 && run.stdout.contains("updated q 1.0.0 -> 1.0.1"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn what_package_managers_fetch_is_kept_for_the_next_installation_and_removed_by_gc() {
    let scene = Scene::new();
    scene.program("new/node", NEW);
    let folders = ["bin", "new"];
    let kept = |name: &str| fs::exists(scene.path(&format!("home/.cache/acp-registry/{name}"))).unwrap();
    assert_eq!(scene.run(&folders, &["verify", "--no-cache"]).code, 0);
    assert_eq!(scene.run(&folders, &["install", "p", "q", "--no-cache"]).code, 0);
    assert!(!kept("npm") && !kept("uv"));
    assert_eq!(scene.run(&folders, &["verify"]).code, 0);
    assert!(kept("npm/tarball") && kept("uv/wheel"));
    let text = scene.run(&folders, &["gc"]).stdout;
    assert!(text.starts_with("no unused versions\ncaches hold packages kept by npm and uv 16 B, "), "{text}");
    assert!(text.ends_with("; `acp-registry gc --cache` empties them\n"), "{text}");
    let would = scene.run(&folders, &["gc", "--cache", "--dry-run"]).stdout;
    assert!(would.contains("\npackages kept by npm and uv would be removed, 16 B freed\n"), "{would}");
    assert!(kept("npm/tarball") && kept("uv/wheel"));
    let gc = |flags: &[&str]| -> Value {
        let run = scene.run(&folders, &[&["gc", "--json"], flags].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    };
    let sizes = |document: &Value, name: &str| -> Vec<u64> {
        document["caches"].as_array().unwrap().iter().map(|cache| cache[name].as_u64().unwrap()).collect()
    };
    let held = gc(&[]);
    assert_eq!((held["freed_cache_bytes"].as_u64(), sizes(&held, "freed_bytes")), (Some(0), vec![0, 0, 0]));
    assert!(sizes(&held, "size")[0] == 16 && sizes(&held, "size")[2] > 0, "{held}");
    let document = gc(&["--cache"]);
    assert_eq!(document["freed_cache_bytes"], json!(16), "{document}");
    assert_eq!((sizes(&document, "freed_bytes"), sizes(&document, "size")), (sizes(&held, "size"), vec![0, 0, 0]));
    assert!(!kept("npm") && !kept("uv"));
    assert_eq!(scene.run(&folders, &["gc"]).stdout, "nothing to remove\n");
    assert_eq!(scene.run(&folders, &["uninstall", "--all"]).code, 0);
    assert_eq!(scene.run(&folders, &["install", "p"]).code, 0);
    assert!(kept("npm/tarball"));
    // The next one says what stays.
    let run = scene.run(&folders, &["uninstall", "--all"]);
    assert!(
        run.code == 0 && run.stderr.contains("note: caches hold packages kept by npm and uv 8 B, "),
        "{}",
        run.stderr
    );
    assert_eq!(scene.run(&folders, &["install", "p"]).code, 0);
    // Agents run with another home directory, and do not see it.
    let run = scene.run(&folders, &["verify", "q", "--json"]);
    assert!(!run.stdout.contains(".cache/acp-registry"), "{}", run.stdout);
}
