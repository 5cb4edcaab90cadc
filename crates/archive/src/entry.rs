//! The contents of an archive.

use super::{BinaryFormat, Program};

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative path with `/` as separator, without `.` and `..`. Free of control characters, but otherwise untrusted.
    pub path: String,
    /// The type of the entry.
    pub kind: EntryKind,
    /// Size of a regular file in bytes; for a hard link, of the file it links to; otherwise 0.
    pub size: u64,
    /// Whether any executable bit is set. Never set in archives made on Windows.
    pub executable: bool,
}

/// The type of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory with an entry of its own. Directories that exist only in the paths of other entries are not listed.
    Directory,
    /// A symbolic link that does not lead out of the archive.
    Symlink {
        /// The target, relative to the link's directory, with `/` as separator.
        target: String,
    },
    /// A hard link to a regular file.
    Hardlink {
        /// The path of that file, as in [`Entry::path`].
        target: String,
    },
}

impl Entry {
    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The contents of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveListing {
    /// The format, detected from the content.
    pub format: BinaryFormat,
    /// The entries in the order of the archive. A bare executable is one entry with the name in `cmd`.
    pub entries: Vec<Entry>,
    /// The examined content of `cmd`. `None` if there is no such file or, when listing a stream, if `cmd` is a link,
    /// since its target may have been read before the link was seen.
    pub program: Option<Program>,
}
