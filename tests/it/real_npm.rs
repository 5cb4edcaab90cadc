//! Install scripts with several versions of npm, and a registry on loopback.
#![cfg(unix)]

use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::agent::fake_agent;
use crate::archives::{gz, tar};
use crate::real::{is_there, people};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON, Run, missing};

/// Replaces the stub in the package with the agent.
const SCRIPT: &str = "require('fs').writeFileSync('cli.sh', '#!/bin/sh\\nexec \"AGENT\" ok\\n');\n";

/// A registry with a package whose install script makes it an agent, and a dependency that also has a script.
fn registry() -> Server {
    let agent = fake_agent();
    let script = SCRIPT.replace("AGENT", agent.to_str().unwrap());
    let own = json!({ "name": "stubbed", "version": "1.0.0", "bin": "cli.sh", "dependencies": { "deep": "1.0.0" },
                      "scripts": { "postinstall": "node install.js" } });
    let deep = json!({ "name": "deep", "version": "1.0.0", "scripts": { "postinstall": "node -e 0" } });
    let pack = |manifest: &Value, files: &[(&str, &[u8])]| {
        let manifest = manifest.to_string();
        let all = [&[("package/package.json", manifest.as_bytes())], files].concat();
        gz(&tar(&all))
    };
    let stub = b"#!/bin/sh\nexit 1\n";
    let archives =
        [pack(&own, &[("package/install.js", script.as_bytes()), ("package/cli.sh", stub)]), pack(&deep, &[])];
    Server::raw(move |asked, stream| {
        let base = format!("http://{}", asked.headers.get("host").cloned().unwrap_or_default());
        let answer = match asked.path.as_str() {
            "/stubbed.tgz" => ok(archives[0].clone()),
            "/deep.tgz" => ok(archives[1].clone()),
            "/stubbed" | "/deep" => {
                let manifest = if asked.path == "/deep" { &deep } else { &own };
                let mut manifest = manifest.clone();
                manifest["dist"] = json!({ "tarball": format!("{base}{}.tgz", asked.path) });
                manifest["hasInstallScript"] = true.into();
                let name = &manifest["name"];
                ok(json!({ "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": manifest } })
                    .to_string())
            }
            _ => not_found(),
        };
        crate::server::write(stream, asked, &answer)
    })
}

#[test]
fn a_registry_that_answers_nothing_of_use_is_named_with_its_setting() {
    const TEST: &str = "a_registry_that_answers_nothing_of_use_is_named_with_its_setting";
    let env = Env::empty();
    for (id, distribution) in [
        ("of-npm", json!({ "npx": { "package": "no-such-agent@1.0.0" } })),
        ("of-python", json!({ "uvx": { "package": "no-such-agent==1.0.0" } })),
    ] {
        let manifest = json!({ "id": id, "name": id, "version": "1.0.0", "description": "An agent", "license": "MIT",
                               "distribution": distribution });
        env.write(&format!("r/{id}/agent.json"), manifest.to_string());
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    for (status, page, of_npm, of_python) in [
        (
            404,
            "no",
            "npm has no package `no-such-agent` at ",
            "the Python package index has no package `no-such-agent` at ",
        ),
        (401, "no", "help: give npm its token, with `//", "help: give uv its name and password, with a line for "),
        (403, "no", "help: give npm its token, with `//", "help: give uv its name and password, with a line for "),
        (200, "<html>sign in</html>", "is not valid JSON", "the Python package index has no version 1.0.0 of "),
    ] {
        let server = Server::answering(move |_| (status, vec![("Content-Type", "text/html".to_owned())], page.into()));
        let address = format!("http://u:secret@{}/all", server.host);
        for (program, id, variable, expected) in
            [("npm", "of-npm", "npm_config_registry", of_npm), ("uv", "of-python", "UV_DEFAULT_INDEX", of_python)]
        {
            if !is_there(program) {
                missing(TEST, &format!("{program} is not installed"));
                continue;
            }
            let mut command = people(&env, &["install", "--no-cache", "--no-check", id]);
            let run = Run::of(command.env(variable, &address));
            let told = format!("http://{}/all, as {variable} says", server.host);
            assert_eq!(run.code, 3, "{status} {}", run.stderr);
            assert!(run.stderr.contains(&told) && run.stderr.contains(expected), "{status} {}", run.stderr);
            assert!(run.stderr.contains(&format!("correct {variable}")), "{status} {}", run.stderr);
            assert!(!run.stderr.contains("secret"), "{status} {}", run.stderr);
        }
    }
}

#[test]
fn the_install_script_of_an_agent_runs_under_every_npm() {
    const TEST: &str = "the_install_script_of_an_agent_runs_under_every_npm";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let server = registry();
    for version in ["10", "11", "12"] {
        let env = Env::empty();
        let fetched = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix", "npm", &format!("npm@{version}")])
            .current_dir(env.path(""))
            .output()
            .unwrap();
        if !fetched.status.success() {
            return missing(TEST, "the npm registry cannot be reached");
        }
        let manifest = json!({ "id": "stubbed", "name": "Stubbed", "version": "1.0.0", "description": "An agent",
                               "license": "MIT", "distribution": { "npx": { "package": "stubbed@1.0.0" } } });
        env.write("r/stubbed/agent.json", manifest.to_string());
        env.write("r/stubbed/icon.svg", ICON);
        let path = format!("{}:{}", env.path("npm/node_modules/.bin").display(), std::env::var("PATH").unwrap());
        let mut command = people(&env, &["install", "--json", "--no-cache", "stubbed"]);
        command.env("PATH", &path).env("ACP_REGISTRY_NPM", server.url("/"));
        let run = Run::of(&mut command);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["answers"]), (0, &json!(true)), "npm {version}: {document} {}", run.stderr);
        // Scripts that the manifest does not allow run only if npm runs all scripts.
        let expected = if version == "12" { json!(["deep@1.0.0"]) } else { json!([]) };
        assert_eq!(document["scripts_not_run"], expected, "npm {version}: {}", run.stderr);
        assert_eq!(document["scripts_ignored_by"], Value::Null);
        // Settings for the person's own projects do no harm.
        let settings = "global=true\ndry-run=true\nomit[]=optional\nomit[]=peer\nbin-links=false\npackage-lock=false\n\
                        package-lock-only=true\ninstall-strategy=linked\njson=true\nsave=false\naudit=true\n";
        env.write("npmrc", settings);
        for more in [&[][..], &["--lock", "npm.lock"]] {
            let mut command = people(&env, &[&["install", "--json", "--no-cache", "stubbed"], more].concat());
            command
                .env("PATH", &path)
                .env("ACP_REGISTRY_NPM", server.url("/"))
                .env("ACP_REGISTRY_ROOT", env.path("own"));
            let run = Run::of(command.env("npm_config_userconfig", env.path("npmrc")));
            let document: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!((run.code, &document["answers"]), (0, &json!(true)), "npm {version}: {document} {}", run.stderr);
        }
        env.write("npmrc", "ignore-scripts=true\n");
        let mut command = people(&env, &["install", "--json", "--no-cache", "stubbed"]);
        command.env("PATH", path).env("ACP_REGISTRY_NPM", server.url("/")).env("ACP_REGISTRY_ROOT", env.path("other"));
        let run = Run::of(command.env("npm_config_userconfig", env.path("npmrc")));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["answers"]), (0, &json!(false)), "npm {version}: {document} {}", run.stderr);
        assert_eq!(document["scripts_not_run"], json!(["deep@1.0.0", "stubbed@1.0.0"]), "npm {version}");
        assert_eq!(document["scripts_ignored_by"], "ignore-scripts", "npm {version}");
    }
}

#[test]
fn npm_installs_no_bytes_that_a_lock_file_does_not_prove() {
    const TEST: &str = "npm_installs_no_bytes_that_a_lock_file_does_not_prove";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let pack = |manifest: &Value, files: &[(&str, &[u8])]| {
        let manifest = manifest.to_string();
        gz(&tar(&[&[("package/package.json", manifest.as_bytes())], files].concat()))
    };
    let version = |name: &str, more: &Value| {
        let mut manifest = json!({ "name": name, "version": "1.0.0" });
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        manifest
    };
    let cli: (&str, &[u8]) = ("package/cli.js", b"#!/usr/bin/env node\n");
    let needs = |more: Value| {
        let mut manifest = json!({ "bin": "cli.js", "dependencies": { "dep": "1.0.0" } });
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        manifest
    };
    let part = version("dep", &json!({})).to_string();
    // Its own list has no digests.
    let wrapped = json!({ "name": "wrapped", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": { "name": "wrapped", "version": "1.0.0", "dependencies": { "dep": "1.0.0" } }, "node_modules/dep": { "version": "1.0.0" } } })
    .to_string();
    let bundle = version("bundle", &needs(json!({ "bundleDependencies": ["dep"] })));
    let plain = version("plain", &needs(json!({})));
    let shrinkwrapped = version("wrapped", &needs(json!({ "_hasShrinkwrap": true })));
    let archives: Vec<(Value, Vec<u8>)> = vec![
        (version("dep", &json!({})), pack(&version("dep", &json!({})), &[("package/other.js", b"other bytes")])),
        (bundle.clone(), pack(&bundle, &[cli, ("package/node_modules/dep/package.json", part.as_bytes())])),
        (plain.clone(), pack(&plain, &[cli])),
        (shrinkwrapped.clone(), pack(&shrinkwrapped, &[cli, ("package/npm-shrinkwrap.json", wrapped.as_bytes())])),
    ];
    let sha512 = |bytes: &[u8]| format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(bytes)));
    let digests: Vec<(String, String)> =
        archives.iter().map(|(of, bytes)| (of["name"].as_str().unwrap().to_owned(), sha512(bytes))).collect();
    let digest = |name: &str| digests.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let known = digests.clone();
    let server = Server::raw(move |asked, stream| {
        let base = format!("http://{}", asked.headers.get("host").cloned().unwrap_or_default());
        let name = asked.path.trim_start_matches('/');
        let of = |name: &str| archives.iter().find(|(manifest, _)| manifest["name"] == name);
        let answer = match (name.strip_suffix(".tgz").and_then(of), of(name)) {
            (Some((_, archive)), _) => ok(archive.clone()),
            (None, Some((manifest, _))) => {
                let mut manifest = manifest.clone();
                let integrity = &known.iter().find(|(known, _)| known == name).unwrap().1;
                manifest["dist"] = json!({ "tarball": format!("{base}/{name}.tgz"), "integrity": integrity });
                ok(json!({ "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": manifest } })
                    .to_string())
            }
            (None, None) => not_found(),
        };
        crate::server::write(stream, asked, &answer)
    });
    let other = format!("sha512-{}==", "A".repeat(86));
    let below = |name: &str| format!("node_modules/{name}/node_modules/dep");
    for (name, more, at, dep, code, part) in [
        ("plain", json!({}), "node_modules/dep".to_owned(), json!({ "integrity": digest("dep") }), 0, ""),
        ("plain", json!({}), "node_modules/dep".to_owned(), json!({ "integrity": other }), 4, "EINTEGRITY"),
        ("bundle", json!({ "bundleDependencies": ["dep"] }), below("bundle"), json!({ "inBundle": true }), 0, ""),
        ("wrapped", json!({ "hasShrinkwrap": true }), below("wrapped"), json!({ "integrity": digest("dep") }), 0, ""),
        ("wrapped", json!({ "hasShrinkwrap": true }), below("wrapped"), json!({ "integrity": other }), 4, "EINTEGRITY"),
    ] {
        let env = Env::empty();
        let mut own = needs(more);
        (own["version"], own["integrity"]) = ("1.0.0".into(), digest(name).into());
        let mut dep = dep.clone();
        dep["version"] = "1.0.0".into();
        let list = json!({ "name": "agent", "lockfileVersion": 3, "requires": true, "packages": {
            "": { "name": "agent", "dependencies": { name: "1.0.0" } }, format!("node_modules/{name}"): own, at: dep } });
        env.write(
            "x.lock",
            format!("schema = 1\n[agents.a]\nversion = '1.0.0'\n[agents.a.npx]\npackage = '{name}@1.0.0'\npackages = '''{list}'''\n"),
        );
        let mut command =
            people(&env, &["install", "--locked", "--lock", "x.lock", "--no-check", "--no-cache", "--json"]);
        let run = Run::of(command.env("ACP_REGISTRY_NPM", server.url("/")));
        assert!(run.code == code && run.stderr.contains(part), "{list} {} {}", run.code, run.stderr);
        let help = "help: the package registry has other bytes than the list of packages: use another registry";
        assert_eq!(run.stderr.contains(help), code == 4, "{}", run.stderr);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let expected = if code == 0 { json!("lock") } else { Value::Null };
        assert_eq!(document["verified"], expected, "{list} {document}");
    }
}
