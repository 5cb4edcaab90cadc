//! `publish list` and `publish rollback`.

use std::fs;

use serde_json::{Value, json};

use crate::publish::{acp_registry_digest, build, changed, env, publish, report, snapshot};
use crate::publish_reader::dangling;
use crate::support::{Env, manifest, tree};

/// Publishes three trees: with `a`, `b` and `c`; with another version of `a`; without `b`.
fn three(env: &Env) -> [String; 3] {
    let name = |report: Value| report["snapshot"].as_str().unwrap().to_owned();
    let first = name(report(env, &["--revision", "one"]));
    fs::rename(env.path("dist"), env.path("dist-1")).unwrap();
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    build(env, "dist");
    let second = name(report(env, &["--revision", "two"]));
    fs::remove_dir_all(env.path("r/b")).unwrap();
    build(env, "dist");
    [first, second, name(report(env, &["--revision", "three"]))]
}

/// Makes the snapshots follow each other by a second.
fn record(env: &Env, names: &[String]) {
    let mut state: Value = serde_json::from_str(&env.read("pub/.acp-registry/state.json")).unwrap();
    for (at, name) in names.iter().enumerate() {
        state["snapshots"][name]["created"] = (1_700_000_000 + at).into();
    }
    env.write("pub/.acp-registry/state.json", state.to_string());
}

fn listed(env: &Env) -> Vec<Value> {
    let (code, list) = env.json(&["publish", "list", "--to", "pub"]);
    assert_eq!(code, 0, "{list}");
    list["snapshots"].as_array().unwrap().clone()
}

fn rollback(env: &Env, name: &str, arguments: &[&str]) -> (i32, Value) {
    env.json(&[&["publish", "rollback", name, "--to", "pub"], arguments].concat())
}

#[test]
fn an_earlier_snapshot_is_put_back() {
    let env = env();
    let names = three(&env);
    let before = tree(&env.path("pub"));
    let (code, tried) = rollback(&env, &names[0], &["--dry-run"]);
    assert_eq!((code, &tried["dry_run"], &tried["rollback"]), (0, &true.into(), &true.into()), "{tried}");
    assert!(tree(&env.path("pub")) == before);
    let (code, done) = rollback(&env, &names[0], &["--grace", "2h"]);
    assert_eq!((code, &done["snapshot"], &done["previous"]), (0, &names[0].clone().into(), &names[2].clone().into()));
    assert_eq!(changed(&done), changed(&tried));
    assert!(changed(&done).contains(&"send latest/entries/registry/a.json".to_owned()), "{:?}", changed(&done));
    // Files of `b` were still there.
    assert!(!changed(&done).contains(&"send latest/b.svg".to_owned()), "{:?}", changed(&done));
    for (name, bytes) in tree(&env.path("dist-1")) {
        assert!(fs::read(env.path(&format!("pub/latest/{name}"))).unwrap() == bytes, "{name}");
    }
    assert_eq!(dangling(&|name| fs::read(env.path(&format!("pub/latest/{name}"))).ok()), [] as [String; 0]);
    assert_eq!(
        changed(&report(&env, &["--from", "dist-1", "--recheck"])),
        changed(&report(&env, &["--from", "dist-1"]))
    );
    // A publication after a rollback says what it replaces, although its snapshot is not new.
    let run = env.run(&["publish", "--to", "pub", "--revision", "three", "--dry-run"]);
    assert!(run.stdout.ends_with(&format!("latest would be {} instead of {}\n", names[2], names[0])), "{}", run.stdout);
    let tried = report(&env, &["--revision", "three", "--dry-run"]);
    assert_eq!((&tried["previous"], &tried["is_new_snapshot"]), (&names[0].clone().into(), &false.into()));
    let run = env.run(&["publish", "rollback", &names[2], "--to", "pub", "--grace", "0"]);
    assert!(run.stdout.ends_with(&format!("latest is {} instead of {}\n", names[2], names[0])), "{}", run.stdout);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    // The snapshot is already there: nothing is sent.
    let (code, again) = rollback(&env, &names[2], &[]);
    assert_eq!((code, changed(&again), &again["summary"]["sent"]), (0, Vec::new(), &0.into()));
    let run = env.run(&["publish", "--to", "pub", "--revision", "three"]);
    assert!(run.stdout.ends_with(&format!("latest is {} (as before)\n", names[2])), "{}", run.stdout);
    // The next publication goes on from there, and sends only what has changed.
    env.write("r/c/agent.json", manifest("c").replace("1.0.0", "1.1.0"));
    build(&env, "dist");
    let next = report(&env, &[]);
    assert!(next["summary"]["sent"].as_u64().unwrap() < 50, "{}", next["summary"]);
    assert!(snapshot(&env, next["snapshot"].as_str().unwrap()) == tree(&env.path("dist")));
}

#[test]
fn no_recall_is_lost() {
    let env = env();
    let recall = |versions: &str, level: &str, revision: &str| {
        let item = json!({ "id": "a", "versions": versions, "level": level, "reason": "It reads keys", "since": "2026-01-31" });
        env.write("r/revoked.json", json!({ "schema": 1, "revoked": [item] }).to_string());
        build(&env, "dist");
        report(&env, &["--revision", revision])["snapshot"].as_str().unwrap().to_owned()
    };
    let before = report(&env, &["--revision", "one"])["snapshot"].as_str().unwrap().to_owned();
    let warned = recall("<=0.8.0", "deprecated", "two");
    let recalled = recall("<=0.9.0", "revoked", "three");
    for name in [&before, &warned] {
        let run = env.run(&["publish", "rollback", name, "--to", "pub"]);
        let message = "latest/revoked.json recalls <=0.9.0 of `a`, and that snapshot does not";
        assert!(run.code == 4 && run.stderr.contains(message), "{} {}", run.code, run.stderr);
    }
    // The snapshot has what became of the list in `latest/`.
    let list = env.read("pub/latest/revoked.json");
    let kept = format!("pub/{recalled}/revoked.json");
    for damage in [Some("{"), None] {
        match damage {
            Some(text) => env.write("pub/latest/revoked.json", text),
            None => fs::remove_file(env.path("pub/latest/revoked.json")).unwrap(),
        }
        let run = env.run(&["publish", "rollback", &before, "--to", "pub"]);
        let message = format!("{recalled}/revoked.json recalls <=0.9.0 of `a`, and that snapshot does not");
        assert!(run.code == 4 && run.stderr.contains(&message), "{} {}", run.code, run.stderr);
        fs::remove_file(env.path(&kept)).unwrap();
        for arguments in [&["publish", "rollback", &before, "--to", "pub"][..], &["publish", "--to", "pub"]] {
            let run = env.run(arguments);
            assert!(run.code == 3 && run.stderr.contains("revoked.json cannot be used"), "{} {}", run.code, run.stderr);
            assert!(run.stderr.contains("help: restore it from a copy"), "{}", run.stderr);
        }
        env.write(&kept, &list);
    }
    env.write("pub/latest/revoked.json", &list);
    // One that recalls the same is put back.
    env.write("r/b/agent.json", manifest("b").replace("1.0.0", "1.1.0"));
    build(&env, "dist");
    report(&env, &["--revision", "four"]);
    assert_eq!(rollback(&env, &recalled, &[]).0, 0);
}

#[test]
fn a_publication_names_the_recalls_that_it_lacks() {
    let env = env();
    let publish = |versions: &[&str]| {
        let item = |versions: &&str| json!({ "id": "a", "versions": versions, "level": "revoked", "reason": "It reads keys", "since": "2026-01-31" });
        let items: Vec<Value> = versions.iter().map(item).collect();
        env.write("r/revoked.json", json!({ "schema": 1, "revoked": items }).to_string());
        build(&env, "dist");
        let run = env.run(&["publish", "--to", "pub"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr
    };
    assert_eq!(publish(&["0.1.0", "<0.8.0"]), "");
    assert_eq!(publish(&["0.1.0", "<0.9.0"]), "", "a range was widened");
    let said = publish(&["<0.5.0"]);
    assert!(said.contains("latest recalls <0.9.0 of `a`, and this tree does not") && !said.contains("0.1.0"), "{said}");
    assert_eq!(publish(&["<0.5.0"]), "", "it is said once");
    fs::remove_file(env.path("r/revoked.json")).unwrap();
    build(&env, "dist");
    let run = env.run(&["publish", "--to", "pub"]);
    assert!(run.code == 0 && run.stderr.contains("recalls <0.5.0 of `a`"), "{}", run.stderr);
    let run = env.run(&["publish", "--to", "pub"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn snapshots_are_listed_the_newest_first() {
    let env = env();
    let run = env.run(&["publish", "list", "--to", "pub"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("nothing was ever published there"), "{}", run.stderr);
    assert!(!env.path("pub").exists());
    let names = three(&env);
    record(&env, &names);
    let found = listed(&env);
    let expected: Vec<&String> = names.iter().rev().collect();
    assert_eq!(found.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    assert_eq!(found.iter().map(|one| one["is_latest"] == true).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(found[2]["created"], "2023-11-14T22:13:20Z");
    let sums = acp_registry_digest(&env.path("dist-1/SHA256SUMS"));
    assert_eq!((&found[2]["is_complete"], found[2]["sums_sha256"].as_str()), (&true.into(), Some(&*sums)));
    // One without a list, one of another program, and one that this program has not recorded.
    fs::remove_file(env.path(&format!("pub/{}/SHA256SUMS", names[1]))).unwrap();
    env.write("pub/v2020-01-01-data/x", "mine");
    env.write("pub/v2020-01-02-copied/SHA256SUMS", "");
    let run = env.run(&["publish", "list", "--to", "pub"]);
    let lines: Vec<&str> = run.stdout.lines().skip(1).map(str::trim_end).collect();
    assert!(lines.len() == 4 && lines[0].ends_with("latest") && lines[1].ends_with("interrupted"), "{}", run.stdout);
    assert!(lines[3].starts_with("v2020-01-02-copied  2020-01-0"), "{}", run.stdout);
    // Also without a state.
    fs::remove_dir_all(env.path("pub/.acp-registry")).unwrap();
    assert_eq!(listed(&env).len(), 3);
}

#[test]
fn what_cannot_be_put_back_changes_nothing() {
    let env = env();
    let names = three(&env);
    let before = tree(&env.path("pub"));
    for (name, why) in [
        ("latest", "latest is not a snapshot"),
        ("v2020-01-01-none", "v2020-01-01-none is not a snapshot"),
        ("v2020-01-01-x/../../dist", "is not a snapshot"),
        ("", " is not a snapshot"),
    ] {
        let run = env.run(&["publish", "rollback", name, "--to", "pub"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(why) && run.stderr.contains("publish list"), "{name}: {}", run.stderr);
    }
    assert_eq!(env.run(&["publish", "rollback", "--to", "pub"]).code, 2);
    assert!(tree(&env.path("pub")) == before);
    let digest = acp_registry_digest(&env.path("dist-1/entries/registry/a.json"));
    let content = format!("pub/content/{}/{digest}", &digest[..2]);
    env.write(&content, "damaged");
    let run = env.run(&["publish", "rollback", &names[0], "--to", "pub"]);
    assert!(run.code == 4 && run.stderr.contains("does not match its digest"), "{}", run.stderr);
    fs::remove_file(env.path(&content)).unwrap();
    let run = env.run(&["publish", "rollback", &names[0], "--to", "pub"]);
    assert!(run.code == 3 && run.stderr.contains("is missing, although a snapshot names it"), "{}", run.stderr);
    let list = format!("pub/{}/SHA256SUMS", names[0]);
    let good = env.read(&list);
    env.write(&list, good.replace("a.svg", "../a.svg"));
    let run = env.run(&["publish", "rollback", &names[0], "--to", "pub"]);
    assert!(run.code == 4 && run.stderr.contains("SHA256SUMS does not match its digest"), "{}", run.stderr);
    // Without a record, the names in a list are still not trusted.
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    let run = env.run(&["publish", "rollback", &names[0], "--to", "pub"]);
    assert!(run.code == 3 && run.stderr.contains("is not a digest and the name of a file"), "{}", run.stderr);
    assert!(!env.path("a.svg").exists() && tree(&env.path("pub/latest")).len() > 50);
}

#[test]
fn contents_go_with_the_last_snapshot_that_names_them() {
    let env = env();
    let names = three(&env);
    let contents = || tree(&env.path("pub/content")).len();
    let before = contents();
    env.write("pub/content/aa/mine", "mine");
    env.write(&format!("pub/content/ab/{}", "b".repeat(64)), "in the folder of others");
    let orphan = "ab".repeat(32);
    env.write(&format!("pub/content/ab/{orphan}"), "orphan");
    let prune = |arguments: &[&str]| env.json(&[&["publish", "prune", "--to", "pub"], arguments].concat()).1;
    assert_eq!(prune(&["--dry-run"])["removed_contents"], 1);
    let run = env.run(&["publish", "prune", "--to", "pub", "--dry-run"]);
    let said = "0 snapshots would be removed, 3 kept; 1 file that no snapshot names would be removed\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, said));
    record(&env, &names);
    let tried = prune(&["--keep", "0", "--dry-run"]);
    assert_eq!(contents(), before + 3);
    let done = prune(&["--keep", "0"]);
    assert_eq!((&done["removed"], &done["removed_contents"]), (&tried["removed"], &tried["removed_contents"]));
    assert_eq!(done["removed"], serde_json::json!(names[..2].iter().collect::<Vec<_>>()));
    let removed = usize::try_from(done["removed_contents"].as_u64().unwrap()).unwrap();
    assert!(removed > 5 && contents() == before + 3 - removed, "{removed}");
    assert!(!env.path(&format!("pub/content/ab/{orphan}")).exists() && env.path("pub/content/aa/mine").exists());
    assert!(env.path(&format!("pub/content/ab/{}", "b".repeat(64))).exists());
    assert!(snapshot(&env, &names[2]) == tree(&env.path("dist")));
    // It is not known what a snapshot names whose list cannot be read.
    env.write("pub/v2020-01-01-x/SHA256SUMS", "x");
    env.write(&format!("pub/content/ab/{orphan}"), "orphan");
    assert_eq!(prune(&["--keep", "0"])["removed_contents"], 0);
    assert!(env.path(&format!("pub/content/ab/{orphan}")).exists());
    assert_eq!(publish(&env, &[]).code, 0);
}
