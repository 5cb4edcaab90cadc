//! Extensions of package distributions: which command is started, and the date up to which uv considers releases.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::agents::text;
use crate::people::{People, entry};
use crate::support::{ICON, Run};

/// An `npm` that installs a package with two commands, neither named like the package. Only one is an agent.
const NPM: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 11.0.0 && exit
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; esac
  shift
done
mkdir -p "$prefix/node_modules/p"
cd "$prefix/node_modules/p" || exit 1
echo '{"bin":{"p-help":"help.sh","p-acp":"acp.sh"}}' > package.json
printf '#!/bin/sh\nexit 3\n' > help.sh; printf '#!/bin/sh\nexec "AGENT" ok\n' > acp.sh; chmod +x help.sh acp.sh
echo '{"packages":{"node_modules/p":{"version":"1.0.0","integrity":"sha512-'"$(head -c 86 /dev/zero | tr '\0' A)"'=="}}}' > "$prefix/package-lock.json"
"#;

/// A `uv` that does the same, and records its arguments and the date.
const UV: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo uv 0.9.0 && exit
echo "$1 $2 $UV_EXCLUDE_NEWER" >> "${0%/*}/asked"
put() {
  mkdir -p "$1"
  printf '#!/bin/sh\nexit 3\n' > "$1/q-help"; printf '#!/bin/sh\nexec "AGENT" ok\n' > "$1/q-acp"; chmod +x "$1/q-help" "$1/q-acp"
}
case "$1 $2" in
  "tool install") put "$UV_TOOL_BIN_DIR" ;;
  "pip compile") echo 'q==1.0.0 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000' > packages.txt ;;
  "venv --no-progress")
    for place in "$@"; do :; done
    put "$place/bin"
    own=$place/lib/python3/site-packages/q-1.0.0.dist-info
    mkdir -p "$own"; printf '[console_scripts]\nq-help = q:a\nq-acp = q:b\n' > "$own/entry_points.txt" ;;
esac
"#;

struct Scene(People);

impl Scene {
    fn new() -> Self {
        let scene = Self(People::new());
        for (name, script) in [("npm", NPM), ("uv", UV), ("node", "#!/bin/sh\necho v22.0.0\n")] {
            let script = script.replace("AGENT", fake_agent().to_str().unwrap());
            scene.0.env.write_program(&format!("bin/{name}"), &script);
        }
        let npx = json!({ "npx": { "package": "p@1.0.0", "command": "p-acp" } });
        let uvx = json!({ "uvx": { "package": "q==1.0.0", "command": "q-acp", "exclude_newer": "2026-02-28" } });
        scene.manifest("p", &npx).manifest("q", &uvx);
        scene.0.publish(&[entry("p", "1.0.0", &npx), entry("q", "1.0.0", &uvx)]);
        scene
    }

    fn manifest(&self, id: &str, distribution: &Value) -> &Self {
        let manifest = json!({ "id": id, "name": id, "version": "1.0.0", "description": "An agent", "license": "MIT",
                               "authors": ["A"], "repository": "https://h.example/r", "distribution": distribution });
        self.0.env.write(&format!("r/{id}/agent.json"), manifest.to_string());
        self.0.env.write(&format!("r/{id}/icon.svg"), ICON);
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        let bin = self.0.env.path("bin").display().to_string();
        command.env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap()));
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        let document = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
        (run.code, document)
    }
}

#[test]
fn the_named_command_is_installed_and_started_as_of_the_named_day() {
    let scene = Scene::new();
    let (code, document) = scene.json(&["install", "p", "q"]);
    let agents = document["agents"].as_array().unwrap();
    assert_eq!((code, agents.len()), (0, 2), "{document:#}");
    for (agent, program) in agents.iter().zip(["acp.sh", "q-acp"]) {
        assert!(agent["answers"] == true && text(agent, "program").ends_with(program), "{agent:#}");
    }
    assert_eq!(scene.0.env.read("bin/asked"), "tool install 2026-02-28T23:59:59Z\n");
    // Both installations are recorded, and repeated without a change.
    assert_eq!(scene.run(&["install", "p", "q", "--offline"]).code, 0);
    assert_eq!(scene.0.env.read("bin/asked").lines().count(), 1);
    let run = scene.run(&["info", "q"]);
    assert!(run.stdout.contains("q==1.0.0, command q-acp, as of 2026-02-28"), "{}", run.stdout);

    // A date in the environment takes precedence.
    let mut command = scene.command(&["install", "q", "--root", scene.0.env.path("other").to_str().unwrap()]);
    assert_eq!(Run::of(command.env("UV_EXCLUDE_NEWER", "2020-01-01")).code, 0);
    assert!(scene.0.env.read("bin/asked").ends_with("tool install 2020-01-01\n"));
}

#[test]
fn a_changed_command_is_a_program_of_its_own() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["install", "p"]).code, 0);
    let other = json!({ "npx": { "package": "p@1.0.0", "command": "p-help" } });
    scene.0.publish(&[entry("p", "1.0.0", &other)]);
    let (code, document) = scene.json(&["install", "p", "--refresh", "--no-check"]);
    let agent = &document["agents"][0];
    assert_eq!((code, text(agent, "program").ends_with("help.sh")), (0, true), "{document:#}");

    let absent = json!({ "npx": { "package": "p@1.0.0", "command": "sh" } });
    scene.0.publish(&[entry("p", "1.0.0", &absent)]);
    let run = scene.run(&["install", "p", "--refresh"]);
    assert!(run.code != 0 && run.stderr.contains("has no command `sh`, only `p-help`, `p-acp`"), "{}", run.stderr);
}

#[test]
fn a_lock_file_keeps_command_and_day() {
    let scene = Scene::new();
    let lock = scene.0.env.path("a.lock");
    let lock = lock.to_str().unwrap();
    assert_eq!(scene.run(&["install", "q", "--lock", lock]).code, 0);
    let written = fs::read_to_string(lock).unwrap();
    assert!(written.contains("command = \"q-acp\"") && written.contains("exclude_newer = \"2026-02-28\""), "{written}");
    let asked = scene.0.env.read("bin/asked");
    assert_eq!(asked, "tool install 2026-02-28T23:59:59Z\npip compile 2026-02-28T23:59:59Z\n");
    let (code, document) =
        scene.json(&["install", "--locked", "--lock", lock, "--root", scene.0.env.path("other").to_str().unwrap()]);
    assert_eq!((code, document["agents"][0]["answers"].as_bool()), (0, Some(true)), "{document:#}");
    assert!(text(&document["agents"][0], "program").ends_with("q-acp"), "{document:#}");
}

#[test]
fn settings_without_an_installation_name_command_and_day() {
    let scene = Scene::new();
    let args = |id: &str| {
        let (code, document) = scene.json(&["config", "cli", id, "--direct"]);
        assert_eq!(code, 0, "{document:#}");
        document["settings"].as_str().unwrap().to_owned()
    };
    assert!(args("p").contains("npx -y --package p@1.0.0 -- p-acp"), "{}", args("p"));
    assert!(args("q").contains("uvx --exclude-newer 2026-02-28T23:59:59Z --from 'q==1.0.0' q-acp"), "{}", args("q"));
}

#[test]
fn verify_starts_the_named_command() {
    let scene = Scene::new();
    scene.manifest("absent", &json!({ "npx": { "package": "p@1.0.0", "command": "p" } }));
    scene.manifest("unnamed", &json!({ "npx": { "package": "p@1.0.0" } }));
    scene
        .manifest("undated", &json!({ "uvx": { "package": "q==1.0.0", "command": "q-acp", "exclude_newer": "soon" } }));
    let (code, document) = scene.json(&["verify"]);
    let rows: Vec<(&str, &str)> =
        document["results"].as_array().unwrap().iter().map(|row| (text(row, "id"), text(row, "verdict"))).collect();
    let expected = [("absent", "fail"), ("p", "pass"), ("q", "pass"), ("undated", "fail"), ("unnamed", "fail")];
    assert_eq!((code, rows), (1, expected.to_vec()), "{document:#}");
    let message = |at: usize| text(&document["results"][at], "message");
    assert!(message(0).contains("has no command `p`"), "{}", message(0));
    assert!(message(3).contains("`soon`, which is not a day"), "{}", message(3));
    assert!(message(4).contains("the manifest can, with `command`"), "{}", message(4));
}

#[test]
fn only_views_that_ask_publish_a_named_command() {
    let scene = Scene::new();
    let findings = |arguments: &[&str]| {
        let (code, document) = scene.json(&[&["validate"], arguments].concat());
        let findings = document["findings"].as_array().unwrap().clone();
        let found: Vec<(String, String)> = findings
            .iter()
            .map(|finding| (text(finding, "rule").to_owned(), text(finding, "pointer").to_owned()))
            .collect();
        (code, found)
    };
    let found = |rule: &str, pointer: &str| (rule.to_owned(), pointer.to_owned());
    let unpublished = |kind: &str| found("distribution/unpublished-command", &format!("/distribution/{kind}/command"));
    assert_eq!(findings(&[]), (0, vec![unpublished("npx"), unpublished("uvx")]));

    scene.0.env.write(
        "r/registry.toml",
        "[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"all.json\"\npackage-extensions = true\n",
    );
    assert_eq!(findings(&[]), (0, Vec::new()));
    let uvx = json!({ "package": "q==1.0.0", "exclude_newer": "2026-02-28" });
    scene.manifest("q", &json!({ "uvx": uvx }));
    let run = scene.run(&["build", "--out", scene.0.env.path("dist").to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let index = |name: &str| -> Value { serde_json::from_str(&scene.0.env.read(&format!("dist/{name}"))).unwrap() };
    let plain = index("registry.json");
    assert_eq!(plain["agents"].as_array().unwrap().len(), 1);
    assert_eq!(plain["agents"][0]["distribution"], json!({ "uvx": { "package": "q==1.0.0" } }));
    let all = index("all.json");
    assert_eq!(all["agents"][0]["distribution"]["npx"]["command"], "p-acp");
    assert_eq!(all["agents"][1]["distribution"]["uvx"], uvx);

    for (member, value) in [("command", json!(7)), ("command", json!("a/b")), ("exclude_newer", json!("2026"))] {
        let mut uvx = uvx.clone();
        uvx[member] = value;
        scene.manifest("q", &json!({ "uvx": uvx }));
        let pointer = format!("/distribution/uvx/{member}");
        assert_eq!(findings(&["q"]), (1, vec![found("manifest/schema", &pointer)]));
    }
    scene.manifest("q", &json!({ "npx": { "package": "p@1.0.0", "exclude_newer": "2026-02-28" } }));
    assert_eq!(findings(&["q"]), (1, vec![found("manifest/schema", "/distribution/npx/exclude_newer")]));
}
