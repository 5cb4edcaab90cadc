//! Whole messages, as people read them: what is wrong, and one remedy.
#![cfg(unix)]

use std::fs;

use serde_json::json;

use crate::archives::{gz, tar};
use crate::people::{People, archive, host};
use crate::support::{ICON, manifest};

/// What a person sees of these command lines, and the exit codes. Addresses and directories are those of every run.
fn transcript(people: &People, lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let run = people.run(&words);
        out.push_str(&format!("$ acp-registry {line}\n{}{}[{}]\n\n", run.stdout, run.stderr, run.code));
    }
    let folder = people.env.path("").display().to_string();
    let out = out
        .replace(&people.server.url(""), "https://registry.example")
        .replace(&people.server.host, "registry.example");
    let out = out.replace(folder.trim_end_matches('/'), "DIR").replace(host(), "HOST");
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A registry whose agent `a` can be installed; the others have something against it.
fn people() -> People {
    let people = People::new();
    let wrong = "0".repeat(64);
    let outside = gz(&tar(&[("../agent", b"#!/bin/sh\n")]));
    let elsewhere = gz(&tar(&[("x/bin/agent", b"#!/bin/sh\n")]));
    let mut other = people.agent("other", "1.0.0");
    let target = other["distribution"]["binary"][host()].take();
    other["distribution"]["binary"] = json!({ "windows-aarch64": target });
    people.publish(&[
        people.agent("a", "1.0.0"),
        people.agent_of("wrong", "1.0.0", &archive("x"), Some(&wrong)),
        people.agent_of("outside", "1.0.0", &outside, None),
        people.agent_of("elsewhere", "1.0.0", &elsewhere, None),
        people.agent("bad", "1.0.0"),
        other,
    ]);
    let recall =
        json!({ "id": "bad", "versions": "*", "level": "revoked", "reason": "It reads keys", "since": "2026-01-31" });
    people.serve("/revoked.json", json!({ "schema": 1, "revoked": [recall] }).to_string());
    people
}

#[test]
fn installing_and_starting() {
    let people = people();
    insta::assert_snapshot!(transcript(&people, &[
        "run a --offline",
        "install",
        "install A",
        "install elsewere",
        "install a@2.0.0",
        "install a --dist npx",
        "install a a",
        "install a@latest@1",
        "install other",
        "install wrong",
        "install outside",
        "install elsewhere",
        "install bad",
        "install a --lock no/where.json",
        "install --locked",
        "install a --install-timeout soon",
        "run a --platform windows-aarch64",
        "update a@1.0.0",
        "update a",
        "uninstall a",
        "which a",
        "login a",
        "doctor a",
    ]), @r#"
    $ acp-registry run a --offline
    error: there is no copy of https://registry.example/registry.json from an earlier run
    help: leave out --offline once
    [3]

    $ acp-registry install
    error: the following required arguments were not provided:
      <ID[@VERSION]>...

    Usage: acp-registry install <ID[@VERSION]>...

    For more information, try '--help'.
    [2]

    $ acp-registry install A
    error: there is no agent `A` in the registry index
    help: did you mean `a`?
    [2]

    $ acp-registry install elsewere
    error: there is no agent `elsewere` in the registry index
    help: did you mean `elsewhere`?
    [2]

    $ acp-registry install a@2.0.0
    error: version `2.0.0` of `a` is not known; known here: `1.0.0`; its archives have addresses for these versions only
    help: name a known version, or take it from a lock file that has it, with `acp-registry install --locked`
    [2]

    $ acp-registry install a --dist npx
    error: `a` 1.0.0 has no distribution npx; it has `binary`
    help: leave out `--dist`, or write `--dist binary`
    [2]

    $ acp-registry install a a
    error: `a` is named twice
    [2]

    $ acp-registry install a@latest@1
    error: version `latest@1` of `a` is not known; known here: `1.0.0`; its archives have addresses for these versions only
    help: name a known version, or take it from a lock file that has it, with `acp-registry install --locked`
    [2]

    $ acp-registry install other
    error: `other` 1.0.0 is not made for HOST; its archives are for `windows-aarch64`
    [2]

    $ acp-registry install wrong
    error: `wrong` was not installed: the archive has the SHA-256 cd08398837c702a162c41b060ec70c59558f7aec10cc0acf61ffd73c7f53bbe9, but the manifest says `0000000000000000000000000000000000000000000000000000000000000000`
    help: tell the agent's publisher that its archive is not the one that was published
    [4]

    $ acp-registry install outside
    error: `outside` was not installed: in the archive, the entry `../agent` leads out of the archive by `..`
    [4]

    $ acp-registry install elsewhere
    error: `elsewhere` was not installed: `./bin/agent` is not in the archive; found `x/bin/agent`
    help: in the manifest, set `cmd` to `./x/bin/agent`
    [3]

    $ acp-registry install bad
    error: bad 1.0.0 has been revoked since 2026-01-31: It reads keys
    help: if you trust it all the same, add `--allow-revoked bad@1.0.0`
    [4]

    $ acp-registry install a --lock no/where.json
    error: no/where.json: No such file or directory (os error 2)
    help: create the directory or make it writable, or name another file with --lock
    [3]

    $ acp-registry install --locked
    error: the lock file acp-registry.lock: there is no such file
    help: write it with `acp-registry install ID --lock acp-registry.lock`
    [3]

    $ acp-registry install a --install-timeout soon
    error: invalid value 'soon' for '--install-timeout <DURATION>': write a number with s, m, h, d or w, such as 3d

    For more information, try '--help'.
    [2]

    $ acp-registry run a --platform windows-aarch64
    error: an agent for another platform cannot be run here
    help: leave `--platform` out
    [2]

    $ acp-registry update a@1.0.0
    error: `update` moves to the version in the index, and `a@1.0.0` names another
    help: run `acp-registry install a@1.0.0`
    [2]

    $ acp-registry update a
    error: `a` is not installed in DIR/data
    help: run `acp-registry install a`
    [2]

    $ acp-registry uninstall a
    error: `a` is not installed in DIR/data
    help: `acp-registry list --installed` shows what is installed
    [2]

    $ acp-registry which a
    error: `a` is not installed in DIR/data
    help: run `acp-registry install a`
    [2]

    $ acp-registry login a
    error: `a` is not installed in DIR/data
    help: run `acp-registry install a`
    [2]

    $ acp-registry doctor a
    error: `a` is not installed in DIR/data
    help: run `acp-registry install a`
    [2]
    "#);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    fs::write(people.root().join("agents/a/current"), "{").unwrap();
    insta::assert_snapshot!(transcript(&people, &["run a", "list --installed", "update a"]), @r#"
    $ acp-registry run a
    error: DIR/data/agents/a/current is damaged (EOF while parsing an object at line 1 column 1)
    help: `acp-registry doctor --fix a` repairs it
    [3]

    $ acp-registry list --installed
    warning: DIR/data/agents/a/current is damaged (EOF while parsing an object at line 1 column 1)
    help: `acp-registry doctor --fix a` repairs it
    [0]

    $ acp-registry update a
    error: a: DIR/data/agents/a/current is damaged (EOF while parsing an object at line 1 column 1)
    help: `acp-registry doctor --fix a` repairs it
    [3]
    "#);
}

#[test]
fn looking_and_setting_up() {
    let people = people();
    insta::assert_snapshot!(transcript(&people, &[
        "info elsewere",
        "info a@2.0.0",
        "search nothing-like-this",
        "resolve other",
        "config zed",
        "config a zed",
        "config zeb a",
        "config zed nothing",
        "list --index no-such-file.json",
        "list --index http://192.0.2.1/registry.json",
        "lst",
        "list --formt json",
        "explain manifest/nothing",
        "completions tcl",
    ]), @r#"
    $ acp-registry info elsewere
    error: there is no agent `elsewere` in the registry index
    help: did you mean `elsewhere`?
    [2]

    $ acp-registry info a@2.0.0
    error: version `2.0.0` of `a` is not known; known here: `1.0.0`; its archives have addresses for these versions only
    help: name a known version, or take it from a lock file that has it, with `acp-registry install --locked`
    [2]

    $ acp-registry search nothing-like-this
    note: nothing was found
    note: no agent mentions `nothing-like-this`
    [0]

    $ acp-registry resolve other
    error: `other` 1.0.0 is not made for HOST; its archives are for `windows-aarch64`
    [2]

    $ acp-registry config zed
    error: the following required arguments were not provided:
      <ID[@VERSION]>

    Usage: acp-registry config <CLIENT> <ID[@VERSION]>

    For more information, try '--help'.
    [2]

    $ acp-registry config a zed
    error: invalid value 'a' for '<CLIENT>' [possible values: zed, jetbrains, codecompanion, avante, emacs, vscode, obsidian, qtcreator, jupyter, acpx, cli]
    help: the client comes first: `acp-registry config zed a`
    [2]

    $ acp-registry config zeb a
    error: invalid value 'zeb' for '<CLIENT>'
      [possible values: zed, jetbrains, codecompanion, avante, emacs, vscode, obsidian, qtcreator, jupyter, acpx, cli]

      tip: a similar value exists: 'zed'

    For more information, try '--help'.
    [2]

    $ acp-registry config zed nothing
    error: there is no agent `nothing` in the registry index
    help: run `acp-registry search WORD` to find agents
    [2]

    $ acp-registry list --index no-such-file.json
    error: the registry index no-such-file.json: there is no such file
    help: name another index with --index
    [3]

    $ acp-registry list --index http://192.0.2.1/registry.json
    error: the registry index was not fetched, and there is no copy of an earlier one: http://192.0.2.1/registry.json is refused: it does not begin with https://
    help: if you trust its host, run it again with `--allow-host 192.0.2.1`
    [3]

    $ acp-registry lst
    error: unrecognized subcommand 'lst'

      tip: some similar subcommands exist: 'ls', 'list'

    Usage: acp-registry [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [2]

    $ acp-registry list --formt json
    error: unexpected argument '--formt' found

      tip: a similar argument exists: '--format'

    Usage: acp-registry list --format <FORMAT>

    For more information, try '--help'.
    [2]

    $ acp-registry explain manifest/nothing
    error: there is no rule `manifest/nothing`
    help: run `acp-registry rules` to see all rules, and `acp-registry rules --examination` for all checks
    [2]

    $ acp-registry completions tcl
    error: invalid value 'tcl' for '<SHELL>'
      [possible values: bash, zsh, fish, powershell]

    For more information, try '--help'.
    [2]
    "#);
}

#[test]
fn keeping_a_registry() {
    let people = people();
    let write = |path: &str, text: &str| people.env.write(path, text);
    write("r/one/agent.json", &manifest("one"));
    write("r/one/icon.svg", ICON);
    write("r/two/agent.json", "{ \"id\": \"two\", }");
    write("r/two/icon.svg", ICON);
    let lines: Vec<String> = [
        "validate thre", "validate --rule manifest/nothing=off", "validate two", "build --out out",
        "publish --from nowhere --to out", "verify --shard 5/4", "bump thre", "new one --npm x", "new Uno --npm x",
        "new con --npm x", "new four", "diff one two", "report nowhere.json",
    ]
    .iter()
    .map(|line| format!("--registry-dir r {line}"))
    .collect();
    insta::assert_snapshot!(transcript(&people, &lines.iter().map(String::as_str).collect::<Vec<_>>()), @r#"
    $ acp-registry --registry-dir r validate thre
    error: there is no agent `thre`
    help: the registry has `one`, `two`; `acp-registry new --registry-dir r` adds an agent
    [2]

    $ acp-registry --registry-dir r validate --rule manifest/nothing=off
    error: unexpected argument '--rule' found

      tip: a similar argument exists: '--urls'

    Usage: acp-registry validate --urls [ID]...

    For more information, try '--help'.
    [2]

    $ acp-registry --registry-dir r validate two
    error[manifest/syntax]: not valid JSON: trailing comma
     --> two/agent.json:1:16
      |
    1 | { "id": "two", }
      |                ^
      |
      = help: remove the comma before the closing bracket

    1 agent checked: 1 error, 0 warnings (1 agent not selected)
    [1]

    $ acp-registry --registry-dir r build --out out
    error[manifest/syntax]: not valid JSON: trailing comma
     --> two/agent.json:1:16
      |
    1 | { "id": "two", }
      |                ^
      |
      = help: remove the comma before the closing bracket

    error: errors in two, and no earlier form to keep; nothing is published
    help: correct the errors, or name a published tree with --previous, from which agents keep their last form
    [1]

    $ acp-registry --registry-dir r publish --from nowhere --to out
    error: nowhere is not a built tree: No such file or directory (os error 2)
    help: make one with `acp-registry build --registry-dir r`, or name one with --from
    [3]

    $ acp-registry --registry-dir r verify --shard 5/4
    error: invalid value '5/4' for '--shard <I/N>': must be I/N, with I from 1 to N

    For more information, try '--help'.
    [2]

    $ acp-registry --registry-dir r bump thre
    error: there is no agent `thre`
    help: the registry has `one`, `two`; `acp-registry new --registry-dir r` adds an agent
    [2]

    $ acp-registry --registry-dir r new one --npm x
    error: DIR/r/one is there already; nothing was changed
    help: edit what is there, or choose another id
    [2]

    $ acp-registry --registry-dir r new Uno --npm x
    error: `Uno` is not a valid id
    help: did you mean `uno`?
    [2]

    $ acp-registry --registry-dir r new con --npm x
    error: manifest/reserved-id: `con` is a device name of Windows
    help: choose another id
    [2]

    $ acp-registry --registry-dir r new four
    error: the following required arguments were not provided:
      <--npm <PACKAGE[@VERSION]>|--pypi <PACKAGE[==VERSION]>|--github <OWNER/REPO[@TAG]>>

    Usage: acp-registry new <--npm <PACKAGE[@VERSION]>|--pypi <PACKAGE[==VERSION]>|--github <OWNER/REPO[@TAG]>> <ID>

    For more information, try '--help'.
    [2]

    $ acp-registry --registry-dir r diff one two
    error: one: there is no such file
    help: name a published tree, which `acp-registry build --registry-dir r` makes, or the file of an index
    [3]

    $ acp-registry --registry-dir r report nowhere.json
    error: nowhere.json: there is no such file
    help: name a file that `acp-registry validate --json --registry-dir r` or `acp-registry verify --json --registry-dir r` has written
    [3]

    "#);
    write("r/registry.toml", "[rules]\n\"manifest/nothing\" = \"error\"\n");
    insta::assert_snapshot!(transcript(&people, &["--registry-dir r validate"]), @r#"
    $ acp-registry --registry-dir r validate
    error: in the configuration r/registry.toml: there is no rule `manifest/nothing`
    help: run `acp-registry rules` to see all rules
    [2]
    "#);
    write("r/registry.toml", "[[view]]\nfile = \"other.json\"\n");
    insta::assert_snapshot!(transcript(&people, &["--registry-dir r build --out out"]), @r#"
    $ acp-registry --registry-dir r build --out out
    error: r/registry.toml: one view must have the file name "registry.json", which clients read
    help: correct r/registry.toml
    [2]
    "#);
}

#[test]
fn starting_any_agent() {
    let people = People::new();
    insta::assert_snapshot!(transcript(&people, &[
        "probe",
        "probe --timeout 0s -- true",
        "probe --level models -- true",
        "probe --require turns --no-probe -- true"
    ]), @r#"
    $ acp-registry probe
    error: the following required arguments were not provided:
      <COMMAND>...

    Usage: acp-registry probe -- <COMMAND>...

    For more information, try '--help'.
    [2]

    $ acp-registry probe --timeout 0s -- true
    error: invalid value '0s' for '--timeout <DURATION>': write a time above 0 and of at most 24h, such as 60s or 2m

    For more information, try '--help'.
    [2]

    $ acp-registry probe --level models -- true
    error: invalid value 'models' for '--level <LEVEL>'
      [possible values: handshake, transport, protocol, sessions, turns, drafts]

    For more information, try '--help'.
    [2]

    $ acp-registry probe --require turns --no-probe -- true
    error: with --no-probe, nothing is examined beyond the level `handshake`
    [2]

    "#);
}
