//! Standing by while a program speaks with the person.

use std::io;
use std::process::Stdio;

use tokio::process::Command;

use super::Program;
use crate::sys::process::{Exit, How};

/// Starts a program that has the terminal to itself, and waits until it has ended. Ctrl-C is its own affair; when the
/// future is dropped, it is killed.
///
/// It reads this process's stdin and writes to its stderr; `stdout` is where its own output goes.
///
/// # Errors
/// What the operating system says when it cannot be started.
pub async fn attend(program: Program, stdout: Stdio) -> io::Result<Exit> {
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
    let mut command = Command::new(&program.path);
    command.args(program.arguments).envs(program.variables).stdout(stdout).kill_on_drop(true);
    let status = command.spawn()?.wait().await?;
    // Until here, it is not removed.
    drop(program.keep_open);
    Ok(Exit::of(status, How::Exited))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn how_a_program_ends_is_told() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let attend = |path: &str, script: &str| {
            let program = Program {
                path: path.into(),
                arguments: vec!["-c".into(), script.into()],
                variables: vec![("EXAMPLE".into(), "3".into())],
                keep_open: None,
            };
            runtime.block_on(async { attend(program, Stdio::null()).await })
        };
        assert_eq!(attend("/bin/sh", "exit $EXAMPLE").unwrap().code, Some(3));
        // A shell that starts something in the background ignores SIGINT for it, and for all that it starts.
        assert_eq!(attend("/bin/sh", "kill -TERM $$").unwrap().signal, Some(15));
        assert_eq!(attend("/no/such/program", "").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
