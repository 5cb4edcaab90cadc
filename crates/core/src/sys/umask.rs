//! The permissions of files that are made: never for everyone to write, whatever the caller's umask.

#[cfg(unix)]
use std::sync::OnceLock;

/// The umask that this process began with.
#[cfg(unix)]
static CALLERS: OnceLock<rustix::fs::RawMode> = OnceLock::new();

/// Keeps others from writing to what this process, and the package managers that it starts, make from now on. A umask that
/// gives the group that right and not the others is meant, and stays. Call it once, before there are other threads.
#[cfg(unix)]
pub fn tighten() {
    use rustix::fs::Mode;
    use rustix::process::umask;

    let others = Mode::WGRP | Mode::WOTH;
    // The umask can only be read by setting it.
    let callers = umask(others);
    let _ = CALLERS.set(callers.bits());
    let add = if callers.intersects(others) { Mode::WOTH } else { others };
    umask(callers | add);
}

/// Gives back the umask that this process began with, for a program that takes its place.
#[cfg(unix)]
pub(super) fn restore() {
    if let Some(callers) = CALLERS.get() {
        rustix::process::umask(rustix::fs::Mode::from_bits_truncate(*callers));
    }
}

/// There is no umask here.
#[cfg(not(unix))]
pub fn tighten() {}
