//! Counts what a client receives that uses a few agents of a published tree.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use acp_registry::digest::Sha256;
use acp_registry::manifest::Platform;
use serde_json::json;

use super::{PROGRAM, network};

/// How many agents the client has.
pub(crate) const AGENTS: usize = 10;

/// Requests, and bytes with headers.
pub(crate) type Received = (u64, u64);

/// A host of a tree and of an archive, which counts what it sends.
pub(crate) struct Host {
    pub(crate) address: String,
    /// Requests and bytes, without those of the archive.
    sent: Arc<Mutex<Received>>,
}

/// A client, and where it keeps its agents and copies.
pub(crate) struct Client<'a> {
    pub(crate) host: &'a Host,
    pub(crate) work: &'a Path,
}

impl Client<'_> {
    /// Installs these of the ten agents.
    pub(crate) fn install(&self, numbers: Range<usize>) -> Received {
        self.run("install", &["--no-check"], numbers)
    }

    /// Looks for updates of the ten agents.
    pub(crate) fn update(&self) -> Received {
        self.run("update", &["--refresh", "--dry-run"], 0..AGENTS)
    }

    /// Removes copies of earlier runs.
    pub(crate) fn forget(&self) {
        fs::remove_dir_all(self.work.join("home")).expect("copies");
    }

    fn run(&self, name: &str, flags: &[&str], numbers: Range<usize>) -> Received {
        *self.host.sent.lock().expect("a lock") = (0, 0);
        let mut command = Command::new(PROGRAM);
        command.args(["--allow-host", &self.host.address, name]).args(flags).args(numbers.map(id));
        command.env("ACP_REGISTRY_INDEX", format!("http://{}/registry.json", self.host.address));
        command.env("ACP_REGISTRY_ROOT", self.work.join("agents")).env("XDG_CACHE_HOME", self.work.join("home"));
        let output = command.output().expect("a run");
        // Exit code 1 says that there are updates.
        let is_fine = output.status.success() || output.status.code() == Some(1) && name == "update";
        assert!(is_fine, "{name}: {}", String::from_utf8_lossy(&output.stderr));
        *self.host.sent.lock().expect("a lock")
    }
}

fn id(number: usize) -> String {
    format!("example-{number}")
}

/// Writes the agents of the client, of which the first has this version.
pub(crate) fn agents(host: &Host, registry: &Path, version: &str) {
    for number in 0..AGENTS {
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
}

/// Serves a tree.
pub(crate) fn serve(tree: &Path) -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let host = Host { address, sent: Arc::default() };
    let (sent, tree) = (host.sent.clone(), Arc::new(tree.to_owned()));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sent, tree) = (sent.clone(), tree.clone());
            // A connection ends when the client closes it.
            thread::spawn(move || answer(stream, &sent, &tree));
        }
    });
    host
}

fn answer(mut stream: TcpStream, sent: &Mutex<Received>, tree: &Path) -> io::Result<()> {
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
            fs::read(tree.join(path.trim_start_matches('/'))).ok()
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
