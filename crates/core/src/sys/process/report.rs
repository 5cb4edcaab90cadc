//! Hearing from the launcher, on Linux.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use super::launcher::read_report;
use super::sandbox::REPORT;

/// The longest report, in bytes.
const REPORT_LIMIT: usize = 100;

/// A FIFO that the launcher opens before the program begins, and that closes with the launcher: by then it has said why
/// the program was not started, or nothing.
///
/// Unlike a pipe, it is in no other process that is started meanwhile.
#[derive(Debug)]
pub(super) struct Report {
    path: PathBuf,
    receiver: Receiver,
    text: Vec<u8>,
}

impl Report {
    /// Makes the FIFO in a directory.
    pub(super) fn below(directory: &Path) -> io::Result<Self> {
        let path = directory.join(REPORT);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        let receiver = OpenOptions::new().open_receiver(&path)?;
        Ok(Self { path, receiver, text: Vec::new() })
    }

    /// Where the launcher finds it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the launcher has become the program. May be given up and called again.
    ///
    /// # Errors
    /// Why it has not, as the system says of the program.
    pub(super) async fn read(&mut self) -> io::Result<()> {
        while self.text.len() < REPORT_LIMIT && self.receiver.read_buf(&mut self.text).await? > 0 {}
        read_report(&self.text)
    }

    /// The same once the launcher, or what was to start it, has ended: does not wait.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_rest(&mut self) -> io::Result<()> {
        let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&self.path)?;
        // When nobody has ever opened it, there is nothing to be read.
        let _ = file.take(REPORT_LIMIT as u64).read_to_end(&mut self.text);
        read_report(&self.text)
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // Whoever opens it from now on finds nobody.
        let _ = fs::remove_file(&self.path);
    }
}
