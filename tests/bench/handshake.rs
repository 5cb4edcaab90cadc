//! Measures what checking an agent adds to the agent's own time, and checks that run in parallel.
//!
//! The agent answers at once. The baseline starts it with plain pipes, writes one line, reads one line, and waits for
//! it to end. The commands alternate, so that other load on the machine affects them equally.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_registry::handshake::{HandshakeOptions, Outcome, Verdict, check};
use acp_registry::host::process::{Environment, Isolation, LaunchSpec};
use acp_registry::manifest::Platform;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{AGENT, PROGRAM, network};

const ROUNDS: usize = 31;

/// How many agents run in parallel, the number of agents, and how long each takes in milliseconds.
const JOBS: usize = 4;
const AGENTS: usize = 20;
const PAUSE: &str = "1000";

/// The minimum time for all agents, in seconds.
const LEAST: f64 = (AGENTS / JOBS) as f64;

/// The time to the response, and the total time.
type Sample = (Duration, Duration);

pub(crate) fn compare(folder: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let kinds: [(&str, &dyn Fn() -> Sample); 4] = [
        ("plain pipes", &plain),
        ("check", &|| sample(&runtime.block_on(check(&launch(&["ok"]), &options(None))).expect("a check"))),
        ("check with probes", &|| {
            sample(
                &runtime.block_on(check(&launch(&["ok"]), &options(Some(Duration::from_secs(10))))).expect("a check"),
            )
        }),
        ("probe (program)", &program),
    ];
    let mut samples = vec![Vec::new(); kinds.len()];
    for round in 0..=ROUNDS {
        for (at, (_, measure)) in kinds.iter().enumerate() {
            let sample = measure();
            // The first round only warms the file system cache.
            if round > 0 {
                samples[at].push(sample);
            }
        }
    }
    println!("an agent that answers at once, medians of {ROUNDS} runs");
    println!("  {:18} {:>12} {:>9}   ratio of the time in all, and what it adds", "", "response ms", "all ms");
    let medians: Vec<[f64; 2]> =
        samples.iter().map(|samples| [median(samples, |s| s.0), median(samples, |s| s.1)]).collect();
    for ((name, _), [response, total]) in kinds.iter().zip(&medians) {
        let [_, baseline] = medians[0];
        println!("  {name:18} {response:12.1} {total:9.1}   {:.2}, {:+.1} ms", total / baseline, total - baseline);
    }
    let [_, [response, total], ..] = medians[..] else { return };
    println!(
        "  start to response {response:.1} ms, to the verdict with all processes ended {total:.1} ms (wanted: below 20)"
    );
    println!("  added to the agent's own time {:+.1} ms (wanted: below 30)", total - medians[0][1]);
    println!("{AGENTS} agents that take 1 s each, {JOBS} at once, at the very least {LEAST:.0} s (wanted: below 6 s)");
    println!("  check             {:7.2} s", side_by_side(&runtime).as_secs_f64());
    let (all, each) = verify(folder);
    println!(
        "  verify (program)  {:7.2} s, with {each:.0} ms for each agent's download and unpacking",
        all.as_secs_f64()
    );
}

/// Measures the program with a registry of agents whose archives are on loopback. Returns the total time, and the
/// median time of an installation in milliseconds.
fn verify(folder: &Path) -> (Duration, f64) {
    let Some(host) = Platform::host() else { return (Duration::ZERO, 0.0) };
    let registry = folder.join("registry-verify");
    let script = format!("#!/bin/sh\nexec '{}' {AGENT} \"$@\"\n", env::current_exe().expect("this program").display());
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    let mut header = tar::Header::new_ustar();
    header.set_size(script.len() as u64);
    header.set_mode(0o755);
    builder.append_data(&mut header, "agent", script.as_bytes()).expect("an entry");
    let archive = builder.into_inner().expect("a tar").finish().expect("a tar.gz");
    let server = network::serve(Arc::new(archive), Duration::ZERO);
    for number in 0..AGENTS {
        let target = json!({
            "archive": format!("http://{server}/1.0.0/agent.tar.gz"), "cmd": "./agent", "args": ["late", PAUSE],
        });
        let targets = [(host.as_str().to_owned(), target)].into_iter().collect();
        network::agent(&registry, &format!("agent-{number:02}"), &targets);
    }
    let started = Instant::now();
    let output = Command::new(PROGRAM)
        .args(["--registry-dir".as_ref(), registry.as_os_str()])
        .args(["--allow-host", &server, "verify", "--json", "--no-probe", "--no-cache", "--jobs", &JOBS.to_string()])
        .output()
        .expect("the program");
    let time = started.elapsed();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["summary"]["passed"], AGENTS, "{}", String::from_utf8_lossy(&output.stdout));
    let rows = document["results"].as_array().expect("rows").iter();
    let mut installs: Vec<f64> = rows.map(|row| row["timing"]["install_seconds"].as_f64().expect("a time")).collect();
    installs.sort_by(f64::total_cmp);
    (time, installs[installs.len() / 2] * 1000.0)
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> Duration) -> f64 {
    let mut times: Vec<Duration> = samples.iter().map(of).collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn plain() -> Sample {
    let started = Instant::now();
    let mut child = Command::new(env::current_exe().expect("this program"))
        .args([AGENT, "ok"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the agent");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n").expect("a reader");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an answer");
    let response = started.elapsed();
    drop(stdin);
    assert!(child.wait().expect("an end").success() && line.contains("authMethods"));
    (response, started.elapsed())
}

/// Measures the program, which reports the time to the response itself.
fn program() -> Sample {
    let started = Instant::now();
    let agent = env::current_exe().expect("this program");
    let output = Command::new(PROGRAM)
        .args(["probe", "--no-probe", "--json", "--"])
        .arg(agent)
        .args([AGENT, "ok"])
        .output()
        .expect("the program");
    let total = started.elapsed();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["verdict"], "pass");
    let response = document["timing"]["start_to_response_seconds"].as_f64().expect("a time");
    (Duration::from_secs_f64(response), total)
}

fn sample(outcome: &Outcome) -> Sample {
    assert_eq!(outcome.verdict, Verdict::Pass, "{:?}", outcome.message);
    (outcome.timing.start_to_response.expect("a response"), outcome.timing.total)
}

fn side_by_side(runtime: &Runtime) -> Duration {
    let started = Instant::now();
    runtime.block_on(async {
        let places = Arc::new(Semaphore::new(JOBS));
        let mut jobs = JoinSet::new();
        for _ in 0..AGENTS {
            let places = places.clone();
            jobs.spawn(async move {
                let _place = places.acquire().await.expect("a place");
                check(&launch(&["late", PAUSE]), &options(None)).await.expect("a check").verdict
            });
        }
        while let Some(verdict) = jobs.join_next().await {
            assert_eq!(verdict.expect("a job"), Verdict::Pass);
        }
    });
    started.elapsed()
}

fn launch(case: &[&str]) -> LaunchSpec {
    launch_of(env::current_exe().expect("this program").into(), [AGENT].iter().chain(case).map(Into::into).collect())
}

/// Starts a program directly, with this program's environment.
pub(crate) fn launch_of(program: OsString, arguments: Vec<OsString>) -> LaunchSpec {
    LaunchSpec {
        program,
        arguments,
        directory: None,
        environment: Environment::from_host(env::vars_os()),
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: Some(env!("CARGO_BIN_EXE_acp-registry").into()),
        namespace: None,
    }
}

fn options(probe: Option<Duration>) -> HandshakeOptions {
    HandshakeOptions { timeout: Duration::from_secs(30), probe, ..HandshakeOptions::new(env::temp_dir()) }
}
