//! Receives the launcher's report, on Linux.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use super::launcher::read_report;
use super::sandbox::REPORT;

/// Maximum length of a report, in bytes.
const REPORT_LIMIT: usize = 100;

/// A FIFO that the launcher opens before it executes the program, and that is closed by executing it. If that fails,
/// the launcher writes the reason first.
///
/// Unlike a pipe, it is not inherited by other processes that are started meanwhile.
#[derive(Debug)]
pub(super) struct Report {
    path: PathBuf,
    receiver: Receiver,
    text: Vec<u8>,
}

impl Report {
    /// Creates the FIFO in a directory.
    pub(super) fn below(directory: &Path) -> io::Result<Self> {
        let path = directory.join(REPORT);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        let receiver = OpenOptions::new().open_receiver(&path)?;
        Ok(Self { path, receiver, text: Vec::new() })
    }

    /// The path for the launcher.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the launcher has executed the program. Cancel-safe.
    ///
    /// # Errors
    /// Returns the reason if it could not.
    pub(super) async fn read(&mut self) -> io::Result<()> {
        while self.text.len() < REPORT_LIMIT && self.receiver.read_buf(&mut self.text).await? > 0 {}
        read_report(&self.text)
    }

    /// Like [`read`](Self::read), after the launcher, or the program that was to start it, has ended. Does not wait.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](Self::read).
    pub(super) fn read_rest(&mut self) -> io::Result<()> {
        let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&self.path)?;
        // If the FIFO was never opened, there is nothing to read.
        let _ = file.take(REPORT_LIMIT as u64).read_to_end(&mut self.text);
        read_report(&self.text)
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // A later launcher that opens it finds no reader.
        let _ = fs::remove_file(&self.path);
    }
}
