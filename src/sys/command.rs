//! Asking the package managers of this machine.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The longest answer that is read, in bytes.
const LIMIT: u64 = 1 << 16;

/// Runs a program of this machine with an empty standard input, and returns what it writes to its standard output; `None`
/// when it is not there, fails, or takes longer than `timeout`.
///
/// It runs in `directory`, whose configuration files it may read.
#[must_use]
pub fn answer(program: &str, arguments: &[&str], directory: &Path, timeout: Duration) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the package manager is the person's own, with its own environment")]
    let mut command = Command::new(if cfg!(windows) && program == "npm" { "npm.cmd" } else { program });
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = read(&mut child, timeout);
    if answer.is_none() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let is_success = child.wait().is_ok_and(|status| status.success());
    answer.filter(|_| is_success)
}

fn read(child: &mut Child, timeout: Duration) -> Option<String> {
    let output = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    // The thread ends with the output, at the latest when everybody who holds it has ended.
    thread::spawn(move || {
        let mut text = String::new();
        let is_text = output.take(LIMIT).read_to_string(&mut text).is_ok();
        // Nobody listens any more after the time is over.
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
        assert_eq!(answer("no-such-program", &[], Path::new("/"), Duration::from_secs(1)), None);
    }
}
