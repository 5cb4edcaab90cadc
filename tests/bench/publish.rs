//! Counts what `publish` sends after one agent of a registry has changed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::store::{self, Store};
use super::{PROGRAM, generate};

/// The most objects that may be sent.
const OBJECTS: usize = 60;

/// The most bytes that may be sent besides documents of the whole registry.
const BYTES: u64 = 2_000_000;

/// Prints objects, bytes and time of a publication to a store on loopback, for each size.
pub(crate) fn compare(folder: &Path, sizes: &[usize]) {
    println!("publish to a store after one change (wanted: {OBJECTS} objects, {BYTES} bytes besides whole documents)");
    for agents in sizes {
        let registry = folder.join(format!("publish-{agents}"));
        if !registry.exists() {
            generate::registry(&registry, *agents).expect("a synthetic registry");
        }
        let work = tempfile::Builder::new().prefix("publish-").tempdir_in(folder).expect("a directory");
        let store = store::serve(&work.path().join("bucket"));
        build(&registry, work.path());
        let (first, whole, _) = publish(&store, work.path());
        println!("  {agents} agents: the first publication sends {first} objects, {whole} bytes");
        change(&registry, 0);
        build(&registry, work.path());
        let (objects, bytes, took) = publish(&store, work.path());
        let sent = std::mem::take(&mut store.objects.lock().expect("a lock").written);
        let of_all: u64 = sent.iter().filter(|(key, _)| is_whole(key)).map(|(_, size)| size).sum();
        let copies = sent.iter().filter(|(_, size)| *size == 0).count();
        let rest = bytes - of_all;
        let verdict = if objects > OBJECTS || rest > BYTES { ", MORE than wanted" } else { "" };
        println!(
            "    {objects} objects ({copies} of them copied in the store), {bytes} bytes, {rest} besides whole documents, \
             {:.1} s{verdict}",
            took.as_secs_f64()
        );
        if std::env::var_os("BENCH_VERBOSE").is_some() {
            for (key, size) in &sent {
                println!("      {size:10} {key}");
            }
        }
    }
}

/// Whether an object is a document of the whole registry: an index, the list of digests, the sitemap or the catalog.
fn is_whole(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    ["registry.json", "SHA256SUMS", "sitemap.xml"].contains(&name) || name.starts_with("catalog.")
}

/// Gives an agent another version.
pub(crate) fn change(registry: &Path, number: usize) {
    let folders = fs::read_dir(registry).expect("a registry").map(|folder| folder.expect("a folder").path());
    let mut files: Vec<_> = folders.map(|folder| folder.join("agent.json")).filter(|file| file.exists()).collect();
    files.sort();
    let file = &files[number];
    let text = fs::read_to_string(file).expect("a manifest");
    let (_, rest) = text.split_once("\"version\": \"").expect("a version");
    let (version, _) = rest.split_once('"').expect("its end");
    let next = if version == "2027.1.1" { "2027.1.2" } else { "2027.1.1" };
    fs::write(file, text.replace(version, next)).expect("a manifest");
}

pub(crate) fn build(registry: &Path, work: &Path) {
    let mut build = Command::new(PROGRAM);
    build.arg("--registry-dir").arg(registry).args(["build", "-q", "--base-url", "https://h.example/latest", "--out"]);
    let output = build.arg(work.join("dist")).output().expect("a build");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Publishes, and returns the number of objects, the bytes and the time.
pub(crate) fn publish(store: &Store, work: &Path) -> (usize, u64, Duration) {
    store.objects.lock().expect("a lock").written.clear();
    let mut command = Command::new(PROGRAM);
    command.args(["publish", "-q", "--to", "s3://bucket", "--from"]).arg(work.join("dist")).current_dir(work);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    command.env("AWS_ENDPOINT_URL", format!("http://{}", store.address));
    let began = Instant::now();
    let output = command.output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let took = began.elapsed();
    let objects = store.objects.lock().expect("a lock");
    (objects.written.len(), objects.written.iter().map(|(_, size)| size).sum(), took)
}
