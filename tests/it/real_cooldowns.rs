//! Cooldowns of npm and uv: real package managers, and registries on loopback.
#![cfg(unix)]

use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha512};

use crate::agent::fake_agent;
use crate::archives::{gz, sha256, tar, zip};
use crate::real::{is_there, people};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON, Run, missing};
use acp_registry::timestamp::Timestamp;

const DAY: u64 = 86_400;

/// When the tests began.
static NOW: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);

/// A time so many days before the tests began.
fn ago(days: u64) -> Timestamp {
    Timestamp::of(*NOW - Duration::from_secs(days * DAY)).unwrap()
}

/// The versions of the package `waits`: the newest was published a day ago. `needs` and `wants` are old, and need that version,
/// `wants` by a range; `takes` takes any.
const VERSIONS: [(&str, &str, u64, &str); 5] = [
    ("waits", "1.0.0", 100, ""),
    ("waits", "1.1.0", 1, ""),
    ("needs", "1.0.0", 100, "1.1.0"),
    ("wants", "1.0.0", 100, ">=1.1.0"),
    ("takes", "1.0.0", 100, ">=1.0.0"),
];

/// Archives by their file names.
type Archives = Vec<(String, Vec<u8>)>;

/// A program of Node.js that is an agent.
fn node_agent() -> String {
    let agent = json!(fake_agent());
    format!("#!/usr/bin/env node\nrequire('child_process').spawnSync({agent}, ['ok'], {{ stdio: 'inherit' }})\n")
}

fn npm_package(name: &str, base: &str) -> Option<(Value, Archives)> {
    let (mut versions, mut time, mut archives) = (Map::new(), Map::new(), Vec::new());
    for (_, version, days, needed) in VERSIONS.iter().filter(|(of, ..)| *of == name) {
        let mut manifest = json!({ "name": name, "version": version, "bin": "cli.js" });
        if !needed.is_empty() {
            manifest["dependencies"] = json!({ "waits": needed });
        }
        let text = manifest.to_string();
        let archive =
            gz(&tar(&[("package/package.json", text.as_bytes()), ("package/cli.js", node_agent().as_bytes())]));
        let integrity = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(&archive)));
        let path = format!("{name}-{version}.tgz");
        manifest["dist"] = json!({ "tarball": format!("{base}/{path}"), "integrity": integrity });
        versions.insert((*version).to_owned(), manifest);
        time.insert((*version).to_owned(), ago(*days).to_string().into());
        archives.push((path, archive));
    }
    let latest = versions.keys().next_back()?.clone();
    Some((json!({ "name": name, "dist-tags": { "latest": latest }, "versions": versions, "time": time }), archives))
}

fn wheels(name: &str) -> Vec<(String, Vec<u8>, Timestamp)> {
    let of_name = VERSIONS.iter().filter(|(of, ..)| *of == name);
    let wheel = |(_, version, days, needed): &(&str, &str, u64, &str)| {
        let (info, agent) = (format!("{name}-{version}.dist-info"), json!(fake_agent()));
        let sign = if needed.starts_with('>') { "" } else { "==" };
        let requires = if needed.is_empty() { String::new() } else { format!("Requires-Dist: waits{sign}{needed}\n") };
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}");
        let record =
            format!("{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/entry_points.txt,,\n{info}/RECORD,,\n");
        let files = [
            (format!("{name}.py"), format!("def main():\n    import os\n    os.execl({agent}, 'fake-agent', 'ok')\n")),
            (format!("{info}/METADATA"), metadata),
            (
                format!("{info}/WHEEL"),
                "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
            ),
            (format!("{info}/entry_points.txt"), format!("[console_scripts]\n{name} = {name}:main\n")),
            (format!("{info}/RECORD"), record),
        ];
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        (format!("{name}-{version}-py3-none-any.whl"), zip(&files), ago(*days))
    };
    of_name.map(wheel).collect()
}

/// A registry of npm below `/npm`, and an index of Python packages below `/simple`.
fn registries() -> Server {
    Server::raw(|asked, stream| {
        let host = format!("http://{}", asked.headers.get("host").cloned().unwrap_or_default());
        let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
        let of_npm = |name: &str| npm_package(name, &format!("{host}/npm"));
        let answer = match parts[..] {
            ["npm", file] if file.contains(".tgz") => {
                let archives = of_npm(file.split('-').next().unwrap()).unwrap().1;
                archives.into_iter().find(|(path, _)| path == file).map(|(_, archive)| ok(archive))
            }
            ["npm", name] => of_npm(name).map(|(document, _)| ok(document.to_string())),
            ["simple", name] => {
                let files = wheels(name).into_iter().map(|(file, bytes, time)| {
                    json!({ "filename": file, "url": format!("{host}/wheels/{file}"), "upload-time": time.to_string(),
                            "hashes": { "sha256": sha256(&bytes) } })
                });
                let document =
                    json!({ "meta": { "api-version": "1.1" }, "name": name, "files": files.collect::<Vec<_>>() });
                let mut answer = ok(document.to_string());
                answer.1.push(("Content-Type", "application/vnd.pypi.simple.v1+json".to_owned()));
                Some(answer)
            }
            ["wheels", file] => {
                let wheels = wheels(file.split('-').next().unwrap());
                wheels.into_iter().find(|(known, ..)| known == file).map(|(_, bytes, _)| ok(bytes))
            }
            _ => None,
        };
        crate::server::write(stream, asked, &answer.unwrap_or_else(not_found))
    })
}

/// A folder with the agents `waits` and `needs`, by `npx` or `uvx`.
fn scene(kind: &str, version: &str) -> Env {
    let env = Env::empty();
    publish(&env, kind, version);
    env
}

fn publish(env: &Env, kind: &str, version: &str) {
    let sign = if kind == "npx" { "@" } else { "==" };
    for (id, version) in [("waits", version), ("needs", "1.0.0"), ("wants", "1.0.0"), ("takes", "1.0.0")] {
        let manifest = json!({ "id": id, "name": id, "version": version, "description": "An agent", "license": "MIT",
                               "distribution": { kind: { "package": format!("{id}{sign}{version}") } } });
        env.write(&format!("r/{id}/agent.json"), manifest.to_string());
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
}

fn run(env: &Env, server: &Server, variables: &[(&str, &str)], arguments: &[&str]) -> (Run, Value) {
    let mut command = people(env, arguments);
    command.env("ACP_REGISTRY_NPM", server.url("/npm/")).env("ACP_REGISTRY_PYPI", server.url("/simple/"));
    command.env("HOME", env.path("home")).env_remove("XDG_CONFIG_HOME").envs(variables.iter().copied());
    let run = Run::of(&mut command);
    let document = serde_json::from_str(&run.stdout).unwrap_or_default();
    (run, document)
}

/// Checks the answer to an installation that waits for a cooldown.
fn check(held: &(Run, Value), setting: &str, until: Option<u64>, id: &str, newest: &str) {
    let (run, document) = held;
    let error = &document["error"];
    assert_eq!((run.code, &error["code"]), (3, &json!("held_by_cooldown")), "{document} {}", run.stderr);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(setting) && message.contains("waits"), "{setting} {message}");
    match until {
        // uv computes an age when it runs.
        Some(days) => {
            let day = |seconds: u64| Timestamp::of(*NOW + Duration::from_secs(days * DAY + seconds)).unwrap().day();
            assert!([day(0), day(3600)].iter().any(|day| message.contains(&format!("until {day}T"))), "{message}");
        }
        None => assert!(message.contains("until that setting changes"), "{message}"),
    }
    if newest.is_empty() {
        assert!(!message.contains("newest") && error["suggestions"] == json!([]), "{error}");
    } else {
        assert!(message.ends_with(&format!("; the newest version that is allowed is {newest}")), "{message}");
        assert_eq!(error["help"], format!("run `acp-registry install {id}@{newest}`"));
        assert_eq!(error["suggestions"], json!([newest]));
    }
}

const INSTALL: [&str; 4] = ["install", "--json", "--no-check", "--no-cache"];

fn install(env: &Env, server: &Server, variables: &[(&str, &str)], id: &str) -> (Run, Value) {
    run(env, server, variables, &[&INSTALL[..], &[id]].concat())
}

#[test]
fn a_cooldown_of_npm_is_named_with_the_version_that_is_allowed() {
    const TEST: &str = "a_cooldown_of_npm_is_named_with_the_version_that_is_allowed";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let server = registries();
    let day = ago(7).to_string();
    for version in ["10", "11", "12"] {
        let env = scene("npx", "1.1.0");
        let fetched = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix", "npm", &format!("npm@{version}")])
            .current_dir(env.path(""))
            .output()
            .unwrap();
        if !fetched.status.success() {
            return missing(TEST, "the npm registry cannot be reached");
        }
        let path = format!("{}:{}", env.path("npm/node_modules/.bin").display(), std::env::var("PATH").unwrap());
        let with = |variables: &[(&str, &str)], id: &str| {
            install(&env, &server, &[&[("PATH", path.as_str())], variables].concat(), id)
        };
        check(
            &with(&[("npm_config_before", &day)], "waits"),
            "the variable `npm_config_before=",
            None,
            "waits",
            "1.0.0",
        );
        // What does not exist is not held back.
        publish(&env, "npx", "9.9.9");
        let (run, document) = with(&[("npm_config_before", &day)], "waits");
        assert_eq!(document["error"]["code"], "package_not_found", "npm {version} {document} {}", run.stderr);
        publish(&env, "npx", "1.1.0");
        if version == "10" {
            continue;
        }
        // Of other package managers; npm does not know it.
        env.write("home/.npmrc", "minimum-release-age=10080\n");
        let (run, document) = with(&[], "needs");
        assert_eq!((run.code, &document["verified"]), (0, &json!("npm")), "npm {version} {document} {}", run.stderr);
        env.write("home/.npmrc", "min-release-age=7\n");
        let setting = format!("by `min-release-age=7` in {}", env.path("home/.npmrc").display());
        check(&with(&[], "waits"), &setting, Some(6), "waits", "1.0.0");
        if version != "11" {
            continue;
        }
        let (run, document) = with(&[("ACP_REGISTRY_ROOT", "other")], "needs");
        check(&(run, document), "`needs@1.0.0` needs `waits@1.1.0`, which is held back until ", Some(6), "needs", "");
        // The version that is offered can be had, and stays, as update says in the same words.
        assert_eq!(with(&[], "waits@1.0.0").0.code, 0);
        let (run, document) =
            run_with_path(&env, &server, &path, &["update", "--unpin", "--json", "--no-check", "waits"]);
        assert_eq!((run.code, &document["errors"], &document["updates"]), (0, &json!([]), &json!([])), "{document}");
        let held = &document["held"][0];
        assert_eq!(
            (&held["reason"], &held["from"], &held["to"]),
            (&json!("cooldown"), &json!("1.0.0"), &json!("1.1.0"))
        );
        assert!(held["message"].as_str().unwrap().contains(&setting) && held["until"].is_string(), "{held}");
        let (run, _) = run_with_path(&env, &server, &path, &["update", "--no-check", "waits"]);
        let line = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.starts_with(&format!("held waits 1.0.0 -> 1.1.0: {}", held["message"].as_str().unwrap())),
            "{line}"
        );
        assert_eq!((run.code, run.stderr.contains("error")), (0, false), "{}", run.stderr);
        // The manifest is not at fault.
        let (_, document) = run_with_path(&env, &server, &path, &["verify", "--json", "--no-cache", "waits"]);
        let row = &document["results"][0];
        assert_eq!((&row["verdict"], &row["reason"]), (&json!("error"), &json!("held_by_cooldown")), "{row}");
        assert!(row["message"].as_str().unwrap().contains(&setting), "{row}");
        publish(&env, "npx", "1.0.0");
        let (_, document) = run_with_path(&env, &server, &path, &["bump", "--verify", "--json", "waits"]);
        let reasons = document["updates"][0]["reasons"].to_string();
        assert!(reasons.contains("npx was not started: `waits@1.1.0` is held back until "), "{document}");
        publish(&env, "npx", "1.1.0");
    }
}

fn run_with_path(env: &Env, server: &Server, path: &str, arguments: &[&str]) -> (Run, Value) {
    run(env, server, &[("PATH", path)], arguments)
}

#[test]
fn a_cooldown_of_uv_is_named_with_the_version_that_is_allowed() {
    const TEST: &str = "a_cooldown_of_uv_is_named_with_the_version_that_is_allowed";
    if !is_there("uv") {
        return missing(TEST, "uv is not installed");
    }
    let server = registries();
    let env = scene("uvx", "1.1.0");
    let with = |variables: &[(&str, &str)], id: &str| install(&env, &server, variables, id);
    let day = ago(7).to_string();
    let variable = format!("the variable `UV_EXCLUDE_NEWER={day}`");
    check(&with(&[("UV_EXCLUDE_NEWER", &day)], "waits"), &variable, None, "waits", "1.0.0");
    check(&with(&[("UV_EXCLUDE_NEWER", "7 days")], "waits"), "`UV_EXCLUDE_NEWER=7 days`", Some(6), "waits", "1.0.0");
    let needs = with(&[("UV_EXCLUDE_NEWER", "7 days")], "needs");
    check(&needs, "`needs==1.0.0` needs `waits==1.1.0`, which is held back until ", Some(6), "needs", "");
    let wants = with(&[("UV_EXCLUDE_NEWER", "7 days")], "wants");
    check(&wants, "`wants==1.0.0` needs `waits==1.1.0`, which is held back until ", Some(6), "wants", "");
    let file = env.path("home/.config/uv/uv.toml");
    for (text, setting) in [
        ("exclude-newer = \"7 days\"\n", "`exclude-newer=7 days`"),
        ("exclude-newer-package = { waits = \"7 days\" }\n", "`exclude-newer-package=7 days`"),
    ] {
        env.write("home/.config/uv/uv.toml", text);
        check(&with(&[], "waits"), &format!("by {setting} in {}", file.display()), Some(6), "waits", "1.0.0");
    }
    // `update` refuses a version that is named, as `install` does, and passes over the one of the index.
    publish(&env, "uvx", "1.0.0");
    let other = [("ACP_REGISTRY_ROOT", "other")];
    assert_eq!(with(&other, "waits").0.code, 0);
    publish(&env, "uvx", "1.1.0");
    let update = |to: &[&str]| {
        run(&env, &server, &other, &[&["update", "--json", "--no-check", "--no-cache", "waits"], to].concat())
    };
    let named = update(&["--to", "1.1.0"]);
    assert_eq!((&named.1["held"], &named.1["errors"][0]["id"]), (&json!([]), &json!("waits")), "{}", named.1);
    check(&named, "`exclude-newer-package=7 days`", Some(6), "waits", "1.0.0");
    let (done, document) = update(&[]);
    assert_eq!((done.code, &document["held"][0]["reason"]), (0, &json!("cooldown")), "{document}");
    // The day of a manifest does not replace what the person has configured, and is the manifest's own affair.
    env.write("home/.config/uv/uv.toml", "exclude-newer = \"7 days\"\n");
    let manifest = |day: &str| {
        let uvx = json!({ "package": "waits==1.1.0", "exclude_newer": day });
        let manifest = json!({ "id": "waits", "name": "waits", "version": "1.1.0", "description": "An agent", "license": "MIT",
                               "distribution": { "uvx": uvx } });
        env.write("r/waits/agent.json", manifest.to_string());
    };
    manifest(&Timestamp::now().day());
    check(&with(&[], "waits"), "`exclude-newer=7 days`", Some(6), "waits", "1.0.0");
    env.write("home/.config/uv/uv.toml", "");
    manifest(&ago(7).day());
    let (run, document) = with(&[], "waits");
    assert_eq!((run.code, &document["error"]["code"]), (3, &json!("package_not_found")), "{document}");
    assert!(document["error"]["message"].as_str().unwrap().contains("of its manifest"), "{document}");
    publish(&env, "uvx", "9.9.9");
    let (_, document) = with(&[("UV_EXCLUDE_NEWER", "7 days")], "waits");
    assert_eq!(document["error"]["code"], "package_not_found", "{document}");
    // By a connection that anyone could change, nothing is proven.
    publish(&env, "uvx", "1.1.0");
    let (run, document) = with(&[], "waits");
    assert_eq!((run.code, &document["verified"]), (0, &json!("none")), "{document} {}", run.stderr);
}

#[test]
fn a_list_of_packages_has_none_that_a_cooldown_holds_back() {
    const TEST: &str = "a_list_of_packages_has_none_that_a_cooldown_holds_back";
    let server = registries();
    let day = ago(7).to_string();
    for (program, kind, file, variable) in [
        ("npm", "npx", "package-lock.json", "npm_config_before"),
        ("uv", "uvx", "requirements.txt", "UV_EXCLUDE_NEWER"),
    ] {
        if !is_there(program) {
            missing(TEST, &format!("{program} is not installed"));
            continue;
        }
        let env = scene(kind, "1.0.0");
        env.write("r/registry.toml", "[closures]\nmax-days-newer = 60000\n");
        let listed = |variables: &[(&str, &str)]| {
            let _ = std::fs::remove_file(env.path("r/takes").join(file));
            let arguments = ["--registry-dir", "r", "verify", "takes", "--closures", "--no-cache"];
            let (run, _) = run(&env, &server, variables, &arguments);
            assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
            env.read(&format!("r/takes/{file}"))
        };
        let (all, old) = (listed(&[]), listed(&[(variable, &day)]));
        assert!(all.contains("1.1.0") && !old.contains("1.1.0") && old.contains("waits"), "{kind} {all} {old}");
    }
}
