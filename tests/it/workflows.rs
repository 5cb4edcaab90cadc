//! What runs on GitHub: the form of the workflows, and their shell parts, run here.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, ok};
use crate::support::{Env, ICON, PROGRAM, Run, manifest, skipped};
use crate::verify::Verify;

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The shell part of the step of a workflow that has this name.
fn script(workflow: &str, step: &str) -> String {
    let text = fs::read_to_string(own(&format!(".github/workflows/{workflow}.yml"))).unwrap();
    let (_, from) = text.split_once(&format!("name: {step}\n")).unwrap_or_else(|| panic!("{workflow} has no {step}"));
    let (_, from) = from.split_once("        run: |\n").unwrap();
    let lines = from.lines().take_while(|line| line.is_empty() || line.starts_with("          "));
    lines.map(|line| format!("{}\n", line.get(10..).unwrap_or_default())).collect()
}

/// A shell as runners start it, with the program in its path, in the registry.
fn shell(env: &Env, script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(env.path("r"));
    let program = Path::new(PROGRAM).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap();
    command.env_clear().env("PATH", format!("{}:{program}:{path}", env.path("bin").display()));
    for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH"] {
        env.write(name, "");
        command.env(name, env.path(name));
    }
    fs::create_dir_all(env.path("temp")).unwrap();
    command.env("RUNNER_TEMP", env.path("temp")).env("HOME", env.path("temp"));
    command
}

fn program(env: &Env, name: &str, script: &str) {
    env.write(&format!("bin/{name}"), format!("#!/bin/bash\n{script}\n"));
    fs::set_permissions(env.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether jq is there, which runners have.
fn has_jq(test: &str) -> bool {
    let is_there = Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, "jq is not installed");
    }
    is_there
}

/// A registry in git, whose last commit changes these agents.
fn changed(ids: &[&str]) -> Env {
    let env = Env::with(&["old"]);
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "one"]);
    for id in ids {
        env.write(&format!("r/{id}/agent.json"), manifest(id));
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "two", "--allow-empty"]);
    env
}

/// An npm registry that has version 1.0.0 of every package.
fn npm() -> Server {
    let published = json!({ "versions": { "1.0.0": { "bin": "x", "dist": { "integrity": "sha512-x" } } } });
    Server::answering(move |_| ok(published.to_string()))
}

#[test]
fn workflows_are_well_formed_and_have_no_weak_places() {
    const TEST: &str = "workflows_are_well_formed_and_have_no_weak_places";
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    // Where the same tools are, as in `make setup`.
    let uvx = own("target/tools/uv/bin/uvx");
    let uvx = if uvx.is_file() { uvx } else { PathBuf::from("uvx") };
    let run = |arguments: &[&str]| {
        let output = Command::new(&uvx).args(arguments).current_dir(env.path("r")).output().ok()?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Some((output.status.success(), text))
    };
    for tool in ["zizmor", "check-jsonschema"] {
        if !run(&[tool, "--version"]).is_some_and(|(is_there, _)| is_there) {
            return skipped(
                TEST,
                &format!("{tool} cannot be had: uv is missing, or the Python index cannot be reached"),
            );
        }
    }
    let config = own(".github/zizmor.yml");
    for root in [own(""), env.path("r")] {
        let folder = root.join(".github");
        let (is_clean, text) =
            run(&["zizmor", "--offline", "--config", config.to_str().unwrap(), folder.to_str().unwrap()]).unwrap();
        assert!(is_clean, "{text}");
        let files = |folder: PathBuf| {
            let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path().to_str().unwrap().to_owned());
            items.collect::<Vec<String>>()
        };
        let action = folder.join("actions/acp-registry/action.yml").to_str().unwrap().to_owned();
        let dependabot = folder.join("dependabot.yml").to_str().unwrap().to_owned();
        for (schema, files) in [
            ("vendor.github-workflows", files(folder.join("workflows"))),
            ("vendor.github-actions", vec![action]),
            ("vendor.dependabot", vec![dependabot]),
        ] {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let (is_valid, text) =
                run(&[&["check-jsonschema", "--builtin-schema", schema], &files[..]].concat()).unwrap();
            assert!(is_valid, "{text}");
        }
    }
}

/// A tag can be moved, and a text in a script can end it.
#[test]
fn actions_are_pinned_and_no_text_of_strangers_is_in_a_script() {
    let mut seen = 0;
    let folders = [".github/workflows", ".github/actions/acp-registry"].map(own);
    for path in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|item| item.unwrap().path()) {
        let text = fs::read_to_string(&path).unwrap();
        let mut script = None;
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            script = script.filter(|start| line.trim().is_empty() || indent > *start);
            assert!(script.is_none() || !line.contains("${{"), "{}: {line}", path.display());
            if line.trim_start().trim_start_matches("- ").starts_with("run: ") {
                assert!(!line.contains("${{"), "{}: {line}", path.display());
                script = Some(indent);
            }
            if let Some((_, used)) = line.split_once("uses: ").filter(|(_, used)| !used.starts_with("./")) {
                let (sha, version) = used.split_once('@').unwrap().1.split_once(" # v").unwrap();
                let is_sha = sha.len() == 40 && sha.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(is_sha && version.starts_with(|c: char| c.is_ascii_digit()), "{}: {line}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "only {seen}");
}

#[test]
fn the_gate_checks_what_has_changed() {
    let check = script("validate", "Check what has changed");
    let npm = npm();
    let run = |env: &Env| {
        let mut command = shell(env, &check);
        Run::of(command.env("BASE", "HEAD^1").env("ACP_REGISTRY_NPM", npm.url("/")))
    };
    let good = changed(&["fresh"]);
    let done = run(&good);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let report = |env: &Env| env.run(&["report", "r/report/rules.json"]).stdout;
    assert!(report(&good).contains("1 agent checked: 0 errors"));

    let bad = changed(&["fresh"]);
    bad.write("r/fresh/icon.svg", "<svg>");
    // Nobody is held up by what was there before.
    bad.write("r/old/icon.svg", "<svg>");
    bad.git(&["commit", "-qam", "three"]);
    bad.write("r/fresh/icon.svg", "<svg");
    bad.git(&["commit", "-qam", "four"]);
    let done = run(&bad);
    assert_eq!(done.code, 1);
    assert!(done.stdout.contains("::error file=fresh/icon.svg") && !done.stdout.contains("old/"), "{}", done.stdout);
    assert!(report(&bad).contains("icon/syntax"));
}

#[test]
fn many_agents_are_divided_among_machines() {
    if !has_jq("many_agents_are_divided_among_machines") {
        return;
    }
    let plan = script("validate", "One machine for four agents, ten at most");
    let names: Vec<String> = (0..50).map(|number| format!("agent-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (count, number) in [(0, 1), (1, 1), (4, 1), (5, 2), (50, 10)] {
        let env = changed(&names[..count]);
        if count > 0 {
            // Findings are not this job's business.
            env.write("r/agent-0/icon.svg", "<svg");
        }
        let done = Run::of(shell(&env, &plan).env("BASE", "HEAD^1"));
        assert_eq!(done.code, 0, "{}", done.stderr);
        let shards: Vec<String> = (1..=number).map(|shard: i32| shard.to_string()).collect();
        let expected = format!("number={number}\nshards=[{}]\n", shards.join(","));
        assert_eq!(env.read("GITHUB_OUTPUT"), expected, "{count} agents");
    }
}

#[test]
fn only_what_has_changed_is_started() {
    let start = script("validate", "Start what has changed");
    let verify = Verify::new();
    verify.npx("old", &["exit", "1"]);
    verify.env.git(&["init", "-q"]);
    verify.env.git(&["add", "."]);
    verify.env.git(&["commit", "-qm", "one"]);
    let run = || {
        let mut command = shell(&verify.env, &start);
        command.env("TMPDIR", verify.env.path("tmp")).env("BASE", "HEAD^1").env("SHARD", "1/1");
        let run = Run::of(&mut command);
        fs::remove_dir_all(verify.env.path("r/report")).unwrap();
        (run.code, verify.env.read("GITHUB_STEP_SUMMARY"))
    };
    let commit = |message: &str| {
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", message]);
    };
    verify.npx("good", &["ok"]);
    commit("two");
    let (code, report) = run();
    assert!(code == 0 && report.contains("1 passed, 0 failed") && !report.contains("old"), "{code} {report}");
    verify.npx("good", &["exit", "3"]);
    commit("three");
    let (code, report) = run();
    assert!(code == 1 && report.contains("exited"), "{code} {report}");
    verify.env.write("r/README.md", "nothing to start");
    commit("four");
    let (code, report) = run();
    assert!(code == 0 && report.contains("0 passed"), "{code} {report}");
    verify.assert_clean();
}

/// What a contributor runs on one folder, and pastes into the request, is what the gate says.
#[test]
fn the_verdict_of_a_contributor_is_that_of_the_gate() {
    let (check, start) = (script("validate", "Check what has changed"), script("validate", "Start what has changed"));
    let npm = npm();
    for (case, code, words) in [
        (&["ok"][..], 0, "1 agent checked: 0 errors"),
        (&["exit", "3"], 1, "handshake/no-answer"),
        (&["result", r#"{"protocolVersion":1,"authMethods":[]}"#], 1, "handshake/no-supported-auth"),
    ] {
        let verify = Verify::new();
        verify.env.write("r/README.md", "a registry");
        verify.env.git(&["init", "-q"]);
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", "one"]);
        verify.npx("good", case);
        verify.env.write("r/good/icon.svg", ICON);
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", "two"]);
        let own = Run::of(
            verify
                .program(&["validate", "good", "--all", "--no-cache", "--format", "markdown"])
                .env("ACP_REGISTRY_NPM", npm.url("/")),
        );
        assert!(own.code == code && own.stdout.contains(words), "{} {}{}", own.code, own.stdout, own.stderr);
        let mut gate = 0;
        for script in [&check, &start] {
            let mut command = shell(&verify.env, script);
            command.env("TMPDIR", verify.env.path("tmp")).env("BASE", "HEAD^1").env("SHARD", "1/1");
            gate = gate.max(Run::of(command.env("ACP_REGISTRY_NPM", npm.url("/"))).code);
            fs::remove_dir_all(verify.env.path("r/report")).unwrap();
        }
        assert_eq!(gate, code, "{case:?}");
        verify.assert_clean();
    }
}

#[test]
fn the_gate_is_shut_unless_all_is_well() {
    let text = fs::read_to_string(own(".github/workflows/validate.yml")).unwrap();
    let (_, gate) = text.split_once("  gate:\n").unwrap();
    assert!(gate.contains("if: always()") && gate.contains("needs: [rules, plan, verify]"), "{gate}");
    let gate = script("validate", "Gate");
    let env = Env::empty();
    for (results, code) in [
        ("success success success", 0),
        ("success skipped success", 1),
        ("failure success success", 1),
        ("success success cancelled", 1),
    ] {
        assert_eq!(Run::of(shell(&env, &gate).env("RESULTS", results)).code, code, "{results}");
    }
}

/// The job that posts a comment takes nothing from a stranger's job but findings, in its own words and quoted.
#[test]
fn a_report_is_bounded_and_holds_no_markdown_of_strangers() {
    let write = script("report", "Write the report");
    let finding = json!({
        "rule": "icon/size", "level": "error", "agent": "a", "file": "a/icon.svg", "line": null, "column": null,
        "end_line": null, "end_column": null, "pointer": null, "help": null,
        "message": "<img src=x> [sign in](https://evil.example) @someone",
    });
    let rules = json!({
        "schema": 1, "command": "validate", "findings": [finding],
        "agents": [{ "id": "a", "status": "failed" }], "notes": [], "summary": { "duration_seconds": 0.1 },
    });
    let row = json!({
        "id": "a", "version": "1", "distribution": "npx", "verdict": "fail", "reason": "exited",
        "message": "x".repeat(5_000), "stderr_tail": "# Approved\n".repeat(500),
    });
    let verified = json!({ "schema": 1, "command": "verify", "results": vec![row; 1000] });
    let env = Env::empty().file("secret", "secret");
    env.write("temp/report/report-rules/rules.json", rules.to_string());
    env.write("temp/report/report-verify-1/verify.json", verified.to_string());
    // What else is there is not read, as when jobs wrote Markdown.
    env.write("temp/report/report-rules/rules.md", "other");
    env.write("temp/report/other/verify.json", "other");
    let run = Run::of(&mut shell(&env, &write));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let comment = env.read("temp/comment.md");
    assert!(comment.starts_with("<!-- acp-registry report -->\n**1 agent checked: 1 error"), "{comment}");
    assert!(comment.contains("| `<img src=x> [sign in](https://evil.example) @someone` |"), "{comment}");
    assert!(comment.contains("1000 failed") && comment.len() <= 65_000 && !comment.contains("other"));
    assert!(comment.lines().all(|line| !line.starts_with('#') || line.starts_with("### ")), "{comment}");

    // A link could lead to any file of the machine, and a text could be anything.
    let path = env.path("temp/report/report-verify-1/verify.json");
    fs::remove_file(&path).unwrap();
    symlink(env.path("secret"), &path).unwrap();
    let run = Run::of(&mut shell(&env, &write));
    assert!(run.code == 3 && !env.read("temp/comment.md").contains("secret"), "{} {}", run.code, run.stderr);
    fs::remove_file(&path).unwrap();
    env.write("temp/report/report-verify-1/verify.json", "# Approved");
    assert_eq!(Run::of(&mut shell(&env, &write)).code, 2);
    // Nothing came: the comment says that.
    let env = Env::empty();
    assert_eq!(Run::of(&mut shell(&env, &write)).code, 0);
    assert!(env.read("temp/comment.md").contains("left no report"));
}

#[test]
fn an_agent_with_errors_stays_published_and_is_named() {
    if !has_jq("an_agent_with_errors_stays_published_and_is_named") {
        return;
    }
    let env = Env::with(&["good", "bad", "lost"]);
    env.git(&["init", "-q"]);
    assert_eq!(env.run(&["build", "--out", "published"]).code, 0);
    let (build, name) =
        (script("publish", "Build"), script("publish", "Name the agents that are not published as they are on main"));
    let published = env.path("published");
    let run = |script: &str| {
        let run = Run::of(shell(&env, script).env("PUBLISHED", &published));
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    };
    run(&build);
    run(&name);
    assert!(env.read("r/.result/kept.md").is_empty() && env.path("r/dist/registry.json").exists());
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/bad/icon.svg", "<svg");
    fs::remove_file(env.path("r/lost/agent.json")).unwrap();
    // An agent that was never published has no last form, and the name of its folder is a stranger's.
    env.write("r/newer/agent.json", "{");
    env.write("r/--`x`\n- y/agent.json", "{");
    run(&build);
    run(&name);
    let report = env.read("r/.result/kept.md");
    let (list, findings) = report.split_at(report.find("###").unwrap());
    for line in ["- `bad` keeps its last published form.", "- `lost` keeps its last published form."] {
        assert!(list.contains(line), "{report}");
    }
    assert!(list.contains("- `newer` is left out") && list.contains("- `--?x??-?y` is left out"), "{report}");
    assert!(findings.contains("### `bad`") && findings.contains("icon/syntax"), "{report}");
    assert!(findings.contains("### `newer`") && findings.contains("manifest/syntax"), "{report}");
    assert!(env.path("r/dist/bad.svg").exists(), "in its last form");
}

/// No variable is needed: the last tree is at the address that the registry has.
#[test]
fn the_last_tree_is_found_by_the_address_in_the_configuration() {
    const TEST: &str = "the_last_tree_is_found_by_the_address_in_the_configuration";
    if !has_jq(TEST) {
        return;
    }
    let env = Env::with(&["good", "bad"]);
    env.git(&["init", "-q"]);
    // Of a registry whose git knows its whole history, nothing is asked for the dates of the site.
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "x"]);
    let build = script("publish", "Build");
    // Without an address, an agent with errors stops the build.
    env.write("r/bad/icon.svg", "<svg");
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert!(
        run.code == 1 && run.stdout.contains("bad") && run.stderr.contains("no `base-url`"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    // With it, that is where the tree is asked for.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/registry.toml", "base-url = \"https://127.0.0.1:1/r\"\n");
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert!(run.code == 3 && run.stdout.contains("127.0.0.1:1"), "{}{}", run.stdout, run.stderr);
    // A person can say that there is none yet; then an agent with errors is one of today alone.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    let run = Run::of(shell(&env, &build).env("PUBLISHED", "").env("FIRST", "true"));
    assert!(run.code == 1 && run.stdout.contains("no earlier form"), "{}{}", run.stdout, run.stderr);
    // What is not needed is not asked for: the first publication finds nothing there.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/bad/icon.svg", ICON);
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = Run::of(&mut shell(&env, &script("publish", "Say what changes")));
    assert_eq!((run.code, env.read("GITHUB_OUTPUT").as_str()), (0, "changes=0\n"), "{}", run.stderr);
}

#[test]
fn what_changes_is_said_also_the_first_time() {
    const TEST: &str = "what_changes_is_said_also_the_first_time";
    if !has_jq(TEST) {
        return;
    }
    let env = Env::with(&["good"]);
    let say = script("publish", "Say what changes");
    env.write("r/.result/build.json", r#"{ "previous": null }"#);
    assert_eq!(env.run(&["build", "--out", "published"]).code, 0);
    let run = Run::of(&mut shell(&env, &say));
    assert_eq!((run.code, env.read("GITHUB_OUTPUT").as_str()), (0, "changes=0\n"), "{}", run.stderr);
    if env.run(&["diff", "--help"]).code != 0 {
        return skipped(TEST, "there is no command `diff` yet");
    }
    let other = Env::with(&["good", "newer"]);
    assert_eq!(other.run(&["build", "--out", "r/dist"]).code, 0);
    let published = serde_json::json!({ "previous": env.path("published") });
    other.write("r/.result/build.json", published.to_string());
    let run = Run::of(&mut shell(&other, &say));
    assert_eq!((run.code, other.read("GITHUB_OUTPUT").as_str()), (0, "changes=1\n"), "{}", run.stderr);
    assert!(other.read("r/.result/notes.md").contains("newer"));
}

#[test]
fn snapshots_stay_on_the_branch_of_github_pages() {
    let add = script("publish", "Add the tree to the branch");
    let env = Env::with(&["good"]);
    program(&env, "gh", "exit 0");
    let bare = env.path("origin.git");
    env.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    env.git(&["init", "-q"]);
    env.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    let publish = |message: &str| {
        env.git(&["add", "--all"]);
        env.git(&["commit", "-qm", message, "--allow-empty"]);
        assert_eq!(env.run(&["build", "--out", "r/dist"]).code, 0);
        let _ = fs::remove_dir_all(env.path("temp/site"));
        let run = Run::of(shell(&env, &add).env("KEEP", "30d").env("GITHUB_SHA", "0123456789abcdef"));
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    };
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("--git-dir").arg(&bare).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let tops = || git(&["ls-tree", "--name-only", "pages"]).lines().map(ToOwned::to_owned).collect::<Vec<_>>();
    let count = |start: &str| tops().iter().filter(|name| name.starts_with(start)).count();
    publish("one");
    assert_eq!((count("latest"), count("v2"), count("index.html"), count("good")), (1, 1, 1, 0), "{:?}", tops());
    assert!(git(&["show", "pages:index.html"]).contains("url=latest/"));
    let first = tops().into_iter().find(|name| name.starts_with("v2")).unwrap();
    let index = git(&["show", &format!("pages:{first}/registry.json")]);

    env.write("r/newer/agent.json", manifest("newer"));
    env.write("r/newer/icon.svg", ICON);
    publish("two");
    assert_eq!((count("latest"), count("v2")), (1, 2), "{:?}", tops());
    assert_eq!(git(&["show", &format!("pages:{first}/registry.json")]), index, "a snapshot never changes");
    assert!(git(&["show", "pages:latest/registry.json"]).contains("newer"));
    // What is deployed is the branch, and a tree that is published again changes nothing.
    assert!(env.path(&format!("temp/site/{first}/registry.json")).exists());
    let commits = git(&["rev-list", "--count", "pages"]);
    publish("nothing new");
    assert_eq!(git(&["rev-list", "--count", "pages"]), commits);

    // A branch that cannot be asked for is not taken for a new one.
    fs::remove_dir_all(env.path("temp/site")).unwrap();
    fs::rename(&bare, env.path("gone.git")).unwrap();
    let run = Run::of(shell(&env, &add).env("KEEP", "30d").env("GITHUB_SHA", "0123456789abcdef"));
    assert!(run.code != 0 && run.stderr.contains("origin.git"), "{}{}", run.stdout, run.stderr);
}

/// What documents tell publishers to send is what the workflow reads.
#[test]
fn the_request_of_a_publisher_is_the_one_that_is_documented() {
    let workflow = fs::read_to_string(own(".github/workflows/bump.yml")).unwrap();
    assert!(workflow.contains("types: [release]") && workflow.contains("github.event.client_payload.id"));
    for path in ["docs/guides/maintainer.md", "templates/init/.github/SETUP.md"] {
        let text = fs::read_to_string(own(path)).unwrap();
        assert!(text.contains("event_type=release") && text.contains("client_payload[id]="), "{path}");
        assert!(text.contains("\"Contents: read") && text.contains("GitHub App"), "{path}");
    }
}

#[test]
fn a_publisher_can_ask_for_an_agent_and_nothing_else() {
    let propose = script("bump", "Propose");
    let env = Env::with(&["good"]);
    program(&env, "gh", "exit 0");
    program(&env, "acp-registry", "printf '%s\\n' \"$*\"");
    env.git(&["init", "-q"]);
    for (id, asked) in [("", "markdown"), ("good", "markdown good")] {
        let run = Run::of(shell(&env, &propose).env("ID", id));
        assert!(run.code == 0 && run.stdout.trim_end().ends_with(asked), "{id}: {} {}", run.stdout, run.stderr);
    }
    for id in ["--apply", "$(touch x)", "a b", "../x", "A"] {
        let run = Run::of(shell(&env, &propose).env("ID", id));
        assert!(run.code == 1 && run.stdout.contains("::error::"), "{id}: {} {}", run.stdout, run.stderr);
    }
    assert!(!env.path("r/x").exists());
}

#[test]
fn the_parts_of_a_night_become_one_snapshot() {
    let start = script("verify-part", "Start a quarter of them");
    let (say, join) = (script("verify-part", "Say which snapshot this is"), script("verify", "Put the parts together"));
    let verify = Verify::new();
    verify.npx("a", &["ok"]).npx("b", &["exit", "1"]).npx("c", &["ok"]).npx("d", &["ok"]).npx("e", &["ok"]);
    for id in ["a", "b", "c", "d", "e"] {
        verify.env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let digest = |part: usize| {
        fs::create_dir_all(verify.env.path("r/snapshot")).unwrap();
        let made = verify.env.path(&format!("temp/snapshot/snapshot-{part}/snapshot.json"));
        fs::copy(made, verify.env.path("r/snapshot/snapshot.json")).unwrap();
        assert_eq!(Run::of(&mut shell(&verify.env, &say)).code, 0);
        fs::remove_dir_all(verify.env.path("r/snapshot")).unwrap();
        verify.env.read("GITHUB_OUTPUT").strip_prefix("digest=").unwrap().trim_end().to_owned()
    };
    let join = |digests: &[String]| {
        let mut command = shell(&verify.env, &join);
        command.envs((1..).zip(digests).map(|(part, digest)| (format!("DIGEST_{part}"), digest)));
        Run::of(&mut command)
    };
    for part in 1..=4 {
        let mut command = shell(&verify.env, &start);
        command.env("TMPDIR", verify.env.path("tmp")).env("SHARD", format!("{part}/4"));
        let run = Run::of(&mut command);
        // An agent that fails is a result.
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = verify.env.read("r/snapshot/snapshot.json");
        verify.env.write(&format!("temp/snapshot/snapshot-{part}/snapshot.json"), text);
        fs::remove_dir_all(verify.env.path("r/snapshot")).unwrap();
    }
    let mut digests: Vec<String> = (1..=4).map(digest).collect();
    let joined = |digests: &[String]| {
        let run = join(digests);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let joined: Value = serde_json::from_str(&verify.env.read("r/capabilities.json")).unwrap();
        let schema: Value = serde_json::from_str(acp_registry::verify::SCHEMA).unwrap();
        assert!(jsonschema::draft7::new(&schema).unwrap().is_valid(&joined));
        joined
    };
    let first = joined(&digests);
    let ids = |joined: &Value| {
        let rows = joined["agents"].as_array().unwrap();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ["a", "b", "c", "d", "e"]);

    // What a machine has made, another one has replaced: nothing is proposed.
    let (own, place) =
        (verify.env.read("temp/snapshot/snapshot-3/snapshot.json"), "temp/snapshot/snapshot-3/snapshot.json");
    verify.env.write(place, own.replace("\"pass\"", "\"fail\""));
    let run = join(&digests);
    assert!(run.code == 1 && run.stdout.contains("::error::The snapshot of part 3"), "{} {}", run.stdout, run.stderr);
    // One that its machine has never spoken of is not read.
    let silent = [&digests[..2], &[String::new()], &digests[3..]].concat();
    assert_eq!(joined(&silent), first);
    assert!(!verify.env.path(place).exists());
    verify.env.write(place, own);

    // A night without the package source, and without one machine: all stay as they were.
    let outage = verify.env.read("temp/snapshot/snapshot-1/snapshot.json").replace("\"pass\"", "\"error\"");
    assert!(outage.contains("\"error\""));
    verify.env.write("temp/snapshot/snapshot-1/snapshot.json", outage);
    fs::remove_file(verify.env.path("temp/snapshot/snapshot-2/snapshot.json")).unwrap();
    digests[0] = digest(1);
    assert_eq!(joined(&digests), first);

    // One machine speaks for agents of another.
    let forged = verify.env.read("temp/snapshot/snapshot-3/snapshot.json").replace("\"c\"", "\"a\"");
    verify.env.write("temp/snapshot/snapshot-3/snapshot.json", forged);
    digests[2] = digest(3);
    let run = join(&digests);
    assert!(run.code == 4 && run.stderr.contains("part 3/4") && run.stderr.contains("`a`"), "{}", run.stderr);
    verify.assert_clean();
}

/// What one machine uploads must not replace what another one has uploaded.
#[test]
fn artifacts_have_folders_of_their_own() {
    for name in ["report", "verify", "verify-part", "validate"] {
        let text = fs::read_to_string(own(&format!(".github/workflows/{name}.yml"))).unwrap();
        assert!(!text.contains("merge-multiple"), "{name}");
    }
}

/// The action, laid out in a registry, with programs that stand for those of a runner.
fn install(env: &Env, variables: &[(&str, &str)]) -> Run {
    let mut command = shell(env, "bash .github/actions/acp-registry/install.sh");
    command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64").env("GITHUB_SERVER_URL", "https://git.example");
    for name in ["VERSION", "REPOSITORY", "ACTION_REPOSITORY"] {
        command.env(name, "");
    }
    Run::of(command.envs(variables.iter().copied()))
}

/// Says what it was asked for, and puts a program there.
const CURL: &str = r#"while [ $# -gt 0 ]; do case $1 in --output) out=$2; shift;; esac; address=$1; shift; done
echo "asked $address"
version=${address##*/acp-registry-}
mkdir -p made && printf '#!/bin/sh\necho acp-registry %s\n' "${MADE:-${version%-linux-*}}" > made/acp-registry && chmod +x made/acp-registry
tar -czf "$out" -C made acp-registry"#;

/// Knows where one archive was built, and refuses when another place is asked for.
const GH: &str = r#"echo "gh $*"
while [ $# -gt 0 ]; do case $1 in --signer-workflow) signer=$2; shift;; --source-ref) ref=$2; shift;; esac; shift; done
[ "$signer" = "$SIGNER" ] && [ "$ref" = "$ATTESTED" ] || { echo "not attested"; exit 1; }"#;

#[test]
fn the_action_takes_a_release_that_github_vouches_for() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r", "--program", "o/acp-registry@v1.2.3"]).code, 0);
    program(&env, "curl", CURL);
    program(&env, "gh", GH);
    program(&env, "cargo", "echo \"cargo $*\"");
    let attested = [("ATTESTED", "refs/tags/v1.2.3"), ("SIGNER", "o/acp-registry/.github/workflows/release.yml")];
    let run = install(&env, &attested);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let address = "https://git.example/o/acp-registry/releases/download/v1.2.3/acp-registry-1.2.3-linux-x86_64.tar.gz";
    assert!(run.stdout.contains(&format!("asked {address}\ngh attestation verify")), "{}", run.stdout);
    assert!(run.stdout.contains("--repo o/acp-registry") && !run.stdout.contains("cargo"), "{}", run.stdout);
    let path = env.read("GITHUB_PATH");
    let program_there = Path::new(path.trim()).join("acp-registry");
    assert_eq!(Run::of(&mut Command::new(program_there)).stdout, "acp-registry 1.2.3\n");
    // What a workflow says goes before what the file says.
    let other = [("ATTESTED", "refs/tags/v2.0.0"), ("SIGNER", "p/fork/.github/workflows/release.yml")];
    let asked = [("VERSION", "v2.0.0"), ("REPOSITORY", "p/fork"), ("RUNNER_ARCH", "ARM64")];
    let run = install(&env, &[&asked[..], &other].concat());
    assert!(
        run.code == 0 && run.stdout.contains("p/fork/releases/download/v2.0.0/acp-registry-2.0.0-linux-aarch64"),
        "{}",
        run.stdout
    );
    // An archive of an older release under the name of this one, one of another workflow, and one that says another version.
    let [_, signer] = attested;
    for (variables, message) in [
        (&[("ATTESTED", "refs/tags/v1.2.2"), signer][..], "not attested"),
        (&[attested[0], ("SIGNER", "o/acp-registry/.github/workflows/ci.yml")], "not attested"),
        (&[attested[0], signer, ("MADE", "1.2.2")], "the archive of v1.2.3 holds acp-registry 1.2.2"),
    ] {
        fs::remove_dir_all(env.path("temp")).unwrap();
        let run = install(&env, variables);
        assert!(run.code == 1 && run.stdout.contains(message), "{} {}", run.stdout, run.stderr);
        assert_eq!(env.read("GITHUB_PATH"), "");
    }
    // Whom GitHub does not vouch for is not unpacked.
    program(&env, "gh", "exit 1");
    fs::remove_dir_all(env.path("temp")).unwrap();
    assert_eq!(install(&env, &[]).code, 1);
    assert!(!env.path("temp/acp-registry/bin/acp-registry").exists());
    assert_eq!(env.read("GITHUB_PATH"), "");
}

#[test]
fn a_release_has_manual_pages_and_completions() {
    let env = Env::empty();
    for name in ["README.md", "CHANGELOG.md", "LICENSE"] {
        env.write(&format!("r/{name}"), name);
    }
    program(&env, "acp-registry", &format!("exec '{PROGRAM}' \"$@\""));
    fs::create_dir_all(env.path("r/target/t/release")).unwrap();
    fs::rename(env.path("bin/acp-registry"), env.path("r/target/t/release/acp-registry")).unwrap();
    let mut command = shell(&env, &script("release", "Pack"));
    command.envs([
        ("TARGET", "t"),
        ("PLATFORM", "linux-x86_64"),
        ("RUNNER_OS", "Linux"),
        ("GITHUB_REF_NAME", "v1.2.3"),
    ]);
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let archive = env.path("r/release/acp-registry-1.2.3-linux-x86_64.tar.gz");
    let listed = Run::of(Command::new("tar").arg("-tzf").arg(archive)).stdout;
    for name in [
        "./acp-registry",
        "./README.md",
        "./LICENSE",
        "./man/man1/acp-registry.1",
        "./man/man1/acp-registry-publish-prune.1",
        "./completions/acp-registry.bash",
        "./completions/_acp-registry",
        "./completions/acp-registry.fish",
        "./completions/_acp-registry.ps1",
    ] {
        assert!(listed.lines().any(|line| line == name), "{name}: {listed}");
    }
    assert!(env.read("r/packed/completions/_acp-registry").starts_with("#compdef acp-registry"));
}

#[test]
fn the_action_says_what_it_is_not_told() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    for (variables, message) in [
        (&[][..], "::error::say in .github/acp-registry.env where"),
        (&[("REPOSITORY", "o/r;x")], "::error::say in .github/acp-registry.env where"),
        (&[("REPOSITORY", "o/r"), ("VERSION", "v1/../x")], "::error::say in .github/acp-registry.env which"),
        (&[("REPOSITORY", "o/r"), ("RUNNER_OS", "Plan9")], "::error::there is no release of acp-registry for Plan9"),
    ] {
        let run = install(&env, variables);
        assert!(run.code == 1 && run.stdout.contains(message), "{} {}", run.stdout, run.stderr);
    }
}

#[test]
fn the_action_builds_the_sources_that_it_lies_in() {
    let env = Env::empty().file("r/Cargo.toml", "[package]\nname = \"acp-registry\"\n");
    assert_eq!(env.run(&["init", "r"]).code, 0);
    program(&env, "cargo", "echo \"cargo $*\"");
    let run = install(&env, &[]);
    let root = env.path("r").canonicalize().unwrap();
    assert!(
        run.stdout.contains(&format!("cargo install --quiet --locked --path {}", root.display())),
        "{}",
        run.stdout
    );
}
