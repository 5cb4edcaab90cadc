//! `publish` to a real S3 server.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::publish::{build, changed, large};
use crate::publish_reader::ending;
use crate::s3::{Fate, Moto, ask, bucket, forward, keys, proxy, publish, report};
use crate::server::Server;
use crate::support::{Env, ICON, Run, manifest, tree};

/// The keys written below a folder of a bucket, in the order of the requests.
fn puts(server: &Server, below: &str) -> Vec<String> {
    let requests = server.requests().into_iter().filter(|asked| asked.method == "PUT");
    requests.filter_map(|asked| asked.path.strip_prefix(below).map(ToOwned::to_owned)).collect()
}

#[test]
fn objects_have_their_headers_and_are_sent_once() {
    let Some(moto) = Moto::shared("objects_have_their_headers_and_are_sent_once") else { return };
    bucket(&moto, "headers");
    let env = Env::with(&["a", "b"]);
    build(&env, "dist");
    let server = proxy(&moto.host, |_| Fate::Pass);
    let to = ["--to", "s3://headers/reg/v1", "--revision", "x"];
    let first = report(&env, &server.host, &to);
    let snapshot = first["snapshot"].as_str().unwrap().to_owned();
    for (name, bytes) in tree(&env.path("dist")) {
        for (folder, is_latest) in [("latest", true), (&*snapshot, false)] {
            if !is_latest && !["registry.json", "SHA256SUMS"].contains(&name.as_str()) {
                continue;
            }
            let (status, headers, body) = ask(&moto.host, "GET", &format!("/headers/reg/v1/{folder}/{name}")).unwrap();
            assert!(status == 200 && body == bytes, "{folder}/{name}");
            let expected = match &*name {
                _ if !is_latest || name.starts_with("assets/") || name.starts_with("entry-lists/") => {
                    "public, max-age=31536000, immutable"
                }
                "entries.json" => "public, max-age=300, stale-while-revalidate=60",
                _ if name.starts_with("entries/") => "public, max-age=300, stale-while-revalidate=60",
                _ => "public, max-age=300",
            };
            assert_eq!(headers["cache-control"], expected, "{name}");
            assert!(!headers.contains_key("content-encoding"), "{name}");
            let kind = match name.rsplit('.').next().unwrap() {
                "html" => "text/html; charset=utf-8",
                "json" => "application/json",
                "svg" => "image/svg+xml",
                "png" => "image/png",
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "xml" => "application/xml",
                "md" => "text/markdown; charset=utf-8",
                _ => "text/plain; charset=utf-8",
            };
            assert_eq!(headers["content-type"], kind, "{name}");
        }
    }
    for key in keys(&moto, "headers").iter().filter(|key| key.contains("/content/")) {
        let (status, headers, body) = ask(&moto.host, "GET", &format!("/headers/{key}")).unwrap();
        assert_eq!((status, headers["content-type"].as_str()), (200, "application/octet-stream"));
        assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
        assert!(key.ends_with(&acp_registry::digest::Sha256::of(&body).to_string()), "{key}");
    }
    // Each key once; contents come first, then the snapshot, and the indexes come last in both.
    let sent = puts(&server, "/headers/reg/v1/");
    let published: Vec<&String> = sent.iter().filter(|key| !key.starts_with(".acp-registry/")).collect();
    assert_eq!(published.len(), published.iter().collect::<BTreeSet<_>>().len());
    let in_snapshot = published.iter().position(|key| key.starts_with(&snapshot)).unwrap();
    assert!(published[..in_snapshot].iter().all(|key| key.starts_with("content/")));
    let (in_snapshot, in_latest) = published[in_snapshot..].split_at(2);
    assert_eq!(in_snapshot, [&format!("{snapshot}/registry.json"), &format!("{snapshot}/SHA256SUMS")]);
    let at = |name: &str| in_latest.iter().position(|key| key.ends_with(name)).unwrap();
    assert!(in_latest.iter().enumerate().all(|(place, key)| ending(key) != "svg" || place < at("/registry.json")));
    assert!(at("agents/a/index.html") < at("/registry.json") && at("/registry.json") < at("/SHA256SUMS"));

    let server = proxy(&moto.host, |_| Fate::Pass);
    assert_eq!(changed(&report(&env, &server.host, &to)), [] as [String; 0]);
    assert_eq!(puts(&server, "/headers/reg/v1/latest"), [] as [String; 0]);
    assert_eq!(puts(&server, "/headers/reg/v1/v2"), [] as [String; 0]);
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "dist");
    let server = proxy(&moto.host, |_| Fate::Pass);
    report(&env, &server.host, &to);
    let mut sent = puts(&server, "/headers/reg/v1/latest/");
    assert_eq!(sent.pop().as_deref(), Some("SHA256SUMS"));
    sent.sort();
    assert_eq!(sent, ["agents/b/preview.png", "b.svg", "preview.png"]);

    // With the flag, the assets of pages are stored compressed, and no other files.
    let zipped = report(&env, &moto.host, &[&to[..], &["--gzip-assets"]].concat());
    assert!(changed(&zipped).iter().all(|one| one.contains("/assets/")) && !changed(&zipped).is_empty());
    for one in changed(&zipped) {
        let name = one.strip_prefix("send latest/").unwrap();
        let (_, headers, body) = ask(&moto.host, "GET", &format!("/headers/reg/v1/latest/{name}")).unwrap();
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(
            (headers["content-encoding"].as_str(), plain),
            ("gzip", std::fs::read(env.path(&format!("dist/{name}"))).unwrap())
        );
    }
    // A lost state is restored by reading, and nothing is sent.
    ask(&moto.host, "DELETE", "/headers/reg/v1/.acp-registry/state.json").unwrap();
    ask(&moto.host, "DELETE", "/headers/reg/v1/latest/a.svg").unwrap();
    let mended = report(&env, &moto.host, &[&to[..], &["--gzip-assets"]].concat());
    assert_eq!(changed(&mended), ["send latest/a.svg"]);
    assert!(!keys(&moto, "headers").iter().any(|key| key.contains("lease")), "a lease is left");
}

#[test]
fn large_documents_are_sent_once_and_copied_in_the_store() {
    let Some(moto) = Moto::shared("large_documents_are_sent_once_and_copied_in_the_store") else { return };
    bucket(&moto, "copies");
    let env = Env::empty();
    large(&env);
    let server = proxy(&moto.host, |_| Fate::Pass);
    report(&env, &server.host, &["--to", "s3://copies/x", "--from", "large"]);
    let sent = server.requests().into_iter().filter(|asked| asked.method == "PUT" && asked.body.len() > 300 << 10);
    let sent: Vec<String> = sent.map(|asked| asked.path).collect();
    assert!(sent.len() == 1 && sent[0].contains("/x/v20") && sent[0].ends_with("/registry.json"), "{sent:?}");
    let (_, headers, body) = ask(&moto.host, "GET", "/copies/x/latest/registry.json").unwrap();
    assert!(body == std::fs::read(env.path("large/registry.json")).unwrap());
    assert_eq!(headers["cache-control"], "public, max-age=300");
    assert_eq!(headers["content-type"], "application/json");
    assert!(!keys(&moto, "copies").contains("x/.acp-registry/copy.json"));
    // The copy is recorded like an object that was sent.
    assert_eq!(
        changed(&report(&env, &moto.host, &["--to", "s3://copies/x", "--from", "large", "--recheck"])),
        [] as [String; 0]
    );
}

#[test]
fn what_is_stale_goes_after_the_grace_and_snapshots_by_their_age() {
    let Some(moto) = Moto::shared("what_is_stale_goes_after_the_grace_and_snapshots_by_their_age") else { return };
    bucket(&moto, "stale");
    let env = Env::with(&["a", "b"]);
    build(&env, "dist");
    let to = ["--to", "s3://stale"];
    report(&env, &moto.host, &to);
    std::fs::remove_dir_all(env.path("r/b")).unwrap();
    build(&env, "dist");
    let gone = report(&env, &moto.host, &to);
    assert!(changed(&gone).contains(&"stale latest/b.svg".to_owned()), "{:?}", changed(&gone));
    assert!(keys(&moto, "stale").contains("latest/b.svg"));
    let removed = report(&env, &moto.host, &[&to[..], &["--grace", "0"]].concat());
    assert!(changed(&removed).contains(&"remove latest/b.svg".to_owned()), "{:?}", changed(&removed));
    let expected: BTreeSet<String> =
        tree(&env.path("dist")).into_iter().map(|(name, _)| format!("latest/{name}")).collect();
    let latest = |keys: BTreeSet<String>| keys.into_iter().filter(|key| key.starts_with("latest/")).collect();
    let found: BTreeSet<String> = latest(keys(&moto, "stale"));
    assert_eq!(found, expected);

    let kept = removed["snapshot"].as_str().unwrap();
    // Without a list of digests, the owner is unknown; an empty one lists nothing.
    let keys_of_others = ["v2020-01-02-b/data.db", "other/x", "v2020-01-01-a/data.db"];
    for key in keys_of_others.into_iter().chain(["v2020-01-01-a/SHA256SUMS"]) {
        assert_eq!(ask(&moto.host, "PUT", &format!("/stale/{key}")).unwrap().0, 200);
    }
    let run = Run::of(&mut publish(&env, &moto.host, &["prune", "--to", "s3://stale", "--dry-run"]));
    assert!(
        run.stdout.starts_with("remove v2020-01-01-a\n1 snapshot would be removed, "),
        "{}{}",
        run.stdout,
        run.stderr
    );
    // A publisher that has lost its lease may be about to name what was written today.
    let orphan = format!("content/ab/{}", "ab".repeat(32));
    assert_eq!(ask(&moto.host, "PUT", &format!("/stale/{orphan}")).unwrap().0, 200);
    let run = Run::of(&mut publish(&env, &moto.host, &["prune", "--to", "s3://stale", "--json"]));
    assert!(
        run.code == 0 && run.stderr.contains("v2020-01-01-a/data.db is not part of the snapshot"),
        "{}",
        run.stderr
    );
    let pruned: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(pruned["removed"], serde_json::json!(["v2020-01-01-a"]));
    assert!(pruned["removed_contents"] == 0 && keys(&moto, "stale").contains(&orphan), "{pruned}");
    let run = Run::of(&mut publish(&env, &moto.host, &["prune", "--to", "s3://stale", "--keep", "0"]));
    assert!(run.code == 0 && !keys(&moto, "stale").contains(&orphan), "{}", run.stderr);
    let run = Run::of(&mut publish(&env, &moto.host, &["prune", "--to", "s3://stale/nothing"]));
    assert!(run.code == 3 && run.stderr.contains("nothing was ever published there"), "{}", run.stderr);
    let keys = keys(&moto, "stale");
    assert!(!keys.contains("v2020-01-01-a/SHA256SUMS") && keys_of_others.iter().all(|key| keys.contains(*key)));
    assert!(keys.contains(&format!("{kept}/SHA256SUMS")) && latest(keys) == expected);
}

#[test]
fn what_the_store_refuses_is_said_with_the_remedy() {
    let Some(moto) = Moto::shared("what_the_store_refuses_is_said_with_the_remedy") else { return };
    let env = Env::with(&["a"]);
    build(&env, "dist");
    let fails = |host: &str, to: &str, code: i32, why: &[&str]| {
        let run = Run::of(&mut publish(&env, host, &["--to", to, "--json"]));
        assert_eq!(run.code, code, "{to}: {}", run.stderr);
        assert!(why.iter().all(|why| run.stderr.contains(why)), "{to}: {}", run.stderr);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("secret\""), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["error"]["exit_code"], code);
    };
    fails(&moto.host, "s3://missing/x", 3, &["s3://missing/x/", "there is no bucket `missing`"]);
    let run = Run::of(&mut publish(&env, &moto.host, &["--to", "s3://missing", "--dry-run"]));
    assert!(run.code == 3 && run.stderr.contains("there is no bucket"), "{}", run.stderr);
    let refusing = Server::answering(|_| {
        (403, Vec::new(), b"<Error><Code>SignatureDoesNotMatch</Code><Message>\x1b[31m</Message></Error>".to_vec())
    });
    fails(&refusing.host, "s3://b", 3, &["refuses the key (SignatureDoesNotMatch)", "check AWS_ACCESS_KEY_ID"]);
    fails("10.255.255.1:9", "s3://b", 2, &["http://10.255.255.1:9/ is refused", "--allow-host"]);
    fails(&moto.host, "s3://../x", 2, &["is not the address of a bucket", "write s3://BUCKET"]);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        let run = Run::of(publish(&env, &moto.host, &["--to", "s3://b"]).env_remove(name));
        assert!(run.code == 3 && run.stderr.contains(&format!("{name} is not set")), "{}", run.stderr);
    }
    let run = Run::of(publish(&env, &moto.host, &["--to", "s3://b"]).env("AWS_ENDPOINT_URL", "nowhere"));
    assert!(run.code == 2 && run.stderr.contains("AWS_ENDPOINT_URL is not an address"), "{}", run.stderr);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    fails(&closed, "s3://b", 3, &["s3://b/.acp-registry/lease.json: the request failed"]);
}

#[test]
fn trouble_that_passes_is_sat_out() {
    let Some(moto) = Moto::shared("trouble_that_passes_is_sat_out") else { return };
    bucket(&moto, "trouble");
    let env = Env::with(&["a", "b"]);
    build(&env, "dist");
    let count = AtomicUsize::new(0);
    let server = proxy(&moto.host, move |_| match count.fetch_add(1, Ordering::Relaxed) % 23 {
        5 => Fate::Answer(503),
        11 => Fate::Drop,
        17 => Fate::Answer(500),
        _ => Fate::Pass,
    });
    report(&env, &server.host, &["--to", "s3://trouble"]);
    let again = report(&env, &moto.host, &["--to", "s3://trouble", "--recheck"]);
    assert_eq!(changed(&again), [] as [String; 0]);
    for (name, bytes) in tree(&env.path("dist")) {
        assert!(ask(&moto.host, "GET", &format!("/trouble/latest/{name}")).unwrap().2 == bytes, "{name}");
    }
}

#[test]
fn publishers_take_turns_and_a_dead_one_is_not_waited_for_long() {
    let Some(moto) = Moto::shared("publishers_take_turns_and_a_dead_one_is_not_waited_for_long") else { return };
    bucket(&moto, "turns");
    let env = Env::with(&["a", "b"]);
    build(&env, "one");
    env.write("r/c/agent.json", manifest("c"));
    env.write("r/c/icon.svg", ICON);
    build(&env, "two");
    // A publisher that hangs because the store does not respond keeps its lease.
    let is_stuck = Arc::new(AtomicBool::new(true));
    let stuck = is_stuck.clone();
    let server = proxy(&moto.host, move |asked| {
        while stuck.load(Ordering::Relaxed) && asked.path.contains("/latest/b.svg") && asked.method == "PUT" {
            thread::sleep(Duration::from_millis(20));
        }
        Fate::Pass
    });
    let mut command = publish(&env, &server.host, &["--to", "s3://turns", "--from", "one", "--lease", "15s"]);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    while !keys(&moto, "turns").contains("latest/a.svg") {
        assert!(child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(50));
    }
    let run = Run::of(&mut publish(&env, &moto.host, &["--to", "s3://turns", "--from", "two", "--wait", "3s"]));
    assert!(run.code == 3 && run.stderr.contains("another publisher is writing to s3://turns/"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("(process {})", child.id())), "{}", run.stderr);
    // A killed publisher is waited for only until its lease expires.
    child.kill().unwrap();
    child.wait().unwrap();
    is_stuck.store(false, Ordering::Relaxed);
    let done = report(&env, &moto.host, &["--to", "s3://turns", "--from", "two", "--grace", "0"]);
    assert!(done["summary"]["sent"].as_u64().unwrap() > 0);
    // Two publishers at once leave one of the two trees, complete.
    thread::scope(|scope| {
        let both = ["one", "two"].map(|from| {
            scope.spawn(|| report(&env, &moto.host, &["--to", "s3://turns", "--from", from, "--grace", "0"]))
        });
        for one in both {
            one.join().unwrap();
        }
    });
    let read =
        |name: &str| ask(&moto.host, "GET", &format!("/turns/latest/{name}")).filter(|(status, ..)| *status == 200);
    let found = keys(&moto, "turns").into_iter().filter_map(|key| key.strip_prefix("latest/").map(ToOwned::to_owned));
    let mut latest: Vec<(String, Vec<u8>)> = found.map(|name| (name.clone(), read(&name).unwrap().2)).collect();
    latest.sort();
    assert!([tree(&env.path("one")), tree(&env.path("two"))].contains(&latest));
    // A publisher that lost its lease stops.
    let stuck = is_stuck;
    stuck.store(true, Ordering::Relaxed);
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    build(&env, "three");
    let sent = || puts(&server, "/turns/latest/").iter().filter(|key| *key == "b.svg").count();
    let before = sent();
    let mut command = publish(&env, &server.host, &["--to", "s3://turns", "--from", "three", "--lease", "15s"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Once the store gets the request, the lease is decided.
    while sent() == before {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ask(&moto.host, "PUT", "/turns/.acp-registry/lease.json").unwrap().0, 200);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && text.contains("has taken over s3://turns/"), "{text}");
    stuck.store(false, Ordering::Relaxed);
}

#[test]
fn a_store_that_keeps_no_conditions_is_told_apart() {
    let Some(moto) = Moto::shared("a_store_that_keeps_no_conditions_is_told_apart") else { return };
    bucket(&moto, "careless");
    let env = Env::with(&["a"]);
    build(&env, "dist");
    let host = moto.host.clone();
    let server = Server::raw(move |asked, stream| {
        let mut asked = asked.clone();
        asked.headers.retain(|name, _| !name.starts_with("if-"));
        forward(&host, &asked, stream)
    });
    for sent in [true, false] {
        let run = Run::of(&mut publish(&env, &server.host, &["--to", "s3://careless", "--json"]));
        assert!(run.code == 0 && run.stderr.contains("ignores conditional requests"), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(!changed(&report).is_empty(), sent);
    }
}
