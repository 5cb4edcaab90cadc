//! Measures speed and memory, as ratios to the system's own tools for the same work:
//!
//! * validating and building a registry, and rendering its site
//! * checking URLs and archives, against a host on loopback
//! * what checking and examining an agent adds to the agent's own time
//! * `bump` of a thousand agents, and of agents whose sources send very large responses
//! * checking an attestation
//! * reading a large index, planning, installing, and starting an agent with `run`
//! * what one change and one agent cost in registries of different sizes: `growth`, which fails if a cost grows that must not
//! * a day of readers at a caching proxy before a store, in a minute: `readers`
//!
//! `BENCH_AGENTS` has the sizes of the registries of the last two, such as `42,1000,10000,100000`; the last size takes some
//! minutes and 11 GB.
//!
//! `cargo bench` generates synthetic registries below the target directory and runs the release build on them. Runs
//! alternate with baselines such as `cat` and `cp -r`. Figures are medians; memory is the maximum of all runs.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a benchmark starts programs and prints"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark that cannot go on stops")]
#![allow(clippy::exit, reason = "agents end in the middle of things, and a cost that grows is a failure")]
#![allow(clippy::cast_precision_loss, reason = "no machine has so much memory")]

#[path = "../fake_agent/agent.rs"]
mod agent;
mod answers;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../it/attester.rs"]
mod attester;
mod bump;
mod entries;
mod examine;
mod generate;
mod growth;
mod handshake;
mod network;
mod packages;
mod people;
mod provenance;
mod proxy;
mod publish;
mod reader;
mod readers;
mod site;
mod store;

use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

/// The program that is measured. `BENCH_PROGRAM` names another build: releases for Linux have another C library and allocator.
const PROGRAM: &str = match option_env!("BENCH_PROGRAM") {
    Some(program) => program,
    None => env!("CARGO_BIN_EXE_acp-registry"),
};

/// How often each command runs.
const ROUNDS: usize = 7;

/// First argument with which this program measures one command, because resource usage is only known for all children
/// of a process together.
const MEASURE: &str = "--measure-one";

/// First argument with which this program acts as an agent.
const AGENT: &str = "--agent";

#[derive(Clone, Copy)]
struct Sample {
    wall: Duration,
    cpu: Duration,
    memory_kib: u64,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == MEASURE) {
        return measure_one(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == AGENT) {
        return agent::run(&arguments[1..]);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    // `cargo bench -- NAME…` runs only the named parts; cargo itself adds a flag.
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| *wanted == name);
    for agents in [42, 10_000].into_iter().filter(|_| is_wanted("files")) {
        let registry = folder.join(format!("registry-{agents}"));
        if !registry.exists() {
            generate::registry(&registry, agents).expect("a synthetic registry");
        }
        compare(&folder, &registry, agents);
    }
    for agents in [40, 10_000, 100_000].into_iter().filter(|_| is_wanted("site")) {
        let registry = folder.join(format!("registry-{agents}"));
        if !registry.exists() {
            generate::registry(&registry, agents).expect("a synthetic registry");
        }
        site::compare(&folder, &registry, agents);
    }
    for addresses in [126, 2775].into_iter().filter(|_| is_wanted("urls")) {
        network::urls(&folder, addresses);
    }
    if is_wanted("examine") {
        examine::measure();
    }
    if is_wanted("handshake") {
        handshake::compare(&folder);
    }
    if is_wanted("archives") {
        network::archives(&folder);
    }
    fs::create_dir_all(&folder).expect("a folder");
    if is_wanted("provenance") {
        provenance::check(&folder);
    }
    if is_wanted("bump") {
        bump::bump(&folder);
        bump::versions(&folder);
    }
    if is_wanted("answers") {
        answers::compare(&folder);
    }
    if is_wanted("install") {
        people::install(&folder);
    }
    if is_wanted("packages") {
        packages::compare(&folder);
        packages::locked(&folder);
    }
    if is_wanted("index") {
        people::large_index(&folder);
    }
    for agents in sizes(&[1_000]).into_iter().filter(|_| is_wanted("readers")) {
        readers::replay(&folder, agents);
    }
    if is_wanted("run") {
        people::run(&folder);
    }
    if is_wanted("growth") && !growth::is_flat(&folder, &sizes(&[42, 1_000, 10_000])) {
        process::exit(1);
    }
}

/// The sizes of registries that `BENCH_AGENTS` has, else these.
fn sizes(usual: &[usize]) -> Vec<usize> {
    let named = env::var("BENCH_AGENTS").ok();
    let named = named.map(|sizes| sizes.split(',').map(|size| size.trim().parse().expect("a number")).collect());
    named.unwrap_or_else(|| usual.to_vec())
}

/// Runs the commands alternately, so that other load on the machine affects them equally.
fn compare(folder: &Path, registry: &Path, agents: usize) {
    let (copy, out) = (folder.join("copy"), folder.join("out"));
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let (registry, copy_name, out_name) = (text(registry), text(&copy), text(&out));
    let find = format!("cat '{registry}'/*/*");
    let commands: [(&str, Vec<&str>); 5] = [
        ("cat (all files)", vec!["sh", "-c", &find]),
        ("validate", vec![PROGRAM, "--registry-dir", &registry, "validate"]),
        ("cp -r", vec!["cp", "-r", &registry, &copy_name]),
        ("build --no-site", vec![PROGRAM, "--registry-dir", &registry, "build", "--no-site", "-q", "--out", &out_name]),
        ("build", vec![PROGRAM, "--registry-dir", &registry, "build", "-q", "--out", &out_name]),
    ];
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); commands.len()];
    for round in 0..=ROUNDS {
        for (at, (_, command)) in commands.iter().enumerate() {
            for made in [&copy, &out] {
                if made.exists() {
                    fs::remove_dir_all(made).expect("the last round's output");
                }
            }
            let sample = measure(command);
            // The first round only warms the file system cache.
            if round > 0 {
                samples[at].push(sample);
            }
        }
    }
    println!("{agents} agents, medians of {ROUNDS} runs");
    println!("  {:16} {:>9} {:>9} {:>10}   ratio of wall time", "", "wall ms", "CPU ms", "memory MiB");
    let medians: Vec<Sample> = samples.iter_mut().map(|samples| median(samples)).collect();
    for (at, (name, _)) in commands.iter().enumerate() {
        let sample = medians[at];
        let ratio = match at {
            1 => format!("{:.2} of cat", ratio(sample, medians[0])),
            3 | 4 => format!("{:.2} of cp -r", ratio(sample, medians[2])),
            _ => "1 (baseline)".to_owned(),
        };
        let [wall, cpu] = [sample.wall, sample.cpu].map(|time| time.as_secs_f64() * 1000.0);
        println!("  {name:16} {wall:9.1} {cpu:9.1} {:10.1}   {ratio}", sample.memory_kib as f64 / 1024.0);
    }
}

fn ratio(sample: Sample, baseline: Sample) -> f64 {
    sample.wall.as_secs_f64() / baseline.wall.as_secs_f64()
}

fn median(samples: &mut [Sample]) -> Sample {
    let memory_kib = samples.iter().map(|sample| sample.memory_kib).max().unwrap_or_default();
    samples.sort_by_key(|sample| sample.cpu);
    let cpu = samples[samples.len() / 2].cpu;
    samples.sort_by_key(|sample| sample.wall);
    Sample { wall: samples[samples.len() / 2].wall, cpu, memory_kib }
}

/// Measures a command as the only child of a separate process.
fn measure(command: &[&str]) -> Sample {
    let output = Command::new(env::current_exe().expect("this program"))
        .arg(MEASURE)
        .args(command)
        // Keeps the benchmark's cache apart from the developer's own.
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench/cache"))
        .output()
        .expect("a measurement");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let [wall, cpu, memory_kib] = numbers[..] else { panic!("{text}") };
    Sample { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), memory_kib }
}

fn measure_one(command: &[String]) {
    let started = Instant::now();
    let status = Command::new(&command[0]).args(&command[1..]).stdout(Stdio::null()).status().expect("the command");
    let wall = started.elapsed();
    assert!(status.success(), "{command:?} ended with {status}");
    let (cpu, memory_kib) = usage_of_children();
    println!("{} {cpu} {memory_kib}", wall.as_micros());
}

/// CPU time in microseconds and peak memory in KiB of all child processes that have ended.
#[cfg(unix)]
fn usage_of_children() -> (i64, i64) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resource usage");
    ((usage.user_time() + usage.system_time()).num_microseconds(), usage.max_rss())
}

/// On other systems, only wall time is measured.
#[cfg(not(unix))]
fn usage_of_children() -> (i64, i64) {
    (0, 0)
}
