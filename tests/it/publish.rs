//! `publish` to a directory.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use serde_json::Value;

use crate::publish_order::Bucket;
use crate::server::Server;
use crate::support::{Env, ICON, Run, manifest, tree};

/// Builds the registry in its current state.
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

pub(crate) fn publish(env: &Env, arguments: &[&str]) -> Run {
    env.run(&[&["publish", "--to", "pub"], arguments].concat())
}

/// The actions for files below `latest/`, without unchanged files.
pub(crate) fn changed(report: &Value) -> Vec<String> {
    let files = report["files"].as_array().unwrap().iter();
    let changed = files.filter(|one| one["action"] != "keep" && one["file"].as_str().unwrap().starts_with("latest/"));
    let shown = |one: &Value| format!("{} {}", one["action"].as_str().unwrap(), one["file"].as_str().unwrap());
    let mut changed: Vec<String> = changed.map(shown).collect();
    changed.sort();
    changed
}

/// The files of a snapshot, as its list of digests names them: those in its folder, and contents by their digest.
pub(crate) fn snapshot(env: &Env, name: &str) -> Vec<(String, Vec<u8>)> {
    let place = |file: &str| env.path(&format!("pub/{name}/{file}"));
    let list = env.read(&format!("pub/{name}/SHA256SUMS"));
    let mut files: Vec<(String, Vec<u8>)> = vec![("SHA256SUMS".to_owned(), list.clone().into_bytes())];
    for (digest, file) in list.lines().map(|line| line.split_once("  ").unwrap()) {
        let shared = env.path(&format!("pub/content/{}/{digest}", &digest[..2]));
        let path = if shared.exists() { shared } else { place(file) };
        assert_eq!(acp_registry_digest(&path), digest, "{name}/{file}");
        files.push((file.to_owned(), fs::read(path).unwrap()));
    }
    files.sort();
    files
}

/// A tree with an index that is large enough to be copied in the store.
pub(crate) fn large(env: &Env) {
    let index = format!("{{ \"agents\": [] {} }}", " ".repeat(300 << 10));
    env.write("large/registry.json", &index);
    let digest = acp_registry::digest::Sha256::of(index.as_bytes());
    env.write("large/SHA256SUMS", format!("{digest}  registry.json\n"));
}

pub(crate) fn report(env: &Env, arguments: &[&str]) -> Value {
    let (code, report) = env.json(&[&["publish", "--to", "pub"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report
}

/// Moves the times of outdated files in the state a day into the past.
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
    assert!(tree(&env.path("pub/latest")) == dist && snapshot(&env, &name) == dist);
    // The snapshot has its index and its list; everything else is stored once. There are no partial files.
    let own: Vec<String> = tree(&env.path(&format!("pub/{name}"))).into_iter().map(|(name, _)| name).collect();
    assert_eq!(own, ["SHA256SUMS", "registry.json"]);
    let contents: BTreeSet<&[u8]> =
        dist.iter().filter(|(name, _)| !own.contains(name)).map(|(_, it)| &it[..]).collect();
    assert!(contents.len() < dist.len() - own.len(), "no content repeats");
    assert_eq!(first["summary"]["sent"], dist.len() + own.len() + contents.len());
    let names: BTreeSet<String> = tree(&env.path("pub")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), dist.len() + own.len() + contents.len() + 1);
    assert!(names.contains(".acp-registry/state.json"));
    let state = env.read("pub/.acp-registry/state.json");
    assert!(state.contains(r#""files":{}"#), "the state has what the list of digests says: {state}");

    let again = report(&env, &[]);
    assert_eq!((again["snapshot"].as_str(), &again["is_new_snapshot"]), (Some(&*name), &false.into()));
    assert_eq!((changed(&again), &again["summary"]["sent"]), (Vec::new(), &0.into()));

    // Only changed files are sent again.
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "dist");
    let third = report(&env, &["--revision", "def"]);
    let sent = ["SHA256SUMS", "agents/b/preview.png", "b.svg", "preview.png"];
    assert_eq!(changed(&third), sent.map(|name| format!("send latest/{name}")));
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert!(snapshot(&env, &name) == dist, "a snapshot has changed");
    // The same revision with another tree gets another name.
    env.write("r/b/icon.svg", ICON);
    build(&env, "dist");
    env.write("r/c/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "dist");
    let name = report(&env, &["--revision", "abc"])["snapshot"].as_str().unwrap().to_owned();
    assert!(name.contains("-abc-") && snapshot(&env, &name) == tree(&env.path("dist")), "{name}");
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
    // The tree is unchanged, and so is its snapshot.
    assert_eq!(report(&env, &[])["snapshot"], first);
    build(&env, "dist");
    let second = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    let output = std::process::Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env.path("r")).output();
    let head = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(second.ends_with(&format!("-{}", &head[..12])), "{second} {head}");
    // A name that the user gives is used, even if the commit is known.
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
    // Publishing again does not extend the time.
    assert_eq!(changed(&report(&env, &["--grace", "2h"])), stale);
    a_day_passes(&env);
    assert_eq!(changed(&report(&env, &["--grace", "25h"])), stale);
    let run = env.run(&["publish", "--to", "pub", "--dry-run"]);
    assert!(run.stdout.contains("\nlatest would be v20"), "{}", run.stdout);
    let (code, tried) = env.json(&["publish", "--to", "pub", "--grace", "2h", "--dry-run"]);
    let removed: Vec<String> = stale.iter().map(|one| one.replace("stale", "remove")).collect();
    assert_eq!((code, changed(&tried)), (0, removed.clone()));
    assert!(env.path("pub/latest/b.svg").exists());
    assert_eq!(changed(&report(&env, &["--grace", "2h"])), removed);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert!(!env.path("pub/latest/agents/b").exists(), "an empty folder is left");
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);

    // Files that come back in time are neither removed nor sent again.
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
    // Without `--grace` it is removed at once.
    fs::remove_dir_all(env.path("r/c")).unwrap();
    build(&env, "dist");
    assert!(changed(&report(&env, &["--grace", "0"])).contains(&"remove latest/c.svg".to_owned()));
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
}

/// Clients would go on reading the earlier entries until the grace period is over.
#[test]
fn a_tree_without_entries_leaves_nothing_that_leads_to_the_earlier_ones() {
    for is_forgotten in [false, true] {
        let env = env();
        report(&env, &[]);
        let run = env.run(&["build", "--out", "dist", "--no-site", "--base-url", "https://h.example/latest"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        if is_forgotten {
            fs::remove_dir_all(env.path("pub/.acp-registry")).unwrap();
        }
        let done = changed(&report(&env, &["--grace", "2h"]));
        assert!(done.contains(&"remove latest/entries.json".to_owned()), "{done:?}");
        assert!(
            !env.path("pub/latest/entries.json").exists() && env.path("pub/latest/entries/registry/a.json").exists()
        );
        build(&env, "dist");
        let back = changed(&report(&env, &["--grace", "2h"]));
        assert!(back.contains(&"send latest/entries.json".to_owned()), "{back:?}");
    }
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
fn what_others_have_changed_is_mended_also_in_the_snapshot() {
    let env = env();
    let name = report(&env, &[])["snapshot"].as_str().unwrap().to_owned();
    let dist = tree(&env.path("dist"));
    let content = |file: &str| {
        let digest = acp_registry_digest(&env.path(&format!("dist/{file}")));
        format!("pub/content/{}/{digest}", &digest[..2])
    };
    let damage = || {
        env.write(&format!("pub/{name}/registry.json"), "damaged");
        env.write(&content("index.html"), "damaged");
        fs::remove_file(env.path(&content("agents/a/index.html"))).unwrap();
        env.write("pub/latest/b.svg", "damaged");
    };
    damage();
    let (code, tried) = env.json(&["publish", "--to", "pub", "--recheck", "--dry-run"]);
    assert_eq!((code, &tried["summary"]["sent"]), (0, &4.into()));
    assert_eq!(env.read("pub/latest/b.svg"), "damaged");
    let mended = report(&env, &["--recheck"]);
    assert_eq!((&mended["summary"]["sent"], mended["snapshot"].as_str()), (&4.into(), Some(&*name)));
    assert!(tree(&env.path("pub/latest")) == dist && snapshot(&env, &name) == dist);
    // Also if only the files are known.
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    damage();
    assert_eq!(report(&env, &["--recheck"])["summary"]["sent"], 4);
    assert!(snapshot(&env, &name) == dist);
}

#[test]
fn what_others_have_changed_in_a_bucket_is_mended_although_its_headers_are_kept() {
    let env = env();
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let objects = bucket.clone();
    let server = Server::answering(move |asked| objects.lock().unwrap().answer(asked));
    let sent = |more: &[&str]| {
        let mut command = env.command(&[&["publish", "--to", "s3://bucket", "--json"], more].concat());
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let run = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host)));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let files = report["files"].as_array().unwrap().iter().filter(|one| one["action"] != "keep");
        let mut files: Vec<String> = files.map(|one| one["file"].as_str().unwrap().to_owned()).collect();
        files.sort();
        files
    };
    assert!(!sent(&[]).is_empty() && sent(&["--recheck"]).is_empty());
    let digest = acp_registry_digest(&env.path("dist/index.html"));
    let content = format!("content/{}/{digest}", &digest[..2]);
    let bodies = || -> Vec<(String, Vec<u8>)> {
        let bucket = bucket.lock().unwrap();
        let published = bucket.objects.iter().filter(|(key, _)| !key.starts_with(".acp-registry/"));
        published.map(|(key, object)| (key.clone(), object.body.clone())).collect()
    };
    let before = bodies();
    let mut damaged = Vec::new();
    for (key, object) in &mut bucket.lock().unwrap().objects {
        if *key == content || key.ends_with("/registry.json") || key == "latest/b.svg" {
            object.body[0] ^= 1;
            damaged.push(key.clone());
        }
    }
    assert_eq!(damaged.len(), 4);
    // Only `--recheck` reads what is there.
    assert!(sent(&[]).is_empty());
    let mended = sent(&["--recheck"]);
    assert!(mended == damaged && bodies() == before, "{mended:?}");
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
    // Files are limited to 512 bytes, enough for icons.
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
        run.stderr.contains("another publisher is writing to pub") && run.stderr.contains("--wait"),
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
    // Two publishers at once leave one of the two trees, complete.
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
fn a_signal_ends_a_publication_and_the_next_one_ends_it_well() {
    let env = env();
    report(&env, &[]);
    let before = tree(&env.path("pub/latest"));
    add(&env, "d");
    build(&env, "dist");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        env.write_program("sign.sh", &format!("#!/bin/sh\nkill -{signal} $PPID\ncp \"$1\" \"$1.sig\"\n"));
        let run = publish(&env, &["--sign", "./sign.sh"]);
        assert_eq!(run.code, code, "{} {}", run.stdout, run.stderr);
        assert!(tree(&env.path("pub/latest")) == before);
    }
    report(&env, &[]);
    assert_eq!(env.read("pub/latest/SHA256SUMS"), env.read("dist/SHA256SUMS"));
}

#[cfg(unix)]
#[test]
fn the_list_of_digests_can_be_signed() {
    let env = env();
    let script = |text: &str| {
        env.write_program("sign.sh", &format!("#!/bin/sh\n{text}\n"));
    };
    script("echo \"$1 $2\" > args; { echo signed; cat \"$3\"; } > \"$3.sig\"");
    let first = report(&env, &["--sign", "./sign.sh $HOME ;touch"]);
    assert_eq!(env.read("args"), "$HOME ;touch\n");
    let signature = format!("signed\n{}", env.read("dist/SHA256SUMS"));
    let snapshot = first["snapshot"].as_str().unwrap();
    for folder in ["latest", snapshot] {
        assert_eq!(env.read(&format!("pub/{folder}/SHA256SUMS.sig")), signature);
    }
    // A published signature is not created again.
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
