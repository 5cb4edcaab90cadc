//! The limits of archives: counts compressed and decompressed bytes, and finds the reason for a failed read.

use std::cell::{Cell, RefCell};
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

use acp_registry_plan::text::quote;

use super::{Error, Excess};

/// Counts the bytes before and after a decompressor, and keeps the first error on either side, since decompressors
/// would pass it on only as text.
#[derive(Debug, Default)]
pub(super) struct Meter {
    limits: Limits,
    consumed: Cell<u64>,
    produced: Cell<u64>,
    /// Whether a read was attempted at the end of the archive.
    ended: Cell<bool>,
    failure: RefCell<Option<Error>>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Rc<Self> {
        Rc::new(Self { limits: *limits, ..Self::default() })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts bytes of the archive.
    pub(super) fn consume(&self, count: u64) -> Result<(), Excess> {
        self.consumed.set(self.consumed.get().saturating_add(count));
        let limit = self.limits.compressed;
        if self.consumed.get() > limit { Err(Excess::Compressed { limit }) } else { Ok(()) }
    }

    /// Counts decompressed bytes.
    pub(super) fn produce(&self, count: u64) -> Result<(), Excess> {
        let unpacked = self.produced.get().saturating_add(count);
        self.produced.set(unpacked);
        self.check_claim(0)?;
        let (compressed, limit) = (self.consumed.get(), self.limits.ratio);
        if unpacked > self.limits.ratio_from && unpacked > compressed.saturating_mul(limit) {
            return Err(Excess::Ratio { limit, unpacked, compressed });
        }
        Ok(())
    }

    /// Checks that this many further bytes, as stated in a header, would be within the limit.
    pub(super) fn check_claim(&self, size: u64) -> Result<(), Excess> {
        let limit = self.limits.unpacked;
        if self.produced.get().saturating_add(size) > limit { Err(Excess::Unpacked { limit }) } else { Ok(()) }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Stores an error, and returns an I/O error that stops the reader.
    pub(super) fn fail(&self, error: Error) -> io::Error {
        self.failure.borrow_mut().get_or_insert(error);
        io::Error::other("stopped")
    }

    /// Converts an I/O error of a reader with this meter to the stored error, or to one about the entry `at`.
    pub(super) fn explain(&self, error: &io::Error, at: &str) -> Error {
        if let Some(failure) = self.failure.take() {
            return failure;
        }
        let at = if at.is_empty() { "its beginning".to_owned() } else { quote(at) };
        if self.ended.get() || error.kind() == io::ErrorKind::UnexpectedEof {
            Error::Truncated { at }
        } else {
            Error::Corrupt { at, message: error.to_string() }
        }
    }
}

/// Counts the bytes read from an archive.
pub(super) struct Consumed<R> {
    pub(super) inner: R,
    pub(super) meter: Rc<Meter>,
}

impl<R: Read> Read for Consumed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(count) => {
                self.meter.ended.set(count == 0 && !buffer.is_empty());
                self.meter.consume(count as u64).map_err(|excess| self.meter.fail(Error::TooLarge(excess)))?;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(self.meter.fail(Error::Read(error))),
        }
    }
}

/// Like [`Consumed`], for an archive with random access. It does not count: the caller knows which bytes to count.
pub(super) struct Sought<R> {
    pub(super) inner: R,
    pub(super) meter: Rc<Meter>,
}

impl<R: Read> Read for Sought<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => self.meter.fail(Error::Read(error)),
        })
    }
}

impl<R: Seek> Seek for Sought<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Counts decompressed bytes.
pub(super) struct Produced<R> {
    pub(super) inner: R,
    pub(super) meter: Rc<Meter>,
}

impl<R: Read> Read for Produced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.meter.produce(count as u64).map_err(|excess| self.meter.fail(Error::TooLarge(excess)))?;
        Ok(count)
    }
}

/// Limits for archives. They apply to bytes that are actually read; sizes in headers can only cause an archive to be
/// refused sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the archive, in bytes.
    pub compressed: u64,
    /// Maximum unpacked size, in bytes. For tars, this includes headers.
    pub unpacked: u64,
    /// Maximum number of entries, including directories that only occur in paths.
    pub entries: u64,
    /// Maximum ratio of unpacked to compressed size; applies above `ratio_from`.
    pub ratio: u64,
    /// Unpacked size, in bytes, up to which any ratio is accepted.
    pub ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self { compressed: 2048 * MIB, unpacked: 4096 * MIB, entries: 200_000, ratio: 100, ratio_from: 256 * MIB }
    }
}

/// Maximum length of a path or link target in bytes, as on Linux.
pub(super) const PATH_LENGTH: usize = 4096;

/// Maximum length of a path component in bytes, as on all systems.
pub(super) const NAME_LENGTH: usize = 255;

/// Maximum depth of directories. Deleting a tree recursively keeps a file descriptor open per level.
pub(super) const DEPTH: usize = 128;

/// Maximum total length of all paths and link targets of an archive, in bytes, since they are kept in memory.
pub(super) const NAMES: u64 = 16 * 1024 * 1024;

/// Maximum window of xz and zstd, in bytes: that of `zstd --long`, and twice that of `xz -9`.
pub(super) const WINDOW: u64 = 128 * 1024 * 1024;
