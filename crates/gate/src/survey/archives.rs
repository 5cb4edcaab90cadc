//! Downloads archives, and inspects them during the download.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use url::Url;

use acp_registry_archive::{self as archive, ArchiveListing, BinaryFormat, CmdNotFound, Limits, Program};
use acp_registry_host::fs::{PathError, open_file, read_at, temporary, write_all_at};
use acp_registry_http::{Answer, Client, FetchError, Problem, Sink, shown};
use acp_registry_plan::digest::{Hasher, Sha256};

/// Progress of a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurveyEvent {
    /// This many more questions will be asked.
    Planned(usize),
    /// One question was answered.
    Answered,
    /// The download of an archive has started.
    Downloading {
        /// Identifies the download.
        number: usize,
        /// The archive's URL, without secrets.
        url: String,
        /// Size in bytes, if the host states it.
        length: Option<u64>,
    },
    /// A piece of an archive has arrived.
    Received {
        /// The download.
        number: usize,
        /// Size of the piece, in bytes.
        bytes: u64,
    },
    /// The download with this number is complete or has failed.
    Downloaded(usize),
}

/// A downloaded archive.
#[derive(Debug)]
pub struct Archive {
    /// How the host answered; the default if the archive was cached.
    pub answer: Answer,
    /// SHA-256 of the archive, in lower-case hexadecimal.
    pub sha256: Sha256,
    /// The inspection of the archive for each `cmd` that a manifest starts from it.
    pub inspections: BTreeMap<String, Result<Inspection, archive::Error>>,
}

/// What was found in an archive for one `cmd`.
#[derive(Debug)]
pub struct Inspection {
    /// The format, detected from the content.
    pub format: BinaryFormat,
    /// Whether the archive has the program.
    pub cmd: Result<(), CmdNotFound>,
    /// The program's format and target, if it is an executable.
    pub program: Option<Program>,
}

/// An archive to download and inspect.
pub(super) struct ArchiveRequest<'a> {
    /// Identifies the download in [`SurveyEvent`]s.
    pub(super) number: usize,
    pub(super) url: &'a Url,
    /// The programs (`cmd`) that manifests start from this archive.
    pub(super) cmds: &'a BTreeSet<String>,
    /// SHA-256 as GitHub states it, for finding the archive in the cache.
    pub(super) digest: Option<Sha256>,
    pub(super) limits: Limits,
}

impl ArchiveRequest<'_> {
    /// Downloads the archive, or takes it from the cache, and inspects it.
    pub(super) async fn fetch(
        &self,
        client: &Client,
        progress: &(dyn Fn(SurveyEvent) + Sync),
    ) -> Result<Archive, FetchError> {
        let disk =
            |error: &io::Error| FetchError { url: shown(self.url), hops: Vec::new(), problem: Problem::disk(error) };
        if let Some(digest) = self.digest
            && let Some(path) = client.cached_file(self.url, digest)
            && let Some(archive) = self.inspect_cached(&path, digest).await
        {
            return Ok(archive);
        }
        // The file has no name, so that nothing is left behind if the process is killed.
        let directory = temporary();
        let at = |error| io::Error::from(PathError::at(&directory)(error));
        let file = Arc::new(tempfile::tempfile_in(&directory).map_err(|error| disk(&at(error)))?);
        let growth = GrowthEnd(Arc::default());
        let first = self.cmds.first().cloned().unwrap_or_default();
        let reader = GrowingFile { file: file.clone(), growth: growth.0.clone(), read: 0 };
        let (cmd, limits) = (first.clone(), self.limits);
        let listing = spawn_blocking(move || archive::list_stream(reader, &cmd, &limits));
        let mut sink = Receiver {
            file: &file,
            directory: &directory,
            written: 0,
            hasher: Hasher::default(),
            growth: &growth.0,
            number: self.number,
            url: self.url,
            progress,
        };
        let downloaded = client.download(self.url, self.limits.compressed, &mut sink).await;
        let sha256 = sink.hasher.finish();
        growth.0.end(downloaded.is_ok());
        let listing = listing.await.map_err(|error| disk(&io::Error::other(error)));
        progress(SurveyEvent::Downloaded(self.number));
        let downloaded = downloaded?;
        let mut inspections = BTreeMap::new();
        match listing? {
            // Some archives can only be inspected when complete: a .zip has its directory at the end, a disk image has
            // its signature at the end, and the program may be behind a link.
            Err(archive::Error::NotSeekable | archive::Error::NotAnArchive(_))
            | Ok(ArchiveListing { program: None, .. }) => {}
            listing => {
                inspections.insert(first.clone(), listing.map(|listing| Inspection::of(&listing, &first)));
            }
        }
        self.inspect_rest(&file, &mut inspections).await;
        if self.digest == Some(sha256) {
            client.keep_file(self.url, sha256, &file);
        }
        let answer = Answer { hops: downloaded.hops, elapsed: downloaded.elapsed, ..Answer::default() };
        Ok(Archive { answer, sha256, inspections })
    }

    /// Inspects the file for the programs that are not in `done` yet.
    async fn inspect_rest(&self, file: &Arc<File>, done: &mut BTreeMap<String, Result<Inspection, archive::Error>>) {
        for cmd in self.cmds {
            if !done.contains_key(cmd) {
                done.insert(cmd.clone(), inspect(file.clone(), cmd, self.limits).await);
            }
        }
    }

    /// Inspects the cached file; `None` if it cannot be read or its digest differs.
    async fn inspect_cached(&self, path: &Path, digest: Sha256) -> Option<Archive> {
        let file = Arc::new(open_file(path).ok()?);
        let hashed = file.clone();
        let sha256 = spawn_blocking(move || acp_registry_host::fs::digest(&hashed)).await.ok()?.ok()?;
        if sha256 != digest {
            return None;
        }
        let mut inspections = BTreeMap::new();
        self.inspect_rest(&file, &mut inspections).await;
        Some(Archive { answer: Answer::default(), sha256, inspections })
    }
}

impl Inspection {
    fn of(listing: &ArchiveListing, cmd: &str) -> Self {
        let found = listing.find_cmd(cmd).map(|_| ());
        Self { format: listing.format, cmd: found, program: listing.program.clone() }
    }
}

async fn inspect(file: Arc<File>, cmd: &str, limits: Limits) -> Result<Inspection, archive::Error> {
    let cmd = cmd.to_owned();
    let inspected =
        spawn_blocking(move || archive::list(&*file, &cmd, &limits).map(|listing| Inspection::of(&listing, &cmd)));
    inspected.await.unwrap_or_else(|error| Err(archive::Error::Read(io::Error::other(error))))
}

/// Receives the bytes of a download: writes them to the file, hashes them, and wakes the readers waiting for them.
struct Receiver<'a> {
    file: &'a File,
    directory: &'a Path,
    /// In bytes. The file's own position is not used, because on Windows reading changes it.
    written: u64,
    hasher: Hasher,
    growth: &'a Growth,
    number: usize,
    url: &'a Url,
    progress: &'a (dyn Fn(SurveyEvent) + Sync),
}

impl Sink for Receiver<'_> {
    fn begin(&mut self, length: Option<u64>) {
        (self.progress)(SurveyEvent::Downloading { number: self.number, url: shown(self.url), length });
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        write_all_at(self.file, piece, self.written).map_err(PathError::at(self.directory))?;
        self.written += piece.len() as u64;
        self.hasher.update(piece);
        self.growth.add(piece.len() as u64);
        (self.progress)(SurveyEvent::Received { number: self.number, bytes: piece.len() as u64 });
        Ok(())
    }
}

/// The current length of a growing file, for concurrent readers.
#[derive(Default)]
struct Growth {
    state: Mutex<(u64, DownloadState)>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DownloadState {
    #[default]
    Growing,
    Complete,
    Failed,
}

impl Growth {
    fn add(&self, bytes: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 += bytes;
        self.changed.notify_all();
    }

    /// Marks the file as complete or failed, unless it is either already.
    fn end(&self, is_complete: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1 == DownloadState::Growing {
            state.1 = if is_complete { DownloadState::Complete } else { DownloadState::Failed };
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the file is longer than `than` bytes, or complete, and returns its length. Fails if the download
    /// failed.
    fn wait_for_more(&self, than: u64) -> io::Result<u64> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state =
            self.changed.wait_while(state, |(length, state)| *length <= than && *state == DownloadState::Growing);
        let (length, state) = *state.unwrap_or_else(PoisonError::into_inner);
        if state == DownloadState::Failed { Err(io::Error::other("the download was interrupted")) } else { Ok(length) }
    }
}

/// Marks the file as failed when dropped, so that its readers do not wait forever.
struct GrowthEnd(Arc<Growth>);

impl Drop for GrowthEnd {
    fn drop(&mut self) {
        self.0.end(false);
    }
}

/// Reads a growing file to its final end, waiting for more bytes.
struct GrowingFile {
    file: Arc<File>,
    growth: Arc<Growth>,
    read: u64,
}

impl Read for GrowingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.growth.wait_for_more(self.read)?;
        let left = usize::try_from(length - self.read).unwrap_or(usize::MAX);
        let end = buffer.len().min(left);
        let count = read_at(&self.file, &mut buffer[..end], self.read)?;
        self.read += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_growing_file_is_read_to_its_end() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let growth = Arc::new(Growth::default());
        let mut reader = GrowingFile { file: file.clone(), growth: growth.clone(), read: 0 };
        let all = thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        });
        let piece = b"0123456789".repeat(1000);
        for number in 0..100 {
            write_all_at(&file, &piece, number * piece.len() as u64).unwrap();
            growth.add(piece.len() as u64);
        }
        growth.end(true);
        assert!(all.join().unwrap().unwrap() == piece.repeat(100));
    }

    #[test]
    fn a_file_that_will_never_be_complete_is_an_error() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let growth = Arc::new(Growth::default());
        let mut reader = GrowingFile { file, growth: growth.clone(), read: 0 };
        let waiting = thread::spawn(move || reader.read(&mut [0; 10]).is_err());
        drop(GrowthEnd(growth));
        assert!(waiting.join().unwrap());
    }
}
