//! Publishes trees to a store on loopback, and counts what is sent.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acp_registry::digest::Sha256;

use super::store::Store;
use super::{PROGRAM, Sample, measure};

/// What a publication sends.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) objects: usize,
    pub(crate) bytes: u64,
    /// The bytes besides documents of the whole registry.
    pub(crate) besides: u64,
    pub(crate) took: Duration,
}

/// Whether a file of a tree is a document of the whole registry: an index, the list of digests, the
/// history, the sitemap or the catalog.
fn is_whole(name: &str) -> bool {
    ["registry.json", "SHA256SUMS", "history.json"].contains(&name)
        || name.starts_with("sitemap")
        || name.starts_with("assets/catalog.")
}

/// The keys of the documents of the whole registry, in `latest/` and among the contents of snapshots.
fn whole(tree: &Path) -> HashSet<String> {
    let folders = [tree.to_owned(), tree.join("assets")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a tree"));
    let paths = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let named = paths.filter_map(|path| Some((path.strip_prefix(tree).ok()?.to_str()?.to_owned(), path)));
    let keys = named.filter(|(name, _)| is_whole(name)).flat_map(|(name, path)| {
        let digest = Sha256::of(fs::read(path).expect("a document")).to_string();
        [format!("latest/{name}"), format!("content/{}/{digest}", &digest[..2])]
    });
    keys.collect()
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

/// Builds the tree of a registry that is served at an address.
pub(crate) fn build(registry: &Path, tree: &Path, base: &str) -> Sample {
    let host = base.split('/').nth(2).expect("a host");
    let [registry, tree] = [registry, tree].map(|path| path.to_str().expect("a path in UTF-8"));
    let global = [PROGRAM, "--allow-host", host, "--registry-dir", registry];
    measure(&[&global[..], &["build", "-q", "--base-url", base, "--out", tree]].concat())
}

/// Publishes a tree compressed, and returns what was sent.
pub(crate) fn publish(store: &Store, tree: &Path) -> Sent {
    store.objects.lock().expect("a lock").written.clear();
    let mut command = Command::new(PROGRAM);
    command.args(["publish", "-q", "--gzip-assets", "--gzip-documents", "--to", "s3://bucket", "--from"]).arg(tree);
    command.current_dir(tree).env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    command.env("AWS_ENDPOINT_URL", format!("http://{}", store.address));
    let began = Instant::now();
    let output = command.output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let took = began.elapsed();
    let whole = whole(tree);
    let written = &store.objects.lock().expect("a lock").written;
    // In the folder of a snapshot, there is nothing else.
    let is_besides = |key: &str| !key.starts_with('v') && !whole.contains(key);
    let besides = written.iter().filter(|(key, _)| is_besides(key)).map(|(_, size)| size).sum();
    if std::env::var_os("BENCH_VERBOSE").is_some() && written.len() < 200 {
        for (key, size) in written {
            println!("{size:12} {key}");
        }
    }
    Sent { objects: written.len(), bytes: written.iter().map(|(_, size)| size).sum(), besides, took }
}
