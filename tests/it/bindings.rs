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

/// In place of `rpc`: answers each line without an id or, with the flag `ends`, ends while it is read.
const NAMELESS: &str = r#"#!/bin/sh
[ "$2" = ends ] && { head -c 1 > /dev/null; exit 3; }
while read -r _; do
  echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON","data":{"code":"usage","exit_code":2,"help":null,"suggestions":[]}}}'
done
"#;

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
    people.env.write_program("nameless", NAMELESS);
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
        command.env("RPC_NAMELESS", people.env.path("nameless"));
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

/// A program that misuses the types of the WebAssembly package.
#[cfg(feature = "world")]
const WASM: &str = r"
import { load } from 'acp-registry-wasm';
const registry = (await load(fetch('https://host.example/module.wasm')))('{}');
for (const one of registry.plans('darwin-aarch64', { npm: false })) {
  if ('error' in one) throw one.error;
  console.log(one.plan.archive?.length, one.plan.verified);
}
// @ts-expect-error: there is no such platform.
registry.plans('linux');
";

/// The blocks in a language of all documents that readers are pointed to.
#[cfg(feature = "world")]
fn documented(kind: &str) -> Vec<String> {
    let pages = crate::guides::documents().chain(["docs/library.md"]);
    let blocks = pages.flat_map(|path| crate::guides_world::blocks(&crate::guides_world::document(path)));
    blocks.filter(|block| block.kind == kind).map(|block| block.text).collect()
}

/// Copies a client to where its checker runs, with the blocks of the documents.
#[cfg(feature = "world")]
fn copy(folder: &Path, names: &[&str], blocks: &[String], ending: &str, place: &Path) -> Vec<String> {
    for name in names {
        std::fs::copy(folder.join(name), place.join(name)).unwrap();
    }
    let name = |at: usize| format!("documented_{at}.{ending}");
    for (at, block) in blocks.iter().enumerate() {
        std::fs::write(place.join(name(at)), block).unwrap();
    }
    (0..blocks.len()).map(name).collect()
}

#[cfg(feature = "world")]
#[test]
fn typescript_in_the_documents_is_checked_by_the_compiler() {
    let world = tempfile::tempdir().unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "typescript@5.9", "@types/node@22"]);
    match npm.current_dir(world.path()).output() {
        Ok(output) if output.status.success() => {}
        failed => return crate::support::missing("types of TypeScript", &format!("{failed:?}")),
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/wasm/package");
    let wasm = world.path().join("node_modules/acp-registry-wasm");
    std::fs::create_dir(&wasm).unwrap();
    copy(&package, &["acp-registry-wasm.mjs", "acp-registry-wasm.d.mts", "package.json"], &[], "", &wasm);
    let blocks = documented("ts");
    assert!(blocks.len() >= 2, "{blocks:?}");
    let names = ["acp-registry.mjs", "acp-registry.d.mts", "types.mts"];
    let documented = copy(&folder("typescript"), &names, &blocks, "mts", world.path());
    std::fs::write(world.path().join("wasm.mts"), WASM).unwrap();
    let mut compiler = Command::new("node");
    compiler.args(["node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--module", "nodenext"]);
    compiler.args(["--target", "es2022", "types.mts", "wasm.mts"]).args(documented).current_dir(world.path());
    let run = Run::of(&mut compiler);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
}

#[cfg(feature = "world")]
#[test]
fn python_in_the_documents_is_checked_by_mypy() {
    let world = tempfile::tempdir().unwrap();
    let blocks = documented("python");
    assert!(!blocks.is_empty());
    let names = ["acp_registry.py", "acp_registry.pyi", "types_check.py"];
    let documented = copy(&folder("python"), &names, &blocks, "py", world.path());
    let uvx = crate::workflows::uvx();
    if !Run::try_of(Command::new(&uvx).args(["mypy@2.4.1", "--version"])).is_ok_and(|run| run.code == 0) {
        return crate::support::missing("types of Python", "uvx cannot install mypy");
    }
    let mut mypy = Command::new(uvx);
    mypy.args(["mypy@2.4.1", "--strict", "--python-version", "3.10", "types_check.py"]).args(documented);
    let run = Run::of(mypy.current_dir(world.path()));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

#[cfg(feature = "world")]
#[test]
fn types_are_those_of_the_schemas() {
    let world = tempfile::tempdir().unwrap();
    let files = ["typescript/acp-registry.d.mts", "python/acp_registry.pyi"];
    for file in files {
        let path = world.path().join(file);
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::copy(folder(file), path).unwrap();
    }
    let tools = crate::workflows::uvx();
    let path =
        [tools.parent().unwrap().as_os_str(), &std::env::var_os("PATH").unwrap()].join(std::ffi::OsStr::new(":"));
    let mut python = Command::new("python3");
    let run = Run::of(python.arg(folder("generate_types.py")).arg(world.path()).env("PATH", path));
    if run.code != 0 {
        return crate::support::missing("types of the clients", &run.stderr);
    }
    for file in files {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let is_current = read(&folder(file)) == read(&world.path().join(file));
        assert!(is_current, "{file} is not what crates/client/bindings/generate_types.py writes: run it");
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
