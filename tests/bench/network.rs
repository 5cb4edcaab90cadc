//! Measures checking URLs and archives, against a host on loopback.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use serde_json::json;

use super::{PROGRAM, ROUNDS, Sample, measure, median, ratio};

/// The delay of each response to a URL check.
const DELAY: Duration = Duration::from_millis(100);

/// The minimum size of the archive, in bytes.
const ARCHIVE: usize = 75_000_000;

const PLATFORMS: [&str; 3] = ["darwin-aarch64", "linux-x86_64", "windows-x86_64"];

/// Measures `validate --urls` for this many URLs, three for each agent.
pub(crate) fn urls(folder: &Path, addresses: usize) {
    let host = serve(Arc::new(Vec::new()), DELAY);
    let registry = folder.join(format!("urls-{addresses}"));
    for number in 0..addresses / PLATFORMS.len() {
        let targets = PLATFORMS.map(|platform| {
            let url = format!("http://{host}/{number}/1.0.0/{platform}.zip");
            (platform.to_owned(), json!({ "archive": url, "cmd": "./agent" }))
        });
        agent(&registry, &format!("agent-{number}"), &targets.into_iter().collect());
    }
    let registry = registry.to_str().expect("a path in UTF-8");
    let command =
        [PROGRAM, "--registry-dir", registry, "--allow-host", &host, "validate", "--urls", "--no-cache", "-q"];
    let mut samples: Vec<Sample> = (0..ROUNDS).map(|_| measure(&command)).collect();
    let sample = median(&mut samples);
    let wall = sample.wall.as_secs_f64();
    let in_turn = DELAY.as_secs_f64() * f64::from(u32::try_from(addresses).expect("few addresses"));
    println!("{addresses} addresses that answer after {} ms each, median of {ROUNDS} runs", DELAY.as_millis());
    println!("  validate --urls  {wall:9.3} s   {:.3} of asking one after the other ({in_turn:.1} s)", wall / in_turn);
}

/// Measures `validate --archives` for one archive, alternating with common tools that fetch, hash and list it.
pub(crate) fn archives(folder: &Path) {
    let archive = Arc::new(tar_gz());
    let host = serve(archive.clone(), Duration::ZERO);
    let registry = folder.join("archive");
    let url = format!("http://{host}/1.0.0/linux.tar.gz");
    let target = json!({ "archive": url, "cmd": "./bin/agent" });
    agent(&registry, "example", &[("linux-x86_64".to_owned(), target)].into_iter().collect());
    let copy = folder.join("copy.tar.gz");
    let pipe = format!("curl -s {url} | tee '{}' | sha256sum", copy.display());
    let inflate = format!("gzip -dc '{}' | tar -t", copy.display());
    let registry = registry.to_str().expect("a path in UTF-8");
    let baseline = ["sh", "-c", &pipe];
    let listing = ["sh", "-c", &inflate];
    let global = ["--registry-dir", registry, "--allow-host", &host, "-q"];
    let flags = ["validate", "--archives", "--no-cache", "--allow", "distribution/missing-os"];
    let ours = [&[PROGRAM][..], &global, &flags].concat();
    let mut samples: [Vec<Sample>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        samples[0].push(measure(&baseline));
        samples[1].push(measure(&listing));
        samples[2].push(measure(&ours));
    }
    let [fetched, listed, checked] = samples.map(|mut samples| median(&mut samples));
    println!("one .tar.gz of {} bytes, medians of {ROUNDS} runs", archive.len());
    for (name, sample, note) in [
        ("curl | tee | sha256sum", fetched, "1 (baseline)".to_owned()),
        ("gzip -dc | tar -t", listed, "what looking inside costs by itself".to_owned()),
        ("validate --archives", checked, format!("{:.2} of curl | tee | sha256sum", ratio(checked, fetched))),
    ] {
        let wall = sample.wall.as_secs_f64() * 1000.0;
        println!("  {name:22} {wall:9.1} ms {:8.1} MiB   {note}", sample.memory_kib as f64 / 1024.0);
    }
}

pub(crate) fn agent(registry: &Path, id: &str, targets: &serde_json::Map<String, serde_json::Value>) {
    let manifest = json!({
        "id": id, "name": id, "version": "1.0.0", "description": "Made for a benchmark", "license": "MIT",
        "distribution": { "binary": targets },
    });
    let folder = registry.join(id);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("agent.json"), manifest.to_string()).expect("a manifest");
    let icon = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\"><path fill=\"currentColor\" d=\"M2 2h9v9z\"/></svg>";
    fs::write(folder.join("icon.svg"), icon).expect("an icon");
}

/// An archive of copies of this executable, which compress as programs do. The copies are too far apart for
/// gzip to find the repetition.
pub(crate) fn tar_gz() -> Vec<u8> {
    let program = fs::read(std::env::current_exe().expect("this program")).expect("its bytes");
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    let mut number = 0;
    while builder.get_ref().get_ref().len() < ARCHIVE {
        let name = if number == 0 { PathBuf::from("bin/agent") } else { PathBuf::from(format!("lib/{number}")) };
        let mut header = tar::Header::new_ustar();
        header.set_size(program.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, name, program.as_slice()).expect("an entry");
        number += 1;
    }
    builder.into_inner().expect("a tar").finish().expect("a tar.gz")
}

/// Answers every request with `body` after `delay`, on any number of connections. Returns `127.0.0.1:port`.
pub(crate) fn serve(body: Arc<Vec<u8>>, delay: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            // A connection ends when the client closes it.
            thread::spawn(move || answer(stream, &body, delay));
        }
    });
    host
}

fn answer(mut stream: TcpStream, body: &[u8], delay: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = String::new();
        let mut line = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        thread::sleep(delay);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        if !request.starts_with("HEAD") {
            stream.write_all(body)?;
        }
    }
}
