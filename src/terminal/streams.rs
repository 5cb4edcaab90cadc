//! Writes to stdout and stderr, which may block.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of writes to stdout and stderr that have begun, and that are done.
pub(crate) static WRITES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Writes to stdout or stderr. If that blocks, a signal ends the program nevertheless.
pub(crate) fn writing<T>(write: impl FnOnce() -> T) -> T {
    WRITES[0].fetch_add(1, Ordering::SeqCst);
    let done = write();
    WRITES[1].fetch_add(1, Ordering::SeqCst);
    done
}

pub(crate) fn write_stderr(text: &str) {
    // An error of stderr cannot be reported.
    let _ = writing(|| io::stderr().write_all(text.as_bytes()));
}

/// Writes to stdout before [`Ui`](super::ui::Ui) exists.
pub(crate) fn write_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
