//! `bump --pull-requests` with a bare git repository, and a GitHub on loopback that keeps its state.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::server::{Answer, Asked, Server, not_found, ok, status};
use crate::support::{Env, Run};

/// Platforms of an agent with archives.
const PLATFORMS: [&str; 3] = ["linux-x86_64", "darwin-aarch64", "windows-x86_64"];

/// The state of GitHub and npm.
struct World {
    /// The newest version, if there is any, or the status with which npm answers.
    newest: String,
    pulls: Vec<Value>,
    /// Of the digests on GitHub, a character.
    digest: String,
    /// The answer to requests to open a pull request, if they fail.
    refusal: Option<Answer>,
}

struct Scene {
    env: Env,
    server: Server,
    world: Arc<Mutex<World>>,
}

fn packument(newest: &str) -> Value {
    if newest.is_empty() {
        return json!({ "dist-tags": {}, "versions": {} });
    }
    let version = json!({ "bin": "a.js", "dist": { "integrity": "sha512-x" } });
    json!({ "dist-tags": { "latest": newest }, "versions": { "1.0.0": version, newest: version } })
}

fn answer(world: &Mutex<World>, asked: &Asked) -> Answer {
    let mut world = world.lock().unwrap();
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let is_authorized = asked.header("authorization") == "Bearer token-of-github";
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/npm/a" | "/npm/b") => match world.newest.parse() {
            Ok(code) => status(code),
            Err(_) => ok(packument(&world.newest).to_string()),
        },
        (_, path) if path.starts_with("/o/x/releases/download/v1.1.0/") => ok("archive"),
        ("GET", path) if path.starts_with("/api/repos/o/x/releases") => {
            let digest = format!("sha256:{}", world.digest.repeat(64));
            let asset = |name: &&str| json!({ "name": format!("{name}.zip"), "digest": digest, "state": "uploaded" });
            let assets: Value = PLATFORMS.iter().map(asset).collect();
            let release =
                |tag: &str| json!({ "tag_name": tag, "published_at": "2026-01-01T00:00:00Z", "assets": assets });
            ok(json!([release("v1.1.0"), release("v1.0.0")]).to_string())
        }
        (_, path) if path.starts_with("/api/") && !is_authorized => (401, vec![], vec![]),
        ("GET", path) if path.starts_with("/api/repos/o/r/pulls?state=open") => {
            let open: Vec<&Value> = world.pulls.iter().filter(|pull| pull["state"] == "open").collect();
            ok(json!(open).to_string())
        }
        ("GET", path) if path.starts_with("/api/repos/o/r/pulls?state=closed") => {
            let closed: Vec<&Value> = world.pulls.iter().filter(|pull| pull["state"] == "closed").collect();
            ok(json!(closed).to_string())
        }
        ("POST", "/api/repos/o/r/pulls") if world.refusal.is_some() => world.refusal.clone().unwrap(),
        ("POST", "/api/repos/o/r/pulls") => {
            // Like GitHub: one open pull request per branch.
            if world.pulls.iter().any(|pull| pull["state"] == "open" && pull["head"]["ref"] == body["head"]) {
                return (422, vec![], br#"{"message":"Validation Failed"}"#.to_vec());
            }
            let number = world.pulls.len() + 1;
            let pull = json!({
                "number": number, "state": "open", "html_url": format!("https://github.example/o/r/pull/{number}"),
                "title": body["title"], "body": body["body"], "labels": [], "base": { "ref": body["base"] },
                "head": { "ref": body["head"], "repo": { "full_name": "o/r" } },
            });
            world.pulls.push(pull.clone());
            (201, vec![], pull.to_string().into_bytes())
        }
        ("PATCH", path) => {
            let number: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            let pull = &mut world.pulls[number - 1];
            for (key, value) in body.as_object().unwrap() {
                pull[key] = match key.as_str() {
                    "labels" => value.as_array().unwrap().iter().map(|name| json!({ "name": name })).collect(),
                    _ => value.clone(),
                };
            }
            ok(pull.to_string())
        }
        _ => not_found(),
    }
}

impl Scene {
    /// A registry with two agents, committed and pushed to a bare repository.
    fn new() -> Self {
        let env = Env::with(&["a", "b"]);
        let world = Arc::new(Mutex::new(World {
            newest: "1.1.0".to_owned(),
            pulls: Vec::new(),
            digest: String::new(),
            refusal: None,
        }));
        let known = world.clone();
        let server = Server::answering(move |asked| answer(&known, asked));
        let scene = Self { env, server, world };
        scene.env.git(&["init", "-q", "--bare", "../remote"]);
        scene.env.git(&["init", "-q"]);
        scene.env.git(&["config", "user.name", "Bot"]);
        scene.env.git(&["config", "user.email", "bot@example.com"]);
        scene.env.git(&["remote", "add", "origin", "../remote"]);
        scene.env.git(&["add", "."]);
        scene.env.git(&["commit", "-q", "-m", "one"]);
        scene.env.git(&["push", "-q", "origin", "main"]);
        scene
    }

    fn run(&self, arguments: &[&str]) -> (i32, Value) {
        let all = [
            &[
                "--allow-host", &self.server.host, "bump", "--no-cache", "--json", "--pull-requests", "--repository",
                "o/r", "--label", "bot",
            ],
            arguments,
        ];
        let mut command = self.env.command(&all.concat());
        command.env("ACP_REGISTRY_NPM", self.server.url("/npm")).env("GITHUB_API_URL", self.server.url("/api"));
        command.env("GITHUB_TOKEN", "token-of-github").env("HOME", self.env.path("."));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.env.path("bin").display()));
        let run = Run::of(&mut command);
        let report = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
        (run.code, report)
    }

    /// The action for each agent.
    fn done(&self) -> Vec<(String, String)> {
        let (code, report) = self.run(&[]);
        assert_eq!(code, 0, "{report:#}");
        let text = |value: &Value| value.as_str().unwrap_or("error").to_owned();
        report["pull_requests"].as_array().unwrap().iter().map(|one| (text(&one["id"]), text(&one["status"]))).collect()
    }

    fn in_remote(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        let output = command.args(arguments).current_dir(self.env.path("remote")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn branches(&self) -> String {
        self.in_remote(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
    }

    fn pulls(&self) -> Vec<Value> {
        self.world.lock().unwrap().pulls.clone()
    }
}

fn both(what: &str) -> [(String, String); 2] {
    [("a".to_owned(), what.to_owned()), ("b".to_owned(), what.to_owned())]
}

#[test]
fn one_request_an_agent_however_often_it_runs() {
    let scene = Scene::new();
    assert_eq!(scene.done(), both("opened"));
    assert_eq!(scene.branches(), "bump/a\nbump/b\nmain");
    assert_eq!(scene.in_remote(&["diff", "--stat", "--name-only", "main", "bump/a"]), "a/agent.json");
    let shown = scene.in_remote(&["show", "bump/a:a/agent.json"]);
    assert!(shown.contains("a@1.1.0") && shown.contains("\"version\": \"1.1.0\""), "{shown}");
    assert_eq!(scene.in_remote(&["log", "-1", "--format=%s|%ae", "bump/a"]), "Update a to 1.1.0|bot@example.com");
    let pulls = scene.pulls();
    assert_eq!(pulls.len(), 2);
    assert_eq!((&pulls[0]["title"], &pulls[0]["base"]["ref"]), (&json!("Update a to 1.1.0"), &json!("main")));
    assert_eq!(pulls[0]["labels"], json!([{ "name": "bot" }]));
    let body = pulls[0]["body"].as_str().unwrap();
    assert!(body.contains("straightforward") && body.contains("`a@1.1.0`"), "{body}");
    // The checkout is unchanged.
    assert!(scene.env.read("r/a/agent.json").contains("a@1.0.0"));

    assert_eq!(scene.done(), both("unchanged"));
    scene.world.lock().unwrap().newest = "1.2.0".to_owned();
    assert_eq!(scene.done(), both("updated"));
    assert_eq!(scene.pulls().len(), 2);
    assert_eq!(scene.pulls()[0]["title"], "Update a to 1.2.0");
    assert_eq!(scene.in_remote(&["rev-list", "--count", "main..bump/a"]), "1", "the branch is replaced, not continued");
}

#[cfg(unix)]
#[test]
fn the_list_of_packages_comes_with_the_request() {
    let scene = Scene::new();
    let list = |version: &str, more: &str| {
        let digest = format!("sha512-{}==", "A".repeat(86));
        format!(
            "{{ \"packages\": {{ \"node_modules/a\": {{ \"version\": \"{version}\", \"integrity\": \"{digest}\" }}{} }} }}\n",
            more.replace("DIGEST", &digest)
        )
    };
    scene.env.write("r/a/package-lock.json", list("1.0.0", ""));
    scene.env.git(&["add", "."]);
    scene.env.git(&["commit", "-q", "-m", "two"]);
    scene.env.git(&["push", "-q", "origin", "main"]);
    let script = r#", "node_modules/s": { "version": "1.0.0", "integrity": "DIGEST", "hasInstallScript": true }"#;
    let new = list("1.1.0", script);
    scene.env.write("bin/list", &new);
    let npm = "#!/bin/sh\nwhile [ $# -gt 0 ]; do case \"$1\" in --prefix) cp \"${0%/*}/list\" \"$2/package-lock.json\" ;; esac; shift; done\n";
    scene.env.write_program("bin/npm", npm);
    assert_eq!(scene.done(), both("opened"));
    let changed = scene.in_remote(&["diff", "--stat", "--name-only", "main", "bump/a"]);
    assert_eq!(changed, "a/agent.json\na/package-lock.json");
    assert_eq!(scene.in_remote(&["show", "bump/a:a/package-lock.json"]), new.trim());
    assert_eq!(scene.in_remote(&["diff", "--stat", "--name-only", "main", "bump/b"]), "b/agent.json");
    let body = scene.pulls()[0]["body"].as_str().unwrap().to_owned();
    let line =
        "`a/package-lock.json`: 2 packages; new: `a@1.1.0, s@1.0.0`; gone: `a@1.0.0`; new install scripts of `s@1.0.0`";
    assert!(body.contains(line) && body.contains("- install scripts are new: `s@1.0.0`"), "{body}");
    assert_eq!(scene.done(), both("unchanged"));
    // Another list is another content of the branch.
    scene.env.write("bin/list", list("1.1.0", ""));
    assert_eq!(scene.done(), [("a".to_owned(), "updated".to_owned()), ("b".to_owned(), "unchanged".to_owned())]);
    assert_eq!(scene.in_remote(&["show", "bump/a:a/package-lock.json"]), list("1.1.0", "").trim());
    let body = scene.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(body.contains("straightforward"), "{body}");
    // A list that cannot be made is told to the reviewer.
    scene.env.write("bin/list", "[");
    assert_eq!(scene.done()[0].1, "updated");
    let body = scene.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(body.contains("- the list of its packages was not made: it cannot be read"), "{body}");
}

#[test]
fn a_run_that_broke_off_is_completed() {
    let scene = Scene::new();
    let not_permitted = "GitHub Actions is not permitted to create or approve pull requests";
    let permit = "in Settings, Actions, General of the repository, enable";
    for (code, answer, expected) in [
        (502, String::new(), "/pulls answers 502".to_owned()),
        (403, json!({ "message": format!("{not_permitted}.") }).to_string(), format!("403: {not_permitted}; {permit}")),
        (
            422,
            json!({ "message": "Validation Failed", "errors": [{ "message": "No commits\u{1b}" }, { "code": "x" }] })
                .to_string(),
            "/pulls answers 422: Validation Failed; No commits\\u{1b}".to_owned(),
        ),
        (422, json!({ "message": "x".repeat(9999) }).to_string(), format!("422: {}", "x".repeat(500))),
    ] {
        scene.world.lock().unwrap().refusal = Some((code, vec![], answer.into_bytes()));
        let (code, report) = scene.run(&[]);
        assert_eq!(code, 3, "{report:#}");
        let message = report["pull_requests"][0]["message"].as_str().unwrap();
        assert!(message.contains(&expected) && message.len() < 700, "{report:#}");
    }
    assert_eq!(scene.branches(), "bump/a\nbump/b\nmain");
    let tip = scene.in_remote(&["rev-parse", "bump/a"]);
    scene.world.lock().unwrap().refusal = None;
    assert_eq!(scene.done(), both("opened"));
    assert_eq!(scene.in_remote(&["rev-parse", "bump/a"]), tip, "what was there already is not made again");
    assert_eq!(scene.pulls().len(), 2);
}

#[test]
fn what_a_person_has_done_stays() {
    let scene = Scene::new();
    scene.done();
    scene.env.git(&["fetch", "-q", "origin"]);
    scene.env.git(&["checkout", "-q", "bump/a"]);
    scene.env.write(
        "r/a/agent.json",
        crate::support::manifest("a").replace("1.0.0", "1.1.0").replace("Made for a test", "By hand"),
    );
    scene.env.git(&["-c", "user.name=P", "-c", "user.email=p@example.com", "commit", "-q", "-a", "-m", "by hand"]);
    scene.env.git(&["push", "-q", "origin", "bump/a"]);
    scene.env.git(&["checkout", "-q", "main"]);
    let tip = scene.in_remote(&["rev-parse", "bump/a"]);
    scene.world.lock().unwrap().newest = "1.2.0".to_owned();
    assert_eq!(scene.done(), [("a".to_owned(), "left_alone".to_owned()), ("b".to_owned(), "updated".to_owned())]);
    assert_eq!(scene.in_remote(&["rev-parse", "bump/a"]), tip);
    assert_eq!(scene.pulls()[0]["title"], "Update a to 1.1.0");
    // Nor is it closed when it becomes obsolete.
    scene.world.lock().unwrap().newest = "1.0.0".to_owned();
    assert_eq!(scene.done(), [("a".to_owned(), "left_alone".to_owned()), ("b".to_owned(), "closed".to_owned())]);
    assert_eq!(scene.pulls()[0]["state"], "open");
}

#[test]
fn what_is_obsolete_is_closed() {
    let scene = Scene::new();
    scene.done();
    let foreign = json!({ "number": 3, "state": "open", "title": "t", "body": "b", "labels": [],
                          "head": { "ref": "bump/a", "repo": { "full_name": "stranger/r" } } });
    scene.world.lock().unwrap().pulls.push(foreign);
    scene.world.lock().unwrap().newest = "1.0.0".to_owned();
    assert_eq!(scene.done(), both("closed"));
    assert_eq!(scene.branches(), "main");
    let states: Vec<Value> = scene.pulls().iter().map(|pull| pull["state"].clone()).collect();
    assert_eq!(states, [json!("closed"), json!("closed"), json!("open")], "a fork's request is none of its business");
    assert_eq!(scene.done(), []);
}

#[test]
fn what_is_not_offered_or_wanted_any_more_is_closed() {
    let scene = Scene::new();
    let one = |id: &str, what: &str| (id.to_owned(), what.to_owned());
    // Branches of a person and of another registry in the repository.
    for (branch, file, committer) in
        [("bump/tool", "r/tool/agent.json", "p@example.com"), ("bump/c", "x", "bot@example.com")]
    {
        scene.env.write(file, "{}");
        scene.env.git(&["checkout", "-q", "-b", branch]);
        scene.env.git(&["add", "."]);
        scene.env.git(&["-c", &format!("user.email={committer}"), "commit", "-q", "--allow-empty", "-m", "other"]);
        scene.env.git(&["push", "-q", "origin", branch]);
        scene.env.git(&["checkout", "-q", "main"]);
    }
    let others = "bump/c\nbump/tool\nmain";
    let npm = |answer: &str| answer.clone_into(&mut scene.world.lock().unwrap().newest);
    let open = || {
        npm("1.1.0");
        assert_eq!(scene.done(), both("opened"));
    };
    open();
    // Nothing is known of one that could not be asked.
    npm("500");
    let (code, report) = scene.run(&[]);
    assert_eq!((code, &report["pull_requests"]), (3, &json!([])), "{report:#}");
    // Its versions are gone, and it is gone itself.
    for newest in ["", "404"] {
        npm(newest);
        let (code, report) = scene.run(&[]);
        let closed = report["pull_requests"].as_array().unwrap().iter().all(|one| one["status"] == "closed");
        assert!(code == 3 && closed && scene.branches() == others, "{report:#}");
        open();
    }
    // It is held back: npm does not say how old it is.
    let (code, report) = scene.run(&["--min-age", "1d"]);
    assert_eq!((code, &report["held"][0]["to"]), (0, &json!("1.1.0")), "{report:#}");
    assert_eq!(scene.branches(), others);
    open();
    let alone = |text: &str, file: &str| {
        scene.env.write(file, text);
        // Agents and channels that are not looked at are left.
        assert_eq!(scene.run(&["b"]).1["pull_requests"].as_array().unwrap().len(), 1);
        assert_eq!(scene.run(&["--channel", "preview"]).1["pull_requests"], json!([]));
        assert_eq!(scene.done(), [one("b", "unchanged"), one("a", "closed")]);
        assert_eq!(scene.branches(), others.replace("bump/c", "bump/b\nbump/c"));
        fs::remove_file(scene.env.path(file)).unwrap();
        assert_eq!(scene.done(), [one("a", "opened"), one("b", "unchanged")]);
    };
    alone("{ \"a\": \"it hangs\" }", "r/quarantine.json");
    alone("[withdrawn]\na = \"gone\"\n", "r/registry.toml");
    scene.env.git(&["rm", "-q", "-r", "a"]);
    scene.env.git(&["commit", "-q", "-m", "without a"]);
    assert_eq!(scene.done(), [one("b", "unchanged"), one("a", "closed")]);
    assert_eq!(scene.done(), [one("b", "unchanged")]);
}

#[test]
fn what_a_person_has_closed_is_not_opened_again() {
    let scene = Scene::new();
    scene.done();
    scene.world.lock().unwrap().pulls[0]["state"] = json!("closed");
    assert_eq!(scene.done(), [("a".to_owned(), "declined".to_owned()), ("b".to_owned(), "unchanged".to_owned())]);
    assert_eq!(scene.pulls().len(), 2);
    scene.world.lock().unwrap().newest = "1.2.0".to_owned();
    assert_eq!(scene.done(), [("a".to_owned(), "opened".to_owned()), ("b".to_owned(), "updated".to_owned())]);
    // A pull request that the program closed itself does not count as declined.
    scene.world.lock().unwrap().newest = "1.0.0".to_owned();
    assert_eq!(scene.done(), both("closed"));
    scene.world.lock().unwrap().newest = "1.2.0".to_owned();
    assert_eq!(scene.done(), both("opened"));
}

#[test]
fn what_nobody_has_committed_is_not_published() {
    let scene = Scene::new();
    scene.env.write("r/a/agent.json", crate::support::manifest("a").replace("Made for a test", "Not to be seen yet"));
    let (code, report) = scene.run(&[]);
    assert_eq!(code, 1, "{report:#}");
    assert!(report["pull_requests"][0]["message"].as_str().unwrap().contains("commit or restore it"), "{report:#}");
    assert_eq!(report["pull_requests"][1]["status"], "opened");
    assert_eq!(scene.branches(), "bump/b\nmain");
}

#[cfg(unix)]
#[test]
fn a_manifest_is_compared_as_git_does() {
    let scene = Scene::new();
    // The checkout has other line endings than the commit, and one folder is a link.
    fs::rename(scene.env.path("r/b"), scene.env.path("r/c")).unwrap();
    std::os::unix::fs::symlink("c", scene.env.path("r/b")).unwrap();
    scene.env.write("r/.gitattributes", "*.json text eol=crlf\n");
    scene.env.git(&["add", "."]);
    scene.env.git(&["commit", "-q", "-m", "two"]);
    fs::remove_file(scene.env.path("r/a/agent.json")).unwrap();
    scene.env.git(&["checkout", "-q", "--", "a/agent.json"]);
    assert!(scene.env.read("r/a/agent.json").contains("\r\n"));
    assert_eq!(scene.run(&["a", "b"]).0, 0);
    assert_eq!(scene.branches(), "bump/a\nbump/b\nmain");
    for (branch, file) in [("bump/a", "a/agent.json"), ("bump/b", "c/agent.json")] {
        let range = format!("{branch}~1..{branch}");
        assert_eq!(scene.in_remote(&["diff", "--numstat", &range]), format!("2\t2\t{file}"));
    }
}

#[test]
fn other_bytes_of_a_version_need_a_review() {
    let scene = Scene::new();
    let target = |platform: &str| {
        let url = scene.server.url(&format!("/o/x/releases/download/v1.0.0/{platform}.zip"));
        json!({ "archive": url, "cmd": "./a.exe", "sha256": "1".repeat(64) })
    };
    let binary: serde_json::Map<_, _> = PLATFORMS.iter().map(|name| ((*name).to_owned(), target(name))).collect();
    let manifest = json!({ "id": "a", "name": "A", "version": "1.0.0", "description": "Made for a test", "license": "MIT",
                           "authors": ["A"], "distribution": { "binary": binary } });
    scene.env.write("r/a/agent.json", serde_json::to_string_pretty(&manifest).unwrap());
    scene.env.git(&["commit", "-q", "-a", "-m", "two"]);
    let digest = |digest: &str| digest.clone_into(&mut scene.world.lock().unwrap().digest);
    let labels = || scene.pulls()[0]["labels"].clone();
    let run = || scene.run(&["a"]).1;
    digest("2");
    let report = run();
    assert_eq!(
        (&report["pull_requests"][0]["status"], labels()),
        (&json!("opened"), json!([{ "name": "bot" }])),
        "{report:#}"
    );
    digest("3");
    let reason = "the digests of 1.1.0 have changed since it was proposed";
    for status in ["updated", "unchanged", "updated"] {
        let report = run();
        assert_eq!(report["pull_requests"][0]["status"], status);
        assert_eq!(scene.pulls()[0]["title"], "Update a to 1.1.0");
        assert_eq!(report["updates"][0]["reasons"], json!([reason]));
        assert_eq!(labels(), json!([]));
        assert!(scene.pulls()[0]["body"].as_str().unwrap().contains(&format!("\n- {reason}\n")));
        assert!(scene.in_remote(&["show", "bump/a:a/agent.json"]).contains(&"3".repeat(64)));
        if status == "unchanged" {
            scene.world.lock().unwrap().pulls[0]["title"] = json!("By a person");
        }
    }
}

#[test]
fn without_a_token_nothing_is_pushed() {
    let scene = Scene::new();
    let mut command = scene.env.command(&["--allow-host", &scene.server.host, "bump", "--no-cache", "--pull-requests"]);
    command.env("ACP_REGISTRY_NPM", scene.server.url("/npm")).env("HOME", scene.env.path("."));
    let run = Run::of(&mut command);
    assert!(run.code == 2 && run.stderr.contains("GITHUB_TOKEN"), "{}", run.stderr);
    assert_eq!(scene.branches(), "main");
}

#[test]
fn runs_at_the_same_time_open_nothing_twice() {
    let scene = Scene::new();
    for newest in ["1.1.0", "1.2.0", "1.3.0"] {
        newest.clone_into(&mut scene.world.lock().unwrap().newest);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| scene.run(&[]));
            }
        });
        // The run that came too late was told so, and leaves nothing to clean up.
        assert!(scene.done().iter().all(|(_, done)| done == "unchanged" || done == "updated"));
        assert_eq!(scene.done(), both("unchanged"));
        let pulls = scene.pulls();
        assert_eq!(pulls.len(), 2, "{pulls:#?}");
        assert!(pulls.iter().all(|pull| pull["title"].as_str().unwrap().ends_with(newest)), "{pulls:#?}");
        assert_eq!(scene.branches(), "bump/a\nbump/b\nmain");
        assert_eq!(scene.in_remote(&["rev-list", "--count", "main..bump/a"]), "1");
    }
}

#[test]
fn the_remote_and_what_helps_are_named() {
    let scene = Scene::new();
    let run = |arguments: &[&str]| {
        let all = [&["--allow-host", &scene.server.host, "bump", "--no-cache", "--pull-requests"], arguments].concat();
        let mut command = scene.env.command(&all);
        command.env("ACP_REGISTRY_NPM", scene.server.url("/npm")).env("GITHUB_API_URL", scene.server.url("/api"));
        command.env("GITHUB_TOKEN", "token-of-github").env("HOME", scene.env.path("."));
        Run::of(&mut command)
    };
    let told = |arguments: &[&str]| {
        let run = run(arguments);
        (run.code, run.stderr.rsplit_once("error: ").unwrap_or_default().1.trim_end().to_owned())
    };
    let (code, text) = told(&[]);
    let expected = "the git remote `origin` does not lead to a repository on GitHub\nhelp: set its address with `git remote \
                    set-url origin https://github.com/OWNER/NAME`";
    assert_eq!((code, text.as_str()), (2, expected));
    scene.env.git(&["remote", "add", "fork", "https://gitlab.example/o/r"]);
    let other = "does not lead to a repository on GitHub\nhelp: name the remote on GitHub with --remote; there is";
    let (code, text) = told(&[]);
    assert_eq!((code, text), (2, format!("the git remote `origin` {other} `fork`")));
    assert_eq!(told(&["--remote", "fork"]).1, format!("the git remote `fork` {other} `origin`"));
    let (code, text) = told(&["--remote", "upstream", "--repository", "o/r"]);
    let expected = "the repository has no git remote `upstream`\nhelp: name the remote on GitHub with --remote; there is \
                    `fork`, `origin`";
    assert_eq!((code, text.as_str()), (2, expected));
    scene.env.git(&["remote", "remove", "fork"]);
    scene.env.git(&["remote", "remove", "origin"]);
    let expected = "the repository has no git remote `origin`\nhelp: add it with `git remote add origin \
                    https://github.com/OWNER/NAME`";
    assert_eq!(told(&["--repository", "o/r"]), (2, expected.to_owned()));
    fs::remove_dir_all(scene.env.path("r/.git")).unwrap();
    let expected = "the registry is not in a git repository\nhelp: run it in a clone of the registry's repository";
    assert_eq!(told(&[]), (2, expected.to_owned()));
    assert_eq!(scene.branches(), "main");
}
