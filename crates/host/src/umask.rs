//! Restricts the permissions of new files: they are never writable by everyone, whatever the caller's umask.

#[cfg(unix)]
use std::sync::OnceLock;

/// The umask at the start of this process.
#[cfg(unix)]
static CALLERS: OnceLock<rustix::fs::RawMode> = OnceLock::new();

/// Prevents other users from writing to files that this process, and package managers that it starts, create from now
/// on. A umask that allows writing for the group but not for others is intentional, and is kept. Call this once, before
/// other threads are started.
#[cfg(unix)]
pub fn tighten() {
    use rustix::fs::Mode;
    use rustix::process::umask;

    let others = Mode::WGRP | Mode::WOTH;
    // The umask can be read only by setting it.
    let callers = umask(others);
    let _ = CALLERS.set(callers.bits());
    let add = if callers.intersects(others) { Mode::WOTH } else { others };
    umask(callers | add);
}

/// Restores the original umask, for a program that replaces this process.
#[cfg(unix)]
pub(super) fn restore() {
    if let Some(callers) = CALLERS.get() {
        rustix::process::umask(rustix::fs::Mode::from_bits_truncate(*callers));
    }
}

/// There is no umask on this system.
#[cfg(not(unix))]
pub fn tighten() {}
