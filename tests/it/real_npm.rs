//! Install scripts with several versions of npm, and a registry on loopback.
#![cfg(unix)]

use std::process::Command;

use serde_json::{Value, json};

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
