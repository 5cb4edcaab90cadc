//! Measures what users and clients wait for: installing a large archive, listing and resolving agents of a large
//! index, and starting an agent with `run`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::digest::Sha256;
use acp_registry::index::minisign::SecretKey;
use acp_registry::manifest::Platform;
use acp_registry::statement::{STATEMENT, STATEMENT_SIGNATURE, Statement};
use acp_registry::timestamp::Timestamp;
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
    let signed = folder.join("signed");
    fs::create_dir_all(&signed).expect("a folder");
    sign(&signed, &[("registry.json", &fs::read(index).expect("the index"))]);
    let signed = signed.join("registry.json").to_str().expect("a path in UTF-8").to_owned();
    let of_signed = [PROGRAM, "resolve", "--json", &id, "--index", &signed, "--root", root];
    let samples = in_turn(&[&cat, &list, &resolve, &of_signed], || ());
    println!("an index of {AGENTS} agents, {size} bytes, medians of {ROUNDS} runs");
    let names = ["cat", "list (wanted: below 130 ms)", "resolve (wanted: below 130 ms)", "resolve, of a signed one"];
    for (name, sample) in names.iter().zip(&samples) {
        let [wall, cpu] = [sample.wall, sample.cpu].map(|time| time.as_secs_f64() * 1000.0);
        let memory = sample.memory_kib as f64 / 1024.0;
        println!("  {name:36} {wall:9.1} ms, CPU {cpu:7.1} ms, {memory:6.1} MiB");
    }
    let added = |of: fn(&Sample) -> Duration| (of(&samples[3]).as_secs_f64() - of(&samples[2]).as_secs_f64()) * 1000.0;
    let (wall, cpu) = (added(|sample| sample.wall), added(|sample| sample.cpu));
    let of_plain = ratio(samples[3], samples[2]);
    println!("  verification (wanted: at most 5 ms)  {wall:+9.1} ms, CPU {cpu:+7.1} ms   {of_plain:.2} of resolve");
}

/// Measures what `run` adds to the start of a program.
pub(crate) fn run(folder: &Path) {
    let program = Arc::new(fs::read("/bin/true").expect("a program"));
    let host = serve(program, Duration::ZERO);
    let platform = Platform::host().expect("a known platform").as_str();
    let target = json!({ "archive": format!("http://{host}/1.0.0/agent"), "cmd": "./agent" });
    let agent = json!({ "id": "example", "version": "1.0.0", "distribution": { "binary": { platform: target } } });
    let (index, root) = (folder.join("run.json"), folder.join("run"));
    for last in [&root, &folder.join("run-guarded")].into_iter().filter(|root| root.exists()) {
        // Its agents are of another address.
        fs::remove_dir_all(last).expect("the last benchmark's agents");
    }
    fs::write(&index, json!({ "agents": [agent] }).to_string()).expect("an index");
    let [index, root] = [&index, &root].map(|path| path.to_str().expect("a path in UTF-8"));
    measure(&[PROGRAM, "--allow-host", &host, "-q", "install", "--index", index, "--root", root, "example"]);
    // The same of a registry that signs, and has recalled versions of a thousand others.
    let recall = |number: usize| json!({ "id": format!("agent-{number}"), "versions": "<1.0.0", "level": "revoked", "reason": "r" });
    let recalls = json!({ "schema": 1, "revoked": (0..1000).map(recall).collect::<Vec<_>>() }).to_string();
    let (signed, guarded) = (folder.join("run-signed"), folder.join("run-guarded"));
    fs::create_dir_all(&signed).expect("a folder");
    sign(&signed, &[("registry.json", &fs::read(index).expect("the index")), ("revoked.json", recalls.as_bytes())]);
    let [signed, guarded] = [&signed, &guarded].map(|path| path.to_str().expect("a path in UTF-8"));
    measure(&[PROGRAM, "--allow-host", &host, "-q", "install", "--index", signed, "--root", guarded, "example"]);
    let memory = fs::read_dir(Path::new(guarded).join("revoked")).expect("what is remembered");
    assert_eq!(memory.count(), 1, "the recalls are remembered");
    let plain = ["/bin/true"];
    let ours = [PROGRAM, "run", "--root", root, "example"];
    let ours_guarded = [PROGRAM, "run", "--root", guarded, "example"];
    let samples = in_turn(&[&plain, &ours, &ours_guarded], || ());
    let (first, last) = (samples[1], samples[2]);
    let [plain, ours, with] = [samples[0], first, last].map(|sample| sample.wall.as_secs_f64() * 1000.0);
    println!("a program that does nothing, medians of {ROUNDS} runs");
    println!("  by itself           {plain:9.2} ms\n  run                 {ours:9.2} ms   {:+.2} ms", ours - plain);
    println!(
        "  run, with recalls   {with:9.2} ms   {:+.2} ms   {:.2} of run (wanted: at most 1 ms)",
        with - ours,
        ratio(last, first)
    );
}

/// Writes files of a registry that signs into a folder.
fn sign(folder: &Path, files: &[(&str, &[u8])]) {
    // A number that grows: an earlier benchmark has left what it remembers.
    let now = Timestamp::now().unix();
    let expires_at = Timestamp::from_unix(now + 86_400).expect("a time");
    let key: SecretKey = KEY.parse().expect("a key");
    let mut statement = Statement::new("https://example.com".to_owned(), now.unsigned_abs(), expires_at);
    statement.next_keys.push(key.public().to_string());
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).expect("a file");
        statement.digests.insert((*name).to_owned(), Sha256::of(bytes));
    }
    let text = statement.to_text();
    fs::write(folder.join(STATEMENT_SIGNATURE), key.sign(text.as_bytes(), "")).expect("a signature");
    fs::write(folder.join(STATEMENT), text).expect("a statement");
}

/// A secret key, made for tests.
const KEY: &str = "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAyPx2JXWPjz8KciuFRP93DB8Lj8xQKF0VxvTtvAnSKZ8X\
                   UnBVoTINdbWs79efsQks2YClq6CnDSwMtSxcyunachdfUk5vy74HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

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
