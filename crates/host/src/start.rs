//! Runs trusted programs with the user's environment.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::process::{Exit, How};

/// A program to run.
#[derive(Debug)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// Variables to add to those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Variables of this process that the program does not see.
    pub hidden: Vec<OsString>,
    /// A file to keep open while the program runs.
    pub keep_open: Option<File>,
}

impl Program {
    /// The command, and the file to keep open while it runs.
    fn into_command(self) -> (std::process::Command, Option<File>) {
        #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
        let mut command = std::process::Command::new(&self.path);
        for name in &self.hidden {
            command.env_remove(name);
        }
        command.args(self.arguments).envs(self.variables);
        (command, self.keep_open)
    }
}

/// Replaces this process by the program.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started. Otherwise, this does not return.
#[cfg(unix)]
pub fn replace_with(program: Program) -> io::Result<i32> {
    use std::os::unix::process::CommandExt as _;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

    /// Minimum number of the file descriptor to pass on. Some systems allow only 256 per process.
    const FIRST: i32 = 100;

    let (mut command, kept) = program.into_command();
    // A file lock lasts as long as a descriptor of the file is open, and only descriptors of the new program outlive
    // this process. Programs and shells use numbers from 3 on, so a higher one does not interfere. The file is empty,
    // and the descriptor read-only.
    let kept = kept.map(|file| fcntl_dupfd_cloexec(&file, FIRST).map_or(file, File::from));
    if let Some(file) = &kept {
        fcntl_setfd(file, fcntl_getfd(file)? - FdFlags::CLOEXEC)?;
    }
    crate::umask::restore();
    Err(command.exec())
}

/// Starts the program, which cannot replace this process, waits for it, and returns its exit code.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
#[cfg(not(unix))]
pub fn replace_with(program: Program) -> io::Result<i32> {
    use process_wrap::tokio::{CommandWrap, JobObject, KillOnDrop};
    use tokio::runtime::Builder;

    let (command, _kept) = program.into_command();
    let command = Command::from(command);
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut command = CommandWrap::from(command);
        // Processes that the program has started end with it, and all of them with this process.
        command.wrap(KillOnDrop).wrap(JobObject);
        let mut child = command.spawn()?;
        loop {
            tokio::select! {
                status = child.wait() => return Ok(status?.code().unwrap_or(1)),
                // The console sends Ctrl-C to the program too, which decides what to do.
                told = tokio::signal::ctrl_c() => told?,
            }
        }
    })
}

/// Starts a program that has the terminal to itself, and waits until it ends. Ctrl-C is left to the program. If the
/// future is dropped, the program is killed.
///
/// The program inherits stdin and stderr; its stdout is `stdout`.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub async fn attend(program: Program, stdout: Stdio) -> io::Result<Exit> {
    let (command, kept) = program.into_command();
    let mut command = Command::from(command);
    command.stdout(stdout).kill_on_drop(true);
    #[cfg(unix)]
    let _mode = TerminalMode::keep();
    let status = command.spawn()?.wait().await?;
    // Keeps the file open until the program has ended.
    drop(kept);
    Ok(Exit::of(status, How::Exited))
}

/// The mode of the terminal, which comes back when this is dropped: a program that ends in the middle of its work may leave a
/// terminal that neither shows what is typed nor begins lines at the left.
#[cfg(unix)]
struct TerminalMode(nix::sys::termios::Termios);

#[cfg(unix)]
impl TerminalMode {
    /// `None` where stdin is no terminal.
    fn keep() -> Option<Self> {
        nix::sys::termios::tcgetattr(io::stdin()).ok().map(Self)
    }
}

#[cfg(unix)]
impl Drop for TerminalMode {
    fn drop(&mut self) {
        use nix::sys::termios::{SetArg, tcsetattr};

        // In the background, this would stop the process.
        let is_behind = nix::unistd::tcgetpgrp(io::stdin()).is_ok_and(|group| group != nix::unistd::getpgrp());
        if !is_behind {
            // A terminal that is gone needs no mode.
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
        }
    }
}

/// Starts a program with pipes for stdin and stdout. It is killed when the child is dropped.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub fn spawn(program: Program) -> io::Result<Child> {
    let (command, _kept) = program.into_command();
    let mut command = Command::from(command);
    command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Like [`spawn`], in a process group of its own: Ctrl-C in a terminal does not reach the program.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub fn spawn_apart(program: Program, stderr: Stdio) -> io::Result<Child> {
    let (command, _kept) = program.into_command();
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    command.creation_flags(NEW_GROUP);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn()
}

/// `CREATE_NEW_PROCESS_GROUP` of Windows.
#[cfg(windows)]
const NEW_GROUP: u32 = 0x200;

/// Sends a signal to the processes of a group. Those that have ended and unknown signals are ignored.
#[cfg(unix)]
pub fn signal_group(leader: u32, number: u8) {
    use rustix::process::{Pid, Signal, kill_process_group};

    let group = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let (Some(group), Some(signal)) = (group, Signal::from_named_raw(number.into())) {
        let _ = kill_process_group(group, signal);
    }
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
                hidden: Vec::new(),
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
