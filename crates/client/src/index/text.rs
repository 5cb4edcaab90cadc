//! The text of an index, in memory or in its file.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(unix)]
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use acp_registry_core::digest::hex;
use acp_registry_core::sys::fs::{ReadError, open_bounded, read_at};
use acp_registry_core::text::{printable, quote};

/// Why the text of an index, or a part of it, cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file was changed after it was read, or it is damaged.
    #[error("{}: the registry index has changed since it was read", printable(&.0.to_string_lossy()))]
    Changed(PathBuf),
    /// The operating system refused.
    #[error("{}: the registry index cannot be read: {error}", printable(&path.to_string_lossy()))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        error: io::Error,
    },
    /// An agent's entry is JSON, and cannot be represented.
    #[error("what the registry index says of {} cannot be read: {error}", quote(id))]
    Entry {
        /// The agent.
        id: String,
        /// What is wrong.
        #[source]
        error: serde_json::Error,
    },
}

impl TextError {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::Changed(_)).then_some("try again with --refresh")
    }
}

/// How old the last change of a file must be, for the next one to have another time in every file system.
#[cfg(unix)]
const SETTLED: Duration = Duration::from_secs(2);

/// A text. One in a file stays there: a question for an agent needs a thousandth of it.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Memory(Arc<Vec<u8>>),
    File(Arc<InFile>),
}

#[derive(Debug)]
pub(super) struct InFile {
    path: PathBuf,
    file: File,
    range: Range<u64>,
    /// Of a file that others may write into.
    metadata: Option<Metadata>,
}

impl Text {
    /// A regular file, under the conditions of [`open_bounded`].
    pub(super) fn open(path: &Path, root: &Path, limit: u64) -> Result<Self, ReadError> {
        let (file, length) = open_bounded(path, root, limit)?;
        let metadata = Some(file.metadata()?);
        Ok(Self::File(Arc::new(InFile { path: path.to_owned(), file, range: 0..length, metadata })))
    }

    /// What is behind a place of a file that is only ever replaced as a whole.
    pub(super) fn behind(path: PathBuf, file: File, range: Range<u64>) -> Self {
        Self::File(Arc::new(InFile { path, file, range, metadata: None }))
    }

    /// All of it at once.
    pub(super) fn whole(&self) -> Result<Cow<'_, [u8]>, TextError> {
        self.part(0..self.length())
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(text) => text.range.end - text.range.start,
        }
    }

    /// A part of it.
    pub(super) fn part(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>, TextError> {
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.length());
        let length = length.and_then(|length| usize::try_from(length).ok()).ok_or_else(|| self.changed())?;
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(range.start).map_err(|_| self.changed())?;
                Ok(Cow::Borrowed(&bytes[start..start + length]))
            }
            Self::File(text) => {
                let mut bytes = vec![0; length];
                read_exact_at(&text.file, &mut bytes, text.range.start + range.start).map_err(|error| {
                    match error.kind() {
                        io::ErrorKind::UnexpectedEof => self.changed(),
                        _ => text.unreadable(error),
                    }
                })?;
                text.check()?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// It is not what was read before.
    pub(super) fn changed(&self) -> TextError {
        TextError::Changed(match self {
            Self::Memory(_) => PathBuf::new(),
            Self::File(text) => text.path.clone(),
        })
    }

    /// SHA-256 of all of it.
    pub(super) fn sha256(&self) -> Result<String, TextError> {
        Ok(hex(&Sha256::digest(self.whole()?)))
    }

    /// Which state of which file this is, if that can be told.
    #[cfg(unix)]
    pub(super) fn state(&self) -> Option<String> {
        self.state_at(SystemTime::now())
    }

    /// The same at a time.
    #[cfg(unix)]
    fn state_at(&self, now: SystemTime) -> Option<String> {
        use std::os::unix::fs::MetadataExt as _;

        let Self::File(text) = self else { return None };
        let data = text.metadata.as_ref()?;
        let changed = Duration::new(data.ctime().try_into().ok()?, data.ctime_nsec().try_into().ok()?);
        let age = now.duration_since(SystemTime::UNIX_EPOCH + changed).ok()?;
        // Two states that come soon after each other may have the same time.
        (age > SETTLED).then(|| {
            let times = [data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()];
            format!("{}:{} of {} bytes, {times:?}", data.dev(), data.ino(), data.len())
        })
    }

    /// The same; where files have no numbers, it cannot be told.
    #[cfg(not(unix))]
    pub(super) fn state(&self) -> Option<String> {
        None
    }
}

impl InFile {
    /// Whether what was read is what was there at first.
    fn check(&self) -> Result<(), TextError> {
        let Some(then) = &self.metadata else { return Ok(()) };
        let state = |metadata: &Metadata| metadata.modified().map(|modified| (metadata.len(), modified));
        let now = self.file.metadata().and_then(|now| state(&now)).map_err(|error| self.unreadable(error))?;
        let is_same = state(then).is_ok_and(|then| then == now);
        if is_same { Ok(()) } else { Err(TextError::Changed(self.path.clone())) }
    }

    fn unreadable(&self, error: io::Error) -> TextError {
        TextError::Io { path: self.path.clone(), error }
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(Arc::new(bytes))
    }
}

/// Fills the buffer, without moving anything that others share.
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_text_is_the_same_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let content = "é and more".repeat(10_000);
        fs::write(root.join("index"), &content).unwrap();
        fs::write(root.join("copy"), format!("head\n{content}")).unwrap();
        let copy = File::open(root.join("copy")).unwrap();
        for text in [
            Text::from(content.clone().into_bytes()),
            Text::open(&root.join("index"), &root, 1 << 20).unwrap(),
            Text::behind(root.join("copy"), copy, 5..5 + content.len() as u64),
        ] {
            assert_eq!(text.whole().unwrap(), content.as_bytes());
            assert_eq!(text.part(3..6).unwrap(), &b"and"[..]);
            assert_eq!(text.part(7..7).unwrap(), &b""[..]);
            for (start, end) in [(6, 3), (0, text.length() + 1), (0, u64::MAX), (u64::MAX, u64::MAX)] {
                assert!(matches!(text.part(start..end), Err(TextError::Changed(_))), "{start}..{end}");
            }
            assert_eq!(text.sha256().unwrap(), hex(&Sha256::digest(&content)));
        }
        assert!(matches!(Text::open(&root.join("index"), &root, 7), Err(ReadError::TooLarge { limit: 7 })));
        assert!(matches!(Text::open(&root.join("none"), &root, 7), Err(ReadError::NotFound)));
        assert!(matches!(Text::open(&root, &root, 7), Err(ReadError::NotAFile("directory"))));
    }

    #[test]
    fn a_file_that_others_wrote_into_is_not_taken_for_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("index");
        let changes: [fn(&Path); 3] = [
            |path| fs::write(path, "sho").unwrap(),
            |path| File::options().append(true).open(path).unwrap().write_all(b"+").unwrap(),
            |path| {
                fs::write(path, "TEXT").unwrap();
                let later = SystemTime::now() + Duration::from_secs(10);
                File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
            },
        ];
        for change in changes {
            fs::write(&path, "text").unwrap();
            let text = Text::open(&path, &root, 10).unwrap();
            assert_eq!(text.whole().unwrap(), &b"text"[..]);
            change(&path);
            assert!(matches!(text.part(0..4), Err(TextError::Changed(_))));
            assert!(matches!(text.sha256(), Err(TextError::Changed(_))));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;

            let data = fs::metadata(&path).unwrap();
            let since = Duration::new(data.ctime().cast_unsigned(), data.ctime_nsec().try_into().unwrap());
            let written = SystemTime::UNIX_EPOCH + since;
            let state = |age: Duration| Text::open(&path, &root, 10).unwrap().state_at(written + age);
            // Until then, another state may have the same time.
            assert_eq!(state(SETTLED), None);
            let later = SETTLED + Duration::from_millis(1);
            assert!(state(later).is_some() && state(later) == state(2 * later));
        }
        // Another file in its place changes nothing.
        let text = Text::open(&path, &root, 10).unwrap();
        fs::write(root.join("new"), "new").unwrap();
        fs::rename(root.join("new"), &path).unwrap();
        assert_eq!(text.whole().unwrap(), &b"TEXT"[..]);
    }
}
