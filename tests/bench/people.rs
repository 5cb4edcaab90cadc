//! Measures what users and clients wait for: installing a large archive, listing and resolving agents of a large
//! index, and starting an agent with `run`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::manifest::Platform;
use serde_json::{Value, json};

use crate::network::{serve, tar_gz};
use crate::{PROGRAM, Sample, measure, median, ratio};

/// How often each command runs.
const ROUNDS: usize = 11;

/// The number of agents in the large index.
const AGENTS: usize = 10_000;

/// Measures `install` for one archive, alternating with common tools that fetch, hash and unpack it.
pub(crate) fn install(folder: &Path) {
    let archive = Arc::new(tar_gz());
    let host = serve(archive.clone(), Duration::ZERO);
    let url = format!("http://{host}/1.0.0/agent.tar.gz");
    let platform = Platform::host().expect("a known platform").as_str();
    let target = json!({ "archive": url, "cmd": "./bin/agent" });
    let (index, root, out) = (folder.join("install.json"), folder.join("agents"), folder.join("unpacked"));
    let agent = json!({ "id": "example", "version": "1.0.0", "distribution": { "binary": { platform: target } } });
    fs::write(&index, json!({ "agents": [agent] }).to_string()).expect("an index");
    let [index, root, out] = [&index, &root, &out].map(|path| path.to_str().expect("a path in UTF-8"));
    let pipe = format!("mkdir '{out}' && curl -s {url} | tee >(sha256sum >/dev/null) | tar xz -C '{out}'");
    let baseline = ["bash", "-c", &pipe];
    let ours =
        [PROGRAM, "--allow-host", &host, "-q", "install", "--no-check", "--index", index, "--root", root, "example"];
    let samples = in_turn(&[&baseline, &ours], || {
        for path in [root, out] {
            if Path::new(path).exists() {
                fs::remove_dir_all(path).expect("the last round's output");
            }
        }
    });
    println!("installing a .tar.gz of {} bytes, medians of {ROUNDS} runs", archive.len());
    for (name, sample) in ["curl | tee >(sha256sum) | tar xz", "install"].iter().zip(&samples) {
        let wall = sample.wall.as_secs_f64() * 1000.0;
        let memory = sample.memory_kib as f64 / 1024.0;
        println!("  {name:34} {wall:9.1} ms {memory:8.1} MiB   {:.2}", ratio(*sample, samples[0]));
    }
}

/// Measures the commands that read a large index.
pub(crate) fn large_index(folder: &Path) {
    let index = folder.join("large.json");
    let agents: Vec<Value> = (0..AGENTS).map(agent).collect();
    fs::write(&index, json!({ "version": "1.0.0", "agents": agents }).to_string()).expect("an index");
    let size = fs::metadata(&index).expect("the index").len();
    let root = folder.join("run");
    let [index, root] = [&index, &root].map(|path| path.to_str().expect("a path in UTF-8"));
    let id = format!("agent-{}", AGENTS - 1);
    let place = ["--index", index, "--root", root];
    let cat = ["cat", index];
    let list = [&[PROGRAM, "list"][..], &place].concat();
    let resolve = [&[PROGRAM, "resolve", "--json", &id][..], &place].concat();
    let samples = in_turn(&[&cat, &list, &resolve], || ());
    println!("an index of {AGENTS} agents, {size} bytes, medians of {ROUNDS} runs");
    let names = ["cat", "list (wanted: below 130 ms)", "resolve (wanted: below 130 ms)"];
    for (name, sample) in names.iter().zip(&samples) {
        let [wall, cpu] = [sample.wall, sample.cpu].map(|time| time.as_secs_f64() * 1000.0);
        let memory = sample.memory_kib as f64 / 1024.0;
        println!("  {name:36} {wall:9.1} ms, CPU {cpu:7.1} ms, {memory:6.1} MiB");
    }
}

/// Measures what `run` adds to the start of a program.
pub(crate) fn run(folder: &Path) {
    let program = Arc::new(fs::read("/bin/true").expect("a program"));
    let host = serve(program, Duration::ZERO);
    let platform = Platform::host().expect("a known platform").as_str();
    let target = json!({ "archive": format!("http://{host}/1.0.0/agent"), "cmd": "./agent" });
    let agent = json!({ "id": "example", "version": "1.0.0", "distribution": { "binary": { platform: target } } });
    let (index, root) = (folder.join("run.json"), folder.join("run"));
    fs::write(&index, json!({ "agents": [agent] }).to_string()).expect("an index");
    let [index, root] = [&index, &root].map(|path| path.to_str().expect("a path in UTF-8"));
    measure(&[PROGRAM, "--allow-host", &host, "-q", "install", "--index", index, "--root", root, "example"]);
    let plain = ["/bin/true"];
    let ours = [PROGRAM, "run", "--root", root, "example"];
    let samples = in_turn(&[&plain, &ours], || ());
    let [plain, ours] = [samples[0], samples[1]].map(|sample| sample.wall.as_secs_f64() * 1000.0);
    println!("a program that does nothing, medians of {ROUNDS} runs");
    println!("  by itself  {plain:9.2} ms\n  run        {ours:9.2} ms   {:+.2} ms", ours - plain);
}

/// Runs the commands alternately, so that other load on the machine affects them equally. Calls `before` before each
/// run.
pub(crate) fn in_turn(commands: &[&[&str]], before: impl Fn()) -> Vec<Sample> {
    rounds(ROUNDS, commands, before)
}

/// Like [`in_turn`], with this many rounds.
pub(crate) fn rounds(count: usize, commands: &[&[&str]], before: impl Fn()) -> Vec<Sample> {
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); commands.len()];
    for round in 0..=count {
        for (samples, command) in samples.iter_mut().zip(commands) {
            before();
            let sample = measure(command);
            // The first round only warms the file system cache.
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    samples.iter_mut().map(|samples| median(samples)).collect()
}

fn agent(number: usize) -> Value {
    let target = |platform: &str| {
        json!({
            "archive": format!("https://h.example/agent-{number}/1.0.0/agent-{platform}.tar.gz"), "cmd": "./bin/agent",
            "args": ["acp"], "sha256": format!("{number:064x}"),
        })
    };
    let platforms = Platform::ALL.map(Platform::as_str);
    let binary: serde_json::Map<String, Value> =
        platforms.iter().map(|platform| ((*platform).to_owned(), target(platform))).collect();
    json!({
        "id": format!("agent-{number}"), "name": format!("Agent {number}"), "version": "1.0.0", "license": "MIT",
        "description": "Made for a benchmark, with a description of the usual length", "authors": ["A", "B"],
        "repository": format!("https://h.example/agent-{number}"), "distribution": { "binary": binary },
    })
}
