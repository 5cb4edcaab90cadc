//! A file of which only the parts that are asked for are read.

use std::cell::Cell;
use std::io::{Read, Seek};
use std::ops::Range;

use object::read::{ReadCache, ReadRef};

/// Maximum number of bytes to read of an executable. Headers and tables are much smaller.
const TOTAL: u64 = 4 * 1024 * 1024;

/// The number of bytes that each string counts as.
const STRING: u64 = 4096;

/// A file with a budget of bytes to read, so that sizes in headers cannot exhaust memory.
pub(super) struct BoundedFile<R: Read + Seek> {
    cache: ReadCache<R>,
    allowance: Cell<u64>,
}

impl<R: Read + Seek> BoundedFile<R> {
    pub(super) fn new(file: R) -> Self {
        Self { cache: ReadCache::new(file), allowance: Cell::new(TOTAL) }
    }

    fn spend(&self, size: u64) -> Result<(), ()> {
        self.allowance.set(self.allowance.get().checked_sub(size).ok_or(())?);
        Ok(())
    }
}

/// A handle to the file, which the parsers copy.
pub(super) struct FileHandle<'a, R: Read + Seek>(pub(super) &'a BoundedFile<R>);

impl<R: Read + Seek> Clone for FileHandle<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Read + Seek> Copy for FileHandle<'_, R> {}

impl<'a, R: Read + Seek> ReadRef<'a> for FileHandle<'a, R> {
    fn len(self) -> Result<u64, ()> {
        (&self.0.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.0.spend(size)?;
        (&self.0.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.0.spend(STRING)?;
        (&self.0.cache).read_bytes_at_until(range, delimiter)
    }
}
