//! `validate --urls` with package registries and hosts on loopback.

use serde_json::{Value, json};

use crate::server::{Answer, Asked, Server, ok, redirect, status};
use crate::support::{Env, ICON, Run};

/// A manifest with this distribution, otherwise valid.
fn manifest(id: &str, distribution: &Value, more: &Value) -> String {
    let mut manifest = json!({
        "id": id, "name": id, "version": "1.0.0", "description": "Made for a test", "license": "MIT", "authors": ["A"],
        "distribution": distribution,
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::to_string_pretty(&manifest).unwrap()
}

/// A binary distribution for all systems, with this URL for the Linux archive.
fn binary(server: &Server, linux: &str) -> Value {
    let target = |path: &str, cmd: &str| json!({ "archive": server.url(path), "cmd": cmd });
    json!({ "binary": {
        "darwin-aarch64": target("/fine/1.0.0/darwin.zip", "./a"),
        "linux-x86_64": { "archive": linux, "cmd": "./a" },
        "windows-x86_64": target("/fine/1.0.0/windows.zip", "./a.exe"),
    } })
}

fn agent(env: &Env, id: &str, manifest: &str) {
    env.write(&format!("r/{id}/agent.json"), manifest);
    env.write(&format!("r/{id}/icon.svg"), ICON);
}

/// Runs `validate --urls` with all sources on one server; returns the rule and message of each finding.
fn validate(env: &Env, server: &Server, arguments: &[&str]) -> (i32, Vec<(String, String)>, Run) {
    let all = [&["--allow-host", &server.host, "validate", "--urls", "--no-cache", "--json"], arguments].concat();
    let mut command = env.command(&all);
    command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("ACP_REGISTRY_PYPI", server.url("/simple"));
    command.env("GITHUB_API_URL", server.url("/api/v3")).env("GITHUB_TOKEN", "token-of-github");
    let run = Run::of(&mut command);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    let findings = findings.map(|one| (text(one, "rule"), format!("{} {}", text(one, "message"), text(one, "help"))));
    (run.code, findings.collect(), run)
}

/// Checks one agent whose Linux archive is at this path of a server.
fn archive(path: &str, answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (i32, Vec<(String, String)>) {
    let server = Server::answering(move |asked| if asked.path.starts_with("/fine/") { ok("x") } else { answer(asked) });
    let env = Env::empty();
    agent(&env, "a", &manifest("a", &binary(&server, &server.url(path)), &json!({})));
    let (code, findings, _) = validate(&env, &server, &[]);
    (code, findings)
}

fn package(
    kind: &str,
    package: &str,
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) -> Vec<(String, String)> {
    let server = Server::answering(answer);
    let env = Env::empty();
    agent(&env, "a", &manifest("a", &json!({ kind: { "package": package } }), &json!({})));
    validate(&env, &server, &[]).1
}

fn packument(versions: &Value) -> Answer {
    ok(json!({ "dist-tags": { "latest": "1.0.0" }, "versions": versions }).to_string())
}

#[test]
fn what_a_host_answers_becomes_a_finding() {
    let path = "/1.0.0/linux.zip";
    for (answer, code, rule, part) in [
        (ok("x"), 0, "", ""),
        (status(206), 0, "", ""),
        (redirect("/fine/1.0.0/other.zip"), 0, "", ""),
        (status(404), 1, "url/unreachable", "answers 404 publish the archive"),
        (status(403), 1, "url/unreachable", "readable without signing in"),
        (redirect("/1.0.0/linux.zip"), 1, "url/unreachable", "redirects more than 10 times"),
        (
            redirect("http://example.com/1.0.0/linux.zip"),
            1,
            "url/redirects-to-insecure",
            "which clients must not follow",
        ),
        (redirect("https://192.168.0.1/linux.zip"), 1, "url/redirects-to-insecure", "private network"),
        (status(500), 0, "url/server-error", "answers 500 check again later"),
        (
            (429, vec![("Retry-After", "9999".to_owned())], vec![]),
            0,
            "url/server-error",
            "limits the rate of requests for another",
        ),
    ] {
        let shown = format!("{answer:?}");
        let (found, findings) = archive(path, move |_| answer.clone());
        assert_eq!(found, code, "{shown}: {findings:?}");
        match findings.as_slice() {
            [] => assert_eq!(rule, "", "{shown}"),
            [(name, message)] => assert!(name == rule && message.contains(part), "{shown}: {name} {message}"),
            more => panic!("{shown}: {more:?}"),
        }
    }
}

#[test]
fn redirects_are_told_on_the_way() {
    let (_, findings) = archive("/1.0.0/linux.zip", |asked| match asked.path.as_str() {
        "/1.0.0/linux.zip" => redirect("/hop?signature=secret"),
        _ => status(404),
    });
    let message = &findings[0].1;
    assert!(message.contains("/hop?…`, by way of `") && !message.contains("secret"), "{message}");
}

#[test]
fn pages_that_are_gone_are_warnings() {
    let server = Server::answering(|asked| match asked.path.as_str() {
        "/gone" => status(404),
        "/robots" => status(403),
        "/down" => status(503),
        _ => packument(&json!({ "1.0.0": { "bin": "x", "dist": { "integrity": "sha512-x" } } })),
    });
    let env = Env::empty();
    let more = json!({ "repository": server.url("/gone"), "website": server.url("/robots"), "license_url": server.url("/down") });
    agent(&env, "a", &manifest("a", &json!({ "npx": { "package": "a@1.0.0" } }), &more));
    let (code, findings, _) = validate(&env, &server, &[]);
    let rules: Vec<&str> =
        findings.iter().map(|(rule, _)| rule.as_str()).filter(|rule| rule.starts_with("url")).collect();
    assert_eq!((code, rules.as_slice()), (0, &["url/dead-link", "url/server-error"][..]), "{findings:?}");
}

#[test]
fn npm_packages_are_checked_to_the_version() {
    let versions = json!({
        "1.0.0": { "bin": { "p": "a.js", "q": "b.js" }, "dist": { "integrity": "sha512-x" } },
        "1.1.0": { "bin": { "r": "a.js", "q": "b.js" }, "dist": { "shasum": "abc" }, "deprecated": "no \u{1b}[31mmore" },
        "1.2.0": {},
    });
    let answer = move |asked: &Asked| match asked.path.as_str() {
        "/npm/@s%2Fp" => packument(&versions),
        "/npm/html" => ok("<html>"),
        "/npm/down" => status(500),
        _ => status(404),
    };
    for (spec, expected) in [
        ("@s/p@1.0.0", &[][..]),
        ("@s/p@9.9.9", &[("npm/version-not-found", "has no `9.9.9` of `@s/p` it has `1.2.0`, `1.1.0`, `1.0.0`")]),
        ("@s/p@1.1.0", &[("npm/ambiguous-bin", "2 commands (`r`, `q`)"), ("npm/deprecated", "`no \\u{1b}[31mmore`")]),
        ("@s/p@1.2.0", &[("npm/ambiguous-bin", "has no command"), ("npm/missing-integrity", "no digest")]),
        ("missing@1.0.0", &[("npm/version-not-found", "no package `missing`")]),
        ("html@1.0.0", &[("url/server-error", "did not answer with a package's versions")]),
        ("down@1.0.0", &[("url/server-error", "answers 500")]),
    ] {
        let findings = package("npx", spec, answer.clone());
        let findings: Vec<_> = findings.iter().filter(|(rule, _)| !rule.starts_with("distribution")).collect();
        assert_eq!(findings.len(), expected.len(), "{spec}: {findings:?}");
        for (found, (rule, part)) in findings.iter().zip(expected) {
            assert!(found.0 == *rule && found.1.contains(part), "{spec}: {found:?}");
        }
    }
}

#[test]
fn python_packages_are_checked_in_both_forms_of_the_index() {
    let file = |name: &str, yanked: Value| json!({ "filename": name, "hashes": { "sha256": "x" }, "yanked": yanked });
    let json =
        json!({ "files": [file("my_pack-1.0.0.tar.gz", json!(false)), file("my_pack-1.1.tar.gz", json!("broken"))] });
    let html = "<!DOCTYPE html><a href='x#sha256=x'>my_pack-1.0.0.tar.gz</a> <a href='y#sha256=x' data-yanked='broken'>my_pack-1.1.tar.gz</a>";
    let as_json =
        (200, vec![("Content-Type", "application/vnd.pypi.simple.v1+json".to_owned())], json.to_string().into());
    let as_html = (200, vec![("Content-Type", "text/html; charset=utf-8".to_owned())], html.into());
    for form in [as_json, as_html] {
        for (spec, rule, part) in [
            ("My.Pack==1.0", "", ""),
            ("My.Pack==2.0", "pypi/version-not-found", "it has `1.1`, `1.0.0`"),
            ("My.Pack==1.1.0", "pypi/yanked", "was yanked: `broken`"),
            ("other==1.0", "pypi/version-not-found", "no package `other`"),
        ] {
            let form: Answer = form.clone();
            let answer = move |asked: &Asked| if asked.path == "/simple/my-pack/" { form.clone() } else { status(404) };
            let findings = package("uvx", spec, answer);
            let found = findings.iter().find(|(rule, _)| rule.starts_with("pypi"));
            match found {
                None => assert_eq!(rule, "", "{spec}: {findings:?}"),
                Some((name, message)) => assert!(name == rule && message.contains(part), "{spec}: {name} {message}"),
            }
        }
    }
}

#[test]
fn the_first_index_of_uv_that_has_a_package_counts() {
    let server = Server::answering(|asked| {
        let page = |file: &str| -> Answer {
            (
                200,
                vec![("Content-Type", "text/html".to_owned())],
                format!("<a href='{file}#sha256=x'>{file}</a>").into(),
            )
        };
        match asked.path.as_str() {
            "/own/a/" => page("a-1.0.0-py3-none-any.whl"),
            "/simple/a/" => page("a-2.0.0-py3-none-any.whl"),
            "/simple/b/" => page("b-1.0.0-py3-none-any.whl"),
            _ => status(404),
        }
    });
    let env = Env::empty();
    for (id, package) in [("of-first", "a==1.0.0"), ("of-default", "b==1.0.0"), ("hidden", "a==2.0.0")] {
        agent(&env, id, &manifest(id, &json!({ "uvx": { "package": package } }), &json!({})));
    }
    let mut command = env.command(&["--allow-host", &server.host, "validate", "--urls", "--no-cache", "--json"]);
    command.env("ACP_REGISTRY_PYPI", server.url("/simple")).env("UV_INDEX", server.url("/own"));
    let report: Value = serde_json::from_str(&Run::of(&mut command).stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let missing = findings.filter(|finding| finding["rule"].as_str().unwrap().starts_with("pypi/"));
    let missing: Vec<&str> = missing.map(|finding| finding["message"].as_str().unwrap()).collect();
    assert_eq!(missing, ["the Python package index has no `2.0.0` of `a`"], "{report}");
}

#[test]
fn github_says_what_a_release_has_instead() {
    let asset = |name: &str| json!({ "name": name, "state": "uploaded", "digest": null });
    for (release, part) in [
        (
            Some(json!({ "assets": [asset("agent-linux-x64.zip"), asset("linux.zip.sig")] })),
            "did you mean `linux.zip.sig`?",
        ),
        (
            Some(json!({ "assets": [asset("quite-another-thing.tar.gz")] })),
            "has 1 files, such as `quite-another-thing.tar.gz`",
        ),
        (
            Some(json!({ "assets": [asset("linux-x64.zip"), asset("linux-arm64.zip")] })),
            "did you mean `linux-x64.zip`?",
        ),
        (
            Some(json!({ "assets": [asset("linux-arm64.zip"), asset("linux-aarch64.zip")] })),
            "has 2 files, such as `linux-arm64.zip`",
        ),
        (Some(json!({ "assets": [] })), "the release has no files"),
        (None, "no public release with the tag `v1.0.0`"),
    ] {
        let server = Server::answering(move |asked| match asked.path.as_str() {
            "/api/v3/repos/o/r/releases/tags/v1.0.0" => release.as_ref().map_or(status(404), |one| ok(one.to_string())),
            path if path.starts_with("/fine/") => ok("x"),
            _ => status(404),
        });
        let env = Env::empty();
        let url = server.url("/o/r/releases/download/v1.0.0/linux.zip");
        agent(&env, "a", &manifest("a", &binary(&server, &url), &json!({})));
        let (code, findings, _) = validate(&env, &server, &[]);
        assert_eq!((code, findings.len(), findings[0].0.as_str()), (1, 1, "github/asset-not-found"), "{findings:?}");
        assert!(findings[0].1.contains(part), "{part}: {findings:?}");
        // The token is only sent to GitHub's API.
        for asked in server.requests() {
            let expected = if asked.path.starts_with("/api/v3/") { "Bearer token-of-github" } else { "" };
            assert_eq!(asked.header("authorization"), expected, "{}", asked.path);
        }
    }
}

#[test]
fn each_thing_is_asked_for_once_and_only_for_selected_agents() {
    let server = Server::answering(|_| packument(&json!({ "1.0.0": { "bin": "x", "dist": { "integrity": "s" } } })));
    let env = Env::empty();
    let url = server.url("/fine/1.0.0/linux.zip");
    for id in ["a", "b"] {
        let mut distribution = binary(&server, &url);
        distribution["npx"] = json!({ "package": "same@1.0.0" });
        agent(&env, id, &manifest(id, &distribution, &json!({})));
    }
    agent(&env, "c", &manifest("c", &json!({ "npx": { "package": "other@1.0.0" } }), &json!({})));
    validate(&env, &server, &["a", "b"]);
    let mut asked = server.asked();
    asked.sort();
    let files = ["/fine/1.0.0/darwin.zip", "/fine/1.0.0/linux.zip", "/fine/1.0.0/windows.zip"];
    assert_eq!(asked, [&files[..], &["/npm/same"]].concat());
}

#[test]
fn unchanged_agents_are_not_asked_for() {
    let server = Server::answering(|_| packument(&json!({ "1.0.0": { "bin": "x", "dist": { "integrity": "s" } } })));
    let env = Env::with(&["a", "b"]);
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-q", "-m", "first"]);
    agent(&env, "b", &manifest("b", &json!({ "npx": { "package": "changed@1.0.0" } }), &json!({})));
    validate(&env, &server, &["--changed-since", "HEAD"]);
    assert_eq!(server.asked(), ["/npm/changed"]);
}

#[test]
fn a_package_registry_that_nobody_knows_is_a_warning_with_its_remedy() {
    let env = Env::empty();
    let distribution = json!({ "npx": { "package": "a@1.0.0" }, "uvx": { "package": "a==1.0.0" } });
    agent(&env, "a", &manifest("a", &distribution, &json!({})));
    let mut command = env.command(&["validate", "--urls", "--json"]);
    let missing = env.path("missing");
    command.env("PATH", "").env("PIP_CONFIG_FILE", &missing).env("UV_CONFIG_FILE", &missing);
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    for (at, part) in ["ACP_REGISTRY_NPM", "ACP_REGISTRY_PYPI"].into_iter().enumerate() {
        assert!(run.stderr.contains(part), "{}", run.stderr);
        assert!(report["notes"][at].as_str().unwrap().contains(part), "{report}");
    }
}

#[test]
fn a_machine_that_reaches_nothing_says_so_and_still_reports() {
    let env = Env::empty();
    agent(&env, "a", &manifest("a", &json!({ "npx": { "package": "a@1.0.0" } }), &json!({})));
    let mut command = env.command(&["validate", "--urls", "--json"]);
    command.env("ACP_REGISTRY_NPM", "http://127.0.0.1:1/");
    let run = Run::of(&mut command);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("no host could be reached"), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["findings"][0]["rule"], "url/server-error");
}

#[test]
fn no_address_in_a_manifest_borrows_a_token() {
    let server = Server::answering(|asked| match asked.path.as_str() {
        "/npm/a" => packument(&json!({ "1.0.0": { "bin": "x", "dist": { "integrity": "s" } } })),
        _ => ok("x"),
    });
    let env = Env::empty();
    let more = json!({ "repository": server.url("/npm/whoami"), "website": server.url("/api/v3/user") });
    agent(&env, "a", &manifest("a", &json!({ "npx": { "package": "a@1.0.0" } }), &more));
    env.write("home/.npmrc", format!("//{}/npm/:_authToken=token-of-npm\n", server.host));
    let mut command = env.command(&["--allow-host", &server.host, "validate", "--urls", "--no-cache"]);
    command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("GITHUB_API_URL", server.url("/api/v3"));
    command.env("GITHUB_TOKEN", "token-of-github").env("HOME", env.path("home"));
    Run::of(&mut command);
    for asked in server.requests() {
        let expected = if asked.path == "/npm/a" { "Bearer token-of-npm" } else { "" };
        assert_eq!(asked.header("authorization"), expected, "{}", asked.path);
    }
    assert_eq!(server.asked().len(), 3);

    // Without `--allow-host`, a configured source gives no access to its network.
    let mut command = env.command(&["validate", "--urls", "--no-cache"]);
    command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("HOME", env.path("home"));
    Run::of(&mut command);
    assert_eq!(server.asked()[3..], ["/npm/a"]);
}

#[test]
fn nothing_in_the_checkout_chooses_whom_to_ask() {
    let evil = Server::answering(|_| status(404));
    let good = Server::answering(|_| packument(&json!({ "1.0.0": { "bin": "x", "dist": { "integrity": "s" } } })));
    let env = Env::with(&["a"]);
    for folder in ["", "r/"] {
        env.write(
            &format!("{folder}.npmrc"),
            format!("registry={}\n//{}/:_authToken=${{GITHUB_TOKEN}}\n", evil.url("/"), evil.host),
        );
        env.write(&format!("{folder}uv.toml"), format!("index-url = \"{}\"\n", evil.url("/")));
    }
    env.write("home/.npmrc", format!("registry={}\n", good.url("/npm/")));
    let mut command = env.command(&["validate", "--urls", "--no-cache"]);
    command.env("HOME", env.path("home")).env("GITHUB_TOKEN", "secret");
    assert_eq!(Run::of(&mut command).code, 0);
    assert_eq!(good.asked(), ["/npm/a"]);
    assert_eq!(evil.asked(), [] as [String; 0]);
}
