//! Runs trusted programs with the user's environment, stdin, stdout and stderr.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;

mod attended;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "waiting.rs")]
mod platform;
mod spawned;

pub use attended::attend;
pub use spawned::spawn;

/// A program to run.
#[derive(Debug)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// Variables to add to those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// A file to keep open while the program runs.
    pub keep_open: Option<File>,
}

/// The result of [`replace_with`].
#[derive(Debug)]
pub enum Ended {
    /// The program exited with this code. Never returned on Unix.
    Code(i32),
    /// Never created: the program has replaced this process.
    Never(Infallible),
}

/// Replaces this process by the program on Unix; starts it and waits for it on other systems.
///
/// # Errors
/// Returns the error of the operating system if it cannot be started.
pub fn replace_with(program: Program) -> io::Result<Ended> {
    platform::replace_with(program)
}
