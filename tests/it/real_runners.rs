//! What `verify` passes, the real `npx` and `uvx` start, and the other way round: packages of many shapes, from registries on
//! loopback.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::archives::{gz, tar, zip};
use crate::real::{agent, is_there};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, Run, missing, scrub};

const REQUEST: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{}}}\n";

/// The versions of npm.
const VERSIONS: [&str; 3] = ["10", "11", "12"];

/// How many runners are started at once.
const AT_ONCE: usize = 4;

/// What an agent answers, but for the id.
const ANSWER: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{},"authMethods":[{"id":"a","name":"A","type":"agent"}]}"#;

/// A package, and whether its runner starts it.
struct Shape {
    name: &'static str,
    /// The package as a manifest names it, and `command`.
    spec: String,
    command: Option<&'static str>,
    /// Whether the runner starts it; `None` if that depends on the version of npm.
    starts: Option<bool>,
    /// Whether it is compared with each version of npm in `make test`: the others are, every night.
    is_usual: bool,
}

/// Which shapes the runner starts: `line` is its command line for a shape.
fn started<'a>(shapes: &[&'a Shape], line: impl Fn(&Shape) -> Command + Sync) -> BTreeSet<&'a str> {
    let (waiting, started) = (Mutex::new(shapes.iter()), Mutex::new(BTreeSet::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(shape) = waiting.lock().unwrap().next() else { return };
                    let mut command = line(shape);
                    let mut child =
                        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
                    // A runner that has failed reads nothing.
                    let _ = child.stdin.take().unwrap().write_all(REQUEST);
                    let said = child.wait_with_output().unwrap().stdout;
                    if String::from_utf8_lossy(&said).contains("protocolVersion") {
                        started.lock().unwrap().insert(shape.name);
                    }
                }
            });
        }
    });
    started.into_inner().unwrap()
}

/// The results of `verify` for these shapes, by name.
fn verified(env: &Env, kind: &str, shapes: &[&Shape], set: impl Fn(&mut Command)) -> BTreeMap<String, Value> {
    fs::remove_dir_all(env.path("r")).unwrap();
    for shape in shapes {
        let mut package = json!({ "package": shape.spec });
        if let Some(command) = shape.command {
            package["command"] = command.into();
        }
        agent(env, shape.name, "1.0.0", &json!({ kind: package }));
    }
    let mut command = env.command(&["verify", "--json", "--jobs", "4", "--timeout", "60"]);
    set(&mut command);
    let run = Run::of(&mut command);
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    let rows = document["results"].as_array().unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row.clone())).collect()
}

/// Compares both for every shape. `runner` names the runner in messages.
fn compare(runner: &str, shapes: &[&Shape], started: &BTreeSet<&str>, verified: &BTreeMap<String, Value>) {
    let mut wrong = Vec::new();
    for shape in shapes {
        let (row, is_started) = (&verified[shape.name], started.contains(shape.name));
        if (row["verdict"] == "pass") != is_started || shape.starts.is_some_and(|starts| starts != is_started) {
            let (verdict, message) = (&row["verdict"], &row["message"]);
            wrong.push(format!("{}: {runner} starts it: {is_started}; verify: {verdict} {message}", shape.name));
        }
        assert!(!is_started || row["not_startable_by"].is_null(), "{row}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An agent in JavaScript, but for its first line.
fn script() -> String {
    format!(
        "require('readline').createInterface({{ input: process.stdin }}).on('line', (line) => {{\n  const id = \
         JSON.parse(line).id;\n  if (id !== undefined) console.log(JSON.stringify({{ jsonrpc: '2.0', id, result: {ANSWER} \
         }}));\n}});\n"
    )
}

/// Packages of npm: a name, members of `package.json`, files, and whether npx starts the package.
type NpmShape = (&'static str, Value, Vec<(&'static str, String)>, Option<bool>);

/// Ends unless it is started by its name.
const CALLED: &str = "#!/usr/bin/env node\nif (require('path').basename(process.argv[1]) !== 'called') process.exit(1)";

/// Writes the file of the command after npm has made its links.
const LATE: &str = "require('fs').copyFileSync('agent.js', 'late.js')";

fn npm_shapes(node: &str, absent: &str) -> Vec<NpmShape> {
    let own = |line: &str| format!("{line}\n{}", script());
    let agent = || own("#!/usr/bin/env node");
    let one = |text: String| vec![("cli.js", text)];
    let two = || vec![("cli.js", agent()), ("other.js", "#!/usr/bin/env node\n".to_owned())];
    let cli = || json!({ "bin": "cli.js" });
    let scripted = |when: &str, bin: &str| json!({ "bin": bin, "scripts": { when: "node make.js" } });
    let needs = |bin: Value| json!({ "bin": bin, "dependencies": { "helper": "1.0.0" } });
    let (yes, no) = (Some(true), Some(false));
    vec![
        ("plain", cli(), one(agent()), yes),
        ("no-interpreter", cli(), one(script()), no),
        ("late", scripted("postinstall", "late.js"), vec![("agent.js", agent()), ("make.js", LATE.to_owned())], no),
        ("early", scripted("preinstall", "late.js"), vec![("agent.js", agent()), ("make.js", LATE.to_owned())], None),
        (
            "replaced",
            scripted("postinstall", "late.js"),
            vec![
                ("agent.js", agent()),
                ("late.js", "#!/bin/sh\nexit 1\n".to_owned()),
                (
                    "make.js",
                    "const fs = require('fs'); fs.writeFileSync('late.js', fs.readFileSync('agent.js'))".to_owned(),
                ),
            ],
            None,
        ),
        (
            "needless-script",
            scripted("postinstall", "cli.js"),
            vec![("cli.js", agent()), ("make.js", "0".to_owned())],
            yes,
        ),
        (
            "failing-script",
            scripted("postinstall", "cli.js"),
            vec![("cli.js", agent()), ("make.js", "process.exit(1)".to_owned())],
            None,
        ),
        ("@scope/named", json!({ "bin": { "@scope/named": "cli.js", "x": "other.js" } }), two(), yes),
        ("two", json!({ "bin": { "a": "cli.js", "b": "other.js" } }), two(), no),
        ("polyglot", cli(), one(own("\":\" //; exec node \"$0\" \"$@\"")), yes),
        (
            "flags",
            cli(),
            one(own("#!/usr/bin/env node --no-warnings")),
            if cfg!(target_os = "linux") { no } else { yes },
        ),
        ("own-registry", json!({ "bin": { "x": "other.js" } }), two(), yes),
        ("needs-helper", needs(json!("cli.js")), one(own("#!/usr/bin/env helper")), yes),
        // Not compared with each version in `make test`.
        ("split-flags", cli(), one(own("#!/usr/bin/env -S node --no-warnings")), yes),
        ("absolute", cli(), one(own(&format!("#!{node}"))), yes),
        ("absent-interpreter", cli(), one(own(&format!("#!{absent}"))), no),
        ("space", cli(), one(own("#! /usr/bin/env node")), yes),
        ("carriage-return", cli(), one(agent().replace('\n', "\r\n")), yes),
        ("mark", cli(), one(format!("\u{feff}{}", agent())), no),
        ("empty", cli(), one(String::new()), no),
        ("absent", cli(), vec![("other.js", agent())], no),
        ("directory", json!({ "bin": "lib" }), vec![("lib/index.js", agent())], no),
        ("above", json!({ "bin": "../cli.js" }), one(agent()), yes),
        ("alias", json!({ "bin": { "a": "cli.js", "b": "./cli.js" } }), one(agent()), yes),
        ("single", json!({ "bin": { "other-name": "cli.js" } }), one(agent()), yes),
        ("called", json!({ "bin": { "called": "cli.js", "other": "cli.js" } }), one(own(CALLED)), yes),
        ("slash", json!({ "bin": { "a/slash": "cli.js", "b": "other.js" } }), two(), yes),
        ("commandless", json!({ "bin": {} }), one(agent()), no),
        ("helper", json!({ "bin": { "helper": "cli.js" } }), one(agent()), yes),
        (
            "starts-helper",
            needs(json!("cli.js")),
            one("#!/usr/bin/env node\nrequire('child_process').spawn('helper', { stdio: 'inherit' })\n".to_owned()),
            yes,
        ),
        ("only-helper", needs(json!({})), one(agent()), no),
        ("elsewhere", json!({ "bin": "cli.js", "os": ["aix"] }), one(agent()), no),
        ("newer-node", json!({ "bin": "cli.js", "engines": { "node": ">=999" } }), one(agent()), yes),
        (
            "shell",
            cli(),
            vec![
                ("cli.js", "exec node \"$(dirname \"$(readlink -f \"$0\")\")/other.js\"\n".to_owned()),
                ("other.js", script()),
            ],
            yes,
        ),
    ]
}

/// How many of them are compared with each version of npm in `make test`.
const USUAL: usize = 13;

fn npm_registry(shapes: &[NpmShape]) -> Server {
    let mut packages = BTreeMap::new();
    for (name, members, files, _) in shapes {
        let mut manifest = json!({ "name": name, "version": "1.0.0" });
        manifest.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let text = manifest.to_string();
        let names: Vec<String> = files.iter().map(|(name, _)| format!("package/{name}")).collect();
        let files = names.iter().zip(files).map(|(name, (_, text))| (name.as_str(), text.as_bytes()));
        let all: Vec<(&str, &[u8])> = [("package/package.json", text.as_bytes())].into_iter().chain(files).collect();
        manifest["hasInstallScript"] = manifest.get("scripts").is_some().into();
        if *name == "own-registry" {
            // npm uses what the registry says of a package before it has the package.
            manifest["bin"] = json!({ "x": "cli.js" });
        }
        packages.insert((*name).to_owned(), (manifest, gz(&tar(&all))));
    }
    Server::answering(move |asked| {
        let path = asked.path.replace("%2f", "/").replace("%2F", "/");
        let name = path.trim_start_matches('/');
        if let Some((_, archive)) = name.strip_suffix(".tgz").and_then(|name| packages.get(name)) {
            return ok(archive.clone());
        }
        let Some((manifest, _)) = packages.get(name) else { return not_found() };
        let mut manifest = manifest.clone();
        manifest["dist"] = json!({ "tarball": format!("http://{}/{name}.tgz", asked.header("host")) });
        ok(json!({ "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": manifest } }).to_string())
    })
}

#[test]
fn npx_of_every_npm_starts_what_passes() {
    const TEST: &str = "npx_of_every_npm_starts_what_passes";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let env = Env::empty();
    let fetch = |version: &str| {
        let folder = format!("npm{version}");
        let mut command = Command::new("npm");
        command.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            &folder,
            &format!("npm@{version}"),
        ]);
        command.current_dir(env.path("")).status().unwrap().success()
    };
    let fetched = thread::scope(|scope| {
        VERSIONS.map(|version| scope.spawn(move || fetch(version))).map(|thread| thread.join().unwrap())
    });
    if fetched != [true; 3] {
        return missing(TEST, "the npm registry cannot be reached");
    }
    let node = Command::new("node").args(["-p", "process.execPath"]).output().unwrap().stdout;
    let all = npm_shapes(String::from_utf8(node).unwrap().trim(), env.path("absent/node").to_str().unwrap());
    let server = npm_registry(&all);
    let shapes: Vec<Shape> = all
        .iter()
        .enumerate()
        .map(|(number, (name, _, _, starts))| Shape {
            name: name.rsplit('/').next().unwrap(),
            spec: format!("{name}@1.0.0"),
            command: None,
            starts: *starts,
            is_usual: number < USUAL,
        })
        .collect();
    let is_nightly = std::env::var_os("ACP_REGISTRY_REAL").is_some();
    for version in VERSIONS {
        let shapes: Vec<&Shape> =
            shapes.iter().filter(|shape| shape.is_usual || version == "11" || is_nightly).collect();
        let own = env.path(&format!("npm{version}/node_modules/.bin"));
        let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
        let set = |command: &mut Command| {
            scrub(command);
            command.env("PATH", &path).env("HOME", env.path("home")).env("npm_config_registry", server.url("/"));
            command.env("npm_config_cache", env.path(&format!("cache{version}")));
        };
        for shape in &shapes {
            fs::create_dir_all(env.path(&format!("empty/{}", shape.name))).unwrap();
        }
        let started = started(&shapes, |shape| {
            let mut command = Command::new("npx");
            command.args(["--yes", &shape.spec]).current_dir(env.path(&format!("empty/{}", shape.name)));
            set(&mut command);
            command
        });
        let verified = verified(&env, "npx", &shapes, set);
        compare(&format!("npx of npm {version}"), &shapes, &started, &verified);
        let told = |name: &str| verified[name]["not_startable_by"] == "npx";
        assert!(["late", "no-interpreter", "two"].into_iter().all(told), "npm {version}");
        assert_eq!(told("replaced"), version == "12", "{}", verified["replaced"]);
        let warning = &verified["no-interpreter"]["handshake"]["warnings"][0];
        assert_eq!(warning, "its file does not begin with `#!`, so that npx has a shell read it");
    }
}

/// A wheel with these entry points and scripts, which needs these packages.
fn wheel(name: &str, sections: &str, scripts: &[&str], needs: &[&str]) -> Vec<u8> {
    let stem = name.replace(['-', '.'], "_");
    let needs: String = needs.iter().map(|name| format!("Requires-Dist: {name}\n")).collect();
    let program = format!(
        "import json, os, sys\ndef main():\n    for line in sys.stdin:\n        id = json.loads(line).get('id')\n        if id is \
         not None: print(json.dumps(dict(jsonrpc='2.0', id=id, result=json.loads('{ANSWER}'))), flush=True)\ndef helped():\n    \
         os.execvp('helper', ['helper'])\ndef fail():\n    sys.exit(1)\n"
    );
    let mut files = vec![
        (format!("{stem}.py"), program.clone()),
        (
            format!("{stem}-1.0.0.dist-info/METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n{needs}"),
        ),
        (
            format!("{stem}-1.0.0.dist-info/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
        ),
    ];
    if !sections.is_empty() {
        files.push((format!("{stem}-1.0.0.dist-info/entry_points.txt"), sections.replace("MODULE", &stem)));
    }
    for script in scripts {
        files.push((format!("{stem}-1.0.0.data/scripts/{script}"), format!("#!python\n{program}main()\n")));
    }
    let record = format!("{stem}-1.0.0.dist-info/RECORD");
    let lines: String = files.iter().map(|(name, _)| name).chain([&record]).map(|name| format!("{name},,\n")).collect();
    files.push((record, lines));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    zip(&files)
}

/// Python packages: the id of the agent, the package, its commands with their functions, the specification, `command`, and
/// whether uvx starts it.
type PythonShape =
    (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, Option<&'static str>, bool);

const PYTHON: [PythonShape; 24] = [
    ("plain", "plain", &[("plain", "main")], "plain==1.0.0", None, true),
    ("at", "at-sign", &[("at-sign", "main")], "at-sign@1.0.0", None, true),
    ("other", "tally-cli", &[("tally", "main")], "tally-cli==1.0.0", None, false),
    ("other-named", "tally-cli", &[], "tally-cli==1.0.0", Some("tally"), true),
    ("other-absent", "tally-cli", &[], "tally-cli==1.0.0", Some("tally-cli"), false),
    ("dash", "under_b", &[("under-b", "main")], "under_b==1.0.0", None, false),
    ("dash-as-dash", "under_b", &[], "under-b==1.0.0", None, true),
    ("underscore", "under-c", &[("under_c", "main")], "under-c==1.0.0", None, false),
    ("underscore-as-such", "under-c", &[], "under_c==1.0.0", None, true),
    ("dot", "dot.two", &[("dot-two", "main")], "dot.two==1.0.0", None, false),
    ("dot-as-dot", "dot.one", &[("dot.one", "main")], "dot.one==1.0.0", None, true),
    ("case", "Kapital", &[("kapital", "main")], "Kapital==1.0.0", None, false),
    ("case-as-command", "Kapital", &[], "kapital==1.0.0", None, true),
    ("extra", "with-extra", &[("with-extra", "main")], "with-extra[x]==1.0.0", None, true),
    ("several", "several", &[("a", "fail"), ("several", "main"), ("z", "fail")], "several==1.0.0", None, true),
    ("several-others", "several-others", &[("a", "main"), ("b", "main")], "several-others==1.0.0", None, false),
    ("nothing", "nothing", &[], "nothing==1.0.0", None, false),
    ("fails", "fails", &[("fails", "fail")], "fails==1.0.0", None, false),
    ("absent-function", "absent-function", &[("absent-function", "absent")], "absent-function==1.0.0", None, false),
    ("script", "as-script", &[], "as-script==1.0.0", None, true),
    ("of-dependency", "of-dependency", &[], "of-dependency==1.0.0", None, true),
    ("beside-own", "beside-own", &[("own", "fail")], "beside-own==1.0.0", None, true),
    ("helper-named", "helped", &[("helped", "helped")], "helped==1.0.0", Some("helper"), true),
    ("helped", "helped", &[], "helped==1.0.0", None, true),
];

fn python_registry() -> Server {
    let normal = |name: &str| name.to_ascii_lowercase().replace(['_', '.'], "-");
    let mut wheels = BTreeMap::new();
    let mut add = |name: &str, commands: &[(&str, &str)], scripts: &[&str], needs: &[&str]| {
        let lines: String =
            commands.iter().map(|(command, function)| format!("{command} = MODULE:{function}\n")).collect();
        let sections = if lines.is_empty() { lines } else { format!("[console_scripts]\n{lines}") };
        wheels.insert(normal(name), (name.replace(['-', '.'], "_"), wheel(name, &sections, scripts, needs)));
    };
    add("helper", &[("helper", "main"), ("of-dependency", "main"), ("beside-own", "main")], &[], &[]);
    for (_, name, commands, ..) in PYTHON {
        let (scripts, needs): (&[&str], &[&str]) = match name {
            "as-script" => (&["as-script"], &[]),
            "of-dependency" | "beside-own" | "helped" => (&[], &["helper"]),
            _ => (&[], &[]),
        };
        // A package may be in several shapes, which state its commands once.
        if !commands.is_empty() || !PYTHON.iter().any(|(_, other, commands, ..)| *other == name && !commands.is_empty())
        {
            add(name, commands, scripts, needs);
        }
    }
    Server::answering(move |asked| {
        let file = |stem: &str| format!("{stem}-1.0.0-py3-none-any.whl");
        if let Some(path) = asked.path.strip_prefix("/files/") {
            let found = wheels.values().find(|(stem, _)| file(stem) == path);
            return found.map_or_else(not_found, |(_, bytes)| ok(bytes.clone()));
        }
        let name = asked.path.strip_prefix("/simple/").unwrap_or_default().trim_end_matches('/');
        let Some((stem, _)) = wheels.get(name) else { return not_found() };
        let page = format!("<!DOCTYPE html><a href=\"/files/{0}\">{0}</a>", file(stem));
        let (status, mut headers, body) = ok(page);
        headers.push(("Content-Type", "text/html".to_owned()));
        (status, headers, body)
    })
}

#[test]
fn uvx_starts_what_passes() {
    const TEST: &str = "uvx_starts_what_passes";
    if !is_there("uvx") {
        return missing(TEST, "uv is not installed");
    }
    let (env, server) = (Env::empty(), python_registry());
    let shapes: Vec<Shape> = PYTHON
        .into_iter()
        .map(|(name, _, _, spec, command, starts)| Shape {
            name,
            spec: spec.to_owned(),
            command,
            starts: Some(starts),
            is_usual: true,
        })
        .collect();
    let shapes: Vec<&Shape> = shapes.iter().collect();
    let set = |command: &mut Command| {
        scrub(command);
        command.env("HOME", env.path("home")).env("UV_DEFAULT_INDEX", server.url("/simple"));
        command.env("UV_PYTHON_DOWNLOADS", "never").env("UV_CACHE_DIR", env.path("cache"));
    };
    let started = started(&shapes, |shape| {
        let mut command = Command::new("uvx");
        set(&mut command);
        match shape.command {
            Some(name) => command.args(["--from", &shape.spec, name]),
            None => command.arg(&shape.spec),
        };
        command
    });
    let verified = verified(&env, "uvx", &shapes, set);
    compare("uvx", &shapes, &started, &verified);
    let told: Vec<&str> =
        shapes.iter().map(|shape| shape.name).filter(|name| verified[*name]["not_startable_by"] == "uvx").collect();
    let without = ["other", "other-absent", "dash", "underscore", "dot", "case", "several-others", "nothing"];
    assert_eq!(told, without);
}

#[test]
fn uv_finds_the_python_of_a_version_manager() {
    const TEST: &str = "uv_finds_the_python_of_a_version_manager";
    if !is_there("uv") || !is_there("python3") {
        return missing(TEST, "uv or Python is not installed");
    }
    let (env, server) = (Env::empty(), python_registry());
    let told = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap().stdout;
    let (python, bin) = (String::from_utf8(told).unwrap(), env.path("home/.pyenv/versions/3.0.0/bin"));
    for folder in [env.path("bin"), bin.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(python.trim(), bin.join("python3")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let uv = std::env::split_paths(&path).map(|folder| folder.join("uv")).find(|uv| uv.is_file()).unwrap();
    symlink(uv, env.path("bin/uv")).unwrap();
    agent(&env, "plain", "1.0.0", &json!({ "uvx": { "package": "plain==1.0.0" } }));
    let install = |root: &str, pyenv: &str| {
        let mut command = env.command(&["install", "plain", "--index", "r", "--root", root]);
        scrub(&mut command);
        command.env("PATH", env.path("bin")).env("ACP_REGISTRY_PATH", "").env("HOME", env.path("home"));
        command.env("UV_DEFAULT_INDEX", server.url("/simple")).env("UV_PYTHON_DOWNLOADS", "never");
        Run::of(command.env("PYENV_ROOT", env.path(pyenv)))
    };
    let run = install("without", "home/none");
    assert!(run.code == 3 && run.stderr.contains("Python"), "{}", run.stderr);
    let run = install("with", "home/.pyenv");
    assert_eq!(run.code, 0, "{}", run.stderr);
}
