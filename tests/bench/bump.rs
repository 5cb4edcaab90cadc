//! Measures how long `bump` takes for a thousand agents with slow sources, and counts its requests.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::{PROGRAM, measure};
use crate::network::agent;

/// The delay of every response.
const DELAY: Duration = Duration::from_millis(50);

/// The number of agents: half of them have archives on GitHub for three platforms, half an npm package.
const AGENTS: usize = 1000;

/// Every n-th agent of each kind has a newer version.
const NEWER: usize = 10;

const PLATFORMS: [&str; 3] = ["darwin-aarch64", "linux-x86_64", "windows-x86_64"];

/// The number of requests, by kind.
type Counts = Arc<Mutex<HashMap<&'static str, usize>>>;

/// Measures a first run, and a run an hour later with the cache of the first.
pub(crate) fn bump(folder: &Path) {
    let counts = Counts::default();
    let host = serve(counts.clone());
    let (registry, cache) = (folder.join("bump"), folder.join("bump-cache"));
    for path in [&registry, &cache] {
        if path.exists() {
            fs::remove_dir_all(path).expect("the last run's files");
        }
    }
    for number in 0..AGENTS {
        write_agent(&registry, number, &host);
    }
    // Exit code 1: updates were found.
    let script = format!(
        "ACP_REGISTRY_NPM=http://{host}/npm GITHUB_API_URL=http://{host}/api XDG_CACHE_HOME='{}' '{PROGRAM}' \
         --registry-dir '{}' --allow-host {host} bump --json || [ $? = 1 ]",
        cache.display(),
        registry.display(),
    );
    let command = ["sh", "-c", &script];
    let in_turn = DELAY.as_secs_f64() * f64::from(u32::try_from(AGENTS).expect("few agents"));
    println!("bump of {AGENTS} agents, {} with a newer version; answers take {} ms", AGENTS / NEWER, DELAY.as_millis());
    for (name, wanted) in [("first run", " (wanted: below 6 s)"), ("an hour later", "")] {
        counts.lock().expect("counts").clear();
        let wall = measure(&command).wall.as_secs_f64();
        println!("  {name:14} {wall:6.2} s, {:.3} of asking one after the other{wanted}", wall / in_turn);
        let counts = counts.lock().expect("counts");
        let mut counts: Vec<(&&str, &usize)> = counts.iter().collect();
        counts.sort_unstable();
        for (what, count) in counts {
            println!("    {count:5} {what}");
        }
        age(&cache);
    }
}

/// Measures an agent with an npm package and one of the Python index, with growing numbers of versions. All versions
/// are withdrawn, so each must be examined.
pub(crate) fn versions(folder: &Path) {
    println!("bump of an agent whose two packages have so many versions, all of them withdrawn");
    for count in [1_000, 10_000, 100_000] {
        let versions =
            (0..count).map(|number| (format!("1.{}.{}", number / 100, number % 100), json!({ "deprecated": "x" })));
        let npm = json!({ "versions": versions.collect::<serde_json::Map<_, _>>() }).to_string();
        let files = (0..count)
            .map(|number| json!({ "filename": format!("a-1.{}.{}.zip", number / 100, number % 100), "yanked": true }));
        let pypi = json!({ "files": files.collect::<Vec<_>>() }).to_string();
        let host = serve_bodies(npm, pypi);
        let registry = folder.join("bump-versions");
        agent(&registry, "a", &serde_json::Map::new());
        let manifest = json!({
            "id": "a", "name": "An agent", "version": "1.0.0", "description": "Made for a benchmark", "license": "MIT",
            "distribution": { "npx": { "package": "a@1.0.0" }, "uvx": { "package": "a==1.0.0" } },
        });
        fs::write(registry.join("a/agent.json"), manifest.to_string()).expect("a manifest");
        // Exit code 3: no usable version was found.
        let script = format!(
            "ACP_REGISTRY_NPM=http://{host}/npm ACP_REGISTRY_PYPI=http://{host}/simple '{PROGRAM}' --registry-dir '{}' \
             --allow-host {host} bump --no-cache --json || [ $? = 3 ]",
            registry.display(),
        );
        let sample = measure(&["sh", "-c", &script]);
        println!("  {count:7} {:6.2} s, {} MiB", sample.wall.as_secs_f64(), sample.memory_kib >> 10);
    }
}

/// Serves one body below `/npm/` and another one for all other paths.
fn serve_bodies(npm: String, pypi: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = String::new();
            let mut reader = BufReader::new(&stream);
            let _ = reader.read_line(&mut request);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let body = if request.contains("/npm/") { &npm } else { &pypi };
            // A write error when the client disconnects is ignored: it shows in the measured result.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.pypi.simple.v1+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    host
}

fn write_agent(registry: &Path, number: usize, host: &str) {
    let id = format!("agent-{number}");
    if number.is_multiple_of(2) {
        let target = |platform: &str| {
            let archive = format!("http://{host}/o/{id}/releases/download/v1.0.0/{id}-{platform}.zip");
            json!({ "archive": archive, "cmd": "./agent", "sha256": "0".repeat(64) })
        };
        let targets = PLATFORMS.map(|platform| (platform.to_owned(), target(platform)));
        agent(registry, &id, &targets.into_iter().collect());
    } else {
        agent(registry, &id, &serde_json::Map::new());
        let manifest = json!({
            "id": id, "name": id, "version": "1.0.0", "description": "Made for a benchmark", "license": "MIT",
            "distribution": { "npx": { "package": format!("{id}@1.0.0") } },
        });
        fs::write(registry.join(&id).join("agent.json"), manifest.to_string()).expect("a manifest");
    }
}

/// Sets the time of all files in the cache back by an hour.
fn age(folder: &Path) {
    let time = std::time::SystemTime::now() - Duration::from_hours(1);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            age(&path);
        } else if let Ok(file) = fs::File::options().write(true).open(&path) {
            file.set_modified(time).expect("another time");
        }
    }
}

fn serve(counts: Counts) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counts = counts.clone();
            // A connection ends when the client closes it.
            thread::spawn(move || answer(stream, &counts));
        }
    });
    host
}

fn answer(mut stream: TcpStream, counts: &Counts) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut request, mut is_conditional) = (String::new(), false);
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            is_conditional |= line.to_ascii_lowercase().starts_with("if-none-match:");
            if line.len() <= 2 {
                break;
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let kind = match (path.split('/').nth(1), is_conditional) {
            (Some("api"), false) => "lists of releases",
            (Some("api"), true) => "lists of releases, unchanged",
            (Some("npm"), false) => "packages",
            (Some("npm"), true) => "packages, unchanged",
            _ => "addresses of archives",
        };
        *counts.lock().expect("counts").entry(kind).or_default() += 1;
        thread::sleep(DELAY);
        if is_conditional {
            write!(stream, "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")?;
            continue;
        }
        let body = body(&path).map_or_else(String::new, |value| value.to_string());
        write!(stream, "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n", body.len())?;
        if !request.starts_with("HEAD") {
            stream.write_all(body.as_bytes())?;
        }
    }
}

/// The response of a source for an agent.
fn body(path: &str) -> Option<Value> {
    let id = path.split(['/', '?']).find(|part| part.starts_with("agent-"))?;
    let number: usize = id.strip_prefix("agent-")?.parse().ok()?;
    let newest = if (number / 2).is_multiple_of(NEWER) { "1.1.0" } else { "1.0.0" };
    if path.starts_with("/npm/") {
        let version = json!({ "bin": "cli.js", "dist": { "integrity": "sha512-x", "tarball": "t" } });
        return Some(
            json!({ "name": id, "dist-tags": { "latest": newest }, "versions": { "1.0.0": version, newest: version } }),
        );
    }
    let asset = |platform: &&str| {
        let digest = format!("sha256:{}", "1".repeat(64));
        json!({ "name": format!("{id}-{platform}.zip"), "digest": digest, "state": "uploaded" })
    };
    let assets: Vec<Value> = PLATFORMS.iter().map(asset).collect();
    Some(json!([{ "tag_name": format!("v{newest}"), "draft": false, "prerelease": false,
                  "published_at": "2026-01-01T00:00:00Z", "assets": assets }]))
}
