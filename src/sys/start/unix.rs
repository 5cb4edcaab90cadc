//! Becoming another program.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

use super::{Ended, Program};
use crate::sys::umask;

pub(super) fn replace_with(program: Program) -> io::Result<Ended> {
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
    let mut command = Command::new(&program.path);
    command.args(program.arguments).envs(program.variables);
    if let Some(file) = &program.keep_open {
        // It goes over to the program, and closes with it.
        fcntl_setfd(file, fcntl_getfd(file)? - FdFlags::CLOEXEC)?;
    }
    umask::restore();
    Err(command.exec())
}
