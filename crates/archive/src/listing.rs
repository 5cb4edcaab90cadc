//! The contents of an archive.

use super::{BinaryFormat, CmdNotFound, Entry, Program, cmd};

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

impl ArchiveListing {
    /// Finds the file that a client would start for `cmd`; see [`find_cmd`](super::find_cmd).
    ///
    /// # Errors
    /// Returns [`CmdNotFound`] with a similar entry.
    pub fn find_cmd(&self, cmd: &str) -> Result<&Entry, CmdNotFound> {
        cmd::find_cmd(cmd, &self.entries)
    }
}
