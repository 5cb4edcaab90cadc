//! What `publish` refuses: trees, targets, states and links.

use std::fs;

use serde_json::Value;

use crate::publish::{acp_registry_digest, add, build, changed, env, publish, report};
use crate::support::tree;

#[test]
fn what_is_no_built_tree_is_refused() {
    let env = env();
    for (path, code, why) in [
        ("r", 3, "there is no SHA256SUMS\nhelp: make one with `acp-registry build --registry-dir r`"),
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
        (format!("{sums}{digest}  a.svg\n"), 4, "a.svg does not match its digest in SHA256SUMS"),
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
        assert!(run.code == 3 && run.stderr.contains("registry.json is not an index"), "{}", run.stderr);
        assert!(run.stderr.contains("make one with `acp-registry build --registry-dir r`"), "{}", run.stderr);
    }
    env.write("dist/registry.json", index);
    env.write("dist/SHA256SUMS", &sums);
    env.write("dist/b.svg", "<svg/>");
    let run = publish(&env, &[]);
    assert!(run.code == 4 && run.stderr.contains("b.svg does not match its digest in SHA256SUMS"), "{}", run.stderr);
    fs::remove_file(env.path("dist/b.svg")).unwrap();
    fs::create_dir(env.path("dist/b.svg")).unwrap();
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("b.svg: is a directory"), "{}", run.stderr);
    assert!(!env.path("pub").exists());
}

#[cfg(unix)]
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
        ("https://h.example/x", 2, "https is not known here\nhelp: name a directory, or a bucket as s3://BUCKET"),
        ("r", 2, "r is the registry itself, whose folders are agents\nhelp: name another directory with --to"),
        ("r/a", 2, "r/a is inside the registry"),
        ("r/new/x", 2, "r/new/x is inside the registry"),
        ("nx/../r", 2, "nx/../r is the registry itself"),
        ("nx/../r/new", 2, "nx/../r/new is inside the registry"),
        ("nx/../dist", 2, "nx/../dist is the tree itself"),
        ("-", 2, "cannot go to a pipe"),
    ] {
        let run = env.run(&["publish", "--to", to]);
        assert!(run.stdout.is_empty() && run.stderr.contains(why), "{to}: {}", run.stderr);
        assert_eq!(run.code, code, "{to}: {}", run.stderr);
    }
    assert_eq!(env.read("file"), "x");
    assert!(!env.path("r/latest").exists() && !env.path("r/new").exists() && !env.path("nx").exists());
    // Something else is in place of a file.
    fs::create_dir_all(env.path("pub/latest/a.svg/x")).unwrap();
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("latest/a.svg"), "{}", run.stderr);
    fs::remove_dir_all(env.path("pub")).unwrap();
    report(&env, &[]);
    for (state, why) in [("{", "EOF"), (r#"{"schema":3,"files":{},"snapshots":{}}"#, "another version")] {
        env.write("pub/.acp-registry/state.json", state);
        let run = publish(&env, &[]);
        assert!(run.code == 3 && run.stderr.contains("state.json cannot be used"), "{}", run.stderr);
        assert!(run.stderr.contains(why) && run.stderr.contains("remove it"), "{}", run.stderr);
    }
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    fs::create_dir(env.path("pub/.acp-registry/state.json")).unwrap();
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("state.json: is a directory"), "{}", run.stderr);
    let help = "help: restore it from a copy, or name another directory with --to";
    assert!(run.stderr.contains(help), "{}", run.stderr);
    // A lost state is restored from the files.
    fs::remove_dir(env.path("pub/.acp-registry/state.json")).unwrap();
    assert!(!env.path("s3:").exists() && !env.path("-").exists());
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);
    fs::remove_file(env.path("pub/latest/a.svg")).unwrap();
    assert_eq!(changed(&report(&env, &[])), [] as [String; 0]);
    assert_eq!(changed(&report(&env, &["--recheck"])), ["send latest/a.svg"]);
}

/// If a state could list files outside `latest/` for removal, anyone who can write it could delete any file.
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
    // A directory is not a file to remove, and does not prevent publishing.
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
    refused("pub/latest/agents", "vic");
    refused("pub/content", "vic");
    refused("pub/.acp-registry", "vic");
    // Outdated files are not looked up through a link either.
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
    // The target itself may be a link, and a link in place of a file is replaced.
    symlink(env.path("pub"), env.path("link")).unwrap();
    fs::remove_file(env.path("pub/latest/a.svg")).unwrap();
    symlink(env.path("vic/val"), env.path("pub/latest/a.svg")).unwrap();
    let run = env.run(&["publish", "--to", "link", "--recheck", "--grace", "0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!env.path("pub/latest/a.svg").is_symlink() && tree(&env.path("pub/latest")) == tree(&env.path("dist")));
    assert_eq!(env.read("vic/val"), "mine");
    // A linked folder in the built tree could publish any file of this machine.
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
        assert!(run.stderr.contains("registry.json already exists"), "{}", run.stderr);
        assert!(run.stderr.contains("move it away"), "{}", run.stderr);
    }
    assert_eq!(tree(&env.path("pub/latest")), [("registry.json".to_owned(), b"mine".to_vec())]);
    // A tree with a list of digests is a published one, but files that are not in the list are not part of it.
    env.write("pub/latest/SHA256SUMS", format!("{}  registry.json\n", "0".repeat(64)));
    env.write("pub/latest/robots.txt", "mine");
    env.write("pub/latest/other.txt", "mine");
    let run = publish(&env, &[]);
    assert!(run.code == 3 && run.stderr.contains("robots.txt already exists"), "{}", run.stderr);
    assert_eq!(env.read("pub/latest/registry.json"), "mine");
    fs::remove_file(env.path("pub/latest/robots.txt")).unwrap();
    report(&env, &[]);
    assert_eq!(env.read("pub/latest/other.txt"), "mine");
    assert_eq!(env.read("pub/latest/registry.json"), env.read("dist/registry.json"));
}
