//! Replaces this process by another program.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

use super::{Ended, Program};
use crate::umask;

/// Minimum number of the file descriptor to pass on. Some systems allow only 256 per process.
const FIRST: i32 = 100;

pub(super) fn replace_with(program: Program) -> io::Result<Ended> {
    let (mut command, kept) = program.into_command();
    // A file lock lasts as long as a descriptor of the file is open, and only descriptors of the new program outlive
    // this process. Programs and shells use numbers from 3 on, so a higher one does not interfere. The file is empty,
    // and the descriptor read-only.
    let kept = kept.map(|file| fcntl_dupfd_cloexec(&file, FIRST).map_or(file, File::from));
    if let Some(file) = &kept {
        fcntl_setfd(file, fcntl_getfd(file)? - FdFlags::CLOEXEC)?;
    }
    umask::restore();
    Err(command.exec())
}
