//! The workflows on GitHub: their form, and their shell scripts, which are run here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Env, ICON, PROGRAM, Run, manifest, skipped};
use crate::verify::Verify;

pub(crate) fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The shell script of the step with this name.
pub(crate) fn script(workflow: &str, step: &str) -> String {
    let text = fs::read_to_string(own(&format!(".github/workflows/{workflow}.yml"))).unwrap();
    let (_, from) = text.split_once(&format!("name: {step}\n")).unwrap_or_else(|| panic!("{workflow} has no {step}"));
    let (_, from) = from.split_once("        run: |\n").unwrap();
    let lines = from.lines().take_while(|line| line.is_empty() || line.starts_with("          "));
    lines.map(|line| format!("{}\n", line.get(10..).unwrap_or_default())).collect()
}

/// A shell as runners start it, in the registry, with the program in `PATH`.
pub(crate) fn shell(env: &Env, script: &str) -> Command {
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

pub(crate) fn program(env: &Env, name: &str, script: &str) {
    env.write_program(&format!("bin/{name}"), &format!("#!/bin/bash\n{script}\n"));
}

/// Whether jq is installed, as on runners.
pub(crate) fn has_jq(test: &str) -> bool {
    let is_there = Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, "jq is not installed");
    }
    is_there
}

/// A registry in git, whose last commit changes these agents.
pub(crate) fn changed(ids: &[&str]) -> Env {
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

/// The program of uv that starts tools, from where `make setup` installs it.
#[cfg(feature = "world")]
pub(crate) fn uvx() -> PathBuf {
    let uvx = own("target/tools/uv/bin/uvx");
    if uvx.is_file() { uvx } else { PathBuf::from("uvx") }
}

#[cfg(feature = "world")]
#[test]
fn workflows_are_well_formed_and_have_no_weak_places() {
    const TEST: &str = "workflows_are_well_formed_and_have_no_weak_places";
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    let uvx = uvx();
    let run = |arguments: &[&str]| {
        let output = Command::new(&uvx).args(arguments).current_dir(env.path("r")).output().ok()?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Some((output.status.success(), text))
    };
    for tool in ["zizmor", "check-jsonschema"] {
        if !run(&[tool, "--version"]).is_some_and(|(is_there, _)| is_there) {
            return crate::support::missing(
                TEST,
                &format!("{tool}: uv is not installed, or the Python index cannot be reached"),
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

/// Tags can be moved, and a text that is inserted into a script can inject commands.
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

/// The request that the documents describe to publishers is the one that the workflow reads.
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
        // A failing agent is a valid result.
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

    // A file of one machine was replaced by another: nothing is proposed.
    let (own, place) =
        (verify.env.read("temp/snapshot/snapshot-3/snapshot.json"), "temp/snapshot/snapshot-3/snapshot.json");
    verify.env.write(place, own.replace("\"verdict\": \"pass\"", "\"verdict\": \"fail\""));
    let run = join(&digests);
    assert!(run.code == 1 && run.stdout.contains("::error::The snapshot of part 3"), "{} {}", run.stdout, run.stderr);
    // A file whose machine reported no digest is not read.
    let silent = [&digests[..2], &[String::new()], &digests[3..]].concat();
    assert_eq!(joined(&silent), first);
    assert!(!verify.env.path(place).exists());
    verify.env.write(place, own);

    // Without the package source, and without one machine, all rows are kept.
    let outage = verify
        .env
        .read("temp/snapshot/snapshot-1/snapshot.json")
        .replace("\"verdict\": \"pass\"", "\"verdict\": \"error\"");
    assert!(outage.contains("\"error\""));
    verify.env.write("temp/snapshot/snapshot-1/snapshot.json", outage);
    fs::remove_file(verify.env.path("temp/snapshot/snapshot-2/snapshot.json")).unwrap();
    digests[0] = digest(1);
    assert_eq!(joined(&digests), first);

    // One machine reports on agents of another.
    let forged = verify.env.read("temp/snapshot/snapshot-3/snapshot.json").replace("\"c\"", "\"a\"");
    verify.env.write("temp/snapshot/snapshot-3/snapshot.json", forged);
    digests[2] = digest(3);
    let run = join(&digests);
    assert!(run.code == 4 && run.stderr.contains("part 3/4") && run.stderr.contains("`a`"), "{}", run.stderr);
    verify.assert_clean();
}

/// The upload of one machine must not replace that of another.
#[test]
fn artifacts_have_folders_of_their_own() {
    for name in ["report", "verify", "verify-part", "validate"] {
        let text = fs::read_to_string(own(&format!(".github/workflows/{name}.yml"))).unwrap();
        assert!(!text.contains("merge-multiple"), "{name}");
    }
}

#[test]
fn the_action_puts_its_level_behind_the_command() {
    let text = fs::read_to_string(own(".github/actions/acp-registry/action.yml")).unwrap();
    let (_, from) = text.rsplit_once("run: |\n").unwrap();
    let script: String = from.lines().map(|line| format!("{}\n", line.get(8..).unwrap_or_default())).collect();
    let env = Env::empty();
    env.write("r/x", "");
    program(&env, "acp-registry", "printf '<%s>' \"$@\"");
    let run = |arguments: &str, level: &str, require: &str| {
        let mut command = shell(&env, &script);
        Run::of(command.env("ARGUMENTS", arguments).env("LEVEL", level).env("REQUIRE", require))
    };
    for (arguments, level, require) in [("validate", "turns", ""), ("rules", "", "protocol"), ("-- node", "turns", "")]
    {
        let run = run(arguments, level, require);
        assert!(run.code == 1 && run.stdout.contains("::error::"), "{arguments}: {}", run.stdout);
    }
    for (arguments, level, require, expected) in [
        ("validate --format github", "", "", "<validate><--format><github>"),
        ("probe -- node new --acp", "turns", "", "<probe><--level=turns><--><node><new><--acp>"),
        ("-q verify a", "turns", "protocol", "<-q><verify><--level=turns><--require=protocol><a>"),
        ("probe -- $(id) *", "$(id)", "", "<probe><--level=$(id)><--><$(id)><*>"),
    ] {
        let run = run(arguments, level, require);
        assert_eq!((run.code, run.stdout.as_str()), (0, expected), "{}", run.stderr);
    }
}
