//! The fake agent, and the processes that it leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use acp_registry::handshake::{HandshakeOptions, Outcome, check};
use acp_registry::host::process::{Environment, Isolation, LaunchSpec};

use crate::support::PROGRAM;

/// The fake agent.
pub(crate) fn fake_agent() -> PathBuf {
    example("fake-agent")
}

/// The path of an example, which `cargo test` builds next to the program.
pub(crate) fn example(name: &str) -> PathBuf {
    let path = Path::new(PROGRAM).with_file_name("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{name} is not built; run `cargo build --example {name}`, or all of `cargo test`");
    path
}

/// Whether bubblewrap is installed and can create a sandbox.
pub(crate) fn bwrap_works() -> bool {
    let arguments = ["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"];
    Command::new("bwrap").args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A unique value, used to find processes of a test.
pub(crate) fn tag() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // The suffix prevents one tag from being a prefix of another.
    format!("fake-agent-{}-{}-tag", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The outcome of a check, and its duration.
pub(crate) struct Checked {
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}

/// Checks the fake agent in this case, and asserts that none of its processes is left.
pub(crate) fn check_case(case: &[&str], timeout: Duration) -> Checked {
    check_with(
        case,
        |_| (),
        |options| {
            options.timeout = timeout;
            options.probe = Some(Duration::from_secs(1));
        },
    )
}

/// Starts the fake agent in this case, with a tag in its environment by which its processes are found.
pub(crate) fn launch(case: &[&str], tag: &str) -> LaunchSpec {
    let mut environment = Environment::from_host(std::env::vars_os());
    environment.set("FAKE_AGENT_TAG", tag);
    LaunchSpec {
        program: fake_agent().into(),
        arguments: case.iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: Some(PROGRAM.into()),
        namespace: None,
    }
}

pub(crate) fn check_with(
    case: &[&str],
    change: impl FnOnce(&mut LaunchSpec),
    options: impl FnOnce(&mut HandshakeOptions),
) -> Checked {
    let temporary = tempfile::tempdir().unwrap();
    let tag = tag();
    let mut launch = launch(case, &tag);
    change(&mut launch);
    let mut settings = HandshakeOptions::new(temporary.path().to_owned());
    options(&mut settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let outcome = runtime.block_on(check(&launch, &settings)).unwrap();
    let time = started.elapsed();
    assert_eq!(left_with("environ", &tag), [] as [u32; 0], "{case:?} left processes behind");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "{case:?} left files behind");
    Checked { outcome, time }
}

/// Processes with this text in their environment (`environ`) or arguments (`cmdline`), as far as the system reveals them.
pub(crate) fn left_with(file: &str, text: &str) -> Vec<u32> {
    let Ok(items) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = items.flatten().filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let content = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        content.windows(text.len()).any(|window| window == text.as_bytes())
    })
    .collect()
}
