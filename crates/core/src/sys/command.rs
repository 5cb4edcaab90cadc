//! Runs package managers, and programs that the user has named.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum length of the output, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 16;

/// Runs a program with empty stdin and returns its stdout. Returns `None` if the program does not exist, fails, writes
/// invalid UTF-8, or takes longer than `timeout`.
///
/// It runs in `directory`, and may read configuration files there.
#[must_use]
pub fn answer(program: &str, arguments: &[&str], directory: &Path, timeout: Duration) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the package manager is the person's own, with its own environment")]
    let mut command = Command::new(if cfg!(windows) && program == "npm" { "npm.cmd" } else { program });
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = read(&mut child, timeout);
    if answer.is_none() {
        // The program may have ended already.
        let _ = child.kill();
    }
    let is_success = child.wait().is_ok_and(|status| status.success());
    answer.filter(|_| is_success)
}

/// Runs a program that the user has named, with empty stdin. Its stdout is discarded; its stderr is that of this
/// process.
///
/// # Errors
/// Returns a message if the program cannot be started, fails, or takes longer than `timeout`.
pub fn run(program: &str, arguments: &[&OsStr], directory: &Path, timeout: Duration) -> Result<(), String> {
    let shown = crate::text::quote(program);
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with its own environment")]
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot start {shown}: {error}"))?;
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

fn read(child: &mut Child, timeout: Duration) -> Option<String> {
    let output = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    // The thread ends when all processes that hold the pipe have ended.
    thread::spawn(move || {
        let mut text = String::new();
        let is_text = output.take(OUTPUT_LIMIT).read_to_string(&mut text).is_ok();
        // After the timeout, nothing receives the output.
        let _ = send.send(is_text.then_some(text));
    });
    receive.recv_timeout(timeout).ok().flatten()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ask(script: &str) -> Option<String> {
        answer("sh", &["-c", script], Path::new("/"), Duration::from_millis(500))
    }

    #[test]
    fn only_a_whole_answer_in_time_counts() {
        assert_eq!(ask("pwd").as_deref(), Some("/\n"));
        assert_eq!(ask("cat").as_deref(), Some(""));
        assert_eq!(ask("echo text; exit 1"), None);
        assert_eq!(ask("echo text; exec sleep 60"), None);
        assert_eq!(ask("printf '\\377'"), None);
        let run = |script: &str| {
            let arguments = ["-c", script].map(OsStr::new);
            run("sh", &arguments, Path::new("/"), Duration::from_millis(500))
        };
        assert_eq!(run("true"), Ok(()));
        assert!(run("exit 7").unwrap_err().contains('7'));
        assert!(run("exec sleep 60").unwrap_err().contains("took longer"));
        assert_eq!(answer("no-such-program", &[], Path::new("/"), Duration::from_secs(1)), None);
    }
}
