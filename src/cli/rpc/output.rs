//! Writes messages to stdout.

use std::io::{self, Write as _};

use acp_registry::json::to_line;
use serde::Serialize;

/// Writes a message as one line. A client that no longer reads gets nothing more; it will also close stdin.
pub(super) fn send<T: Serialize>(message: &T) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(format!("{}\n", to_line(message)).as_bytes()).and_then(|()| stdout.flush());
}
