//! `acp-registry new` with sources on loopback, scripts as package managers, and the fake agent.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::examine_commands::recipe;
use crate::server::{Answer, Server};
use crate::support::{Run, tree};
use crate::verify::Verify;

/// An `npm` that installs a package whose program is an agent if it gets the arguments that its name describes.
const NPM: &str = r#"#!/bin/sh
case "$*" in *"--package-lock-only --omit-lockfile-registry-resolved"*) list="${0%/*}/list" ;; esac
way=$1
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; --) spec=$2 ;; esac
  shift
done
[ -z "$list" ] || { cp "$list" "$prefix/package-lock.json"; exit; }
name=${spec%@*}
[ "$way" != ci ] || name=$(sed 's/.*node_modules\/\([a-z]*\)".*/\1/' "$prefix/package-lock.json")
folder=$prefix/node_modules/$name
mkdir -p "$folder"
case $name in
  broken) echo 'npm error 404 no such tarball' >&2; exit 1 ;;
  endless) echo > "${0%/*}/started"; exec sleep 600 ;;
esac
echo '{"bin":"run.sh"}' > "$folder/package.json"
cat > "$folder/run.sh" <<SCRIPT
#!/bin/sh
[ "$name $way" != "torn ci" ] || exit 3
case "$name \$*" in
  "plain "|"flag --acp"|"word acp"|"experimental --experimental-acp"|"own serve --stdio"|"torn serve --stdio") exec "AGENT" ok ;;
  "led --led") exec "AGENT" recipe --led ;;
  "led "*) exec "AGENT" recipe ;;
  "wrong ") exec "AGENT" played 'client {"id":2,"method":"acp-registry/unknown","params":{}}
agent {"jsonrpc":"2.0","id":2,"result":{}}' ;;
  "shy --acp") exec "AGENT" result '{"protocolVersion":1,"authMethods":[]}' ;;
esac
echo "unknown: \$*" >&2
exit 2
SCRIPT
chmod +x "$folder/run.sh"
"#;

const UV: &str = r#"#!/bin/sh
spec=$(printf '%s' "$*" | sed 's/.*-- //')
name=${spec%%==*}
case "$*" in *--target*) bin=files/bin ;; *) bin=$UV_TOOL_BIN_DIR ;; esac
mkdir -p "$bin"
case "$name $*" in "mute "*|"borrowed "*--no-deps*) exit 0 ;; esac
printf '#!/bin/sh\n[ "$1" = acp ] && exec "AGENT" ok\nexit 2\n' > "$bin/$name"; chmod +x "$bin/$name"
"#;

/// A registry, package managers, and a server that acts as every source.
pub(crate) struct Place {
    pub(crate) verify: Verify,
    pub(crate) server: Server,
}

impl Place {
    pub(crate) fn with(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let verify = Verify::new();
        for (name, script) in [("npm", NPM), ("uv", UV)] {
            let script = script.replace("AGENT", fake_agent().to_str().unwrap());
            verify.env.write_program(&format!("bin/{name}"), &script);
        }
        let server = Server::start(answers.into_iter().map(|(path, answer)| (path.to_owned(), answer)));
        Self { verify, server }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.verify.program(&[&["new", "--no-cache"], arguments].concat());
        command.env("ACP_REGISTRY_NPM", self.server.url("/npm/"));
        command.env("ACP_REGISTRY_PYPI", self.server.url("/py/simple/"));
        command.env("GITHUB_API_URL", self.server.url("/api"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let run = Run::of(&mut self.command(arguments));
        self.verify.assert_clean();
        run
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert!(run.stdout.is_ascii());
        let document = serde_json::from_str(&run.stdout);
        (run.code, document.unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr)))
    }

    pub(crate) fn manifest(&self, id: &str) -> Value {
        serde_json::from_str(&self.verify.env.read(&format!("r/{id}/agent.json"))).unwrap()
    }

    /// The files of the registry.
    pub(crate) fn files(&self) -> Vec<String> {
        tree(&self.verify.env.path("r")).into_iter().map(|(name, _)| name).collect()
    }

    pub(crate) fn assert_nothing_written(&self) {
        assert_eq!(fs::read_dir(self.verify.env.path("r")).unwrap().count(), 0);
    }
}

pub(crate) fn body(value: &Value) -> Answer {
    (200, vec![("Content-Type", "application/json".to_owned())], value.to_string().into_bytes())
}

/// A package with one version, and metadata from its publisher.
pub(crate) fn package(about: &Value) -> Answer {
    let mut version = json!({ "bin": "cli.js", "dist": { "integrity": "sha512-x" } });
    version.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
    body(&json!({ "dist-tags": { "latest": "1.2.0" }, "versions": { "1.2.0": version, "2.0.0-beta.1": version } }))
}

pub(crate) fn usual() -> Value {
    json!({
        "description": "  An agent\n that works ", "license": "MIT", "author": "A Person <a@h.example>",
        "homepage": "https://agent.example/docs", "repository": { "url": "git+https://github.com/o/r.git" },
    })
}

pub(crate) fn left(document: &Value) -> String {
    let left = document["left_to_do"].as_array().unwrap();
    left.iter().map(|item| item.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_npm_package_becomes_an_agent_that_validates() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    let (code, document) = new.json(&["some-agent", "--npm", "flag"]);
    assert_eq!(code, 0, "{document}");
    let expected = json!({
        "id": "some-agent", "name": "Some Agent", "version": "1.2.0", "description": "An agent that works",
        "repository": "https://github.com/o/r", "website": "https://agent.example/docs", "authors": ["A Person"],
        "license": "MIT", "distribution": { "npx": { "package": "flag@1.2.0", "args": ["--acp"] } },
    });
    assert_eq!(new.manifest("some-agent"), expected);
    assert_eq!((&document["manifest"], &document["probe"]["args"]), (&expected, &json!(["--acp"])));
    assert_eq!(document["probe"]["tried"][0]["reason"], "exited");
    assert_eq!(document["files"], json!(["some-agent/agent.json", "some-agent/icon.svg"]));
    assert_eq!(new.files(), ["some-agent/agent.json", "some-agent/icon.svg"]);
    let left = left(&document);
    for part in ["`description`", "r/some-agent/icon.svg", "acp-registry validate some-agent --all --registry-dir r`"] {
        assert!(left.contains(part), "{left}");
    }
    let (code, report) = new.verify.env.json(&["validate", "--deny", "warnings"]);
    assert_eq!((code, &report["findings"]), (0, &json!([])));
}

#[test]
fn the_list_of_its_packages_is_written_where_it_is_asked_for() {
    let new = Place::with([("/npm/own", package(&usual())), ("/npm/torn", package(&usual()))]);
    let own = ["--npm", "own", "--args", "serve --stdio"];
    let list = |name: &str| {
        let package =
            json!({ "version": "1.2.0", "integrity": format!("sha512-{}==", "A".repeat(86)), "bin": "run.sh" });
        json!({ "lockfileVersion": 3, "packages": { format!("node_modules/{name}"): package } })
    };
    new.verify.env.write("bin/list", list("own").to_string());
    let (code, document) = new.json(&[&["some-agent"][..], &own, &["--closures"]].concat());
    let files = json!(["some-agent/agent.json", "some-agent/icon.svg", "some-agent/package-lock.json"]);
    assert_eq!((code, &document["files"]), (0, &files), "{document}");
    let written: Value = serde_json::from_str(&new.verify.env.read("r/some-agent/package-lock.json")).unwrap();
    assert_eq!(written, list("own"));
    // What people would get is tested, and not only what npm installs for this machine.
    new.verify.env.write("bin/list", list("torn").to_string());
    let (code, document) = new.json(&["failing-agent", "--npm", "torn", "--args", "serve --stdio", "--closures"]);
    let message = "the list of its packages was not written: the agent that it installs fails: ";
    assert!(code == 1 && document["error"]["message"].as_str().unwrap().starts_with(message), "{document}");
    assert_eq!(document["files"], json!(["failing-agent/agent.json", "failing-agent/icon.svg"]));
    // The agent is written without a list that cannot be made, or where the agent does not start.
    new.verify.env.write("bin/list", "[");
    let (code, document) = new.json(&[&["other-agent"][..], &own, &["--closures"]].concat());
    let message = document["error"]["message"].as_str().unwrap();
    assert!(
        code == 1 && message.starts_with("the list of its packages was not written: it cannot be read"),
        "{document}"
    );
    assert_eq!(document["files"], json!(["other-agent/agent.json", "other-agent/icon.svg"]));
    let run = new.run(&["third-agent", "--npm", "own", "--closures"]);
    assert!(run.code == 0 && run.stderr.contains("the agent was not seen to start"), "{}", run.stderr);
    assert_eq!(new.files().len(), 9);
    let run = new.run(&["fourth-agent", "--npm", "own", "--closures", "--no-check"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn every_way_to_start_an_agent_is_tried() {
    for (name, args) in
        [("plain", json!(null)), ("word", json!(["acp"])), ("experimental", json!(["--experimental-acp"]))]
    {
        let path: &'static str = format!("/npm/{name}").leak();
        let new = Place::with([(path, package(&usual()))]);
        let (code, document) = new.json(&["agent-x", "--npm", name]);
        assert_eq!((code, &document["probe"]["verdict"]), (0, &json!("pass")), "{document}");
        assert_eq!(new.manifest("agent-x")["distribution"]["npx"]["args"], args, "{name}");
    }
}

#[test]
fn checks_that_fail_are_left_to_do() {
    let place = Place::with([("/npm/wrong", package(&usual()))]);
    let run = place.run(&["x", "--npm", "wrong", "--level", "protocol", "--no-check"]);
    assert!(run.code == 2 && run.stderr.contains("--no-check"), "{}", run.stderr);
    let (_, without) = place.json(&["x", "--npm", "wrong", "--dry-run"]);
    assert!(without["probe"].get("examination").is_none() && !left(&without).contains("pass the check"), "{without:#}");
    let (_, document) = place.json(&["x", "--npm", "wrong", "--level", "protocol", "--dry-run"]);
    let examination = &document["probe"]["examination"];
    let failed = examination["checks"].as_array().unwrap().iter().filter(|check| check["result"] == "fail");
    let failed: Vec<&Value> = failed.collect();
    assert!(!failed.is_empty() && examination["level"] == "protocol", "{examination:#}");
    for check in failed {
        let id = check["id"].as_str().unwrap();
        let expected = format!("pass the check {id}, which `acp-registry explain {id}` describes: ");
        assert!(left(&document).contains(&expected), "{id}: {}", left(&document));
    }
}

#[test]
fn a_new_agent_is_examined_with_its_recipe() {
    let place = Place::with([("/npm/led", package(&usual()))]);
    let examined = |place: &Place| {
        let (_, document) = place.json(&["x", "--npm", "led", "--args", "", "--level", "sessions", "--dry-run"]);
        (document["probe"]["examination"]["reached"].clone(), document)
    };
    let (reached, document) = examined(&place);
    assert_eq!(reached, "protocol", "{document:#}");
    place.verify.env.write("r/registry.toml", recipe("x"));
    let (reached, document) = examined(&place);
    assert_eq!(reached, "sessions", "{document:#}");
}

#[test]
fn the_publisher_says_what_it_is_called_and_who_made_it() {
    let about = json!({
        "name": "@example/flag-acp", "description": "An agent", "license": "MIT", "author": "User",
        "maintainers": [{ "name": "owner", "email": "o@h.example" }],
    });
    let new = Place::with([("/npm/flag", package(&about))]);
    assert_eq!(new.json(&["some-agent", "--npm", "flag@latest"]).0, 0);
    let manifest = new.manifest("some-agent");
    assert_eq!((&manifest["name"], &manifest["authors"]), (&json!("Flag ACP"), &json!(["owner"])));
    assert_eq!(manifest["distribution"]["npx"]["package"], "flag@1.2.0");
}

#[test]
fn all_ways_to_start_it_are_named_and_counted() {
    let new = Place::with([("/npm/mute", package(&usual()))]);
    let run = new.run(&["mute", "--npm", "mute"]);
    let all = "note: starting it with no arguments, `--acp`, `acp` and `--experimental-acp`\n";
    assert!(run.stderr.contains(all), "{}", run.stderr);
    for count in 1..=4 {
        assert!(run.stderr.contains(&format!("note: {count} of 4 tried\n")), "{}", run.stderr);
    }
}

#[test]
fn a_person_may_say_how_it_is_started() {
    let new = Place::with([("/npm/own", package(&usual()))]);
    let run = new.run(&["agent-x", "--npm", "own", "--args", "serve --stdio"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(new.manifest("agent-x")["distribution"]["npx"]["args"], json!(["serve", "--stdio"]));
    assert!(
        run.stdout.contains("started with `serve --stdio`: it answers, and people sign in by `login`"),
        "{}",
        run.stdout
    );
    let run = new.run(&["agent-y", "--npm", "own", "--no-probe", "--args", "--x"]);
    assert_eq!(new.manifest("agent-y")["distribution"]["npx"]["args"], json!(["--x"]));
    assert!(run.stdout.contains("not seen to start") && run.stdout.contains("agent-x"), "{}", run.stdout);
    let run = new.run(&["agent-z", "--npm", "own", "--no-probe"]);
    assert!(run.stdout.contains("add `args`"), "{}", run.stdout);
}

#[test]
fn what_a_registry_asks_for_besides_is_left_to_the_person() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    new.verify.env.write("r/registry.toml", "[rules]\n\"manifest/missing-license-url\" = \"deny\"\n");
    let (code, document) = new.json(&["agent-x", "--npm", "flag", "--no-probe"]);
    assert_eq!((code, &document["errors"][0]["rule"]), (1, &json!("manifest/missing-license-url")));
    assert!(left(&document).contains("correct it, as manifest/missing-license-url requires"), "{document}");
}

#[test]
fn what_the_source_does_not_say_is_left_to_do_once() {
    let new = Place::with([("/npm/flag", package(&json!({})))]);
    new.verify.env.write("r/registry.toml", "[rules]\n\"manifest/*\" = \"deny\"\n");
    let run = new.run(&["agent-x", "--npm", "flag", "--no-probe"]);
    assert!(run.stdout.starts_with("wrote r/agent-x/agent.json and r/agent-x/icon.svg\n"), "{}", run.stdout);
    let left: Vec<&str> = run.stdout.lines().skip_while(|line| *line != "left to do:").collect();
    for member in ["description", "authors", "license"] {
        let about = left.iter().filter(|line| line.contains(&format!("`{member}`"))).count();
        assert_eq!(about, 1, "{member}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("missing-license wants"), "{}", run.stdout);
}

#[test]
fn a_dry_run_shows_the_manifest_and_writes_nothing() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    let run = new.run(&["agent-x", "--npm", "flag", "--no-probe", "--dry-run"]);
    assert!(run.code == 0 && run.stdout.starts_with("would write r/agent-x/agent.json and "), "{}", run.stdout);
    assert!(run.stdout.contains("\n  \"id\": \"agent-x\",\n"), "{}", run.stdout);
    let (code, document) = new.json(&["agent-x", "--npm", "flag", "--no-probe", "--dry-run"]);
    assert_eq!((code, &document["dry_run"], &document["manifest"]["id"]), (0, &json!(true), &json!("agent-x")));
    new.assert_nothing_written();
}
