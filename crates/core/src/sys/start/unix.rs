//! Becoming another program.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

use super::{Ended, Program};
use crate::sys::umask;

/// The lowest number that a descriptor handed over may have. Some systems let a process have only 256.
const FIRST: i32 = 100;

pub(super) fn replace_with(program: Program) -> io::Result<Ended> {
    #[expect(clippy::disallowed_methods, reason = "the person's own program, with the person's environment")]
    let mut command = Command::new(&program.path);
    command.args(program.arguments).envs(program.variables);
    // A lock on a file lasts as long as a descriptor of it is open, and only what the program has open outlives this
    // process: there is no other place for it. Programs and shells number their own descriptors from 3, so that it goes
    // where they do not look. It can only be read from, and the file is empty.
    let kept = program.keep_open.map(|file| fcntl_dupfd_cloexec(&file, FIRST).map_or(file, File::from));
    if let Some(file) = &kept {
        fcntl_setfd(file, fcntl_getfd(file)? - FdFlags::CLOEXEC)?;
    }
    umask::restore();
    Err(command.exec())
}
