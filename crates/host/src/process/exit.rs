//! How programs end.

use std::fmt::Write as _;
use std::process::ExitStatus;

/// What ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It exited by itself, or after its stdin was closed.
    Exited,
    /// It crashed, or another process ended it.
    Signaled,
    /// It was asked to end with a signal.
    Terminated,
    /// It was killed.
    Killed,
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// What ended it.
    pub how: How,
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if any.
    pub signal: Option<i32>,
}

/// Signals with the same number on all Unix systems.
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (25, "SIGXFSZ: it wrote a larger file than it may"),
];

impl Exit {
    pub(crate) fn of(status: ExitStatus, how: How) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        let how = if signal.is_some() && how == How::Exited { How::Signaled } else { how };
        Self { how, code: status.code(), signal }
    }

    /// Describes the end, such as `exit code 1` or `signal 6, SIGABRT`.
    pub fn describe(&self) -> String {
        let Some(signal) = self.signal else {
            return self.code.map_or_else(|| "exit code unknown".to_owned(), |code| format!("exit code {code}"));
        };
        let mut text = format!("signal {signal}");
        if let Some((_, name)) = SIGNALS.iter().find(|(number, _)| *number == signal) {
            let _ = write!(text, ", {name}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_described() {
        let exit = |code, signal| Exit { how: How::Exited, code, signal }.describe();
        assert_eq!(exit(Some(3), None), "exit code 3");
        assert_eq!(exit(None, Some(6)), "signal 6, SIGABRT");
        assert_eq!(exit(None, Some(99)), "signal 99");
        assert_eq!(exit(None, None), "exit code unknown");
    }
}
