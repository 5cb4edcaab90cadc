//! Programs that take the place of this one, or that it waits for: the person's own, with the person's environment,
//! stdin, stdout and stderr.

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

/// What is started.
#[derive(Debug)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables that are added to those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// A file that stays open for as long as the program runs.
    pub keep_open: Option<File>,
}

/// How it went on.
#[derive(Debug)]
pub enum Ended {
    /// The program has ended with this code. Where one program can become another, this program does not see this.
    Code(i32),
    /// Nothing returns from a program that has taken this one's place.
    Never(Infallible),
}

/// Starts the program in the place of this one: on Unix by becoming it, elsewhere by waiting for it.
///
/// # Errors
/// What the operating system says when it cannot be started.
pub fn replace_with(program: Program) -> io::Result<Ended> {
    platform::replace_with(program)
}
