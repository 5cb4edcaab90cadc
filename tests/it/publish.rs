//! `publish` to a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use serde_json::Value;

use crate::support::{Env, ICON, Run, manifest, tree};

/// Builds the registry as it is now.
pub(crate) fn build(env: &Env, out: &str) {
    let run = env.run(&["build", "--out", out, "--base-url", "https://h.example/latest"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// A registry of three agents, with its tree in `dist`.
pub(crate) fn env() -> Env {
    let env = Env::with(&["a", "b", "c"]);
    build(&env, "dist");
    env
}

pub(crate) fn add(env: &Env, id: &str) {
    env.write(&format!("r/{id}/agent.json"), manifest(id));
    env.write(&format!("r/{id}/icon.svg"), ICON);
}

fn publish(env: &Env, arguments: &[&str]) -> Run {
    env.run(&[&["publish", "--to", "pub"], arguments].concat())
}

/// What was done with each file below `latest/`, without those that stayed.
pub(crate) fn changed(report: &Value) -> Vec<String> {
    let files = report["files"].as_array().unwrap().iter();
    let changed = files.filter(|one| one["action"] != "keep" && one["file"].as_str().unwrap().starts_with("latest/"));
    let shown = |one: &Value| format!("{} {}", one["action"].as_str().unwrap(), one["file"].as_str().unwrap());
    let mut changed: Vec<String> = changed.map(shown).collect();
    changed.sort();
    changed
}

pub(crate) fn report(env: &Env, arguments: &[&str]) -> Value {
    let (code, report) = env.json(&[&["publish", "--to", "pub"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report
}

/// Makes the state remember that everything stale has been so for a day longer.
fn a_day_passes(env: &Env) {
    let mut state: Value = serde_json::from_str(&env.read("pub/.acp-registry/state.json")).unwrap();
    for file in state["files"].as_object_mut().unwrap().values_mut() {
        if let Some(since) = file["stale_since"].as_i64() {
            file["stale_since"] = (since - 86_400).into();
        }
    }
    env.write("pub/.acp-registry/state.json", state.to_string());
}

#[test]
fn a_snapshot_and_the_newest_tree_hold_the_same() {
    let env = env();
    let dist = tree(&env.path("dist"));
    let first = report(&env, &["--revision", "abc"]);
    let name = first["snapshot"].as_str().unwrap().to_owned();
    assert!(name.starts_with("v20") && name.ends_with("-abc"), "{name}");
    assert_eq!((&first["is_new_snapshot"], &first["summary"]["kept"]), (&true.into(), &0.into()));
    assert_eq!(first["summary"]["sent"], 2 * dist.len());
    for folder in ["latest", &name] {
        assert!(tree(&env.path(&format!("pub/{folder}"))) == dist, "{folder}");
    }
    // Nothing but the three is there, and nothing half-made.
    let names: BTreeSet<String> = tree(&env.path("pub")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2 * dist.len() + 1);
    assert!(names.contains(".acp-registry/state.json"));

    let again = report(&env, &[]);
    assert_eq!((again["snapshot"].as_str(), &again["is_new_snapshot"]), (Some(&*name), &false.into()));
    assert_eq!((changed(&again), &again["summary"]["sent"]), (Vec::new(), &0.into()));

    // Only what has changed is sent again.
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "dist");
    let third = report(&env, &["--revision", "def"]);
    assert_eq!(changed(&third), ["send latest/SHA256SUMS", "send latest/b.svg"]);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert!(tree(&env.path(&format!("pub/{name}"))) == dist, "a snapshot has changed");
    // The same revision with another tree has another name.
    env.write("r/b/icon.svg", ICON);
    build(&env, "dist");
    env.write("r/c/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "dist");
    let name = report(&env, &["--revision", "abc"])["snapshot"].as_str().unwrap().to_owned();
    assert!(name.contains("-abc-") && tree(&env.path(&format!("pub/{name}"))) == tree(&env.path("dist")), "{name}");
}

#[test]
fn snapshots_are_named_after_the_commit_or_the_content() {
    let env = env();
    let first = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    let sums = acp_registry_digest(&env.path("dist/SHA256SUMS"));
    assert!(first.ends_with(&format!("-{}", &sums[..12])), "{first} {sums}");
    env.git(&["init", "-q"]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "x"]);
    // The tree is the same, and so is its snapshot.
    assert_eq!(report(&env, &[])["snapshot"], first);
    build(&env, "dist");
    let second = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    let output = std::process::Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env.path("r")).output();
    let head = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(second.ends_with(&format!("-{}", &head[..12])), "{second} {head}");
    // A person's own name is made, whatever is known.
    assert!(report(&env, &["--revision", "mine"])["snapshot"].as_str().unwrap().ends_with("-mine"));
    for wrong in ["", "../x", "a/b", "-x", "a b"] {
        let run = publish(&env, &[&format!("--revision={wrong}")]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{wrong}");
    }
}

pub(crate) fn acp_registry_digest(path: &Path) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_nothing_names_any_more_stays_for_a_while() {
    let env = env();
    report(&env, &[]);
    fs::remove_dir_all(env.path("r/b")).unwrap();
    build(&env, "dist");
    let gone = report(&env, &["--grace", "2h"]);
    let stale: Vec<String> = changed(&gone).into_iter().filter(|one| one.starts_with("stale")).collect();
    assert!(stale.contains(&"stale latest/b.svg".to_owned()) && stale.len() > 3, "{stale:?}");
    assert!(env.path("pub/latest/b.svg").exists() && env.path("pub/latest/agents/b/index.html").exists());
    // Nothing is stale for longer because it is published once more.
    assert_eq!(changed(&report(&env, &["--grace", "2h"])), stale);
    a_day_passes(&env);
    assert_eq!(changed(&report(&env, &["--grace", "25h"])), stale);
    let (code, tried) = env.json(&["publish", "--to", "pub", "--grace", "2h", "--dry-run"]);
    let removed: Vec<String> = stale.iter().map(|one| one.replace("stale", "remove")).collect();
    assert_eq!((code, changed(&tried)), (0, removed.clone()));
    assert!(env.path("pub/latest/b.svg").exists());
    assert_eq!(changed(&report(&env, &["--grace", "2h"])), removed);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert!(!env.path("pub/latest/agents/b").exists(), "an empty folder is left");
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);

    // What comes back in time is not removed, nor sent again.
    fs::remove_dir_all(env.path("r/c")).unwrap();
    build(&env, "dist");
    report(&env, &[]);
    add(&env, "c");
    build(&env, "dist");
    let back = report(&env, &["--grace", "0"]);
    assert!(!changed(&back).iter().any(|one| one.contains("/c.svg") || one.contains("/c/")), "{:?}", changed(&back));
    a_day_passes(&env);
    report(&env, &["--grace", "0"]);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    // Without grace it goes at once.
    fs::remove_dir_all(env.path("r/c")).unwrap();
    build(&env, "dist");
    assert!(changed(&report(&env, &["--grace", "0"])).contains(&"remove latest/c.svg".to_owned()));
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
}

#[test]
fn a_dry_run_changes_nothing_and_tells_everything() {
    let env = env();
    let (code, tried) = env.json(&["publish", "--to", "pub", "--dry-run"]);
    assert_eq!((code, &tried["dry_run"]), (0, &true.into()));
    assert!(!env.path("pub").exists());
    let done = report(&env, &[]);
    assert_eq!((changed(&tried), &tried["snapshot"]), (changed(&done), &done["snapshot"]));
    let before = tree(&env.path("pub"));
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    build(&env, "dist");
    let run = publish(&env, &["--dry-run"]);
    assert!(run.code == 0 && run.stdout.contains("send   latest/registry.json\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("latest/b.svg") && run.stdout.contains(" would be sent to pub"), "{}", run.stdout);
    assert!(tree(&env.path("pub")) == before);
}

#[test]
fn what_is_no_built_tree_is_refused() {
    let env = env();
    for (path, code, why) in [
        ("r", 3, "there is no SHA256SUMS\nhelp: make one with `acp-registry build`"),
        ("nothing", 3, "nothing is not a built tree"),
        ("r/a/agent.json", 3, "is not a built tree"),
    ] {
        let run = publish(&env, &["--from", path]);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{path}");
        assert!(run.stderr.contains(why), "{path}: {}", run.stderr);
    }
    let sums = env.read("dist/SHA256SUMS");
    let digest = "0".repeat(64);
    for (list, code, why) in [
        (
            sums.lines().filter(|line| !line.ends_with("registry.json")).collect::<Vec<_>>().join("\n"),
            3,
            "does not list registry.json",
        ),
        (
            format!("{digest}  ../r/a/agent.json\n{sums}"),
            3,
            "line 1 of SHA256SUMS is not a digest and the name of a file",
        ),
        (format!("{sums}{digest}  zz.svg\n"), 3, "zz.svg: there is no such file"),
        (format!("{sums}{digest}  a.svg\n"), 4, "a.svg is not what SHA256SUMS says"),
        ("\u{1b}[31m".to_owned(), 3, "`\\u{1b}[31m`"),
    ] {
        env.write("dist/SHA256SUMS", list);
        let run = publish(&env, &[]);
        assert!(run.code == code && run.stderr.contains(why), "{why}: {} {}", run.code, run.stderr);
    }
    let index = env.read("dist/registry.json");
    for text in ["{}", "[[]]", r#"{"agents":{}}"#, &index[..index.len() - 20]] {
        env.write("dist/registry.json", text);
        let digest = acp_registry_digest(&env.path("dist/registry.json"));
        let line = |line: &str| {
            if line.ends_with("  registry.json") { format!("{digest}  registry.json\n") } else { format!("{line}\n") }
        };
        env.write("dist/SHA256SUMS", sums.lines().map(line).collect::<String>());
        let run = publish(&env, &[]);
        assert!(run.code == 3 && run.stderr.contains("registry.json is no index"), "{}", run.stderr);
        assert!(run.stderr.contains("make one with `acp-registry build`"), "{}", run.stderr);
    }
    env.write("dist/registry.json", index);
    env.write("dist/SHA256SUMS", &sums);
    env.write("dist/b.svg", "<svg/>");
    let run = publish(&env, &[]);
    assert!(run.code == 4 && run.stderr.contains("b.svg is not what SHA256SUMS says"), "{}", run.stderr);
    fs::remove_file(env.path("dist/b.svg")).unwrap();
    fs::create_dir(env.path("dist/b.svg")).unwrap();
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("b.svg: is a directory"), "{}", run.stderr);
    assert!(!env.path("pub").exists());
}

#[test]
fn a_target_that_cannot_be_one_is_named() {
    let env = env();
    env.write("file", "x");
    for (to, code, why) in [
        ("file", 3, "file/.acp-registry"),
        ("file/x", 3, "file/x/.acp-registry"),
        ("dist", 2, "dist is the tree itself"),
        ("dist/pub/x", 2, "is the tree itself, or a part of it"),
        ("", 2, "--to names no place"),
        ("ftp://h.example/x", 2, "ftp is not known here"),
        ("s3:/bucket/a", 2, "s3 is not known here\nhelp: a bucket is s3://BUCKET"),
        ("S3://bucket/a", 2, "S3 is not known here\nhelp: a bucket is s3://BUCKET"),
        ("file:pub", 2, "a directory of that name ./file:pub"),
        ("-", 2, "goes to no pipe"),
    ] {
        let run = env.run(&["publish", "--to", to]);
        assert!(run.stdout.is_empty() && run.stderr.contains(why), "{to}: {}", run.stderr);
        assert_eq!(run.code, code, "{to}: {}", run.stderr);
    }
    assert_eq!(env.read("file"), "x");
    // Something else stands where a file should be.
    fs::create_dir_all(env.path("pub/latest/a.svg/x")).unwrap();
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("latest/a.svg"), "{}", run.stderr);
    fs::remove_dir_all(env.path("pub")).unwrap();
    report(&env, &[]);
    for (state, why) in [("{", "EOF"), (r#"{"schema":2,"files":{},"snapshots":{}}"#, "another version")] {
        env.write("pub/.acp-registry/state.json", state);
        let run = publish(&env, &[]);
        assert!(run.code == 3 && run.stderr.contains("state.json cannot be used"), "{}", run.stderr);
        assert!(run.stderr.contains(why) && run.stderr.contains("remove it"), "{}", run.stderr);
    }
    // What was lost is found again by looking.
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    assert!(!env.path("s3:").exists() && !env.path("-").exists());
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);
    fs::remove_file(env.path("pub/latest/a.svg")).unwrap();
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);
    assert_eq!(changed(&report(&env, &["--recheck"])), ["send latest/a.svg"]);
}

/// A state by which files go that are not below `latest/` would let whoever can write it delete any file.
#[test]
fn a_state_names_nothing_outside_of_what_is_published() {
    let env = env();
    let first = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    env.write("vic/val", "mine");
    let good: Value = serde_json::from_str(&env.read("pub/.acp-registry/state.json")).unwrap();
    let before = tree(&env.path("pub"));
    let digest = "a".repeat(64);
    let names = [
        "../../vic/val",
        "assets/../../../vic/val",
        &format!("../{first}/registry.json"),
        "/etc/x",
        "",
        ".",
        "..",
        "a//b",
        "a/",
        "a\\..\\b",
        "x\u{1b}[31m",
        "x\u{202e}y",
    ];
    let refused = |state: &Value, shown: &str| {
        env.write("pub/.acp-registry/state.json", state.to_string());
        for arguments in [&["--grace", "0", "--dry-run"][..], &["--grace", "0"], &["--recheck"]] {
            let run = publish(&env, arguments);
            assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{shown}: {}", run.stderr);
            assert!(run.stderr.contains("state.json cannot be used: it names"), "{shown}: {}", run.stderr);
            assert!(run.stderr.contains("help: remove it"), "{}", run.stderr);
            assert!(!run.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", run.stderr);
        }
        let run = env.run(&["publish", "prune", "--to", "pub", "--keep", "0"]);
        assert!(run.code == 3 && run.stderr.contains("it names"), "{shown}: {}", run.stderr);
    };
    for name in names {
        let mut state = good.clone();
        state["files"][name] = serde_json::json!({ "form": digest, "stale_since": 1 });
        refused(&state, name);
    }
    for name in ["../vic", "latest", "v2020-01-01-x/../../vic", ""] {
        let mut state = good.clone();
        state["snapshots"][name] = serde_json::json!({ "sums": digest, "created": 1, "is_complete": false });
        refused(&state, name);
        let mut state = good.clone();
        state["latest"] = name.into();
        refused(&state, name);
    }
    assert_eq!(env.read("vic/val"), "mine");
    // A folder is no file that could be removed, and keeps nobody from publishing.
    let mut state = good.clone();
    state["files"]["agents"] = serde_json::json!({ "form": digest, "stale_since": 1 });
    env.write("pub/.acp-registry/state.json", state.to_string());
    report(&env, &["--grace", "0"]);
    assert_eq!(changed(&report(&env, &["--grace", "0"])), [] as [String; 0]);
    assert!(tree(&env.path("pub")) == before);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    use std::os::unix::fs::symlink;

    let env = env();
    let snapshot = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    env.write("vic/val", "mine");
    env.write("vic/assets/x", "mine");
    fs::remove_dir_all(env.path("r/b")).unwrap();
    add(&env, "d");
    build(&env, "dist");
    let refused = |link: &str, target: &str| {
        let aside = env.path("aside");
        fs::rename(env.path(link), &aside).unwrap();
        symlink(env.path(target), env.path(link)).unwrap();
        let before = tree(&env.path(target));
        for arguments in [&["--grace", "0", "--dry-run"][..], &["--grace", "0"], &["--recheck", "--grace", "0"]] {
            let run = publish(&env, arguments);
            assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{link}: {}", run.stderr);
            assert!(run.stderr.contains(&format!("{link} is a symbolic link")), "{link}: {}", run.stderr);
            assert!(run.stderr.contains("remove the link"), "{}", run.stderr);
        }
        assert!(tree(&env.path(target)) == before, "{target} has changed");
        fs::remove_file(env.path(link)).unwrap();
        fs::rename(aside, env.path(link)).unwrap();
    };
    refused("pub/latest", &format!("pub/{snapshot}"));
    refused("pub/latest", "vic");
    refused("pub/latest/assets", "vic/assets");
    refused("pub/latest/agents", &format!("pub/{snapshot}/agents"));
    refused("pub/.acp-registry", "vic");
    // What the state calls stale is not looked for behind a link either.
    symlink(env.path("vic"), env.path("pub/latest/lnk")).unwrap();
    let good = env.read("pub/.acp-registry/state.json");
    let mut state: Value = serde_json::from_str(&good).unwrap();
    state["files"]["lnk/val"] = serde_json::json!({ "form": "a".repeat(64), "stale_since": 1 });
    env.write("pub/.acp-registry/state.json", state.to_string());
    let run = publish(&env, &["--grace", "0"]);
    assert!(run.code == 3 && run.stderr.contains("latest/lnk is a symbolic link"), "{}", run.stderr);
    assert_eq!(env.read("vic/val"), "mine");
    fs::remove_file(env.path("pub/latest/lnk")).unwrap();
    env.write("pub/.acp-registry/state.json", good);
    // The target itself may be one, and a link in place of a file is replaced.
    symlink(env.path("pub"), env.path("link")).unwrap();
    fs::remove_file(env.path("pub/latest/a.svg")).unwrap();
    symlink(env.path("vic/val"), env.path("pub/latest/a.svg")).unwrap();
    let run = env.run(&["publish", "--to", "link", "--recheck", "--grace", "0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!env.path("pub/latest/a.svg").is_symlink() && tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert_eq!(env.read("vic/val"), "mine");
    // A linked folder of the built tree may show any file of this machine to everybody.
    fs::rename(env.path("dist/assets"), env.path("elsewhere")).unwrap();
    symlink(env.path("elsewhere"), env.path("dist/assets")).unwrap();
    let run = env.run(&["publish", "--to", "other"]);
    assert!(run.code == 3 && run.stderr.contains("dist/assets: is a symbolic link"), "{}", run.stderr);
    assert!(!env.path("other").exists());
}

#[test]
fn what_somebody_else_keeps_there_is_not_overwritten() {
    let env = env();
    env.write("pub/latest/registry.json", "mine");
    for arguments in [&["--dry-run"][..], &[]] {
        let run = publish(&env, arguments);
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
        assert!(run.stderr.contains("pub/latest/registry.json was there before"), "{}", run.stderr);
        assert!(run.stderr.contains("move it away"), "{}", run.stderr);
    }
    assert_eq!(tree(&env.path("pub/latest")), [("registry.json".to_owned(), b"mine".to_vec())]);
    // What a list of digests has is a published tree, but nothing beside it.
    env.write("pub/latest/SHA256SUMS", format!("{}  registry.json\n", "0".repeat(64)));
    env.write("pub/latest/robots.txt", "mine");
    env.write("pub/latest/other.txt", "mine");
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("pub/latest/robots.txt was there before"), "{}", run.stderr);
    assert_eq!(env.read("pub/latest/registry.json"), "mine");
    fs::remove_file(env.path("pub/latest/robots.txt")).unwrap();
    report(&env, &[]);
    assert_eq!(env.read("pub/latest/other.txt"), "mine");
    assert_eq!(env.read("pub/latest/registry.json"), env.read("dist/registry.json"));
}

#[test]
fn what_others_have_changed_is_mended_also_in_the_snapshot() {
    let env = env();
    let snapshot = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    let dist = tree(&env.path("dist"));
    let damage = || {
        env.write(&format!("pub/{snapshot}/index.html"), "damaged");
        fs::remove_file(env.path(&format!("pub/{snapshot}/a.svg"))).unwrap();
        env.write("pub/latest/b.svg", "damaged");
    };
    damage();
    let (code, tried) = env.json(&["publish", "--to", "pub", "--recheck", "--dry-run"]);
    assert_eq!((code, &tried["summary"]["sent"]), (0, &3.into()));
    assert_eq!(env.read("pub/latest/b.svg"), "damaged");
    let mended = report(&env, &["--recheck"]);
    assert_eq!((&mended["summary"]["sent"], mended["snapshot"].as_str()), (&3.into(), Some(&*snapshot)));
    for folder in ["latest", &snapshot] {
        assert!(tree(&env.path(&format!("pub/{folder}"))) == dist, "{folder}");
    }
    // The same where nothing is known but what is there.
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    damage();
    assert_eq!(report(&env, &["--recheck"])["summary"]["sent"], 3);
    assert!(tree(&env.path(&format!("pub/{snapshot}"))) == dist);
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_stops_it_and_the_next_run_finishes() {
    let env = env();
    report(&env, &[]);
    let before = tree(&env.path("pub/latest"));
    env.write("r/a/agent.json", manifest("a").replace("Made for", &"Made for ".repeat(20)));
    add(&env, "d");
    build(&env, "dist");
    // No file may have more than 512 bytes; icons still fit.
    let script = "ulimit -f 1; trap '' XFSZ; exec \"$0\" --registry-dir r publish --to pub";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, crate::support::PROGRAM]).current_dir(env.path(""));
    crate::support::scrub(&mut command);
    let run = Run::of(&mut command);
    assert!(run.code == 3 && run.stderr.contains("pub/"), "{} {}", run.code, run.stderr);
    for (name, bytes) in &before {
        assert!(&fs::read(env.path(&format!("pub/latest/{name}"))).unwrap() == bytes, "{name} has changed");
    }
    report(&env, &["--grace", "0"]);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
}

#[test]
fn another_publisher_is_waited_for_and_named() {
    let env = env();
    report(&env, &[]);
    let path = env.path("pub/.acp-registry/lock");
    let lock = fs::File::create(&path).unwrap();
    fs::write(&path, "process 7: publish\n").unwrap();
    lock.lock().unwrap();
    let run = publish(&env, &["--wait", "0"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(
        run.stderr.contains("another publisher is at work at pub") && run.stderr.contains("--wait"),
        "{}",
        run.stderr
    );
    assert!(cfg!(windows) || run.stderr.contains("process 7"), "{}", run.stderr);
    let mut command = env.command(&["publish", "--to", "pub", "--wait", "1h"]);
    let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for another publisher (process 7"), "{line}");
    drop(lock);
    assert!(waiting.wait().unwrap().success());
    // Two at once end with one tree or the other, whole.
    build(&env, "one");
    add(&env, "d");
    build(&env, "two");
    thread::scope(|scope| {
        let [one, two] = ["one", "two"].map(|from| scope.spawn(|| publish(&env, &["--from", from, "--grace", "0"])));
        assert_eq!((one.join().unwrap().code, two.join().unwrap().code), (0, 0));
    });
    let latest = tree(&env.path("pub/latest"));
    assert!([tree(&env.path("one")), tree(&env.path("two"))].contains(&latest));
}

#[cfg(unix)]
#[test]
fn the_list_of_digests_can_be_signed() {
    let env = env();
    let script = |text: &str| {
        env.write("sign.sh", format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(env.path("sign.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    script("echo \"$1 $2\" > args; { echo signed; cat \"$3\"; } > \"$3.sig\"");
    let first = report(&env, &["--sign", "./sign.sh $HOME ;touch"]);
    assert_eq!(env.read("args"), "$HOME ;touch\n");
    let signature = format!("signed\n{}", env.read("dist/SHA256SUMS"));
    let snapshot = first["snapshot"].as_str().unwrap();
    for folder in ["latest", snapshot] {
        assert_eq!(env.read(&format!("pub/{folder}/SHA256SUMS.sig")), signature);
    }
    // The signature of what is published already is not made again.
    script("exit 7");
    assert_eq!(changed(&report(&env, &["--sign", "./sign.sh"])), [] as [String; 0]);
    add(&env, "d");
    build(&env, "dist");
    let before = tree(&env.path("pub"));
    for (text, why) in [
        ("exit 7", "failed: exit status: 7"),
        ("", "has written no signature"),
        (": > \"$1.sig\"", "empty"),
        ("echo x >> \"$1\"; cp \"$1\" \"$1.sig\"", "changed its copy of SHA256SUMS"),
        ("cp \"$1\" \"$1.sig\"; rm \"$1\"", "changed its copy of SHA256SUMS"),
    ] {
        script(text);
        let run = publish(&env, &["--sign", "./sign.sh"]);
        assert!(run.code == 3 && run.stderr.contains(why), "{why}: {}", run.stderr);
        assert!(run.stderr.contains("SHA256SUMS was not signed"), "{}", run.stderr);
    }
    let run = publish(&env, &["--sign", "./no-such-program"]);
    assert!(run.code == 3 && run.stderr.contains("cannot start"), "{}", run.stderr);
    assert!(tree(&env.path("pub")) == before);
    // A signature of another list would be worse than none.
    report(&env, &[]);
    assert!(!env.path("pub/latest/SHA256SUMS.sig").exists());
    assert!(env.path(&format!("pub/{snapshot}/SHA256SUMS.sig")).exists());
}
