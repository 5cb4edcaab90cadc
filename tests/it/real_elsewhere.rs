//! Real agents over ssh carry out turns as they do here, and start there for the first time as fast as they are installed.
//!
//! Takes minutes and gigabytes, so that it runs only where `ACP_REGISTRY_REAL` is set: `make test-real`.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::elsewhere::Box;
use crate::real::is_there;
use crate::steady::results;
use crate::support::{PROGRAM, Run, missing, skipped, told};

/// Agents of the bundled registry, from npm and the Python package index.
const AGENTS: [&str; 10] = [
    "agentao", "claude-acp", "cline", "codex-acp", "gemini", "github-copilot-cli", "grok-build", "kimi-code",
    "nanocode", "qwen-code",
];

/// The other side has the variables of this one, as the same person has there, but agents and copies of its own.
fn lend_variables(there: &Box) {
    let path = |name: &str| there.people.env.path(name).display().to_string();
    let wrapper = format!(
        "#!/bin/sh\nexport THERE='{}'.$$\nexport -p >\"$THERE\"\nexec /usr/bin/ssh -F '{}' -o SendEnv=THERE \"$@\"\n",
        path("variables"),
        path("ssh/client")
    );
    there.people.env.write_program("bin/ssh", &wrapper);
    let login = format!(
        "#!/bin/sh\n. \"$THERE\"\nexport XDG_DATA_HOME='{}' XDG_CACHE_HOME='{}'\nunset ACP_REGISTRY_ROOT\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        path("there/data"),
        path("home/.cache"),
    );
    there.people.env.write_program("there/login", &login);
    let key = there.people.env.read("ssh/person.pub");
    there.people.env.write("ssh/authorized", format!("command=\"{}\" {key}", path("there/login")));
}

/// A command of this program, with the configuration of package managers.
fn command(there: &Box, words: &[&str]) -> Command {
    let mut command = there.command(words);
    let own: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    command.envs(std::env::vars_os().filter(|(name, _)| name != "GITHUB_TOKEN"));
    for (name, value) in own {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// How long an agent takes to answer `initialize`.
fn start(there: &Box, words: &[&str]) -> Duration {
    let begun = Instant::now();
    let mut child = command(there, words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let ask =
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{ask}").unwrap();
    let answer = BufReader::new(child.stdout.take().unwrap()).lines().find(|line| {
        let line = line.as_ref().unwrap();
        line.contains("protocolVersion")
    });
    assert!(answer.is_some(), "{words:?}");
    let taken = begun.elapsed();
    drop(stdin);
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM);
    child.wait().unwrap();
    taken
}

/// The other side, and the agents that can be installed here. All downloads are then in the caches that both sides use.
fn people(test: &str) -> Option<(Box, Vec<&'static str>)> {
    let Ok(named) = std::env::var("ACP_REGISTRY_REAL") else {
        skipped(test, "it takes minutes and gigabytes; `make test-real` runs it");
        return None;
    };
    if !is_there("npm") || !is_there("uv") {
        missing(test, "npm or uv is not installed");
        return None;
    }
    let there = Box::with_program(test)?;
    lend_variables(&there);
    let manifest = |id: &str| fs::read_to_string(format!("registry/{id}/agent.json")).unwrap();
    let agents: Vec<Value> = AGENTS.iter().map(|id| serde_json::from_str(&manifest(id)).unwrap()).collect();
    there.people.publish(&agents);
    let is_installed = |id: &&str| {
        let run = Run::of(&mut command(&there, &["install", id, "--no-check"]));
        if run.code != 0 {
            missing(test, &format!("{id} cannot be installed: {}", run.stderr));
        }
        run.code == 0
    };
    let is_named = |id: &&str| named == "1" || named.split(',').any(|one| one == *id);
    let agents = AGENTS.into_iter().filter(is_named).filter(is_installed).collect();
    Some((there, agents))
}

#[test]
fn real_agents_carry_out_turns_over_ssh_as_they_do_here() {
    let Some((there, agents)) = people("real_agents_carry_out_turns_over_ssh_as_they_do_here") else { return };
    fs::create_dir_all(there.people.env.path("r")).unwrap();
    fs::copy("registry/registry.toml", there.people.env.path("r/registry.toml")).unwrap();
    let recipes = there.people.env.read("r/registry.toml");
    let (root, index) = (there.people.root().display().to_string(), there.people.server.url("/registry.json"));
    let place = ["--root", &root, "--index", &index];
    let mut differ = Vec::new();
    for id in agents {
        let recipe: &[&str] = if recipes.contains(&format!("[examine.{id}]")) { &["--recipe", id] } else { &[] };
        let examine = |on: &[&str]| {
            let limits = ["--timeout", "180", "--examination-timeout", "900", "--network", "shared"];
            let run = [&["--", PROGRAM, "--allow-host", &there.people.server.host, "run", id], &place[..], on, &["--"]];
            let failures = there.people.env.path(&format!("failures/{id}{}", on.concat())).display().to_string();
            let words = ["probe", "--level", "turns", "--json", "--failures", &failures];
            let results = results(&mut command(&there, &[&words[..], &limits, recipe, &run.concat()].concat()));
            // The first line of an exchange is what is wrong.
            let why = move |check: &str| {
                let path = format!("{failures}/{}.exchange", check.replace('/', "-"));
                fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
            };
            (results, why)
        };
        let ((here, why_here), (over, why_over)) = (examine(&[]), examine(&["--on", "ssh:box"]));
        let passed = |all: &BTreeMap<String, String>| all.values().filter(|result| *result == "pass").count();
        // Over ssh, the signal ends this program, which ends the agent.
        let here = here.into_iter().filter(|(check, _)| check != "protocol/sigterm").collect::<BTreeMap<_, _>>();
        let others = here.iter().filter(|(check, result)| over.get(*check) != Some(result));
        let others: Vec<_> = others
            .map(|(check, result)| {
                let why = [why_here(check), why_over(check)].concat();
                format!("{id} {check}: {result} {:?} {why}", over.get(check))
            })
            .collect();
        let (count, passed) = (here.len(), [passed(&here), passed(&over)]);
        told(&format!("{id}: of {count} checks, {} pass here, {} over ssh {others:?}", passed[0], passed[1]));
        differ.extend(others);
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The times are printed only: they depend on the machine.
#[test]
fn the_first_start_of_real_agents_over_ssh_installs_them() {
    let Some((there, agents)) = people("the_first_start_of_real_agents_over_ssh_installs_them") else { return };
    for id in agents {
        let root = there.people.env.path(&format!("again/{id}")).display().to_string();
        let begun = Instant::now();
        assert_eq!(Run::of(&mut command(&there, &["install", id, "--no-check", "--root", &root])).code, 0);
        let install = begun.elapsed();
        let [here, first, second] =
            [&["run", id][..], &["run", id, "--on", "ssh:box"], &["run", id, "--on", "ssh:box"]]
                .map(|words| start(&there, words));
        let [program, data] =
            ["stubs/acp-registry", "data"].map(|name| there.people.env.path(&format!("there/{name}")));
        assert!(data.join("acp-registry/agents").join(id).is_dir());
        // A machine that has nothing gets a copy of this program, too.
        fs::remove_file(&program).unwrap();
        fs::remove_dir_all(&data).unwrap();
        let copied = start(&there, &["run", id, "--on", "ssh:box"]);
        assert!(data.join("acp-registry/bin").is_dir());
        symlink(PROGRAM, &program).unwrap();
        let more = |first: Duration| first.as_secs_f64() - install.as_secs_f64() - here.as_secs_f64();
        told(&format!(
            "{id}: install {install:.1?}, start {here:.1?}; over ssh first start {first:.1?}, which is {:.1} s more, and {:.1} s \
             with a copy of this program; second start {second:.1?}",
            more(first),
            more(copied),
        ));
    }
}
