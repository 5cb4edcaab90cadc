//! Starts programs that this process communicates with.

use std::io;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::Program;

/// Starts a program with pipes for stdin and stdout. It is killed when the child is dropped.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub fn spawn(program: Program) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
    let mut command = Command::new(&program.path);
    command.args(program.arguments).envs(program.variables).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}
