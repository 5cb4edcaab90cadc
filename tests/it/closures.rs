//! Lists of an agent's packages that a registry keeps, publishes and has made.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::agent::fake_agent;
use crate::archives::{gz, tar};
use crate::people::{People, files};
use crate::server::{not_found, ok, status};
use crate::signed::{KEYS, public};
use crate::support::{Env, ICON, Run, tree};

/// An `npm` that notes how it was called. It lists packages as it is told by a file, and installs an agent.
const NPM: &str = r#"#!/bin/sh
here="${0%/*}"
echo "$*" >> "$here/called"
words="$*"
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; esac
  shift
done
case "$words" in
  *own@9.9.9*) exit 9 ;;
  *"--package-lock-only "*) cp "$here/list" "$prefix/package-lock.json"; exit ;;
  install*) ;;
  ci*) cp "$prefix/package-lock.json" "$here/given" ;;
  rebuild*) exit ;;
  config\ list*) cat "$here/config" 2>/dev/null; exit ;;
  *) exit 9 ;;
esac
mkdir -p "$prefix/node_modules/own"
echo '{"bin":"cli.sh"}' > "$prefix/node_modules/own/package.json"
printf '#!/bin/sh\nexec "AGENT" ok\n' > "$prefix/node_modules/own/cli.sh"
chmod +x "$prefix/node_modules/own/cli.sh"
"#;

fn archive() -> Vec<u8> {
    gz(&tar(&[("package/package.json", br#"{"bin":"cli.js"}"#), ("package/cli.js", b"#!/usr/bin/env node\n")]))
}

/// A list with the agent's package in a version.
pub(crate) fn list(version: &str, more: &Value) -> String {
    let integrity = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(archive())));
    let mut packages = json!({ "": { "name": "agent", "dependencies": { "own": version } },
        "node_modules/own": { "version": version, "integrity": integrity, "bin": { "own": "cli.js" } } });
    packages.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{}\n", json!({ "name": "agent", "lockfileVersion": 3, "requires": true, "packages": packages }))
}

fn manifest(version: &str) -> String {
    json!({ "id": "own", "name": "Own", "version": version, "description": "An agent", "license": "MIT",
            "authors": ["A"], "distribution": { "npx": { "package": format!("own@{version}") } } })
    .to_string()
}

/// A registry with an agent of an npm package.
pub(crate) fn registry(env: &Env, closure: Option<&str>) {
    env.write("r/own/agent.json", manifest("1.0.0"));
    env.write("r/own/icon.svg", ICON);
    if let Some(closure) = closure {
        env.write("r/own/package-lock.json", closure);
    }
}

fn build(env: &Env, out: &str) {
    let run = env.run(&["--registry-dir", "r", "build", "--out", out, "--base-url", "https://h.example/r"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// Serves a tree.
fn serve(people: &People, tree: &Path) {
    for name in files(tree) {
        people.serve(&format!("/{name}"), fs::read(tree.join(&name)).unwrap());
    }
}

/// A store, the stand-in for npm, and a registry of npm that has the package.
pub(crate) fn people() -> People {
    let people = People::new();
    let agent = fake_agent();
    people.env.write_program("bin/npm", &NPM.replace("AGENT", agent.to_str().unwrap()));
    people.env.write_program("bin/node", "#!/bin/sh\necho v24.0.0\n");
    people.serve("/npm/own/-/own-1.0.0.tgz", archive());
    people
}

pub(crate) fn with_npm(people: &People, command: &mut std::process::Command) -> Run {
    let path = format!("{}:/usr/bin:/bin", people.env.path("bin").display());
    command.env("PATH", path).env("ACP_REGISTRY_NPM", people.server.url("/npm/"));
    Run::of(command)
}

pub(crate) fn called(people: &People) -> String {
    fs::read_to_string(people.env.path("bin/called")).unwrap_or_default()
}

#[test]
fn a_registry_publishes_the_list_that_it_keeps_and_clients_install_it() {
    let people = people();
    registry(&people.env, None);
    build(&people.env, "plain");
    let list = list("1.0.0", &json!({}));
    registry(&people.env, Some(&list));
    build(&people.env, "tree");
    let document =
        |tree: &str| -> Value { serde_json::from_str(&people.env.read(&format!("{tree}/entries.json"))).unwrap() };
    assert_eq!(document("plain")["views"]["closures"], Value::Null);
    assert!(document("tree")["views"]["closures"]["sha256"].is_string());
    let published: Value = serde_json::from_str(&people.env.read("tree/entries/closures/own.json")).unwrap();
    assert_eq!(
        published,
        json!({ "schema": 1, "id": "own", "npx": { "package": "own@1.0.0", "packages": list, "allow_scripts": [] } })
    );
    // Foreign clients see nothing new.
    assert_eq!(people.env.read("plain/registry.json"), people.env.read("tree/registry.json"));

    serve(&people, &people.env.path("tree"));
    let install = |root: &str, more: &[&str]| {
        let mut command = people.command(&[&["install", "own", "--no-check", "--json"], more].concat());
        let run = with_npm(&people, command.env("ACP_REGISTRY_ROOT", people.env.path(root)));
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let installed = install("data", &[]);
    let tree = PathBuf::from(installed["install_dir"].as_str().unwrap()).join("files");
    assert_eq!(fs::read_to_string(tree.join("package-lock.json")).unwrap(), list);
    assert_eq!((&installed["verified"], called(&people).as_str()), (&json!("npm"), ""), "{installed}");
    // What is cached says the same, and what is installed needs neither.
    install("elsewhere", &[]);
    assert_eq!(people.server.asked().iter().filter(|path| path.contains("/closures/")).count(), 1);
    assert_eq!(called(&people), "");
    // A lock file has what is installed.
    install("locked", &["--lock", "x.lock"]);
    let lock: toml::Table = people.env.read("x.lock").parse().unwrap();
    assert_eq!(lock["agents"]["own"]["npx"]["packages"].as_str(), Some(list.as_str()));
    assert_eq!(called(&people), "");
    // Also where an earlier file has another list of the same version.
    let locked = people.env.read("x.lock");
    people.env.write("x.lock", locked.replace("lockfileVersion", "requires\\\": true, \\\"lockfileVersion"));
    assert_ne!(people.env.read("x.lock"), locked);
    install("again", &["--lock", "x.lock"]);
    assert_eq!(people.env.read("x.lock"), locked);
    // So does the whole index, which `list` reads.
    fs::remove_dir_all(people.env.path("home")).unwrap();
    assert_eq!(people.run(&["list"]).code, 0);
    install("listed", &[]);
    assert_eq!(called(&people), "");
    // A tree in a directory has the list as well.
    let index = people.env.path("tree/registry.json");
    install("local", &["--index", index.to_str().unwrap()]);
    assert_eq!(called(&people), "");
}

#[test]
fn an_earlier_version_keeps_its_list() {
    let people = people();
    let first = list("1.0.0", &json!({}));
    registry(&people.env, Some(&first));
    build(&people.env, "first");
    // The next version has no list.
    let manifest = people.env.read("r/own/agent.json").replace("1.0.0", "1.1.0");
    people.env.write("r/own/agent.json", &manifest);
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    let next = |out: &str, previous: &str| {
        let run = people.env.run(&[
            "--registry-dir", "r", "build", "--out", out, "--base-url", "https://h.example/r", "--previous", previous,
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let document: Value = serde_json::from_str(&people.env.read(&format!("{out}/entries.json"))).unwrap();
        assert_eq!(document["views"]["closures"], Value::Null);
        let published = people.env.read(&format!("{out}/entries/earlier-closures/own.json"));
        let published: Value = serde_json::from_str(&published).unwrap();
        let closure = json!({ "schema": 1, "id": "own", "npx": { "package": "own@1.0.0", "packages": first, "allow_scripts": [] } });
        assert_eq!(published, json!({ "schema": 1, "id": "own", "closures": [closure] }));
    };
    next("second", "first");
    // Nothing is lost on the way.
    next("third", "second");

    serve(&people, &people.env.path("third"));
    let install = |spec: &str, root: &str| {
        let mut command = people.command(&["install", spec, "--no-check", "--json"]);
        let run = with_npm(&people, command.env("ACP_REGISTRY_ROOT", people.env.path(root)));
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let installed = install("own@1.0.0", "data");
    let tree = PathBuf::from(installed["install_dir"].as_str().unwrap()).join("files");
    assert_eq!(fs::read_to_string(tree.join("package-lock.json")).unwrap(), first);
    assert_eq!(called(&people), "");
    // The newest one asks for none.
    install("own", "other");
    assert!(called(&people).contains("own@1.1.0"), "{}", called(&people));
    assert_eq!(people.server.asked().iter().filter(|path| path.contains("/earlier-closures/")).count(), 1);

    // A damaged tree is not taken over.
    people.env.write("second/entries/earlier-closures/own.json", "{}");
    let run = people.env.run(&["--registry-dir", "r", "build", "--out", "fourth", "--previous", "second"]);
    assert!(run.code != 0 && run.stderr.contains("does not have the digest"), "{}", run.stderr);
}

#[test]
fn a_list_with_other_bytes_is_not_used_and_neither_is_none() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let published = people.env.read("tree/entries/closures/own.json");
    people.serve("/entries/closures/own.json", published.replace("lockfileVersion", "lockFileVersion"));
    for answer in [None, Some(not_found()), Some(status(503))] {
        if let Some(answer) = answer {
            people.answer("/entries/closures/own.json", answer);
        }
        let run = with_npm(&people, &mut people.command(&["install", "own", "--no-check"]));
        assert!(run.code == 3 && run.stderr.contains("the list of packages of own was not fetched"), "{}", run.stderr);
        assert_eq!(called(&people), "");
    }
}

#[test]
fn a_list_of_a_host_that_fails_for_a_moment_is_not_passed_over() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let index = people.server.url("/registry.json");
    for (answer, cause) in [
        (status(503), "503"),
        (status(500), "500"),
        (status(401), "401"),
        (ok("<html>"), "entries.json cannot be used"),
        (ok("{\"schema\": 2, \"lists\": \"\", \"views\": {}}"), "schema 2 is not known"),
    ] {
        people.answer("/entries.json", answer);
        // Neither the first time nor afterwards, when there is a copy of the index.
        let first = install_anew(&people, &index);
        for run in [first, with_npm(&people, &mut people.command(&["install", "own", "--no-check", "--json"]))] {
            let error = &serde_json::from_str::<Value>(&run.stdout).unwrap()["errors"][0]["message"];
            let told = error.as_str().unwrap_or_default();
            assert!(run.code == 3 && told.contains("the list of packages of own was not fetched"), "{cause}: {told}");
            assert!(told.contains(cause) && called(&people).is_empty(), "{cause}: {told}");
        }
        // What the index offers is known.
        let run = with_npm(&people, &mut people.command(&["resolve", "own", "--json"]));
        let version = serde_json::from_str::<Value>(&run.stdout).unwrap()["version"].take();
        assert!(run.code == 0 && version == "1.0.0" && run.stderr.contains(cause), "{cause}: {}", run.stderr);
    }
    serve(&people, &people.env.path("tree"));
    let run = install_anew(&people, &index);
    assert_eq!((run.code, called(&people).as_str()), (0, ""), "{}", run.stderr);
}

#[test]
fn a_new_list_of_an_installed_version_reaches_it_and_a_removed_one_is_missed() {
    let people = people();
    registry(&people.env, None);
    build(&people.env, "plain");
    serve(&people, &people.env.path("plain"));
    let run = |words: &[&str]| with_npm(&people, &mut people.command(words));
    assert_eq!(run(&["install", "own", "--no-check"]).code, 0);
    assert!(called(&people).contains("own@1.0.0"));
    fs::remove_file(people.env.path("bin/called")).unwrap();
    let installed = || -> String {
        let found: Value = serde_json::from_str(&run(&["which", "own", "--json"]).stdout).unwrap();
        let tree = PathBuf::from(found["install_dir"].as_str().unwrap()).join("files");
        fs::read_to_string(tree.join("package-lock.json")).unwrap_or_default()
    };
    let first = list("1.0.0", &json!({}));
    let second = first.replace("\"lockfileVersion\":", "\"lockfileVersion\": ");
    for (out, list) in [("first", &first), ("second", &second)] {
        registry(&people.env, Some(list));
        build(&people.env, out);
        serve(&people, &people.env.path(out));
        let told = "repair own: the registry had another list of packages for it\n";
        let dry = run(&["update", "--dry-run", "--refresh"]);
        assert!(dry.code == 0 && dry.stdout.contains(told), "{out}: {}{}", dry.stdout, dry.stderr);
        let done = run(&["update", "--no-check"]);
        assert!(done.code == 0 && format!("{}{}", done.stdout, done.stderr).contains("another list of packages"));
        assert_eq!((installed(), called(&people).as_str()), (list.clone(), ""), "{out}");
        let again = run(&["update", "--refresh"]);
        assert_eq!((again.code, again.stdout.as_str()), (0, "everything is up to date\n"), "{}", again.stderr);
    }
    // It is not exchanged for what npm chooses.
    serve(&people, &people.env.path("plain"));
    for words in [&["update", "--refresh"][..], &["install", "own"]] {
        let run = run(words);
        assert!(run.code == 4 && run.stderr.contains("the registry now has no list of them"), "{}", run.stderr);
    }
    assert_eq!((installed(), called(&people).as_str()), (second, ""));
    assert_eq!(run(&["update", "--offline"]).stdout, "everything is up to date\n");
}

#[test]
fn an_agent_of_a_registry_without_lists_needs_none() {
    let people = people();
    registry(&people.env, None);
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let index = people.server.url("/registry.json");
    // Stores that do not tell what they have answer 403 for what they lack.
    for code in [404, 410, 403] {
        people.answer("/entries.json", status(code));
        let run = install_anew(&people, &index);
        assert!(run.code == 0 && called(&people).contains("own@1.0.0"), "{code}: {}", run.stderr);
        fs::remove_file(people.env.path("bin/called")).unwrap();
    }
    // A host that cannot be reached says nothing else than before.
    fs::remove_dir_all(people.env.path("data")).unwrap();
    for (path, ending, age) in [("home", ".index", 1), ("home", ".none", 25)] {
        for name in files(&people.env.path(path)).iter().filter(|name| name.ends_with(ending)) {
            let file = fs::File::options().write(true).open(people.env.path(path).join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_hours(age)).unwrap();
        }
    }
    let mut command = people.command(&["install", "own", "--no-check"]);
    // Nothing is sent to the host of the index.
    let run = with_npm(&people, command.env("HTTP_PROXY", "http://127.0.0.1:9").env("NO_PROXY", ""));
    assert!(run.code == 0 && called(&people).contains("own@1.0.0"), "{}", run.stderr);
}

/// Builds and publishes a registry with a list, which it signs.
fn publish_signed(people: &People, list: &str) {
    registry(&people.env, Some(list));
    let base = people.server.url("/latest");
    let run = people.env.run(&["--registry-dir", "r", "build", "--out", "dist", "--base-url", &base]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut publish = people.env.command(&["publish", "--from", "dist", "--to", "site"]);
    let run = Run::of(publish.env("ACP_REGISTRY_SIGNING_KEY", KEYS[0]));
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// Installs the agent from an index, on a machine that knows nothing yet.
fn install_anew(people: &People, place: &str) -> Run {
    for folder in ["data", "home"] {
        let _ = fs::remove_dir_all(people.env.path(folder));
    }
    with_npm(people, &mut people.command(&["install", "own", "--no-check", "--index", place, "--json"]))
}

#[test]
fn a_signed_list_that_a_host_hides_or_changes_is_refused() {
    let people = people();
    publish_signed(&people, &list("1.0.0", &json!({})));
    // Beside the tree is nothing that has the list, too.
    fs::remove_dir_all(people.env.path("site/content")).unwrap();
    let local = people.env.path("site/latest");
    let send = || {
        for name in files(&local) {
            people.serve(&format!("/latest/{name}"), fs::read(local.join(&name)).unwrap());
        }
    };
    send();
    let address = people.server.url("/latest/registry.json");
    let places = [address.as_str(), local.to_str().unwrap()];
    for place in places {
        let run = install_anew(&people, place);
        assert_eq!((run.code, called(&people).as_str()), (0, ""), "{}", run.stderr);
    }
    for name in ["entries.json", "entries/closures/own.json"] {
        let (path, file) = (format!("/latest/{name}"), local.join(name));
        let honest = fs::read(&file).unwrap();
        for is_hidden in [false, true] {
            if is_hidden {
                people.answer(&path, not_found());
                fs::remove_file(&file).unwrap();
            } else {
                people.serve(&path, "{}");
                fs::write(&file, "{}").unwrap();
            }
            for place in places {
                let run = install_anew(&people, place);
                let told = run.stderr.contains("the list of packages of own is not what statement");
                assert!(run.code == 4 && told, "{place} {name} {is_hidden}: {}", run.stderr);
            }
        }
        fs::write(&file, honest).unwrap();
        send();
    }
}

/// Files by name, later ones in place of earlier ones.
type Layers<'a> = &'a [&'a [(String, Vec<u8>)]];

/// What snapshots share has the list while a publisher replaces the files of `latest/`, or after it was killed.
#[test]
fn a_signed_list_is_read_as_it_was_signed_while_another_is_published() {
    let people = people();
    let before = list("1.0.0", &json!({}));
    publish_signed(&people, &before);
    let latest = people.env.path("site/latest");
    let old: Vec<(String, Vec<u8>)> = tree(&latest);
    let now = before.replace("\"lockfileVersion\":", "\"lockfileVersion\": ");
    publish_signed(&people, &now);
    let new: Vec<(String, Vec<u8>)> = tree(&latest);
    let address = people.server.url("/latest/registry.json");
    // What is in a state of `latest/`, later files over earlier ones, and what its statement names. The signature covers both
    // statements.
    let of = |files: &[(String, Vec<u8>)], names: &[&str]| -> Vec<(String, Vec<u8>)> {
        files.iter().filter(|(name, _)| names.iter().any(|one| name.starts_with(one))).cloned().collect()
    };
    let signature = of(&new, &["statement.json.minisig"]);
    let statement = of(&new, &["statement.json", "entry-lists/"]);
    let entry = of(&new, &["entries/"]);
    let earlier = of(&old, &["statement.json"]);
    let states: [(&str, Layers<'_>, &str); 4] = [
        ("the statement was sent", &[&old, &statement], &now),
        ("the entry was sent", &[&old, &statement, &entry], &now),
        ("the statement was read before", &[&new, &earlier, &signature], &before),
        (
            "the statement was read before the entry was sent",
            &[&old, &statement, &entry, &earlier, &signature],
            &before,
        ),
    ];
    for (state, files, signed) in states {
        fs::remove_dir_all(&latest).unwrap();
        for (name, _) in old.iter().chain(&new) {
            people.answer(&format!("/latest/{name}"), not_found());
        }
        for (name, bytes) in files.iter().copied().flatten() {
            people.env.write(&format!("site/latest/{name}"), bytes);
        }
        for (name, bytes) in tree(&people.env.path("site")) {
            people.serve(&format!("/{name}"), bytes);
        }
        for is_hidden in [false, true] {
            if is_hidden {
                for name in ["entries.json", "entries/closures/own.json"] {
                    people.answer(&format!("/latest/{name}"), not_found());
                    fs::remove_file(latest.join(name)).unwrap();
                }
            }
            for place in [address.as_str(), latest.to_str().unwrap()] {
                let run = install_anew(&people, place);
                assert_eq!((run.code, called(&people).as_str()), (0, ""), "{state}, {place}: {}", run.stderr);
                let installed: Value = serde_json::from_str(&run.stdout).unwrap();
                let tree = PathBuf::from(installed["install_dir"].as_str().unwrap()).join("files");
                assert_eq!(fs::read_to_string(tree.join("package-lock.json")).unwrap(), *signed, "{state}, {place}");
            }
        }
    }
}

#[test]
fn a_signed_tree_is_taken_over_as_it_was_signed_while_another_is_published() {
    let people = people();
    let before = list("1.0.0", &json!({}));
    publish_signed(&people, &before);
    let latest = people.env.path("site/latest");
    let old = tree(&latest);
    let now = before.replace("\"lockfileVersion\":", "\"lockfileVersion\": ");
    publish_signed(&people, &now);
    // The publisher was killed after it had sent the statement.
    for (name, bytes) in old.iter().filter(|(name, _)| !name.starts_with("statement.json")) {
        people.env.write(&format!("site/latest/{name}"), bytes);
    }
    for (name, bytes) in tree(&people.env.path("site")) {
        people.serve(&format!("/{name}"), bytes);
    }
    // The next version has no list.
    let manifest = people.env.read("r/own/agent.json").replace("1.0.0", "1.1.0");
    people.env.write("r/own/agent.json", &manifest);
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    let (base, signer) = (people.server.url("/latest"), public(0).to_string());
    for previous in [base.as_str(), latest.to_str().unwrap()] {
        let run = people.env.run(&[
            "--registry-dir", "r", "--allow-host", &people.server.host, "build", "--out", "next", "--base-url", &base,
            "--previous", previous, "--signer", &signer,
        ]);
        assert_eq!(run.code, 0, "{previous}: {}", run.stderr);
        let published = people.env.read("next/entries/earlier-closures/own.json");
        let published: Value = serde_json::from_str(&published).unwrap();
        assert_eq!(published["closures"][0]["npx"]["packages"], now, "{previous}");
    }
}

#[test]
fn a_list_is_used_where_no_copy_can_be_kept() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    people.env.write("file", "");
    let mut command = people.command(&["install", "own", "--no-check"]);
    with_npm(&people, command.env("XDG_CACHE_HOME", people.env.path("file")));
    // Without its cache of packages, npm is given the list.
    assert!(called(&people).starts_with("ci "), "{}", called(&people));
}

#[test]
fn validate_names_lists_that_cannot_be_used_and_build_does_not_publish_them() {
    let whole = list("1.0.0", &json!({}));
    let needs = json!({ "node_modules/own": { "version": "1.0.0", "integrity": format!("sha512-{}==", "A".repeat(86)),
                                              "optionalDependencies": { "own-darwin": "1.0.0" } } });
    for (closure, problem) in [
        (whole.clone(), None),
        (list("0.9.0", &json!({})), Some("it is not of `own@1.0.0`")),
        (whole.replace("sha512", "sha1"), Some("not one SHA-512 digest")),
        (
            whole.replace("\"bin\"", "\"resolved\": \"https://h.example/a.tgz\", \"bin\""),
            Some("has an address of its own"),
        ),
        (list("1.0.0", &needs), Some("it has no own-darwin, which node_modules/own needs")),
        ("[".to_owned(), Some("cannot be read")),
    ] {
        let env = Env::empty();
        registry(&env, Some(&closure));
        let run = env.run(&["--registry-dir", "r", "validate", "own"]);
        match problem {
            None => assert_eq!(run.code, 0, "{}", run.stdout),
            Some(problem) => {
                assert!(run.code == 1 && run.stdout.contains(problem), "{problem}: {}", run.stdout);
                assert!(run.stdout.contains("own/package-lock.json") && run.stdout.contains("closure/unusable"));
            }
        }
    }
}

#[test]
fn install_scripts_of_dependencies_are_named_until_they_are_approved() {
    let digest = |letter: &str| format!("sha512-{}==", letter.repeat(86));
    let native = |integrity: &str| {
        let packages =
            json!({ "node_modules/native": { "version": "2.0.0", "integrity": integrity, "hasInstallScript": true } });
        list("1.0.0", &packages)
    };
    let env = Env::empty();
    for (scripts, approved, code, finding) in [
        (digest("A"), None, 0, "warning[closure/scripts]: `native@2.0.0` has install scripts that are not approved"),
        (digest("A"), Some(format!("native@2.0.0 {}", digest("A"))), 0, ""),
        (digest("A"), Some(format!("native@2.0.1 {}", digest("A"))), 0, "warning[closure/scripts]"),
        (
            digest("Q"),
            Some(format!("native@2.0.0 {}", digest("A"))),
            1,
            "error[closure/scripts]: `native@2.0.0` is approved with another",
        ),
    ] {
        registry(&env, Some(&native(&scripts)));
        let allowed = approved.map(|one| format!("[npm.own]\nallow-scripts = [\"{one}\"]\n")).unwrap_or_default();
        env.write("r/registry.toml", allowed);
        let run = env.run(&["--registry-dir", "r", "validate"]);
        assert_eq!(run.code, code, "{}", run.stdout);
        assert!(
            run.stdout.contains(finding) && run.stdout.contains("closure/scripts") != finding.is_empty(),
            "{}",
            run.stdout
        );
        // The line to write is whole.
        let line = format!("add `native@2.0.0 {scripts}` to `allow-scripts` below `[npm.own]`");
        assert_eq!(
            run.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(&line),
            !finding.is_empty(),
            "{}",
            run.stdout
        );
    }
    // Those of the manifest's own package are approved by it.
    let mut own: Value = serde_json::from_str(&list("1.0.0", &json!({}))).unwrap();
    own["packages"]["node_modules/own"]["hasInstallScript"] = true.into();
    let own = own.to_string();
    registry(&env, Some(&own));
    env.write("r/registry.toml", "");
    let run = env.run(&["--registry-dir", "r", "validate"]);
    assert!(run.code == 0 && !run.stdout.contains("closure/scripts"), "{}", run.stdout);
}

/// A registry with dependencies that have install scripts, of which the client runs only those that it approves.
#[test]
fn clients_run_only_the_install_scripts_of_dependencies_that_the_registry_approves() {
    let people = people();
    // Runs scripts, which it only notes, and puts the packages in place, where it is asked to.
    let npm = r#"#!/bin/sh
echo "$*" >> "${0%/*}/called"
case "$1" in config) echo false; exit ;; ci) ;; *) exit ;; esac
while [ $# -gt 0 ]; do
  case "$1" in --prefix) modules=$2/node_modules ;; esac
  shift
done
mkdir -p "$modules/good" "$modules/bad" "$modules/own" && cp "$modules/../package-lock.json" "$modules/.package-lock.json"
echo '{"bin":"cli.js"}' > "$modules/own/package.json"
echo '#!/usr/bin/env node' > "$modules/own/cli.js" && chmod +x "$modules/own/cli.js"
mkdir "$modules/.bin" && ln -s ../own/cli.js "$modules/.bin/own"
"#;
    people.env.write_program("bin/npm", npm);
    let digest = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(archive())));
    let mut packages = json!({});
    for name in ["good", "bad"] {
        people.serve(&format!("/npm/{name}/-/{name}-2.0.0.tgz"), archive());
        packages[format!("node_modules/{name}")] =
            json!({ "version": "2.0.0", "integrity": digest, "hasInstallScript": true });
    }
    let mut list: Value = serde_json::from_str(&list("1.0.0", &packages)).unwrap();
    list["packages"]["node_modules/own"]["dependencies"] = json!({ "good": "2.0.0", "bad": "2.0.0" });
    registry(&people.env, Some(&list.to_string()));
    let bytes = digest.clone();
    let installed = |root: &str, approved: &[String], setting: Option<(&str, &str)>| {
        people.env.write("r/registry.toml", format!("[npm.own]\nallow-scripts = {approved:?}\n"));
        let _ = fs::remove_dir_all(people.env.path("tree"));
        build(&people.env, "tree");
        let _ = fs::remove_file(people.env.path("bin/called"));
        let index = people.env.path("tree/registry.json");
        let mut command =
            people.command(&["install", "own", "--no-check", "--json", "--index", index.to_str().unwrap()]);
        let run = with_npm(&people, command.env("ACP_REGISTRY_ROOT", people.env.path(root)).envs(setting));
        assert_eq!(run.code, 0, "{}", run.stderr);
        // npm installs only what it has settings for, and never with scripts.
        let ci: Vec<String> = called(&people).lines().filter(|line| line.starts_with("ci ")).map(Into::into).collect();
        assert_eq!(ci.len(), usize::from(setting.is_some()), "{ci:?}");
        assert!(ci.iter().all(|line| line.starts_with("ci --ignore-scripts ")), "{ci:?}");
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let rebuilt: Vec<String> = called(&people)
            .lines()
            .filter(|line| line.starts_with("rebuild "))
            .map(|line| {
                let paths = line.split_once(" -- ").unwrap().1.split(' ');
                let places: Vec<&str> = paths.map(|path| path.split_once("/files/node_modules/").unwrap().1).collect();
                places.join(" ")
            })
            .collect();
        (rebuilt, document)
    };
    let (rebuilt, document) = installed("none", &[], None);
    assert_eq!(rebuilt, [""; 0], "without an approval, npm is not asked");
    assert_eq!(
        (&document["scripts_not_run"], &document["scripts_ignored_by"]),
        (&json!(["bad@2.0.0", "good@2.0.0"]), &json!("registry"))
    );
    let (rebuilt, document) = installed("one", &[format!("good@2.0.0 {bytes}")], None);
    assert_eq!(rebuilt, ["good own"]);
    assert_eq!(document["scripts_not_run"], json!(["bad@2.0.0"]));
    let (rebuilt, document) = installed("all", &[format!("good@2.0.0 {bytes}"), format!("bad@2.0.0 {bytes}")], None);
    assert_eq!(rebuilt, ["bad good own"]);
    assert!(document["scripts_not_run"].as_array().is_none_or(Vec::is_empty), "{document}");
    // Where npm has settings that only it obeys, it puts the packages in place.
    let setting = Some(("npm_config_strict_ssl", "true"));
    let (rebuilt, document) = installed("by-npm", &[format!("good@2.0.0 {bytes}")], setting);
    assert_eq!(rebuilt, ["good own"]);
    assert_eq!(document["scripts_not_run"], json!(["bad@2.0.0"]));
    let (rebuilt, document) = installed("by-npm-none", &[], setting);
    assert_eq!(rebuilt, ["own"], "that of the manifest is approved");
    assert_eq!(document["scripts_not_run"], json!(["bad@2.0.0", "good@2.0.0"]));
    // What a host makes of the approvals is not what `entries.json` says, or cannot be read: it approves nothing.
    let file = people.env.path("tree/entries/closures/own.json");
    let honest = fs::read_to_string(&file).unwrap();
    for approved in
        [json!([format!("bad@2.0.0 {bytes}")]), json!(7), json!([7]), json!({}), json!("bad@2.0.0"), json!(["../../x"])]
    {
        let mut document: Value = serde_json::from_str(&honest).unwrap();
        document["npx"]["allow_scripts"] = approved.clone();
        fs::write(&file, document.to_string()).unwrap();
        fs::remove_file(people.env.path("bin/called")).unwrap_or_default();
        let index = people.env.path("tree/registry.json");
        let mut command = people.command(&["install", "own", "--no-check", "--index", index.to_str().unwrap()]);
        let run = with_npm(&people, command.env("ACP_REGISTRY_ROOT", people.env.path("hostile")));
        assert!(run.code != 0 && !called(&people).contains("rebuild "), "{approved}: {}", called(&people));
    }
}

#[test]
fn verify_has_npm_list_the_packages_of_agents_that_pass() {
    let people = people();
    registry(&people.env, None);
    let verify = || {
        let mut command = people.env.command(&["--registry-dir", "r", "verify", "own", "--closures", "--no-cache"]);
        with_npm(&people, &mut command)
    };
    let first = list(
        "1.0.0",
        &json!({ "node_modules/s": { "version": "1.0.0", "integrity": format!("sha512-{}==", "A".repeat(86)), "hasInstallScript": true } }),
    );
    people.env.write("bin/list", &first);
    let run = verify();
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    let note = "own/package-lock.json has 2 packages; new install scripts of s@1.0.0";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let mut expected: Value = serde_json::from_str(&first).unwrap();
    expected["packages"]["node_modules/own"]["size"] = json!(archive().len());
    assert_eq!(serde_json::from_str::<Value>(&people.env.read("r/own/package-lock.json")).unwrap(), expected);
    // What was tested is what the list has, now and later.
    let given = || serde_json::from_str::<Value>(&people.env.read("bin/given")).unwrap();
    assert_eq!(given(), expected);
    fs::remove_file(people.env.path("bin/given")).unwrap();
    let mut command = people.env.command(&["--registry-dir", "r", "verify", "own", "--no-cache"]);
    assert_eq!(with_npm(&people, &mut command).code, 0);
    assert_eq!(given(), expected);
    // One that lacks a package is made again.
    let lacking = first.replace(
        "\"version\":\"1.0.0\",\"integrity\"",
        "\"version\":\"1.0.0\",\"dependencies\":{\"none\":\"1\"},\"integrity\"",
    );
    assert_ne!(lacking, first);
    people.env.write("r/own/package-lock.json", &lacking);
    assert_eq!(verify().code, 0);
    assert_eq!(serde_json::from_str::<Value>(&people.env.read("r/own/package-lock.json")).unwrap(), expected);
    // So is one of an agent whose preview does not start.
    let preview = json!({ "version": "9.9.9", "distribution": { "npx": { "package": "own@9.9.9" } } });
    let mut both: Value = serde_json::from_str(&manifest("1.0.0")).unwrap();
    both["preview"] = preview;
    people.env.write("r/own/agent.json", both.to_string());
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    let run = verify();
    assert!(run.code == 1 && run.stderr.contains("own/package-lock.json has 2 packages"), "{}", run.stderr);
    people.env.write("r/own/agent.json", manifest("1.0.0"));
    // Without an answer about its day, none is made.
    let kept = people.env.read("r/own/package-lock.json");
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    people.answer("/npm/own", status(500));
    let run = verify();
    assert!(run.code == 1 && run.stderr.contains("own/package-lock.json was not written: "), "{}", run.stderr);
    assert!(run.stderr.contains("500") && !people.env.path("r/own/package-lock.json").exists(), "{}", run.stderr);
    people.answer("/npm/own", not_found());
    people.env.write("r/own/package-lock.json", kept);
    // It is there.
    people.env.write("bin/list", "[");
    let run = verify();
    assert!(run.code == 0 && !run.stderr.contains("package-lock.json"), "{}", run.stderr);
    // One that cannot be used is not written, and that of another version is replaced.
    people.env.write("r/own/package-lock.json", list("0.9.0", &json!({})));
    let run = verify();
    assert!(
        run.code == 1 && run.stderr.contains("own/package-lock.json was not written: it cannot be read"),
        "{}",
        run.stderr
    );
    assert_eq!(people.env.read("r/own/package-lock.json"), list("0.9.0", &json!({})));
    let mut command =
        people.env.command(&["--registry-dir", "r", "verify", "own", "--closures", "--no-cache", "--json"]);
    let document: Value = serde_json::from_str(&with_npm(&people, &mut command).stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("own/package-lock.json was not written: it cannot be read"), "{document}");
    people.env.write("bin/list", &first);
    let run = verify();
    assert!(
        run.code == 0 && run.stderr.contains("; new: own@1.0.0, s@1.0.0; gone: own@0.9.0")
            || run.stderr.contains("has 2 packages; gone: own@0.9.0"),
        "{}",
        run.stderr
    );
    // A link would be written through.
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    people.env.write("elsewhere", "mine");
    std::os::unix::fs::symlink(people.env.path("elsewhere"), people.env.path("r/own/package-lock.json")).unwrap();
    let run = verify();
    assert!(run.code == 1 && people.env.read("elsewhere") == "mine", "{}", run.stderr);
    fs::remove_file(people.env.path("r/own/package-lock.json")).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(people.env.path("r/own/package-lock.json"))
            .status()
            .unwrap()
            .success()
    );
    let run = verify();
    assert!(run.code == 1 && run.stderr.contains("package-lock.json: is no file: remove it"), "{}", run.stderr);
}

#[test]
fn bump_has_the_list_of_a_new_version_made_and_says_what_is_new() {
    let people = people();
    let dist = json!({ "tarball": people.server.url("/npm/own/-/own-1.1.0.tgz"), "integrity": format!("sha512-{}==", "A".repeat(86)) });
    let version = |version: &str| json!({ "name": "own", "version": version, "bin": "cli.js", "dist": dist });
    let packument = json!({ "name": "own", "dist-tags": { "latest": "1.1.0" },
        "versions": { "1.0.0": version("1.0.0"), "1.1.0": version("1.1.0") },
        "time": { "1.0.0": "2026-01-01T00:00:00Z", "1.1.0": "2026-02-01T00:00:00Z" } });
    people.serve("/npm/own", packument.to_string());
    let bump_in = |path: &str, code: i32| {
        let arguments =
            ["--allow-host", &people.server.host, "--registry-dir", "r", "bump", "own", "--apply", "--no-cache"];
        let mut command = people.env.command(&arguments);
        command.env("PATH", path).env("ACP_REGISTRY_PATH", path).env("ACP_REGISTRY_NPM", people.server.url("/npm/"));
        let run = Run::of(&mut command);
        assert_eq!(run.code, code, "{} {}", run.stdout, run.stderr);
        run
    };
    let path = format!("{}:/usr/bin:/bin", people.env.path("bin").display());
    let bump = || bump_in(&path, 0);
    let new = list(
        "1.1.0",
        &json!({ "node_modules/s": { "version": "2.0.0", "integrity": format!("sha512-{}==", "A".repeat(86)), "hasInstallScript": true } }),
    );
    people.env.write("bin/list", &new);
    // A registry that keeps no list gets none.
    registry(&people.env, None);
    let run = bump();
    assert!(people.env.read("r/own/agent.json").contains("own@1.1.0") && called(&people).is_empty(), "{}", run.stderr);
    assert!(!people.env.path("r/own/package-lock.json").exists());
    let mut before: Value = serde_json::from_str(&list("1.0.0", &json!({}))).unwrap();
    before["packages"]["node_modules/own"]["size"] = json!(10);
    registry(&people.env, Some(&before.to_string()));
    people.serve("/npm/own/-/own-1.1.0.tgz", [0; 1000]);
    people.serve("/npm/s/-/s-2.0.0.tgz", [0; 34]);
    let times = json!({ "2.0.0": "2026-02-02T23:00:00Z" });
    people.serve("/npm/s", json!({ "name": "s", "versions": { "2.0.0": {} }, "time": times }).to_string());
    let run = bump();
    let note = "own/package-lock.json has 2 packages, 1.0 KiB for all platforms (+1.0 KiB); new: own@1.1.0, s@2.0.0; gone: own@1.0.0; new install scripts of s@2.0.0";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let mut expected: Value = serde_json::from_str(&new).unwrap();
    for (name, day, size) in [("own", "2026-02-01", 1000), ("s", "2026-02-02", 34)] {
        expected["packages"][format!("node_modules/{name}")]["published"] = json!(day);
        expected["packages"][format!("node_modules/{name}")]["size"] = json!(size);
    }
    let written = people.env.read("r/own/package-lock.json");
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
    // Nothing newer than a day after the version is in it, however late it is made.
    assert!(called(&people).contains("--before=2026-02-02T23:59:59Z"), "{}", called(&people));
    let validate = |written: &str| {
        people.env.write("r/own/package-lock.json", written);
        people.env.run(&["--registry-dir", "r", "validate"])
    };
    let run = validate(&written);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let newer = written.replace("2026-02-02", "2026-02-05");
    let run = validate(&newer);
    let problem = "more than 1 day after the agent's version: `s@2.0.0` of 2026-02-05";
    assert!(run.code == 1 && run.stdout.contains(problem), "{}", run.stdout);
    people.env.write("r/registry.toml", "[closures]\nmax-days-newer = 4\n");
    assert_eq!(validate(&newer).code, 0);
    // A setting of the person that allows less is left to npm, and one that allows more is not.
    for (setting, is_own) in [("2026-02-01T12:00:00.000Z", true), ("2026-02-03T00:00:00.000Z", false)] {
        fs::remove_file(people.env.path("bin/called")).unwrap();
        people.env.write("bin/config", json!({ "before": setting, "min-release-age": null }).to_string());
        people.env.write("r/registry.toml", "");
        registry(&people.env, Some(&before.to_string()));
        bump();
        assert_eq!(!called(&people).contains("--before="), is_own, "{}", called(&people));
    }
    fs::remove_file(people.env.path("bin/config")).unwrap();
    // A host that does not say how large archives are does not keep the list from being made.
    let elsewhere = (302, vec![("Location", "http://10.0.0.1/".to_owned())], Vec::new());
    people.answer("/npm/own/-/own-1.1.0.tgz", elsewhere);
    registry(&people.env, Some(&before.to_string()));
    let run = bump();
    assert!(
        run.stderr.contains("own/package-lock.json has 2 packages; new: own@1.1.0, s@2.0.0; gone"),
        "{}",
        run.stderr
    );
    people.env.write("r/registry.toml", "[closures]\nmax-days-newer = 4\n");
    let run = validate(&written.replace("2026-02-02", "2026-2-5"));
    assert!(run.code == 1 && run.stdout.contains("is not a day such as"), "{}", run.stdout);
    // Without its list, a version is not written. Dates are blamed where npm finds no version.
    let npm = people.env.read("bin/npm");
    let limit =
        "nothing that was published after 2026-02-05T23:59:59Z counts, unless `max-days-newer` below `[closures]`";
    let fails = |path: &str, error: &str, is_of_dates: bool| {
        registry(&people.env, Some(&list("1.0.0", &json!({}))));
        let run = bump_in(path, 3);
        let expected = format!("the update was not written: the list of its packages was not made: {error}");
        assert!(run.stdout.contains(&expected), "{}", run.stdout);
        assert_eq!(run.stdout.contains(limit), is_of_dates, "{}", run.stdout);
        assert!(people.env.read("r/own/agent.json").contains("own@1.0.0"));
        assert_eq!(people.env.run(&["--registry-dir", "r", "validate"]).code, 0);
    };
    people.env.write_program("bin/npm", "#!/bin/sh\necho 'npm error code ETARGET' >&2\nexit 1\n");
    fails(&path, "npm failed", true);
    people.env.write_program("bin/npm", &npm);
    people.env.write("bin/list", "[");
    fails(&path, "it cannot be read", false);
    let nothing = keep_only(&people, &[]).display().to_string();
    fails(&nothing, "npm is not in PATH", false);
    // A run that ended between the two files is completed by the next one that can.
    people.env.write("bin/list", &new);
    people.env.write("r/own/agent.json", manifest("1.1.0"));
    let run = bump_in(&nothing, 3);
    assert!(run.stdout.contains("was not made: npm is not in PATH"), "{}", run.stdout);
    let run = bump();
    assert!(run.stderr.contains("own/package-lock.json has 2 packages"), "{}", run.stderr);
    assert!(run.stdout.contains("1 up to date"), "{}", run.stdout);
    fs::remove_file(people.env.path("bin/called")).unwrap();
    assert!(bump().stdout.contains("1 up to date") && called(&people).is_empty());
}

#[test]
fn a_plan_knows_the_list_before_anything_is_installed() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let run = |arguments: &[&str]| {
        let run = with_npm(&people, people.command(arguments).arg("--json"));
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let planned = run(&["resolve", "own"]);
    let dry = run(&["install", "own", "--dry-run"]);
    let installed = run(&["install", "own", "--no-check"]);
    assert_eq!((&planned["installed"], &dry["agents"][0]["installed"]), (&json!(false), &json!(false)));
    for answer in
        [&planned, &dry["agents"][0], &run(&["resolve", "own"]), &run(&["install", "own", "--dry-run"])["agents"][0]]
    {
        assert_eq!(answer["install_dir"], installed["install_dir"], "{answer}");
    }
    assert_eq!((&planned["verified"], &installed["verified"]), (&json!("npm"), &json!("npm")));
    assert_eq!(run(&["resolve", "own"])["program"], installed["program"]);
    assert_eq!(run(&["update", "--no-check"])["up_to_date"], json!(["own"]));
    // The same packages, which the registry starts in another way now.
    people.env.write("r/own/agent.json", manifest("1.0.0").replace("own@1.0.0\"", "own@1.0.0\",\"args\":[\"--acp\"]"));
    build(&people.env, "next");
    serve(&people, &people.env.path("next"));
    assert_eq!(run(&["update", "--refresh", "--no-check"])["repaired"], json!(["own"]));
    let which = run(&["which", "own"]);
    assert_eq!((&which["args"][1], &which["install_dir"]), (&json!("--acp"), &installed["install_dir"]), "{which}");
    // The registry has other arguments and another list of the same version.
    let other = json!({ "node_modules/gone": { "version": "1.0.0", "optional": true, "os": ["aix"], "integrity": format!("sha512-{}==", "A".repeat(86)) } });
    people.env.write("r/own/package-lock.json", list("1.0.0", &other));
    people.env.write("r/own/agent.json", manifest("1.0.0").replace("own@1.0.0\"", "own@1.0.0\",\"args\":[\"acp\"]"));
    build(&people.env, "other");
    serve(&people, &people.env.path("other"));
    assert_eq!(run(&["update", "--refresh", "--no-check"])["repaired"], json!(["own"]));
    let which = run(&["which", "own"]);
    assert_eq!((&which["args"][1], &which["install_dir"]), (&json!("acp"), &run(&["resolve", "own"])["install_dir"]));
}

/// What is tried with a checkout is what users get.
#[test]
fn a_checkout_is_installed_with_its_lists_and_what_it_approves() {
    let people = people();
    let integrity = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(archive())));
    let native = json!({ "version": "2.0.0", "integrity": integrity, "hasInstallScript": true });
    people.serve("/npm/native/-/native-2.0.0.tgz", archive());
    let list = list("1.0.0", &json!({ "node_modules/native": native }));
    registry(&people.env, Some(&list));
    let install = |root: &str| -> Value {
        let mut command = people.command(&["install", "own", "--no-check", "--json", "--index"]);
        let command = command.arg(people.env.path("r")).env("ACP_REGISTRY_ROOT", people.env.path(root));
        let run = with_npm(&people, command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    };
    let installed = install("one");
    assert_eq!((&installed["verified"], &installed["scripts_ignored_by"]), (&json!("npm"), &json!("registry")));
    assert_eq!(installed["scripts_not_run"], json!(["native@2.0.0"]));
    assert!(!called(&people).contains("install") && !called(&people).contains("rebuild"), "{}", called(&people));
    let kept = Path::new(installed["install_dir"].as_str().unwrap()).join("files/package-lock.json");
    assert_eq!(fs::read_to_string(kept).unwrap(), list);
    people.env.write("r/registry.toml", format!("[npm.own]\nallow-scripts = [\"native@2.0.0 {integrity}\"]\n"));
    let mut command = people.command(&["install", "own", "--no-check", "--index"]);
    let command = command.arg(people.env.path("r")).env("ACP_REGISTRY_ROOT", people.env.path("two"));
    let run = with_npm(&people, command);
    assert!(run.code == 0 && called(&people).contains("rebuild"), "{} {}", run.stderr, called(&people));
    // A mistake in the configuration does not take the approval back in silence.
    people.env.write("r/registry.toml", "[npm.own]\nallow-script = []\n");
    let mut command = people.command(&["install", "own", "--no-check", "--index"]);
    let run = with_npm(&people, command.arg(people.env.path("r")).env("ACP_REGISTRY_ROOT", people.env.path("three")));
    assert!(run.code == 2 && run.stderr.contains("2 | allow-script = []"), "{}", run.stderr);
    people.env.write("r/registry.toml", "");
    // Other packages are not taken instead.
    people.env.write("r/own/package-lock.json", list.replace("\"version\":\"1.0.0\"", "\"version\":\"0.9.0\""));
    let mut command = people.command(&["install", "own", "--no-check", "--index"]);
    let run = with_npm(&people, command.arg(people.env.path("r")).env("ACP_REGISTRY_ROOT", people.env.path("three")));
    assert!(run.code == 3 && run.stderr.contains("own/package-lock.json cannot be used: "), "{}", run.stderr);
}

/// A machine with these of the stand-ins for npm and Node.js, and no other programs.
fn keep_only(people: &People, programs: &[&str]) -> PathBuf {
    let folder = people.env.path("only");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    for name in programs {
        fs::copy(people.env.path("bin").join(name), folder.join(name)).unwrap();
    }
    folder
}

#[test]
fn an_agent_whose_packages_are_listed_is_installed_without_npm_and_without_node() {
    let people = people();
    let starts = format!("case $1 in --version) echo v24.0.0 ;; *) exec {} ok ;; esac", fake_agent().display());
    people.env.write_program("bin/node", &format!("#!/bin/sh\n{starts}\n"));
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let folder = keep_only(&people, &[]);
    let command = |arguments: &[&str], more: &[(&str, String)]| {
        let mut command = people.command(arguments);
        command.env("PATH", &folder).env("ACP_REGISTRY_PATH", &folder);
        Run::of(command.envs(more.iter().map(|(name, value)| (name, value))))
    };
    let registry = [("ACP_REGISTRY_NPM", people.server.url("/npm/"))];
    let parse = |run: &Run| serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));

    // Only npm would know its registry.
    let run = command(&["install", "own"], &[]);
    let why =
        "node is not in PATH, and is needed: no npm registry is known: neither Node.js with npm nor ACP_REGISTRY_NPM";
    assert!(run.code == 3 && run.stderr.contains(why), "{}", run.stderr);
    let run = command(&["resolve", "own"], &[]);
    assert!(run.code == 3 && run.stderr.contains(why), "{}", run.stderr);
    assert_eq!(command(&["resolve", "own"], &registry).code, 0);
    // What needs npm after all is not promised.
    let mut scripted: Value = serde_json::from_str(&list("1.0.0", &json!({}))).unwrap();
    scripted["packages"]["node_modules/own"]["hasInstallScript"] = true.into();
    people.env.write("r/own/package-lock.json", scripted.to_string());
    let setting = |name, value: &str| [registry[0].clone(), (name, value.to_owned())];
    let index = people.env.path("r");
    for (arguments, more, why) in [
        (vec!["--index", index.to_str().unwrap()], &registry[..], "its packages have install scripts"),
        (vec!["--no-cache"], &registry, "packages are not kept"),
        (vec![], &setting("npm_config_strict_ssl", "true"), "npm has the setting `strict-ssl`, which only it obeys"),
    ] {
        let run = command(&[&["install", "own", "--dry-run"], &arguments[..]].concat(), more);
        let why = format!("node is not in PATH, and is needed: {why}\n");
        assert!(run.code == 3 && run.stderr.contains(&why), "{}", run.stderr);
    }
    let run = command(&["install", "own", "--offline", "--json", "--index", index.to_str().unwrap()], &registry);
    assert_eq!((run.code, &parse(&run)["error"]["code"]), (3, &json!("offline")), "{}", run.stderr);
    // What is there already needs no npm.
    let mut with_scripts = people.command(&["install", "own", "--no-check", "--index", index.to_str().unwrap()]);
    let root = ("ACP_REGISTRY_ROOT", people.env.path("scripted").display().to_string());
    assert_eq!(with_npm(&people, with_scripts.env(root.0, &root.1)).code, 0);
    fs::remove_file(people.env.path("bin/called")).unwrap();
    let arguments = ["install", "own", "--no-check", "--index", index.to_str().unwrap()];
    let run = command(&arguments, &[registry[0].clone(), root]);
    assert!(run.code == 0 && run.stdout.contains("is installed"), "{} {}", run.stdout, run.stderr);
    let ignored = setting("npm_config_ignore_scripts", "true");
    let arguments = ["install", "own", "--dry-run", "--index", index.to_str().unwrap()];
    assert_eq!(command(&arguments, &ignored).code, 0);
    let run = command(&["install", "own", "--json"], &registry);
    let installed = parse(&run);
    assert_eq!((run.code, &installed["installed"]), (0, &json!(true)), "{}", run.stderr);
    assert_eq!((&installed["program"], &installed["answers"]), (&Value::Null, &json!(false)), "{installed}");
    assert!(run.stderr.contains("own is installed, but does not answer: `node` is not in PATH"), "{}", run.stderr);
    let listed = parse(&command(&["list", "--installed", "--json"], &[]));
    assert_eq!((&listed["agents"][0]["id"], &listed["errors"]), (&json!("own"), &json!([])), "{listed}");
    for arguments in [&["which", "own"], &["run", "own"]] {
        let run = command(arguments, &[]);
        assert!(run.code == 3 && run.stderr.contains("own needs node, which is not in PATH\n"), "{}", run.stderr);
    }
    assert_eq!(parse(&command(&["which", "own", "--json"], &[]))["error"]["code"], json!("missing_runtime"));
    let run = command(&["doctor", "own"], &[]);
    assert!(run.code == 1 && run.stdout.contains("it needs `node`, which is not in PATH\n"), "{}", run.stdout);

    // Node.js alone starts it, and is remembered.
    keep_only(&people, &["node"]);
    let run = command(&["doctor", "own"], &[]);
    let now = format!("`1.0.0` is started by {}\n", folder.join("node").display());
    assert!(run.code == 0 && run.stdout.contains(&now), "{}", run.stdout);
    assert_eq!(command(&["doctor", "own", "--fix"], &[]).code, 0);
    let which =
        people.command(&["which", "own", "--json"]).env("PATH", "").env("ACP_REGISTRY_PATH", "").output().unwrap();
    let which: Value = serde_json::from_slice(&which.stdout).unwrap();
    assert_eq!(which["program"], json!(folder.join("node")), "{which}");
    assert_eq!(called(&people), "");
}

#[test]
fn what_is_kept_is_installed_offline_and_nothing_else() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let install = |root: &str, more: &[&str]| {
        let mut command = people.command(&[&["install", "own", "--no-check", "--json"], more].concat());
        with_npm(&people, command.env("ACP_REGISTRY_ROOT", people.env.path(root)))
    };
    assert_eq!(install("first", &["--lock", "x.lock"]).code, 0);
    let requests = people.server.asked().len();
    for (root, more) in [("second", &["--offline"] as &[_]), ("third", &["--offline", "--locked", "--lock", "x.lock"])]
    {
        assert_eq!(install(root, &[more, &["--dry-run"]].concat()).code, 0);
        let run = install(root, more);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    for more in [&["--no-cache"] as &[_], &["--require", "attested"]] {
        let run = install("fourth", &[&["--offline"], more].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["errors"][0]["code"]), (3, &json!("offline")), "{} {document}", run.stderr);
    }
    // Files that the store of packages has as well are not freed.
    let second = people.env.path("second");
    let own = |file: &String| Some(second.join(file).metadata().ok()?).filter(|metadata| metadata.nlink() == 1);
    let bytes: u64 = files(&second.join("agents"))
        .iter()
        .filter_map(|file| own(&format!("agents/{file}")))
        .map(|file| file.len())
        .sum();
    let mut command = people.command(&["uninstall", "own", "--json"]);
    let run = Run::of(command.env("ACP_REGISTRY_ROOT", &second));
    let freed = serde_json::from_str::<Value>(&run.stdout).unwrap()["freed_bytes"].as_u64().unwrap();
    assert!(freed > 0 && freed <= bytes, "{freed} {bytes} {}", run.stderr);
    // One package was changed, and then it is gone.
    let stored = files(&people.env.path("home")).into_iter().find(|file| file.ends_with("/files/cli.js")).unwrap();
    let stored = people.env.path("home").join(stored);
    fs::write(&stored, "#!/usr/bin/env node\n// other\n").unwrap();
    for (root, more) in [("fifth", &["--dry-run"] as &[_]), ("fifth", &[])] {
        let run = install(root, &[&["--offline"], more].concat());
        assert!(
            run.code == 3 && run.stderr.contains("own 1.0.0 is not installed, and installing it needs the network"),
            "{}",
            run.stderr
        );
    }
    fs::remove_dir_all(stored.ancestors().nth(2).unwrap()).unwrap();
    let run = install("sixth", &["--offline"]);
    assert!(run.code == 3 && run.stderr.contains("own 1.0.0 is not installed"), "{}", run.stderr);
    assert_eq!((people.server.asked().len(), called(&people).as_str()), (requests, ""));
}

#[test]
fn without_npm_other_bytes_and_a_server_that_fails_are_called_what_they_are() {
    let people = people();
    registry(&people.env, Some(&list("1.0.0", &json!({}))));
    build(&people.env, "tree");
    serve(&people, &people.env.path("tree"));
    let folder = keep_only(&people, &[]);
    let other = gz(&tar(&[("package/package.json", br#"{"bin":"cli.js"}"#), ("package/cli.js", b"// evil\n")]));
    for (answer, code, name, part) in [
        (ok(other), 4, "digest_mismatch", "own-1.0.0.tgz does not have the SHA-512 of the list of packages"),
        (not_found(), 3, "install_failed", "own-1.0.0.tgz answers 404"),
    ] {
        people.answer("/npm/own/-/own-1.0.0.tgz", answer);
        let mut command = people.command(&["install", "own", "--no-check", "--json"]);
        command.env("PATH", &folder).env("ACP_REGISTRY_PATH", &folder);
        let run = Run::of(command.env("ACP_REGISTRY_NPM", people.server.url("/npm/")));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["errors"][0]["code"]), (code, &json!(name)), "{} {document}", run.stderr);
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}
