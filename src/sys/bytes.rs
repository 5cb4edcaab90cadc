//! Large files in memory.

use std::io::{self, ErrorKind, Read};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::MmapMut;

use super::fs::{ReadError, open_bounded, read_bounded};

/// Bytes that are kept as they were read.
#[derive(Debug, Clone)]
pub struct Bytes {
    memory: Memory,
    range: Range<usize>,
}

#[derive(Debug, Clone)]
enum Memory {
    Usual(Arc<Vec<u8>>),
    /// Of the system, by itself: no file stands behind it.
    Mapped(Arc<MmapMut>),
}

impl Bytes {
    /// Reads a regular file as [`read_bounded`] does, into large pages of memory where the system has them. It hands out
    /// memory page by page as it is filled, and thousands of small ones take longer than to read the file into them.
    ///
    /// # Errors
    /// [`ReadError`], each case by its own name.
    pub fn read(path: &Path, root: &Path, limit: u64) -> Result<Self, ReadError> {
        let (file, length) = open_bounded(path, root, limit)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        // The byte more tells whether the file has grown.
        let mut map = MmapMut::map_anon(length.saturating_add(1)).map_err(ReadError::Io)?;
        #[cfg(target_os = "linux")]
        if let Err(error) = map.advise(memmap2::Advice::HugePage) {
            tracing::trace!("no large pages: {error}");
        }
        let filled = fill(file, &mut map).map_err(ReadError::Io)?;
        if filled > length {
            return read_bounded(path, root, limit).map(Self::from);
        }
        Ok(Self { memory: Memory::Mapped(Arc::new(map)), range: 0..filled })
    }

    /// The bytes from a place on; none when there are not so many.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.range.start = self.range.start.saturating_add(count).min(self.range.end);
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { memory: Memory::Usual(Arc::new(bytes)), range }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = match &self.memory {
            Memory::Usual(bytes) => bytes,
            Memory::Mapped(map) => map,
        };
        &all[self.range.clone()]
    }
}

/// Reads until the buffer is full or nothing is left, and tells how much that was.
fn fill(mut from: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_read_whole_and_within_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("file");
        for content in [&b""[..], b"a", &vec![b'x'; (4 << 20) + 7]] {
            fs::write(&path, content).unwrap();
            assert_eq!(&*Bytes::read(&path, &root, 8 << 20).unwrap(), content);
        }
        assert!(matches!(Bytes::read(&path, &root, 4 << 20), Err(ReadError::TooLarge { limit: 4_194_304 })));
        assert!(matches!(Bytes::read(&root.join("none"), &root, 1), Err(ReadError::NotFound)));
        assert!(matches!(Bytes::read(&root, &root, 1), Err(ReadError::NotAFile("directory"))));
        // Files of the system say that they are empty, and are not.
        #[cfg(target_os = "linux")]
        assert!(!Bytes::read(Path::new("/proc/self/status"), Path::new("/"), 1 << 20).unwrap().is_empty());
    }

    #[test]
    fn the_start_can_be_passed_over() {
        let bytes = Bytes::from(b"head\nrest".to_vec());
        assert_eq!(&*bytes.clone().skip(2).skip(3), b"rest");
        assert_eq!(&*bytes.skip(usize::MAX), b"");
    }

    #[test]
    fn reading_in_pieces_and_interruptions_lose_nothing() {
        struct Pieces(Vec<io::Result<&'static [u8]>>);
        impl Read for Pieces {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let piece = self.0.pop().unwrap_or(Ok(b""))?;
                buffer[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            }
        }
        let mut buffer = [0; 8];
        let pieces = Pieces(vec![Ok(b"cd"), Err(ErrorKind::Interrupted.into()), Ok(b"ab")]);
        assert_eq!((fill(pieces, &mut buffer).unwrap(), &buffer[..4]), (4, &b"abcd"[..]));
        assert!(fill(Pieces(vec![Err(ErrorKind::Other.into()), Ok(b"ab")]), &mut buffer).is_err());
    }
}
