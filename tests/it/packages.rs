//! Agents installed by a package manager.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::agents::text;
use crate::people::{People, entry, host};
use crate::support::{Run, wait_until};

/// An `npm` that installs a package after a delay, or never ends.
const NPM: &str = r#"#!/bin/sh
words="$*"
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; esac
  shift
done
case "$words" in
  *p@9.9.9*) echo "npm error code ETARGET
npm error notarget No matching version found for p@9.9.9." >&2; exit 1 ;;
  *p@8.*) echo "npm error code E404
npm error 404 Not Found - GET https://registry.example/p
npm error 404
npm error 404  The requested resource 'p@8.8.8' could not be found or you do not have permission to access it." >&2; exit 1 ;;
  *p@7.*) echo "npm error code EAI_AGAIN
npm error request to https://registry.example/p failed, reason: getaddrinfo EAI_AGAIN registry.example" >&2; exit 1 ;;
  *p@6.*) echo "npm error code E403
npm error 403 403 Forbidden - GET https://registry.example/p" >&2; exit 1 ;;
  *p@5.*) echo "npm error code ENOSPC
npm error nospc ENOSPC: no space left on device, write" >&2; exit 228 ;;
  view*) echo 1.2.3; exit ;;
esac
[ -n "$prefix" ] || exit 0
while [ -e "${0%/*}/fetching" ]; do
  [ -n "$told" ] || echo "npm http fetch GET 200 https://h.example/p/-/p-1.0.0.tgz 3ms (cache miss)" >&2
  told=1; sleep 0.01
done
if [ -e "${0%/*}/slow" ]; then
  echo > "${0%/*}/started"
  while :; do mkdir -p "$prefix/node_modules/late"; echo late > "$prefix/node_modules/late/file"; sleep 0.01; done
fi
mkdir -p "$prefix/node_modules/p"
echo '{"bin":"cli.js"}' > "$prefix/node_modules/p/package.json"
printf '#!/usr/bin/env -S node --flag\n' > "$prefix/node_modules/p/cli.js"
"#;

/// A store, and an agent that a script in place of npm installs.
pub(crate) fn with_npm() -> People {
    let people = People::new();
    for (name, script) in [("npm", NPM), ("node", "#!/bin/sh\necho node \"$@\"\n")] {
        people.env.write_program(&format!("bin/{name}"), script);
    }
    let package = json!({ "package": "p@1.0.0", "args": ["acp"], "env": { "EXAMPLE": "1" } });
    people.publish(&[entry("p", "1.0.0", &json!({ "npx": package }))]);
    people
}

/// What `resolve` shows starts the agent, as what `which` prints does.
#[test]
fn resolve_shows_the_whole_command_line_of_an_installed_package() {
    let people = with_npm();
    let resolve = || Run::of(&mut npm_command(&people, &["resolve", "p"]));
    let value = |text: &str, name: &str| {
        text.lines().find_map(|line| line.trim_start().strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let text = resolve().stdout;
    assert_eq!((value(&text, "program"), value(&text, "args").as_deref()), (None, Some("acp")), "{text}");
    assert_eq!(Run::of(&mut npm_command(&people, &["install", "p", "--no-check"])).code, 0);
    let which = Run::of(&mut npm_command(&people, &["which", "p"])).stdout;
    let text = resolve().stdout;
    let [program, args] = ["program", "args"].map(|name| value(&text, name).unwrap());
    assert!(args.ends_with("files/node_modules/p/cli.js acp"), "{text}");
    assert_eq!(which, format!("EXAMPLE=1 {program} {args}\n"));
}

pub(crate) fn npm_command(people: &People, arguments: &[&str]) -> Command {
    let mut command = people.command(arguments);
    command.env("PATH", format!("{}:{}", people.env.path("bin").display(), std::env::var("PATH").unwrap()));
    command
}

#[test]
fn a_script_is_run_by_the_node_that_was_found_or_by_another_one() {
    let people = with_npm();
    let run = Run::of(&mut npm_command(&people, &["install", "p", "--json"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let installed: Value = serde_json::from_str(&run.stdout).unwrap();
    let node = people.env.path("bin/node");
    let file = format!("{}/files/node_modules/p/cli.js", text(&installed, "install_dir"));
    assert_eq!(text(&installed, "program"), node.to_str().unwrap());
    assert_eq!(installed["args"], json!(["--flag", file, "acp"]));
    assert_eq!((&installed["env"], text(&installed, "distribution")), (&json!({ "EXAMPLE": "1" }), "npx"));
    // `PATH` has no node, and does not need one.
    let empty = people.env.path("empty");
    let run = Run::of(people.command(&["run", "p", "--", "x"]).env("PATH", &empty));
    assert_eq!(run.stdout, format!("node --flag {file} acp x\n"), "{}", run.stderr);
    // Node.js has moved.
    fs::create_dir(people.env.path("moved")).unwrap();
    fs::rename(&node, people.env.path("moved/node")).unwrap();
    let run = Run::of(people.command(&["run", "p"]).env("PATH", &empty));
    assert!(
        run.code == 3 && run.stderr.contains("p needs node, which is not in PATH any more\nhelp: "),
        "{}",
        run.stderr
    );
    let run = Run::of(
        people.command(&["run", "p"]).env("PATH", format!("{}:/usr/bin:/bin", people.env.path("moved").display())),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_program_is_told_how_far_npm_is() {
    let people = with_npm();
    people.env.write("bin/fetching", "");
    let mut command = npm_command(&people, &["install", "p", "--no-check", "--progress", "json"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find(|line| line.contains("fetching packages: 1")).expect("npm is not heard");
    let event: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((text(&event, "phase"), text(&event, "program"), text(&event, "id")), ("running", "npm", "p"));
    fs::remove_file(people.env.path("bin/fetching")).unwrap();
    assert!(lines.all(|line| !line.contains("npm http")));
    assert!(child.wait().unwrap().success());
}

#[test]
fn no_package_manager_survives_its_installation() {
    for signal in [nix::sys::signal::Signal::SIGKILL, nix::sys::signal::Signal::SIGINT] {
        let people = with_npm();
        people.env.write("bin/slow", "");
        let mut child =
            npm_command(&people, &["install", "p"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("npm is started", || people.env.path("bin/started").exists());
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        let status = child.wait().unwrap();
        if signal == nix::sys::signal::Signal::SIGINT {
            assert_eq!((status.code(), people.left()), (Some(130), Vec::new()));
        } else if !cfg!(target_os = "linux") {
            continue;
        }
        let folder = people.env.path("").canonicalize().unwrap();
        let running = || crate::agent::left_with("environ", folder.to_str().unwrap());
        if signal == nix::sys::signal::Signal::SIGKILL {
            // The installation continues until the next command.
            let run = people.run(&["uninstall", "--all"]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(running(), [] as [u32; 0]);
            assert!(people.is_gone(), "{:?}", people.left());
        }
        fs::remove_file(people.env.path("bin/slow")).unwrap();
        let run = Run::of(&mut npm_command(&people, &["install", "p"]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        // No process is left that could write into the new installation.
        assert_eq!(running(), [] as [u32; 0]);
        let left = people.left();
        assert!(left.iter().all(|name| !name.contains("late") && !name.contains("/.")), "{left:?}");
    }
}

#[test]
fn a_repair_that_fails_or_is_interrupted_loses_nothing() {
    let people = with_npm();
    let run = Run::of(&mut npm_command(&people, &["install", "p", "--json"]));
    let installed: Value = serde_json::from_str(&run.stdout).unwrap();
    let folder = PathBuf::from(text(&installed, "install_dir"));
    fs::remove_file(folder.join("files/node_modules/p/package.json")).unwrap();
    let starts = || {
        let run = Run::of(&mut npm_command(&people, &["run", "p", "--offline"]));
        assert!(run.code == 0 && run.stdout.contains("files/node_modules/p/cli.js acp"), "{}", run.stderr);
        let left = people.left();
        assert!(left.iter().all(|name| !name.contains("late") && !name.contains("/.")), "{left:?}");
    };
    people.env.write_program("bin/npm", "#!/bin/sh\nexit 1\n");
    let run = Run::of(&mut npm_command(&people, &["install", "p"]));
    assert!(run.code != 0 && run.stderr.contains("npm failed"), "{} {}", run.code, run.stderr);
    starts();
    people.env.write_program("bin/npm", NPM);
    people.env.write("bin/slow", "");
    let mut repair = npm_command(&people, &["install", "p"]);
    let mut child = repair.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("npm is started", || people.env.path("bin/started").exists());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), nix::sys::signal::Signal::SIGINT)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    starts();
}

#[cfg(target_os = "linux")]
#[test]
fn a_repair_that_is_killed_loses_nothing() {
    let people = with_npm();
    let json = |arguments: &[&str]| {
        let run = Run::of(&mut npm_command(&people, arguments));
        (run.code, serde_json::from_str::<Value>(&run.stdout).unwrap())
    };
    let (_, installed) = json(&["install", "p", "--json"]);
    let folder = PathBuf::from(text(&installed, "install_dir"));
    fs::remove_file(folder.join("files/node_modules/p/package.json")).unwrap();
    people.env.write("bin/slow", "");
    let kill_repair = || {
        let mut repair = npm_command(&people, &["install", "p"]);
        let mut child = repair.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("npm is started", || people.env.path("bin/started").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        // A process that it was about to start has its lock for a moment, and the version counts as being changed.
        let which = || Run::of(&mut npm_command(&people, &["which", "p"]));
        wait_until("the lock is free", || !which().stderr.contains("is not installed"));
    };
    kill_repair();
    let run = Run::of(&mut npm_command(&people, &["which", "p"]));
    assert!(run.code == 3 && run.stderr.contains("help: `acp-registry doctor --fix p` repairs it"), "{}", run.stderr);
    let run = Run::of(&mut npm_command(&people, &["list", "--installed"]));
    assert!(run.stderr.contains("warning: ") && !run.stderr.contains("nothing is installed"), "{}", run.stderr);
    let run = Run::of(&mut npm_command(&people, &["doctor"]));
    let help = "`acp-registry gc` removes them, and puts back the version that was being repaired";
    assert!(run.stdout.contains(help), "{}", run.stdout);
    let planned = Run::of(&mut npm_command(&people, &["gc", "--dry-run"]));
    // Also the half of a version that npm has left, and still changes.
    let would = "would put back p 1.0.0, whose repair was interrupted\nwould remove files of interrupted runs, ";
    assert!(planned.code == 0 && planned.stdout.starts_with(would), "{}{}", planned.stdout, planned.stderr);
    let run = Run::of(&mut npm_command(&people, &["uninstall", "p", "--dry-run"]));
    assert!(run.code == 0 && !run.stdout.contains(" 0 B"), "{}", run.stdout);
    let run = Run::of(&mut npm_command(&people, &["gc"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let done = "put back p 1.0.0, whose repair was interrupted\nremoved files of interrupted runs, ";
    assert!(run.stdout.starts_with(done), "{}", run.stdout);
    // The program that was left works.
    let run = Run::of(&mut npm_command(&people, &["run", "p"]));
    assert!(run.code == 0 && run.stdout.contains("files/node_modules/p/cli.js acp"), "{}", run.stderr);
    // To start an agent, the version is put back, too.
    fs::remove_file(people.env.path("bin/started")).unwrap();
    kill_repair();
    let run = Run::of(&mut npm_command(&people, &["run", "p", "--offline"]));
    assert!(run.code == 0 && run.stdout.contains("files/node_modules/p/cli.js acp"), "{}", run.stderr);
    fs::remove_file(people.env.path("bin/slow")).unwrap();
    assert_eq!(json(&["install", "p", "--json"]).0, 0);
    assert!(folder.join("files/node_modules/p/package.json").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn npm_is_given_no_path_that_it_would_read_as_another() {
    use std::os::unix::ffi::OsStrExt as _;

    let people = with_npm();
    let root = people.env.path("").join(std::ffi::OsStr::from_bytes(b"r\xff"));
    let run = Run::of(npm_command(&people, &["install", "p"]).arg("--root").arg(&root));
    assert!(run.code == 3 && run.stderr.contains("npm needs a path in Unicode"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhelp: name another directory with --root"), "{}", run.stderr);
}

#[test]
fn a_version_that_npm_lacks_is_told_with_the_newest() {
    let people = with_npm();
    let run = Run::of(&mut npm_command(&people, &["install", "p@9.9.9"]));
    // Like any other missing version.
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("npm has no version 9.9.9 of `p`; newest 1.2.3\n"), "{}", run.stderr);
    assert!(run.stderr.ends_with("help: did you mean `1.2.3`?\n"), "{}", run.stderr);
    assert_eq!(Run::of(&mut npm_command(&people, &["run", "p@9.9.9"])).code, 2);
    assert_eq!(people.left(), [] as [&str; 0]);
    // The user cannot correct the version in the index.
    people.publish(&[entry("p", "9.9.9", &json!({ "npx": { "package": "p@9.9.9" } }))]);
    let run = Run::of(&mut npm_command(&people, &["install", "p", "--refresh"]));
    assert!(run.code == 3 && !run.stderr.contains("did you mean"), "{} {}", run.code, run.stderr);
}

/// A `uv` that has no package `nothing`, and only version 1.4.5 of others.
const UV: &str = r#"#!/bin/sh
case "$*" in
  *compile*) cat wanted.txt | sed s/$/==1.4.5/; exit ;;
  *nothing*) told="nothing was not found in the package registry and you require nothing==99.0" ;;
  *) told="there is no version of my-tool[acp]==99.0 and you require my-tool[acp]==99.0" ;;
esac
echo "error: No solution found when resolving dependencies
  cause: Because $told, we can conclude that your requirements are unsatisfiable." >&2
exit 1
"#;

#[test]
fn a_package_or_version_that_the_python_index_lacks_is_told() {
    let people = with_npm();
    people.env.write_program("bin/uv", UV);
    let uvx = |package: &str| json!({ "uvx": { "package": format!("{package}==1.0") } });
    people.publish(&[entry("a", "1.0", &uvx("nothing")), entry("b", "1.0", &uvx("My_Tool[acp]"))]);
    for (agent, code, name, part) in [
        ("a@99.0", 3, "package_not_found", "the Python package index has no package `nothing`"),
        (
            "b@99.0",
            2,
            "unknown_version",
            "the Python package index has no version 99.0 of `My_Tool`; newest for this Python 1.4.5",
        ),
    ] {
        let run = Run::of(&mut npm_command(&people, &["install", agent, "--json"]));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &document["error"]["code"]), (code, &json!(name)), "{document}");
        assert!(text(&document["error"], "message").ends_with(part), "{document}");
    }
    assert_eq!(people.left(), [] as [&str; 0]);
}

#[test]
fn what_keeps_npm_from_its_registry_is_named_with_what_helps() {
    const NETWORK: &str = "help: check the network and the name server of this machine\n";
    const PROXY: &str = "help: check that proxy, or correct or unset the variable that names it";
    let people = with_npm();
    for (version, proxy, part, help) in [
        ("8.8.8", "", "npm has no package `p`\n", None),
        ("7.7.7", "", "getaddrinfo EAI_AGAIN registry.example`\n", Some(NETWORK)),
        (
            "7.7.7",
            "http://me:secret@127.0.0.1:1",
            "EAI_AGAIN registry.example`; npm asked through the proxy http://127.0.0.1:1 (HTTPS_PROXY)\n",
            Some(PROXY),
        ),
        ("6.6.6", "", "403 Forbidden - GET https://registry.example/p`\n", None),
        ("6.6.6", "http://127.0.0.1:1", "npm asked through the proxy http://127.0.0.1:1 (HTTPS_PROXY)\n", Some(PROXY)),
        ("5.5.5", "http://127.0.0.1:1", "no space left on device, write`\n", Some("free space on the disk of /")),
        // Package managers may ignore such a variable, and ask past the proxy.
        (
            "8.8.8",
            "nonsense",
            "the environment variable HTTPS_PROXY is `nonsense`",
            Some("help: correct or unset it\n"),
        ),
    ] {
        let mut command = npm_command(&people, &["install", &format!("p@{version}")]);
        let run = Run::of(command.env("HTTPS_PROXY", proxy));
        assert_eq!(run.code, 3, "{version} {}", run.stderr);
        assert!(run.stderr.contains(part) && !run.stderr.contains("secret"), "{version} {}", run.stderr);
        assert_eq!(run.stderr.contains("help: "), help.is_some(), "{version} {}", run.stderr);
        assert!(help.is_none_or(|help| run.stderr.contains(help)), "{version} {}", run.stderr);
    }
}

#[test]
fn an_archive_that_cannot_be_installed_leads_to_the_package() {
    let people = with_npm();
    let mut agent = people.agent_of("a", "1.0.0", b"no archive", None);
    people.publish(&[agent.clone()]);
    let run = Run::of(&mut npm_command(&people, &["install", "a"]));
    assert!(run.code == 3 && !run.stderr.contains("--dist"), "{} {}", run.code, run.stderr);
    agent["distribution"]["npx"] = json!({ "package": "p@1.0.0" });
    people.publish(&[agent.clone()]);
    let run = Run::of(&mut npm_command(&people, &["install", "a", "--refresh"]));
    let help = "help: take its package: `acp-registry install a --dist npx`\n";
    assert!(run.code == 3 && run.stderr.ends_with(help), "{} {}", run.code, run.stderr);
    let run = Run::of(&mut npm_command(&people, &["run", "a"]));
    assert!(run.stderr.ends_with("help: take its package: `acp-registry run a --dist npx`\n"), "{}", run.stderr);
    // Also if the host of the archive is missing, for which the help differs.
    let mut dead = people.agent_of("b", "1.0.0", b"no archive", None);
    dead["distribution"]["binary"][host()]["archive"] = "https://no-such-host.invalid/b.tar.gz".into();
    dead["distribution"]["npx"] = json!({ "package": "p@1.0.0" });
    people.publish(&[agent, dead]);
    let run = Run::of(&mut npm_command(&people, &["install", "b", "--refresh"]));
    let help = "; or take its package: `acp-registry install b --dist npx`\n";
    assert!(run.code == 3 && run.stderr.contains("help: check the network"), "{}", run.stderr);
    assert!(run.stderr.ends_with(help), "{}", run.stderr);
    let (_, without) = people.json(&["install", "a", "--dist", "binary"]);
    assert_eq!(without["error"]["code"], "install_failed");
    assert_eq!(Run::of(&mut npm_command(&people, &["install", "a", "--dist", "npx"])).code, 0);
}
