//! The clients of `rpc` in other languages: their tests and their examples run in their own runtimes.
#![cfg(unix)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::archives::{gz, sha256, tar};
use crate::people::{People, entry, host};
use crate::support::{PROGRAM, Run, skipped};

/// A language: its folder, its runtime with the argument that prints its version, and how the test and the example are
/// started.
struct Language<'a> {
    folder: &'a str,
    runtime: [&'a str; 2],
    test: &'a [&'a str],
    example: &'a [&'a str],
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/client/bindings").join(name)
}

/// An index with `fake`, whose program is the fake agent, and `slow`, whose archive never ends.
fn people() -> People {
    let people = People::with_root("data", |asked, stream| {
        if asked.path != "/slow.tar.gz" {
            return Ok(false);
        }
        write!(stream, "HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n")?;
        // Until the program closes the connection.
        while stream.write_all(b"x").is_ok() {
            sleep(Duration::from_millis(50));
        }
        Ok(true)
    });
    // The variable and the argument of the manifest must arrive, and the helper must be in `PATH`.
    let script =
        format!("#!/bin/sh\n[ \"$EXAMPLE\" = manifest ] && own-helper && exec '{}' \"$@\"\n", fake_agent().display());
    let bytes = gz(&tar(&[("bin/agent", script.as_bytes()), ("bin/own-helper", b"#!/bin/sh\n")]));
    people.serve("/fake.tar.gz", bytes.clone());
    let agent = |id: &str, bytes: &[u8]| {
        let target = json!({
            "archive": people.server.url(&format!("/{id}.tar.gz")), "sha256": sha256(bytes), "cmd": "./bin/agent",
            "args": ["ok"], "env": { "EXAMPLE": "manifest" },
        });
        entry(id, "1.0.0", &json!({ "binary": { host(): target } }))
    };
    people.publish(&[agent("fake", &bytes), agent("slow", b"")]);
    people
}

impl Language<'_> {
    fn command(&self, arguments: &[&str], people: &People) -> Command {
        // A client that waits for ever fails its test.
        let limit: &[&str] = if cfg!(target_os = "linux") { &["timeout", "60"] } else { &[] };
        let words = [limit, &self.runtime[..1], arguments].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(folder(self.folder)).env_clear();
        let known = people.command(&[]);
        command.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", Path::new(PROGRAM).parent().unwrap().display()));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("RPC_FLAGS", format!("--allow-host {}", people.server.host));
        command
    }

    fn check(&self) {
        let Self { folder, runtime: [program, version], .. } = self;
        if Command::new(program).arg(version).output().is_err() {
            // `.ci/setup` installs all of them on Linux.
            let is_ci = cfg!(target_os = "linux") && std::env::var_os("CI").is_some_and(|value| !value.is_empty());
            assert!(!is_ci, "{program} is missing");
            return skipped(folder, &format!("{program} is not installed"));
        }
        let people = people();
        let run = Run::of(&mut self.command(self.test, &people));
        assert_eq!(run.code, 0, "{folder}: {}{}", run.stdout, run.stderr);
        assert!(people.is_gone(), "{:?}", people.left());

        let flags = ["fake", "--allow-host", &people.server.host];
        let run = Run::of(&mut self.command(&[self.example, &flags].concat(), &people));
        assert_eq!(run.code, 0, "{folder}: {}{}", run.stdout, run.stderr);
        for part in ["fake", "slow", "downloading", "unpacking"] {
            assert!(run.stdout.contains(part), "{folder}: {part}: {}", run.stdout);
        }
        let answer = run.stdout.lines().find_map(|line| line.strip_prefix("answers ")).expect(&run.stdout);
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!(1)), "{folder}");

        let run = Run::of(&mut self.command(&[self.example, &["no", flags[1], flags[2]]].concat(), &people));
        assert!(run.code != 0, "{folder}: {}", run.stdout);
        assert!(run.stderr.contains("there is no agent `no`"), "{folder}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn typescript() {
    Language {
        folder: "typescript",
        runtime: ["node", "--version"],
        test: &["--test", "test.mjs"],
        example: &["example.mjs"],
    }
    .check();
}

#[test]
fn python() {
    Language {
        folder: "python",
        runtime: ["python3", "--version"],
        test: &["test_acp_registry.py"],
        example: &["example.py"],
    }
    .check();
}

/// A program that uses the types of the WebAssembly package, and misuses them once.
#[cfg(feature = "world")]
const WASM: &str = r"
import { PlanError, load, type Plan } from './acp-registry-wasm.mjs';
const open = await load(fetch('https://host.example/module.wasm'));
const registry = open('{}');
const plan: Plan = registry.resolve(registry.agents[0]!.id, { platform: 'linux-x86_64', dist: 'npx' });
for (const one of registry.plans('darwin-aarch64', { npm: false })) {
  if ('error' in one) throw one.error satisfies PlanError;
  console.log(one.plan.archive?.length, plan.verified);
}
// @ts-expect-error: there is no such platform.
registry.plans('linux');
";

#[cfg(feature = "world")]
#[test]
fn types_are_checked_by_the_compiler() {
    let world = tempfile::tempdir().unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "typescript@5.9", "@types/node@22"]);
    match npm.current_dir(world.path()).output() {
        Ok(output) if output.status.success() => {}
        failed => return crate::support::missing("types of TypeScript", &format!("{failed:?}")),
    }
    for file in ["acp-registry.mjs", "acp-registry.d.mts", "types.mts"] {
        std::fs::copy(folder("typescript").join(file), world.path().join(file)).unwrap();
    }
    for file in ["acp-registry-wasm.mjs", "acp-registry-wasm.d.mts"] {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/wasm/package");
        std::fs::copy(package.join(file), world.path().join(file)).unwrap();
    }
    std::fs::write(world.path().join("wasm.mts"), WASM).unwrap();
    let mut compiler = Command::new("node");
    compiler.args(["node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--module", "nodenext"]);
    compiler.args(["--target", "es2022", "types.mts", "wasm.mts"]).current_dir(world.path());
    let run = Run::of(&mut compiler);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
}

/// The types of TypeScript are written by hand.
#[test]
fn types_name_the_methods_and_parameters_of_the_schema() {
    let types = std::fs::read_to_string(folder("typescript/acp-registry.d.mts")).unwrap();
    let (_, methods) = types.split_once("export interface Methods {\n").unwrap();
    let (methods, _) = methods.split_once("\n}\n").unwrap();
    let known = &crate::documents::schemas()["rpc"]["$defs"]["request"]["anyOf"];
    let requests = known.as_array().unwrap();
    let start = |request: &Value| {
        let name = request["title"].as_str().unwrap();
        let key = if name.contains('/') { format!("\n  '{name}': [") } else { format!("\n  {name}: [") };
        format!("\n{methods}").find(&key).unwrap_or_else(|| panic!("{name}"))
    };
    let starts: Vec<usize> = requests.iter().map(start).chain([methods.len()]).collect();
    for (request, place) in requests.iter().zip(starts.windows(2)) {
        let text = &methods[place[0]..place[1]];
        for name in request["properties"]["params"]["properties"].as_object().unwrap().keys() {
            let is_shared = match name.as_str() {
                "agent" => text.contains("Named"),
                "refresh" => text.contains("Refresh"),
                _ => false,
            };
            let is_named = [": ", "?: "].iter().any(|end| text.contains(&format!(" {name}{end}")));
            assert!(is_named || is_shared, "{}: {name}: {text}", request["title"]);
        }
    }
}

/// The beginning of a command line that runs a script, whose errors make the exit code 1.
const NVIM: [&str; 4] = ["--headless", "-u", "NONE", "-c"];

#[test]
fn lua() {
    Language {
        folder: "lua",
        runtime: ["nvim", "--version"],
        test: &[&NVIM[..], &["luafile test.lua", "-c", "cquit"]].concat(),
        example: &[&NVIM[..], &["luafile example.lua", "-c", "cquit", "--"]].concat(),
    }
    .check();
}

#[test]
fn elisp() {
    Language {
        folder: "elisp",
        runtime: ["emacs", "--version"],
        test: &["--batch", "-L", ".", "-l", "test.el", "-f", "ert-run-tests-batch-and-exit"],
        example: &["--batch", "-L", ".", "-l", "example.el"],
    }
    .check();
}

/// The examples are as short as the documentation says.
#[test]
fn examples_are_short() {
    for file in ["typescript/example.mjs", "python/example.py", "lua/example.lua", "elisp/example.el"] {
        let text = std::fs::read_to_string(folder(file)).unwrap();
        assert!(text.lines().count() <= 25, "{file} has {} lines", text.lines().count());
    }
}
