//! Removes old snapshots.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::publish::{acp_registry_digest, env, report};
use crate::support::{Env, tree};

/// A snapshot of one file with its list of digests.
fn snapshot(env: &Env, name: &str) {
    env.write(&format!("pub/{name}/registry.json"), name);
    let digest = acp_registry_digest(&env.path(&format!("pub/{name}/registry.json")));
    env.write(&format!("pub/{name}/SHA256SUMS"), format!("{digest}  registry.json\n"));
}

fn prune(env: &Env, arguments: &[&str]) -> Vec<String> {
    let (code, report) = env.json(&[&["publish", "prune", "--to", "pub"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report["removed"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Changes the record of a snapshot.
fn record(env: &Env, name: &str, change: impl Fn(&mut Value)) {
    let mut state: Value = serde_json::from_str(&env.read("pub/.acp-registry/state.json")).unwrap();
    change(&mut state["snapshots"][name]);
    env.write("pub/.acp-registry/state.json", state.to_string());
}

#[test]
fn old_snapshots_are_removed_but_never_the_newest_or_the_one_in_use() {
    let env = env();
    let newest = report(&env, &["--revision", "new"])["snapshot"].as_str().unwrap().to_owned();
    snapshot(&env, "v2020-01-01-a");
    snapshot(&env, "v2020-01-02-b");
    // An incomplete snapshot, and an unknown one.
    env.write("pub/v2020-01-03-half/agents/x/agent.json", "{}");
    let digest = "0".repeat(64);
    record(&env, "v2020-01-03-half", |it| {
        *it = serde_json::json!({ "sums": digest, "created": 1_577_900_000, "is_complete": false });
    });
    for name in ["v2020-1-1-x", "other", "v2020-01-04-data"] {
        env.write(&format!("pub/{name}/registry.json"), "{}");
    }
    fs::create_dir(env.path("pub/v2020-01-05-empty")).unwrap();
    let old = ["v2020-01-01-a", "v2020-01-02-b", "v2020-01-03-half"];
    assert_eq!(prune(&env, &["--keep", "100000d"]), [] as [String; 0]);
    assert_eq!(prune(&env, &["--dry-run"]), old);
    assert!(env.path("pub/v2020-01-01-a").exists());
    assert_eq!(prune(&env, &[]), old);
    assert_eq!(old.iter().filter(|name| env.path(&format!("pub/{name}")).exists()).count(), 0);
    for kept in ["other", "v2020-1-1-x", "v2020-01-04-data", "latest", &newest] {
        assert!(env.path(&format!("pub/{kept}/registry.json")).exists(), "{kept}");
    }
    // All are old, and two are kept: the one that `latest/` was made from, and the newest.
    record(&env, &newest, |it| it["created"] = 1.into());
    snapshot(&env, "v2020-02-02-later");
    assert_eq!(prune(&env, &["--keep", "0"]), [] as [String; 0]);
    let run = env.run(&["publish", "prune", "--to", "pub", "--keep", "0"]);
    assert!(run.code == 0 && run.stdout == "0 snapshots removed, 2 kept\n", "{}", run.stdout);
    // Also without a state: the list of digests is used.
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    fs::rename(env.path(&format!("pub/{newest}")), env.path("pub/v2019-01-01-moved")).unwrap();
    snapshot(&env, "v2019-01-02-old");
    assert_eq!(prune(&env, &["--keep", "0"]), ["v2019-01-02-old"]);
    assert_eq!(env.run(&["publish", "prune"]).code, 2);
}

#[test]
fn what_is_no_part_of_a_snapshot_is_not_pruned() {
    let env = env();
    // Neither a directory that was never published to, nor a missing one.
    env.write("back/v2024-01-01-alpha/data.db", "mine");
    for to in ["back", "nowhere"] {
        for arguments in [&["--dry-run"][..], &[]] {
            let run = env.run(&[&["publish", "prune", "--keep", "0", "--to", to], arguments].concat());
            assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{to}: {}", run.stderr);
            assert!(
                run.stderr.contains(to) && run.stderr.contains("nothing was ever published there"),
                "{}",
                run.stderr
            );
        }
    }
    assert_eq!(env.read("back/v2024-01-01-alpha/data.db"), "mine");
    assert!(!env.path("nowhere").exists() && !env.path("back/.acp-registry").exists());
    report(&env, &[]);
    snapshot(&env, "v2020-01-01-a");
    env.write("pub/v2020-01-01-a/data.db", "mine");
    snapshot(&env, "v2020-01-02-b");
    env.write("pub/v2020-01-02-b/SHA256SUMS", "x");
    env.write("pub/v2020-01-03-c/data.db", "mine");
    let run = env.run(&["publish", "prune", "--to", "pub"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "remove v2020-01-01-a\n1 snapshot removed, 2 kept\n"));
    assert!(run.stderr.contains("v2020-01-01-a/data.db is not part of the snapshot, and is kept"), "{}", run.stderr);
    assert!(
        run.stderr.contains("v2020-01-02-b is kept") && run.stderr.contains("line 1 of SHA256SUMS"),
        "{}",
        run.stderr
    );
    assert_eq!(tree(&env.path("pub/v2020-01-01-a")), [("data.db".to_owned(), b"mine".to_vec())]);
    assert!(env.path("pub/v2020-01-02-b/registry.json").exists() && env.path("pub/v2020-01-03-c/data.db").exists());
    assert_eq!(prune(&env, &["--keep", "0"]), [] as [String; 0]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(env.path("back"), env.path("pub/v2020-01-04-link")).unwrap();
        assert_eq!(prune(&env, &["--keep", "0"]), [] as [String; 0]);
        assert_eq!(env.read("back/v2024-01-01-alpha/data.db"), "mine");
    }
}

#[test]
fn the_newest_snapshot_is_told_by_when_it_was_made() {
    let env = env();
    report(&env, &[]);
    // Two of the same day, distinguished by their times.
    for (name, seconds) in [("v2020-01-01-a", 1_577_880_000), ("v2020-01-01-b", 1_577_870_000)] {
        snapshot(&env, name);
        let time = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let list = fs::File::options().write(true).open(env.path(&format!("pub/{name}/SHA256SUMS"))).unwrap();
        list.set_modified(time).unwrap();
    }
    // A snapshot from the future does not stay the newest for ever.
    snapshot(&env, "v9999-01-01-x");
    let latest = fs::read_dir(env.path("pub")).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    let latest = latest.into_iter().find(|name| name.starts_with("v20") && !name.starts_with("v2020")).unwrap();
    fs::remove_dir_all(env.path(&format!("pub/{latest}"))).unwrap();
    record(&env, &latest, |it| it["created"] = 1.into());
    let run = env.run(&["publish", "prune", "--to", "pub", "--keep", "0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("v9999-01-01-x is dated in the future"), "{}", run.stderr);
    assert!(run.stdout.starts_with("remove v2020-01-01-b\n1 snapshot removed"), "{}", run.stdout);
    assert!(env.path("pub/v2020-01-01-a/registry.json").exists() && env.path("pub/v9999-01-01-x").exists());
}
