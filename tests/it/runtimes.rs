//! Runtimes that are too old, missing or moved, and the messages of package managers about them.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::agents::text;
use crate::people::{People, entry};
use crate::support::{ICON, Run};

/// An `npm` that installs a package which requires a version of Node.js that no machine has. Files beside it control it:
/// it prints the text in `says` to stderr; with `fails`, it fails; with `notes`, these are npm's notes; with `ignores`,
/// it runs no scripts; with `hangs`, it never ends.
pub(crate) const NPM: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 11.0.0 && exit
here=${0%/*}
[ "$1" = config ] && { [ -e "$here/ignores" ] && echo true || echo false; exit; }
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; esac
  shift
done
cp "$prefix/package.json" "$here/project.json"
mkdir -p "$npm_config_cache"; echo fetched > "$npm_config_cache/tarball"
[ -e "$here/hangs" ] && exec sleep 3600
[ -e "$here/says" ] && cat "$here/says" >&2
[ -e "$here/fails" ] && exit 1
mkdir -p "$prefix/node_modules/p"
[ -e "$here/notes" ] && cp "$here/notes" "$prefix/node_modules/.package-lock.json"
echo '{"bin":"cli.js","engines":{"node":">=900"}}' > "$prefix/node_modules/p/package.json"
printf '#!/usr/bin/env node\n' > "$prefix/node_modules/p/cli.js"
"#;

/// A `uv` that reports its Python, and installs it with `--python`.
const UV: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo uv 0.9.0 && exit
here=${0%/*}
echo "$*" >> "$here/asked"
case "$*" in
  *--python*) [ -e "$here/none" ] && { echo "error: No interpreter found for Python >=3.12,<3.16" >&2; exit 2; } ;;
  *) echo "error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12,<3.16 and q==1.0.0 depends on
         Python>=3.12,<3.16, we can conclude that q==1.0.0 cannot be used." >&2; exit 1 ;;
esac
case "$*" in *--no-build*) [ -e "$here/source" ] && { echo "error: No solution found when resolving dependencies

hint: Wheels are required for \`deep\` because building from source is disabled for all packages (i.e., with \`--no-build\`)" >&2
  exit 1; } ;; esac
mkdir -p "$UV_TOOL_BIN_DIR" "$UV_CACHE_DIR"
echo fetched > "$UV_CACHE_DIR/wheel"
printf '#!/bin/sh\nexec "AGENT" ok\n' > "$UV_TOOL_BIN_DIR/q"; chmod +x "$UV_TOOL_BIN_DIR/q"
"#;

/// A Node.js that fails below version 900, like an agent that needs a newer one.
pub(crate) const OLD: &str =
    "#!/bin/sh\n[ \"$1\" = --version ] && echo v899.2.0 && exit\necho 'SyntaxError: new words' >&2\nexit 1\n";

pub(crate) const NEW: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo v900.0.1 && exit\nexec \"AGENT\" ok\n";

pub(crate) struct Scene(pub(crate) People);

impl Scene {
    pub(crate) fn new() -> Self {
        let people = People::new();
        let scene = Self(people);
        scene.program("bin/npm", NPM).program("bin/uv", UV).program("old/node", OLD);
        let npx = json!({ "npx": { "package": "p@1.0.0" } });
        let uvx = json!({ "uvx": { "package": "q==1.0.0" } });
        for (id, distribution) in [("p", &npx), ("q", &uvx)] {
            let manifest = json!({ "id": id, "name": id, "version": "1.0.0", "description": "An agent", "license": "MIT",
                                   "distribution": distribution });
            scene.0.env.write(&format!("r/{id}/agent.json"), manifest.to_string());
            scene.0.env.write(&format!("r/{id}/icon.svg"), ICON);
        }
        scene.0.publish(&[entry("p", "1.0.0", &npx), entry("q", "1.0.0", &uvx)]);
        scene
    }

    pub(crate) fn program(&self, path: &str, script: &str) -> &Self {
        self.0.env.write_program(path, &script.replace("AGENT", fake_agent().to_str().unwrap()));
        self
    }

    /// A command with these folders first in `PATH`.
    pub(crate) fn command(&self, folders: &[&str], arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        let folders: Vec<String> = folders.iter().map(|folder| self.0.env.path(folder).display().to_string()).collect();
        command.env("PATH", format!("{}:{}", folders.join(":"), std::env::var("PATH").unwrap()));
        command
    }

    pub(crate) fn run(&self, folders: &[&str], arguments: &[&str]) -> Run {
        Run::of(&mut self.command(folders, arguments))
    }

    pub(crate) fn path(&self, path: &str) -> String {
        self.0.env.path(path).display().to_string()
    }

    pub(crate) fn row(&self, folders: &[&str], arguments: &[&str]) -> (i32, Value) {
        let run = self.run(folders, &[&["verify", "--json"], arguments].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        (run.code, document["results"][0].clone())
    }

    /// Runs `doctor`; returns the name and message of each check of the agent that did not pass.
    pub(crate) fn doctor(&self, folders: &[&str], arguments: &[&str]) -> Vec<(String, String)> {
        let run = self.run(folders, &[&["doctor", "--json"], arguments].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        let checks = document["agents"][0]["checks"].as_array().unwrap();
        let bad = checks.iter().filter(|check| check["status"] != "ok");
        bad.map(|check| (text(check, "name").to_owned(), text(check, "message").to_owned())).collect()
    }
}

#[test]
fn an_agent_for_a_newer_node_is_installed_with_a_word_and_started_by_a_newer_one_when_there_is_one() {
    let scene = Scene::new();
    let run = scene.run(&["bin", "old"], &["install", "p"]);
    let told = format!("the agent needs Node.js >=900, found 899.2.0 at {}", scene.path("old/node"));
    assert_eq!(run.stderr.matches("warning: ").count(), 1, "{}", run.stderr);
    assert!(run.code == 0 && run.stderr.contains(&told) && run.stderr.contains("newer Node.js"), "{}", run.stderr);
    // The agent may still answer, so that this is only a warning.
    let bad = scene.doctor(&["bin", "old"], &[]);
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert!(bad[0].0 == "runtime" && bad[0].1.contains("needs Node.js >=900, found 899.2.0"), "{bad:?}");
    // Of several, the one in the range is used, wherever it is in `PATH`.
    scene.program("new/node", NEW);
    let folders = ["bin", "old", "new"];
    let run = scene.run(&folders, &["which", "p"]);
    assert!(run.stdout.starts_with(&scene.path("new/node")), "{}{}", run.stdout, run.stderr);
    let bad = scene.doctor(&folders, &[]);
    assert!(bad.len() == 1 && bad[0].1.contains("is started by") && bad[0].1.contains("new/node"), "{bad:?}");
    assert_eq!(scene.doctor(&folders, &["--fix"]), []);
    // The receipt now has its path, so that it need not be in `PATH`.
    let run = scene.run(&["bin", "old"], &["which", "p"]);
    assert!(run.stdout.starts_with(&scene.path("new/node")), "{}{}", run.stdout, run.stderr);
    assert_eq!(scene.doctor(&["bin", "old"], &["p"]), []);
}

#[test]
fn an_installation_takes_the_node_that_the_package_asks_for() {
    let scene = Scene::new();
    scene.program("new/node", NEW);
    let run = scene.run(&["bin", "old", "new"], &["install", "p", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, text(&document, "program")), (0, scene.path("new/node").as_str()), "{}", run.stderr);
    assert!(!run.stderr.contains("needs Node.js"), "{}", run.stderr);
}

#[test]
fn an_interpreter_that_has_gone_is_repaired_by_install_update_and_doctor() {
    for repair in [&["install", "p"][..], &["update"], &["doctor", "--fix"]] {
        let scene = Scene::new();
        scene.program("new/node", NEW);
        assert_eq!(scene.run(&["bin", "new"], &["install", "p"]).code, 0);
        fs::create_dir(scene.path("moved")).unwrap();
        fs::rename(scene.path("new/node"), scene.path("moved/node")).unwrap();
        let run = scene.run(&["bin", "moved"], repair);
        assert_eq!(run.code, 0, "{repair:?} {}", run.stderr);
        assert!(format!("{}{}", run.stdout, run.stderr).contains("repaired p"), "{repair:?} {}", run.stdout);
        let run = Run::of(scene.0.command(&["which", "p"]).env("PATH", scene.path("nowhere")));
        assert!(run.stdout.starts_with(&scene.path("moved/node")), "{repair:?} {}{}", run.stdout, run.stderr);
        // A second repair changes nothing.
        let run = scene.run(&["bin", "moved"], repair);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("repaired p"), "{repair:?} {}", run.stdout);
    }
}

#[test]
fn a_lost_python_is_a_damage_that_is_repaired() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["bin", "old"], &["install", "q"]).code, 0);
    let run = scene.run(&["bin", "old"], &["install", "q", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let python = format!("{}/files/bin/python", text(&document, "install_dir"));
    std::os::unix::fs::symlink(scene.path("gone/python3"), &python).unwrap();
    let bad = scene.doctor(&["bin", "old"], &[]);
    assert!(bad.len() == 1 && bad[0].0 == "runtime" && bad[0].1.contains("Python"), "{bad:?}");
    assert_eq!(scene.doctor(&["bin", "old"], &["--fix"]), []);
    assert!(!fs::exists(&python).unwrap());
}

#[test]
fn an_agent_that_does_not_answer_on_an_old_node_is_not_blamed() {
    let scene = Scene::new();
    let (code, row) = scene.row(&["bin", "old"], &["p"]);
    assert_eq!((code, text(&row, "verdict"), text(&row, "reason")), (1, "error", "runtime_too_old"), "{row}");
    let told = format!("needs Node.js >=900, found 899.2.0 at {}", scene.path("old/node"));
    assert!(text(&row, "message").contains(&told) && text(&row, "stderr_tail").contains("new words"), "{row}");
    // Many packages require a newer version than they need.
    let old = NEW.replace("v900.0.1", "v899.9.9");
    scene.program("other/node", &old);
    let (code, row) = scene.row(&["bin", "other"], &["p"]);
    assert_eq!((code, text(&row, "verdict")), (0, "pass"), "{row}");
}

#[test]
fn npm_that_refuses_for_the_sake_of_node_is_understood() {
    let scene = Scene::new();
    scene.0.env.write("bin/fails", "");
    let refusal = "npm error code EBADENGINE\nnpm error notsup Required: {\"node\":\">=900\"}\n\
                   npm error notsup Actual:   {\"node\":\"v899.2.0\",\"npm\":\"11.0.0\"}\n";
    scene.0.env.write("bin/says", refusal);
    let run = scene.run(&["bin", "old"], &["install", "p"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("the package `p@1.0.0` needs Node.js >=900, found 899.2.0"), "{}", run.stderr);
    let (code, row) = scene.row(&["bin", "old"], &["p"]);
    assert_eq!((code, text(&row, "verdict"), text(&row, "reason")), (1, "error", "runtime_too_old"), "{row}");
}

#[test]
fn a_python_that_the_package_wants_is_asked_for_and_missed_with_its_version() {
    let scene = Scene::new();
    let (code, row) = scene.row(&["bin", "old"], &["q"]);
    assert_eq!((code, text(&row, "verdict")), (0, "pass"), "{row}");
    let asked = scene.0.env.read("bin/asked");
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("--python >=3.12,<3.16 -- q==1.0.0"), "{asked:?}");
    let run = scene.run(&["bin", "old"], &["verify", "q", "--progress", "json"]);
    let told = run.stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_uv = |event: &Value| event["event"] == "checking" && event["detail"] == "uv: resolving packages";
    assert!(told.filter(of_uv).any(|event| event["phase"] == "installing"), "{}", run.stderr);
    scene.0.env.write("bin/none", "");
    let (code, row) = scene.row(&["bin", "old"], &["q"]);
    assert_eq!((code, text(&row, "verdict"), text(&row, "reason")), (1, "error", "runtime_too_old"), "{row}");
    assert!(text(&row, "message").contains("needs Python >=3.12,<3.16, found 3.11.7"), "{row}");
    let run = scene.run(&["bin", "old"], &["install", "q"]);
    assert!(run.code == 3 && run.stderr.ends_with("\nhelp: run `uv python install 3.12`\n"), "{}", run.stderr);
}

#[test]
fn install_scripts_that_npm_has_not_run_are_named_everywhere() {
    let scene = Scene::new();
    scene.program("new/node", NEW);
    let says = "npm warn install-scripts 1 package had install scripts blocked because they are not covered by allowScripts:\n\
                npm warn install-scripts   deep@2.0.0 (postinstall: node install.js)\nnpm warn install-scripts\n";
    scene.0.env.write("bin/says", says);
    let run = scene.run(&["bin", "new"], &["install", "p"]);
    assert!(
        run.code == 0 && run.stderr.contains("npm has not run the install scripts of deep@2.0.0"),
        "{}",
        run.stderr
    );
    let project: Value = serde_json::from_str(&scene.0.env.read("bin/project.json")).unwrap();
    assert_eq!(project["allowScripts"], json!({ "p": true }));
    let run = scene.run(&["bin", "new"], &["which", "p", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["scripts_not_run"], json!(["deep@2.0.0"]));
    let bad = scene.doctor(&["bin", "new"], &[]);
    assert!(bad.len() == 1 && bad[0].0 == "scripts" && bad[0].1.contains("deep@2.0.0"), "{bad:?}");
    let (code, row) = scene.row(&["bin", "new"], &["p"]);
    assert_eq!((code, &row["scripts_not_run"]), (0, &json!(["deep@2.0.0"])), "{row}");
    let run = scene.run(&["bin", "new"], &["verify", "p"]);
    assert!(run.stdout.contains("npm has not run the install scripts of deep@2.0.0"), "{}", run.stdout);
}

#[test]
fn an_installation_says_whether_the_agent_answers() {
    let scene = Scene::new();
    scene.program("new/node", NEW);
    let answers = |run: &Run| serde_json::from_str::<Value>(&run.stdout).unwrap()["answers"].clone();
    let run = scene.run(&["bin", "new"], &["install", "p", "--no-check", "--json"]);
    assert_eq!((run.code, answers(&run)), (0, Value::Null));
    // The next `install` makes up for the skipped check.
    let run = scene.run(&["bin", "new"], &["install", "p", "--json"]);
    assert_eq!((run.code, answers(&run)), (0, json!(true)), "{}", run.stderr);
    let run = scene.run(&["bin", "new"], &["which", "p", "--json"]);
    assert_eq!(answers(&run), json!(true));
    assert_eq!(scene.run(&["bin", "new"], &["uninstall", "p"]).code, 0);
    let run = scene.run(&["bin", "new"], &["install", "p"]);
    assert!(run.stdout.starts_with("installed p 1.0.0 and answers ("), "{}", run.stdout);
    assert_eq!(scene.run(&["bin", "new"], &["uninstall", "p"]).code, 0);
    // An agent that does not answer is installed, with a warning that explains why.
    let run = scene.run(&["bin", "old"], &["install", "p"]);
    assert!(run.code == 0 && run.stdout.starts_with("installed p 1.0.0 ("), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("p is installed, but does not answer: "), "{}", run.stderr);
    let run = scene.run(&["bin", "old"], &["which", "p", "--json"]);
    assert_eq!(answers(&run), json!(false));
    // A new version is checked as well.
    scene.0.publish(&[entry("p", "1.0.1", &json!({ "npx": { "package": "p@1.0.1" } }))]);
    let run = scene.run(&["bin", "new"], &["update", "--refresh", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["updates"][0]["launch"]["answers"], json!(true), "{document}");
}
