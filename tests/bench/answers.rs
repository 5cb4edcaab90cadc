//! Measures the cost of the largest responses of package sources: repetitive JSON in a small gzip stream.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::{fs, thread};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::{PROGRAM, measure};
use crate::network::agent;

/// The size of each response after decompression, in bytes.
const SIZE: usize = 60 << 20;

/// Measures `bump` of one agent for each kind of response.
pub(crate) fn compare(folder: &Path) {
    let npx = json!({ "npx": { "package": "a@1.0.0" } });
    let uvx = json!({ "uvx": { "package": "a==1.0.0" } });
    let release = |host: &str| {
        let archive = format!("http://{host}/o/r/releases/download/v1.0.0/a-linux-x64.zip");
        json!({ "binary": { "linux-x86_64": { "archive": archive, "cmd": "./a" } } })
    };
    let cases = [
        ("npm, a list of commands", Some(&npx), ["{\"versions\":{\"1.0.0\":{\"bin\":[", "0,", "0]}}}"]),
        ("npm, an unknown member", Some(&npx), ["{\"x\":[", "[],", "0],\"versions\":{}}"]),
        ("npm, many versions", Some(&npx), ["{\"versions\":{", "\"\":{},", "\"1.0.0\":{}}}"]),
        ("Python index, many files", Some(&uvx), ["{\"files\":[", "{},", "{}]}"]),
        ("GitHub, many files", None, ["[{\"assets\":[", "{},", "{}]}]"]),
    ];
    println!("bump of an agent whose source answers with {} MiB of JSON", SIZE >> 20);
    for (name, distribution, [before, piece, behind]) in cases {
        let body = format!("{before}{}{behind}", piece.repeat(SIZE / piece.len()));
        let (host, sent) = serve(&body);
        let registry = folder.join("bump-answers");
        let distribution = distribution.cloned().unwrap_or_else(|| release(&host));
        write_agent(&registry, &distribution);
        // A response that is refused is an error of the agent, with exit code 3.
        let script = format!(
            "ACP_REGISTRY_NPM=http://{host}/npm ACP_REGISTRY_PYPI=http://{host}/simple GITHUB_API_URL=http://{host}/api \
             '{PROGRAM}' --registry-dir '{}' --allow-host {host} bump --no-cache --json || [ $? = 3 ]",
            registry.display(),
        );
        let sample = measure(&["sh", "-c", &script]);
        let (seconds, peak) = (sample.wall.as_secs_f64(), sample.memory_kib >> 10);
        println!("  {name:24} {:5} KiB sent {seconds:6.2} s {peak:4} MiB (wanted: at most 5 s, 256 MiB)", sent >> 10);
    }
}

fn write_agent(registry: &Path, distribution: &Value) {
    agent(registry, "a", &Map::new());
    let manifest = json!({
        "id": "a", "name": "An agent", "version": "1.0.0", "description": "Made for a benchmark", "license": "MIT",
        "distribution": distribution,
    });
    fs::write(registry.join("a/agent.json"), manifest.to_string()).expect("a manifest");
}

/// Serves one body to every request. Returns the host and the compressed size in bytes.
fn serve(body: &str) -> (String, usize) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).expect("memory takes all");
    let sent = encoder.finish().expect("memory takes all");
    let length = sent.len();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            // A write error when the client disconnects is ignored: it shows in the measured result.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.pypi.simple.v1+json\r\nContent-Encoding: gzip\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(&sent);
        }
    });
    (host, length)
}
