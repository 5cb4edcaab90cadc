//! Waits for a program that uses the terminal.

use std::io;
use std::process::Stdio;

use tokio::process::Command;

use super::Program;
use crate::process::{Exit, How};

/// Starts a program that has the terminal to itself, and waits until it ends. Ctrl-C is left to the program. If the
/// future is dropped, the program is killed.
///
/// The program inherits stdin and stderr; its stdout is `stdout`.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub async fn attend(program: Program, stdout: Stdio) -> io::Result<Exit> {
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
    let mut command = Command::new(&program.path);
    command.args(program.arguments).envs(program.variables).stdout(stdout).kill_on_drop(true);
    let status = command.spawn()?.wait().await?;
    // Keeps the file open until the program has ended.
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
        // A shell that starts a background process ignores SIGINT for it and its descendants.
        assert_eq!(attend("/bin/sh", "kill -TERM $$").unwrap().signal, Some(15));
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert_eq!(attend(missing.to_str().unwrap(), "").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
