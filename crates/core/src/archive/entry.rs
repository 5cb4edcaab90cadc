use super::cmd;
use super::{CmdNotFound, Format, Program};

/// Something that an archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is: relative, with `/` between its parts, without `.` and `..`. Free of control characters, but
    /// otherwise as a stranger chose it.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The bytes of a regular file's content; of a hard link, those of the file it names; else 0.
    pub size: u64,
    /// Whether anybody may execute it. Archives made on Windows say so of nothing.
    pub executable: bool,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory that the archive lists. Directories that only the paths of others imply are not listed.
    Directory,
    /// A symbolic link, which has been found to stay inside the archive.
    Symlink {
        /// Where it leads, relative to its own directory, with `/` between the parts.
        target: String,
    },
    /// A second name for a regular file.
    Hardlink {
        /// The path of that file, as in [`Entry::path`].
        target: String,
    },
}

impl Entry {
    /// The last part of the path.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// What a whole archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The format, as recognised by content.
    pub format: Format,
    /// The entries in the order of the archive. A bare executable is one entry, named as `cmd` asks.
    pub entries: Vec<Entry>,
    /// What the content of the wanted `cmd` is. `None` when there is no such file, and from a stream also when `cmd` is
    /// a link: its content may have gone by before the link was seen.
    pub program: Option<Program>,
}

impl Listing {
    /// The file that a client would start for `cmd`; see [`find_cmd`](super::find_cmd).
    ///
    /// # Errors
    /// [`CmdNotFound`] with the entry that was probably meant.
    pub fn find_cmd(&self, cmd: &str) -> Result<&Entry, CmdNotFound> {
        cmd::find_cmd(cmd, &self.entries)
    }
}
