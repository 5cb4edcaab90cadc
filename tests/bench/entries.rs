//! Counts what a client receives that uses a few agents of published trees of different sizes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use acp_registry::digest::Sha256;
use acp_registry::manifest::Platform;
use serde_json::json;

use super::{PROGRAM, generate, network};

/// How many agents `update` updates.
const UPDATED: usize = 10;

/// The largest growth from the smallest registry to any other, in percent.
const GROWTH: u64 = 20;

/// A host of a tree and of an archive, which counts what it sends.
struct Host {
    address: String,
    /// Requests and bytes, without those of the archive.
    sent: Arc<Mutex<(u64, u64)>>,
    tree: Arc<Mutex<PathBuf>>,
}

/// Prints requests and bytes for each size, and how much more that is than for the smallest.
pub(crate) fn compare(folder: &Path, sizes: &[usize]) {
    let host = serve();
    let mut first: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    println!("what one client receives, requests and bytes with headers (wanted: the same within {GROWTH} %)");
    for agents in sizes {
        let registry = folder.join(format!("entries-{agents}"));
        if !registry.exists() {
            generate::registry(&registry, agents - UPDATED).expect("a synthetic registry");
        }
        let work = tempfile::Builder::new().prefix("entries-").tempdir_in(folder).expect("a directory");
        let index = publish(&host, &registry, work.path(), "1.0.0");
        println!("  {agents} agents, an index of {index} bytes");
        let ids: Vec<String> = (0..UPDATED).map(id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut row = |name: &'static str, arguments: &[&str]| {
            let (requests, bytes) = run(&host, work.path(), arguments);
            let (least, fewest) = *first.entry(name).or_insert((requests, bytes));
            let growth = |now: u64, before: u64| (now * 100 / before).saturating_sub(100);
            let grown = growth(bytes, fewest).max(growth(requests, least));
            let verdict = if grown > GROWTH { ", MORE than wanted" } else { "" };
            println!("    {name:40} {requests:5} requests {bytes:9} bytes   +{grown} %{verdict}");
        };
        row("resolve", &["resolve", ids[0]]);
        forget(work.path());
        row("install", &["install", "--no-check", ids[0]]);
        row("install of the others", &[&["install", "--no-check"][..], &ids[1..]].concat());
        row("update of ten, nothing changed", &[&["update", "--refresh"][..], &ids].concat());
        forget(work.path());
        row("update of ten without copies", &[&["update", "--dry-run"][..], &ids].concat());
        publish(&host, &registry, work.path(), "1.1.0");
        // Exit code 1 says that there are updates.
        row("update of ten, of which one has changed", &[&["update", "--refresh", "--dry-run"][..], &ids].concat());
    }
}

fn id(number: usize) -> String {
    format!("example-{number}")
}

/// Removes what the client has kept.
fn forget(work: &Path) {
    fs::remove_dir_all(work.join("home")).expect("copies");
}

/// Writes the agents of the client, of which the first has this version, and builds the tree. Returns the size of the
/// index.
fn publish(host: &Host, registry: &Path, work: &Path, version: &str) -> u64 {
    for number in 0..UPDATED {
        let version = if number == 0 { version } else { "1.0.0" };
        let targets = Platform::ALL.map(|platform| {
            let archive = format!("http://{}/archives/{version}/{platform}", host.address);
            (platform.as_str().to_owned(), json!({ "archive": archive, "cmd": "./agent" }))
        });
        network::agent(registry, &id(number), &targets.into_iter().collect());
        let file = registry.join(id(number)).join("agent.json");
        let text = fs::read_to_string(&file).expect("a manifest").replace("\"1.0.0\"", &format!("\"{version}\""));
        fs::write(&file, text).expect("a manifest");
    }
    let out = work.join("out");
    let mut build = Command::new(PROGRAM);
    build.args(["--allow-host", &host.address, "--registry-dir"]).arg(registry);
    build.args(["build", "--no-site", "-q", "--base-url", &format!("http://{}", host.address), "--out"]).arg(&out);
    let output = build.output().expect("a build");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    host.tree.lock().expect("a lock").clone_from(&out);
    fs::metadata(out.join("registry.json")).expect("an index").len()
}

/// Runs a command, and returns the requests and bytes that it received.
fn run(host: &Host, work: &Path, arguments: &[&str]) -> (u64, u64) {
    *host.sent.lock().expect("a lock") = (0, 0);
    let mut command = Command::new(PROGRAM);
    command.args(["--allow-host", &host.address]).args(arguments);
    command.env("ACP_REGISTRY_INDEX", format!("http://{}/registry.json", host.address));
    command.env("ACP_REGISTRY_ROOT", work.join("agents")).env("XDG_CACHE_HOME", work.join("home"));
    let output = command.output().expect("a run");
    let is_fine = output.status.success() || output.status.code() == Some(1) && arguments.contains(&"--dry-run");
    assert!(is_fine, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    *host.sent.lock().expect("a lock")
}

fn serve() -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let host = Host { address, sent: Arc::default(), tree: Arc::default() };
    let (sent, tree) = (host.sent.clone(), host.tree.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sent, tree) = (sent.clone(), tree.clone());
            // A connection ends when the client closes it.
            thread::spawn(move || answer(stream, &sent, &tree));
        }
    });
    host
}

fn answer(mut stream: TcpStream, sent: &Mutex<(u64, u64)>, tree: &Mutex<PathBuf>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut request, mut known) = (String::new(), String::new());
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            if let Some(tag) = line.to_ascii_lowercase().strip_prefix("if-none-match:") {
                tag.trim().clone_into(&mut known);
            }
            line.clear();
        }
        let path = request.split_whitespace().nth(1).unwrap_or_default();
        let is_archive = path.starts_with("/archives/");
        let body = if is_archive {
            Some(b"#!/bin/sh\n".to_vec())
        } else {
            fs::read(tree.lock().expect("a lock").join(path.trim_start_matches('/'))).ok()
        };
        let tag = body.as_ref().map(|body| format!("\"{}\"", Sha256::of(body).first(16)));
        let (status, body) = match (body, tag.as_ref()) {
            (_, Some(tag)) if *tag == known => (304, Vec::new()),
            (Some(body), _) => (200, body),
            (None, _) => (404, Vec::new()),
        };
        let tag = tag.unwrap_or_default();
        let length = body.len();
        let mut answer = format!("HTTP/1.1 {status} X\r\nETag: {tag}\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        answer.extend_from_slice(&body);
        if !is_archive {
            let mut sent = sent.lock().expect("a lock");
            *sent = (sent.0 + 1, sent.1 + answer.len() as u64);
        }
        stream.write_all(&answer)?;
    }
}
