//! `publish` to a real S3 server that stores documents compressed.

use std::fs;
use std::io::Read as _;

use acp_registry::digest::Sha256;
use serde_json::Value;

use crate::publish::{build, changed};
use crate::s3::{Fate, KEY, Moto, ask, bucket, forward, keys, proxy, publish, report, send_with};
use crate::server::Server;
use crate::support::{Env, Run, manifest, tree};

const FLAGS: [&str; 2] = ["--gzip-assets", "--gzip-documents"];

/// The names of the files of `latest/` that are stored compressed with the flags.
fn is_encoded(name: &str) -> bool {
    ["registry.json", "SHA256SUMS", "sitemap.xml"].contains(&name) || name.starts_with("assets/")
}

/// The content of an object, and its encoding.
fn read(moto: &Moto, key: &str) -> Option<(Vec<u8>, String)> {
    let (status, headers, body) = ask(&moto.host, "GET", &format!("/{key}")).unwrap();
    if status == 404 {
        return None;
    }
    assert_eq!(status, 200, "{key}");
    let encoding = headers.get("content-encoding").cloned().unwrap_or_default();
    if encoding.is_empty() {
        return Some((body, encoding));
    }
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut content).unwrap();
    Some((content, encoding))
}

/// Whether `latest/` of a bucket has all files of a tree, with the encodings that the flags ask for.
#[track_caller]
fn holds(moto: &Moto, bucket: &str, env: &Env, out: &str) {
    for (name, bytes) in tree(&env.path(out)) {
        let (content, encoding) = read(moto, &format!("{bucket}/latest/{name}")).unwrap();
        assert!(content == bytes, "{name}");
        assert_eq!(encoding, if is_encoded(&name) { "gzip" } else { "" }, "{name}");
    }
}

#[test]
fn clients_read_the_bytes_of_documents_that_are_stored_compressed() {
    let Some(moto) = Moto::shared("clients_read_the_bytes_of_documents_that_are_stored_compressed") else { return };
    bucket(&moto, "gzip");
    let env = Env::with(&["a", "b"]);
    build(&env, "dist");
    let to = [&["--to", "s3://gzip"][..], &FLAGS].concat();
    let first = report(&env, &moto.host, &to);
    holds(&moto, "gzip", &env, "dist");
    let snapshot = first["snapshot"].as_str().unwrap();
    for name in ["registry.json", "SHA256SUMS"] {
        let (content, encoding) = read(&moto, &format!("gzip/{snapshot}/{name}")).unwrap();
        assert_eq!((content, encoding.as_str()), (fs::read(env.path(&format!("dist/{name}"))).unwrap(), "gzip"));
    }
    // Contents are named by the digest of what readers decode.
    let contents: Vec<String> = keys(&moto, "gzip").into_iter().filter(|key| key.starts_with("content/")).collect();
    let encodings = contents.iter().map(|key| {
        let (content, encoding) = read(&moto, &format!("gzip/{key}")).unwrap();
        assert!(key.ends_with(&Sha256::of(content).to_string()), "{key}");
        encoding
    });
    assert!(encodings.filter(|encoding| encoding == "gzip").count() > 5);
    assert!(!keys(&moto, "gzip").contains(".acp-registry/encoding.json"));
    assert_eq!(changed(&report(&env, &moto.host, &to)), [] as [String; 0]);
    assert_eq!(changed(&report(&env, &moto.host, &[&to[..], &["--recheck"]].concat())), [] as [String; 0]);

    // The bucket is private: a proxy serves it publicly, as a CDN does.
    let host = moto.host.clone();
    let cdn = Server::raw(move |asked, stream| {
        let mut asked = asked.clone();
        asked.headers.insert("authorization".to_owned(), KEY.to_owned());
        forward(&host, &asked, stream)
    });
    let base = cdn.url("/gzip/latest/");
    let (code, list) = env.json(&["--allow-host", &cdn.host, "list", "--index", &format!("{base}registry.json")]);
    assert_eq!(code, 0, "{list}");
    assert_eq!(list["index"]["sha256"], Sha256::of(fs::read(env.path("dist/registry.json")).unwrap()).to_string());
    assert_eq!(list["agents"].as_array().unwrap().len(), 2);
    let (code, diff) = env.json(&["--allow-host", &cdn.host, "diff", &base, "dist"]);
    assert_eq!(code, 0, "{diff}");
    // A broken agent keeps the form that is published.
    env.write("r/b/agent.json", "{");
    let arguments = [
        "--allow-host", &cdn.host, "build", "--out", "next", "--base-url", "https://h.example/latest", "--previous",
        &base,
    ];
    let (code, kept) = env.json(&arguments);
    assert!(code == 0 && kept["kept"] == serde_json::json!(["b"]), "{kept}");
    assert_eq!(env.read("next/registry.json"), env.read("dist/registry.json"));

    // Without the flags, files are stored as they are.
    let plain = report(&env, &moto.host, &["--to", "s3://gzip"]);
    assert!(changed(&plain).contains(&"send latest/registry.json".to_owned()), "{:?}", changed(&plain));
    let (content, encoding) = read(&moto, "gzip/latest/registry.json").unwrap();
    assert_eq!((content, encoding.as_str()), (fs::read(env.path("dist/registry.json")).unwrap(), ""));
}

#[test]
fn snapshots_of_compressed_documents_are_listed_put_back_and_pruned() {
    let Some(moto) = Moto::shared("snapshots_of_compressed_documents_are_listed_put_back_and_pruned") else { return };
    bucket(&moto, "gzip-back");
    let env = Env::with(&["a", "b"]);
    let to = ["--to", "s3://gzip-back"];
    let mut names = Vec::new();
    for (out, version) in [("one", "1.0.0"), ("two", "1.1.0")] {
        env.write("r/a/agent.json", manifest("a").replace("1.0.0", version));
        build(&env, out);
        let sent = report(&env, &moto.host, &[&to[..], &FLAGS, &["--from", out, "--revision", out]].concat());
        names.push(sent["snapshot"].as_str().unwrap().to_owned());
    }
    let run = |arguments: &[&str]| {
        let run = Run::of(&mut publish(&env, &moto.host, &[arguments, &to, &["--json"]].concat()));
        assert!(run.code == 0 && !run.stderr.contains("warning"), "{}{}", run.stdout, run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let listed = run(&["list"]);
    assert_eq!(listed["snapshots"].as_array().unwrap().len(), 2, "{listed}");
    run(&["rollback", &names[0], "--grace", "0"]);
    holds(&moto, "gzip-back", &env, "one");
    // A lost state is restored by reading the list in `latest/`.
    ask(&moto.host, "DELETE", "/gzip-back/.acp-registry/state.json").unwrap();
    report(&env, &moto.host, &[&to[..], &FLAGS, &["--from", "two"]].concat());
    holds(&moto, "gzip-back", &env, "two");
    let pruned = run(&["prune", "--keep", "0"]);
    assert_eq!(pruned["removed"], serde_json::json!([names[0]]), "{pruned}");
    assert!(pruned["removed_contents"].as_u64().unwrap() > 0, "{pruned}");
    holds(&moto, "gzip-back", &env, "two");
    run(&["rollback", &names[1]]);
    let again = report(&env, &moto.host, &[&to[..], &FLAGS, &["--from", "two", "--recheck"]].concat());
    assert!(changed(&again).iter().all(|one| one.starts_with("stale ")), "{:?}", changed(&again));

    // A damaged document is refused before anything is changed.
    let key = format!("/gzip-back/{}/registry.json", names[1]);
    let (_, _, body) = ask(&moto.host, "GET", &key).unwrap();
    send_with(&moto.host, "PUT", &key, &[("Content-Encoding", "gzip")], &body[..body.len() - 9]).unwrap();
    let run = Run::of(&mut publish(&env, &moto.host, &[&["rollback", &names[1]], &to[..]].concat()));
    assert!(run.code == 3 && run.stderr.contains("registry.json: is damaged, or larger than"), "{}", run.stderr);
    holds(&moto, "gzip-back", &env, "two");
}

#[test]
fn an_index_that_another_tool_has_compressed_is_taken_over() {
    let Some(moto) = Moto::shared("an_index_that_another_tool_has_compressed_is_taken_over") else { return };
    bucket(&moto, "gzip-foreign");
    let env = Env::with(&["a"]);
    build(&env, "dist");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, br#"{ "agents": [{ "icon": "gone.svg" }] }"#).unwrap();
    let index = encoder.finish().unwrap();
    for (name, body) in [("registry.json", &index[..]), ("gone.svg", &index)] {
        let headers = [("Content-Encoding", "gzip")];
        send_with(&moto.host, "PUT", &format!("/gzip-foreign/latest/{name}"), &headers, body).unwrap();
    }
    let arguments = [&["--to", "s3://gzip-foreign", "--json"][..], &FLAGS].concat();
    let run = Run::of(&mut publish(&env, &moto.host, &arguments));
    assert!(run.code == 0 && run.stderr.contains("was written by another tool, and is taken over"), "{}", run.stderr);
    assert!(changed(&serde_json::from_str(&run.stdout).unwrap()).contains(&"stale latest/gone.svg".to_owned()));
    holds(&moto, "gzip-foreign", &env, "dist");
}

#[test]
fn a_store_that_loses_encodings_gets_plain_files() {
    let Some(moto) = Moto::shared("a_store_that_loses_encodings_gets_plain_files") else { return };
    bucket(&moto, "gzip-lost");
    let env = Env::with(&["a"]);
    build(&env, "dist");
    let host = moto.host.clone();
    let server = Server::raw(move |asked, stream| {
        let mut asked = asked.clone();
        asked.headers.remove("content-encoding");
        forward(&host, &asked, stream)
    });
    let arguments = [&["--to", "s3://gzip-lost"][..], &FLAGS].concat();
    for _ in 0..2 {
        let run = Run::of(&mut publish(&env, &server.host, &arguments));
        assert!(run.code == 0 && run.stderr.contains("the store loses the header Content-Encoding"), "{}", run.stderr);
        for (name, bytes) in tree(&env.path("dist")) {
            assert!(read(&moto, &format!("gzip-lost/latest/{name}")).unwrap() == (bytes, String::new()), "{name}");
        }
    }
    assert!(!keys(&moto, "gzip-lost").contains(".acp-registry/encoding.json"));
}

#[test]
fn large_compressed_documents_are_sent_once() {
    let Some(moto) = Moto::shared("large_compressed_documents_are_sent_once") else { return };
    bucket(&moto, "gzip-copies");
    let env = Env::empty();

    let mut random = fastrand::Rng::with_seed(1);
    let index = format!(
        "{{ \"agents\": [], \"x\": \"{}\" }}",
        (0..600 << 10).map(|_| random.alphanumeric()).collect::<String>()
    );
    env.write("large/registry.json", &index);
    env.write("large/SHA256SUMS", format!("{}  registry.json\n", Sha256::of(index.as_bytes())));
    let server = proxy(&moto.host, |_| Fate::Pass);
    report(&env, &server.host, &[&["--to", "s3://gzip-copies", "--from", "large"][..], &FLAGS].concat());
    let sent = server.requests().into_iter().filter(|asked| asked.method == "PUT" && asked.body.len() > 300 << 10);
    let sent: Vec<String> = sent.map(|asked| asked.path).collect();
    assert!(sent.len() == 1 && sent[0].contains("/v20") && sent[0].ends_with("/registry.json"), "{sent:?}");
    let copied = read(&moto, "gzip-copies/latest/registry.json").unwrap();
    assert!(copied == (index.into_bytes(), "gzip".to_owned()));
}
