//! `build --previous URL`.

use crate::server::Server;
use crate::support::{Env, ICON, tree};

/// A registry whose agent `a` has an error now, and the files of the tree that was published before.
fn failing() -> (Env, Vec<(String, Vec<u8>)>) {
    let env = Env::with(&["a", "b"]);
    env.run(&["build", "--out", "old", "--no-site"]);
    env.write("r/a/icon.svg", "<svg");
    let files = tree(&env.path("old"));
    (env, files)
}

#[test]
fn the_last_form_comes_from_the_web() {
    let (env, files) = failing();
    let server = Server::with_files(files);
    for address in [format!("http://{}/r", server.host), format!("http://{}/r/", server.host)] {
        let run =
            env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.starts_with("kept the last published form of a\n"), "{}", run.stdout);
        assert_eq!(env.read("new/a.svg"), ICON);
    }
    assert_eq!(server.asked()[..2], ["/r/registry.json", "/r/a.svg"]);
}

#[test]
fn nobody_is_asked_when_nothing_fails() {
    let env = Env::with(&["a"]);
    let server = Server::with_files(Vec::new());
    let address = format!("http://{}/r", server.host);
    assert_eq!(
        env.run(&["--allow-host", &server.host, "build", "--out", "o", "--no-site", "--previous", &address]).code,
        0
    );
    assert_eq!(server.asked(), [] as [String; 0]);
}

#[test]
fn private_hosts_need_permission_also_behind_a_redirect() {
    let (env, files) = failing();
    let target = Server::with_files(files);
    let elsewhere = ("Location", format!("http://{}/r/registry.json", target.host));
    let server = Server::start([("/r/registry.json".to_owned(), (302, vec![elsewhere], Vec::new()))]);
    let address = format!("http://{}/r", server.host);
    let build = ["build", "--out", "new", "--no-site", "--previous", &address];

    let run = env.run(&build);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("is refused") && run.stderr.contains("--allow-host"), "{}", run.stderr);
    assert_eq!(server.asked(), [] as [String; 0]);

    let run = env.run(&[&["--allow-host", &server.host], &build[..]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(&target.host) && run.stderr.contains("is refused"), "{}", run.stderr);
    assert_eq!(target.asked(), [] as [String; 0]);
}

#[test]
fn a_host_that_fails_is_told_from_one_that_has_nothing() {
    let (env, _) = failing();
    let loop_back = ("Location", "/r/registry.json".to_owned());
    for (answer, code, part) in [
        ((500, vec![], vec![]), 3, "answers 500"),
        ((403, vec![], vec![]), 3, "answers 403"),
        ((302, vec![], vec![]), 3, "answers 302"),
        ((302, vec![loop_back], vec![]), 3, "redirects more than 10 times"),
        ((200, vec![], b"<html>".to_vec()), 3, "registry.json of the previous tree"),
        ((404, vec![], vec![]), 1, "no earlier form can stand in for a"),
    ] {
        let server = Server::start([("/r/registry.json".to_owned(), answer)]);
        let address = format!("http://{}/r", server.host);
        let run =
            env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        assert!(!env.path("new").exists());
    }
    // A port that nobody listens on.
    let run = env.run(&["--allow-host", "127.0.0.1:1", "build", "--out", "new", "--previous", "http://127.0.0.1:1/r"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("cannot be reached"), "{}", run.stderr);
    for address in ["http://", "ftp://host.example/r", "file://host/x"] {
        let code = env.run(&["build", "--out", "new", "--previous", address]).code;
        assert!([2, 3].contains(&code), "{address}: {code}");
    }
}
