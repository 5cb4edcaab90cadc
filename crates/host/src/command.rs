//! Runs package managers, and programs that the user has named.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum length of an answer, in bytes.
const ANSWER_LIMIT: u64 = 1 << 16;

/// Maximum length of a listing, in bytes. Arguments of one process may take a megabyte.
#[cfg(any(test, all(unix, not(target_os = "linux"))))]
const LISTING_LIMIT: u64 = 64 << 20;

/// Why a program gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It cannot be started.
    #[error("cannot be started: {0}")]
    Start(io::Error),
    /// It reports a failure.
    #[error("fails: {0}")]
    Failed(ExitStatus),
    /// Its output is not UTF-8.
    #[error("writes something that is not text")]
    NotText,
    /// It takes too long.
    #[error("does not answer within {} s", .0.as_secs())]
    Late(Duration),
}

/// Runs a program with empty stdin and returns its stdout.
///
/// It runs in `directory`, and may read configuration files there. `path` replaces its `PATH`, in which it is also looked
/// for.
///
/// # Errors
/// Says why there is no answer, for example because it takes longer than `timeout`.
pub fn answer(
    program: &str,
    arguments: &[&str],
    directory: &Path,
    timeout: Duration,
    path: Option<&OsStr>,
) -> Result<String, NoAnswer> {
    #[expect(clippy::disallowed_methods, reason = "the package manager is the person's own, with its own environment")]
    let mut command = Command::new(if cfg!(windows) && program == "npm" { "npm.cmd" } else { program });
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.envs(path.map(|path| ("PATH", path)));
    let answer = output(command, timeout, ANSWER_LIMIT)?;
    String::from_utf8(answer).map_err(|_| NoAnswer::NotText)
}

/// Runs a program of the system with empty stdin and returns its stdout, which may be long and hold any bytes.
///
/// # Errors
/// As [`answer`].
#[cfg(any(test, all(unix, not(target_os = "linux"))))]
pub fn listing(program: &str, arguments: &[&str], timeout: Duration) -> Result<Vec<u8>, NoAnswer> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program of the system, which takes the language from the environment"
    )]
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    output(command, timeout, LISTING_LIMIT)
}

/// The processes that a thread of this program waits for.
static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A process counts as awaited until this is dropped.
pub(crate) struct Awaited(u32);

impl Awaited {
    pub(crate) fn new(child: &Child) -> Self {
        awaited().insert(child.id());
        Self(child.id())
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        awaited().remove(&self.0);
    }
}

fn awaited() -> MutexGuard<'static, BTreeSet<u32>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Interrupts the processes that are awaited, before this program ends without waiting any longer.
pub fn interrupt_all() {
    #[cfg(unix)]
    for id in awaited().iter() {
        use rustix::process::{Pid, Signal, kill_process};
        if let Some(id) = i32::try_from(*id).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(id, Signal::TERM);
        }
    }
}

fn output(mut command: Command, timeout: Duration, limit: u64) -> Result<Vec<u8>, NoAnswer> {
    let mut child = command.spawn().map_err(NoAnswer::Start)?;
    let _awaited = Awaited::new(&child);
    let answer = read(&mut child, timeout, limit);
    if answer.is_err() {
        // The program may have ended already.
        let _ = child.kill();
    }
    let status = child.wait().map_err(NoAnswer::Start)?;
    let answer = answer?;
    if status.success() { Ok(answer) } else { Err(NoAnswer::Failed(status)) }
}

/// Runs a program that the user has named, with empty stdin. Its stdout is discarded; its stderr is that of this
/// process.
///
/// # Errors
/// Returns a message if the program cannot be started, fails, or takes longer than `timeout`.
pub fn run(program: &str, arguments: &[&OsStr], directory: &Path, timeout: Duration) -> Result<(), String> {
    let shown = acp_registry_plan::text::quote(program);
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with its own environment")]
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot start {shown}: {error}"))?;
    let _awaited = Awaited::new(&child);
    let until = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{shown} failed: {status}")),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                // The program may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{shown} took longer than {} s", timeout.as_secs()));
            }
            Err(error) => return Err(format!("{shown}: {error}")),
        }
    }
}

fn read(child: &mut Child, timeout: Duration, limit: u64) -> Result<Vec<u8>, NoAnswer> {
    let output = child.stdout.take();
    let (send, receive) = mpsc::channel();
    // The thread ends when all processes that hold the pipe have ended.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let is_read = output.is_some_and(|output| output.take(limit).read_to_end(&mut bytes).is_ok());
        // After the timeout, nothing receives the output.
        let _ = send.send(if is_read { Ok(bytes) } else { Err(NoAnswer::NotText) });
    });
    receive.recv_timeout(timeout).unwrap_or(Err(NoAnswer::Late(timeout)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Only what never answers reaches a limit, however loaded the machine is.
    const LONG: Duration = Duration::from_mins(2);

    fn ask_within(limit: Duration, script: &str) -> Result<String, String> {
        answer("sh", &["-c", script], Path::new("/"), limit, None).map_err(|error| error.to_string())
    }

    fn ask(script: &str) -> Result<String, String> {
        ask_within(LONG, script)
    }

    #[test]
    fn a_listing_may_be_long_and_hold_any_bytes() {
        let script = "i=0; while [ $i -lt 9000 ]; do echo 0123456789; i=$((i + 1)); done; printf '\\377'";
        let listed = listing("sh", &["-c", script], Duration::from_secs(30)).unwrap();
        assert_eq!((listed.len(), listed.last()), (99_001, Some(&255)));
        assert!(matches!(listing("sh", &["-c", "exit 1"], Duration::from_secs(30)), Err(NoAnswer::Failed(_))));
    }

    #[test]
    fn only_a_whole_answer_in_time_counts() {
        assert_eq!(ask("pwd").as_deref(), Ok("/\n"));
        assert_eq!(ask("cat").as_deref(), Ok(""));
        assert_eq!(ask("echo text; exit 1").unwrap_err(), "fails: exit status: 1");
        let late = ask_within(Duration::from_secs(1), "echo text; exec sleep 60");
        assert_eq!(late.unwrap_err(), "does not answer within 1 s");
        assert_eq!(ask("printf '\\377'").unwrap_err(), "writes something that is not text");
        let run = |limit, script: &str| run("sh", &["-c", script].map(OsStr::new), Path::new("/"), limit);
        assert_eq!(run(LONG, "true"), Ok(()));
        assert!(run(LONG, "exit 7").unwrap_err().contains('7'));
        assert!(run(Duration::from_millis(500), "exec sleep 60").unwrap_err().contains("took longer"));
        let printed = |path| answer("sh", &["-c", "echo $PATH"], Path::new("/"), LONG, path);
        assert_eq!(printed(Some("/none:/usr/bin:/bin".as_ref())).unwrap(), "/none:/usr/bin:/bin\n");
        assert!(matches!(printed(Some("/none".as_ref())), Err(NoAnswer::Start(_))), "it is looked for there");
        let missing = answer("no-such-program", &[], Path::new("/"), LONG, None).unwrap_err();
        assert!(missing.to_string().starts_with("cannot be started: "), "{missing}");
    }
}
