//! Missing or changed files of packages that an agent needs: how they are detected and repaired.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::agents::text;
use crate::people::{People, entry};
use crate::support::Run;

/// An `npm` that installs an agent and a package that it needs.
const NPM: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 11.0.0 && exit
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; esac
  shift
done
echo npm >> "${0%/*}/ran"
mkdir -p "$prefix/node_modules/p" "$prefix/node_modules/dep/.cache"
echo '{"bin":"cli.js"}' > "$prefix/node_modules/p/package.json"
echo '#!/usr/bin/env node' > "$prefix/node_modules/p/cli.js"
echo good > "$prefix/node_modules/dep/index.js"
echo x > "$prefix/node_modules/dep/.cache/x"
"#;

/// A `uv` that does the same, and hard-links one file to the cache, as uv does.
const UV: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo uv 0.9.0 && exit
echo uv >> "${0%/*}/ran"
lib="$UV_TOOL_DIR/q/lib/python3.12/site-packages/dep"
mkdir -p "$UV_TOOL_BIN_DIR" "$UV_CACHE_DIR" "$lib"
[ -e "$UV_CACHE_DIR/index.js" ] || echo good > "$UV_CACHE_DIR/index.js"
ln "$UV_CACHE_DIR/index.js" "$lib/index.js"
printf '#!/bin/sh\nexec node "%s"\n' "$lib/../q.py" > "$UV_TOOL_BIN_DIR/q"; chmod +x "$UV_TOOL_BIN_DIR/q"
"#;

/// A `node` that starts the agent if the file that it needs is unchanged.
const NODE: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo v22.0.0 && exit
[ "$(cat "${1%/*}/../dep/index.js" "${1%/*}/dep/index.js" 2>&1 | grep -c '^good$')" = 1 ] && exec "AGENT" ok
echo "Error: Cannot find module 'dep'" >&2; exit 1
"#;

struct Scene {
    people: People,
    id: &'static str,
}

impl Scene {
    fn new(id: &'static str) -> Self {
        let people = People::new();
        for (name, script) in [("npm", NPM), ("uv", UV), ("node", NODE)] {
            people.env.write_program(&format!("bin/{name}"), &script.replace("AGENT", fake_agent().to_str().unwrap()));
        }
        let npx = json!({ "npx": { "package": "p@1.0.0" } });
        let uvx = json!({ "uvx": { "package": "q==1.0.0" } });
        people.publish(&[entry("p", "1.0.0", &npx), entry("q", "1.0.0", &uvx)]);
        let scene = Self { people, id };
        let run = scene.run(&["install", id]);
        assert!(run.code == 0 && run.stdout.contains("and answers"), "{}{}", run.stdout, run.stderr);
        scene
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.people.command(arguments);
        let path = format!("{}:{}", self.people.env.path("bin").display(), std::env::var("PATH").unwrap());
        Run::of(command.env("PATH", path))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
    }

    /// The checks of `doctor` that did not pass.
    fn doctor(&self, arguments: &[&str]) -> Vec<(String, String)> {
        let document = self.json(&[&["doctor"], arguments].concat());
        let checks = document["agents"][0]["checks"].as_array().unwrap().iter();
        let bad = checks.filter(|check| check["status"] != "ok");
        bad.map(|check| (text(check, "name").to_owned(), text(check, "message").to_owned())).collect()
    }

    /// Path of the file in the required package.
    fn file(&self) -> PathBuf {
        let folder = PathBuf::from(text(&self.json(&["which", self.id]), "install_dir"));
        let below = ["node_modules/dep/index.js", "tools/q/lib/python3.12/site-packages/dep/index.js"];
        folder.join("files").join(below[usize::from(self.id == "q")])
    }

    fn installations(&self) -> usize {
        self.people.env.read("bin/ran").lines().count()
    }
}

#[test]
fn a_file_that_an_agent_needs_is_missed_and_put_back() {
    for id in ["p", "q"] {
        let scene = Scene::new(id);
        let file = scene.file();
        let repairs = [&["doctor", "--fix"][..], &["install", id], &["update"], &["update", id]];
        for (number, repair) in repairs.into_iter().enumerate() {
            for (damage, part) in [("", "is gone"), ("g", "has other content than was installed")] {
                if damage.is_empty() {
                    fs::remove_file(&file).unwrap();
                } else {
                    fs::write(&file, damage).unwrap();
                }
                let bad = scene.doctor(&[]);
                assert!(bad.len() == 1 && bad[0].0 == "files", "{bad:?}");
                assert!(bad[0].1.contains("dep/index.js` ") && bad[0].1.ends_with(part), "{bad:?}");
                let before = scene.installations();
                let run = scene.run(repair);
                assert_eq!(run.code, 0, "{repair:?} {}", run.stderr);
                let told = format!("{}{}", run.stdout, run.stderr);
                assert!(
                    told.contains(&format!("repaired {id}: files were missing")) || number == 1,
                    "{repair:?} {told}"
                );
                assert_eq!(fs::read_to_string(&file).unwrap(), "good\n", "{repair:?}");
                assert_eq!((scene.doctor(&[id]), scene.installations()), (vec![], before + 1));
                // A second repair installs nothing.
                assert_eq!((scene.run(repair).code, scene.installations()), (0, before + 1));
            }
        }
    }
}

#[test]
fn an_agent_that_does_not_answer_is_installed_again() {
    for id in ["p", "q"] {
        let scene = Scene::new(id);
        // The size does not change.
        fs::write(scene.file(), "evil\n").unwrap();
        assert_eq!(scene.doctor(&[]), []);
        let bad = scene.doctor(&[id]);
        assert!(bad.len() == 1 && bad[0].0 == "handshake" && bad[0].1.contains("Cannot find module 'dep'"), "{bad:?}");
        let told = scene.run(&["doctor", id]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&format!("help: `acp-registry doctor --fix {id}` installs it again")), "{told}");
        let run = scene.run(&["doctor", "--fix", id]);
        assert!(run.code == 0 && run.stderr.contains(&format!("repaired {id}: it did not answer")), "{}", run.stderr);
        assert_eq!(fs::read_to_string(scene.file()).unwrap(), "good\n");
        assert_eq!((scene.doctor(&[id]), scene.installations()), (vec![], 2));
        assert_eq!((scene.run(&["doctor", "--fix", id]).code, scene.installations()), (0, 2));
    }
}

/// A repair keeps the kind of distribution.
#[test]
fn another_kind_in_the_index_keeps_no_damaged_agent_from_its_repair() {
    let scene = Scene::new("p");
    fs::remove_file(scene.file()).unwrap();
    scene.people.publish(&[scene.people.agent("p", "1.0.0")]);
    assert_eq!(scene.run(&["list", "--refresh"]).code, 0);
    let told = scene.run(&["doctor"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!told.contains("--dist") && told.contains("`acp-registry doctor --fix p` repairs it"), "{told}");
    let run = scene.run(&["doctor", "--fix"]);
    assert!(run.code == 0 && run.stderr.contains("repaired p"), "{}{}", run.stdout, run.stderr);
    // The index does not choose another kind for it, and says how to.
    let run = scene.run(&["install", "p"]);
    let help =
        "help: `acp-registry install p --dist binary` installs it as that; or run `acp-registry uninstall p` first";
    assert!(run.code == 4 && run.stderr.contains(help), "{}", run.stderr);
}

#[test]
fn what_runtimes_write_themselves_is_no_damage() {
    let scene = Scene::new("p");
    let folder = scene.file().parent().unwrap().to_owned();
    fs::write(folder.join(".cache/x"), "longer").unwrap();
    fs::write(folder.join("new.js"), "new").unwrap();
    assert_eq!((scene.doctor(&["p"]), scene.run(&["update"]).code), (vec![], 0));
    assert_eq!(scene.installations(), 1);
}

#[test]
fn an_agent_of_which_no_version_is_started_is_started_again() {
    let scene = Scene::new("p");
    let folder = PathBuf::from(text(&scene.json(&["which", "p"]), "install_dir"));
    let current = folder.with_file_name("current");
    for damage in [None, Some("{")] {
        match damage {
            None => fs::remove_file(&current).unwrap(),
            Some(text) => fs::write(&current, text).unwrap(),
        }
        assert_eq!(scene.doctor(&[])[0].0, "current");
        let run = scene.run(&["doctor", "--fix"]);
        assert!(run.code == 0 && run.stderr.contains("repaired p: 1.0.0 is started from now on"), "{}", run.stderr);
        assert_eq!(scene.json(&["which", "p"])["pinned"], false);
        assert_eq!(scene.installations(), 1);
    }
    // A version that is known is installed again, although another one is there.
    assert_eq!(scene.run(&["install", "p@0.9.0"]).code, 0);
    fs::remove_dir_all(text(&scene.json(&["which", "p"]), "install_dir")).unwrap();
    let run = scene.run(&["doctor", "--fix"]);
    assert!(run.code == 0 && run.stderr.contains("repaired p: 0.9.0 is started from now on"), "{}", run.stderr);
    assert_eq!((&scene.json(&["which", "p"])["pinned"], scene.installations()), (&json!(true), 3));
    // So is one whose directory is gone.
    assert_eq!(scene.run(&["uninstall", "p"]).code, 0);
    assert_eq!(scene.run(&["install", "p"]).code, 0);
    fs::remove_dir_all(&folder).unwrap();
    let run = scene.run(&["doctor", "--fix"]);
    assert!(run.code == 0 && run.stderr.contains("repaired p: 1.0.0 is started"), "{}", run.stderr);
    assert_eq!((scene.doctor(&["p"]), scene.installations()), (vec![], 5));
    scene.people.publish(&[]);
    fs::remove_file(folder.join("receipt.json")).unwrap();
    let run = scene.run(&["doctor", "--fix", "--refresh"]);
    assert!(run.code == 1 && run.stderr.contains("p was not repaired: there is no agent `p`"), "{}", run.stderr);
}
