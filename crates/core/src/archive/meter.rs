//! Counting what is read and what comes out of it, and telling why reading failed.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use super::{Error, Excess, Limits};
use crate::text::quote;

/// Counts both sides of a decompressor and keeps the first thing that went wrong on either: the decompressors between
/// them would pass it on only as a text.
#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    consumed: Cell<u64>,
    produced: Cell<u64>,
    /// Whether bytes were asked for where there are no more.
    ended: Cell<bool>,
    failure: RefCell<Option<Error>>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Rc<Self> {
        Rc::new(Self {
            limits: *limits,
            consumed: Cell::default(),
            produced: Cell::default(),
            ended: Cell::default(),
            failure: RefCell::default(),
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Notes bytes of the archive.
    pub(super) fn consume(&self, count: u64) -> Result<(), Excess> {
        self.consumed.set(self.consumed.get().saturating_add(count));
        let limit = self.limits.compressed;
        if self.consumed.get() > limit { Err(Excess::Compressed { limit }) } else { Ok(()) }
    }

    /// Notes bytes that came out of the archive.
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

    /// Whether there is room for as many bytes as a header claims that follow.
    pub(super) fn check_claim(&self, size: u64) -> Result<(), Excess> {
        let limit = self.limits.unpacked;
        if self.produced.get().saturating_add(size) > limit { Err(Excess::Unpacked { limit }) } else { Ok(()) }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Keeps an error, and gives one that stops a reader.
    pub(super) fn fail(&self, error: Error) -> io::Error {
        self.failure.borrow_mut().get_or_insert(error);
        io::Error::other("stopped")
    }

    /// What an error of a reader over this meter means.
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

/// The bytes of the archive.
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

/// The same for what is read here and there: the bytes are counted by the caller, which knows which of them matter.
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

/// The bytes that came out of the archive.
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
