//! Why an archive is refused.

use std::io;

use super::Lookalike;
use acp_registry_host::fs::PathError;
use acp_registry_plan::text::quote;

/// Why an archive could not be listed or unpacked.
///
/// Paths in the fields are as written in the archive; the messages quote and escape them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The content is not in a supported format.
    #[error("is {0}, neither a .zip, a .tar nor an executable")]
    NotAnArchive(Lookalike),
    /// An entry is unsafe to unpack.
    #[error("the entry {} {reason}", quote(.path))]
    Unsafe {
        /// The name of the entry; bytes that are not UTF-8 are replaced.
        path: String,
        /// What is wrong with it.
        reason: UnsafeReason,
    },
    /// A limit is exceeded.
    #[error("{0}")]
    TooLarge(Excess),
    /// The archive ends too early.
    #[error("ends in the middle of {at}; the download or the upload was cut off")]
    Truncated {
        /// What was being read, escaped.
        at: String,
    },
    /// The archive is inconsistent.
    #[error("is damaged at {at}: {message}")]
    Corrupt {
        /// What was being read, escaped.
        at: String,
        /// What is wrong.
        message: String,
    },
    /// The entry uses a feature that few programs support.
    #[error("the entry {} {what}", quote(.path))]
    Unsupported {
        /// The name of the entry.
        path: String,
        /// The feature.
        what: String,
    },
    /// A `.zip` can only be read from a file, since its directory is at the end.
    #[error("cannot be read: a .zip has its table of contents at its end")]
    NotSeekable,
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The program in the archive could not be written to a temporary file for examination.
    #[error("cannot be read without a temporary file: {0}")]
    Spool(#[source] PathError),
    /// A file or directory could not be written.
    #[error("cannot be unpacked: {0}")]
    Write(#[from] PathError),
}

impl Error {
    /// The error as a sentence about the archive or one of its entries.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unsafe { .. } | Self::Unsupported { .. } => format!("in the archive, {self}"),
            _ => format!("the archive {self}"),
        }
    }
}

/// Why an entry is unsafe to unpack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum UnsafeReason {
    #[error("has no name")]
    Empty,
    #[error("has a name that is not UTF-8")]
    NotUtf8,
    #[error("has an absolute path")]
    Absolute,
    #[error("names a network share")]
    Unc,
    #[error("names a drive")]
    Drive,
    #[error("leads out of the archive by `..`")]
    Parent,
    #[error("has control or invisible characters in its name")]
    ControlCharacter,
    #[error("has a backslash in its name, which on Windows separates directories")]
    Backslash,
    #[error("has a `:` in its name, which on Windows leads to a hidden stream of another file")]
    Colon,
    #[error("is named like a device on Windows")]
    DeviceName,
    #[error("has a name that ends with a dot or a space, which Windows drops")]
    TrailingDotOrSpace,
    #[error("has a name that is too long")]
    NameTooLong,
    #[error("has an extended header of more than {limit} bytes")]
    HeaderTooLong { limit: u64 },
    #[error("is nested too deeply")]
    TooDeep,
    #[error("occurs twice")]
    Duplicate,
    #[error("has the same name as {} where upper and lower case are one", quote(.other))]
    CaseCollision { other: String },
    #[error("is a file in one place and a directory in another")]
    FileAsDirectory,
    #[error("is to be written through the link {}", quote(.link))]
    ThroughLink { link: String },
    #[error("links to {}, outside the archive", quote(.target))]
    LinkLeaves { target: String },
    #[error("links to {}, which leads round in a circle or through too many links", quote(.target))]
    LinkLoop { target: String },
    #[error("is a hard link to {}, which is not a regular file before it", quote(.target))]
    HardlinkToNothing { target: String },
    #[error("is a {0}")]
    SpecialFile(&'static str),
    #[error("is a sparse file, which not every program unpacks; pack it without `--sparse`")]
    Sparse,
    #[error("is of the unknown type {}", quote(&char::from(*.0).to_string()))]
    UnknownType(u8),
    #[error("is encrypted")]
    Encrypted,
    #[error("is described in two ways that disagree: {0}")]
    HeadersDisagree(String),
    #[error("shares bytes of the archive with another entry")]
    Overlap,
    #[error("is a link or a directory, but has content")]
    HasContent,
}

/// The limit that is exceeded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Excess {
    #[error("is larger than {limit} bytes")]
    Compressed { limit: u64 },
    #[error("unpacks to more than {limit} bytes")]
    Unpacked { limit: u64 },
    #[error("unpacks to more than {limit} times its size: {unpacked} bytes out of {compressed}")]
    Ratio { limit: u64, unpacked: u64, compressed: u64 },
    #[error("has more than {limit} entries")]
    Entries { limit: u64 },
    #[error("has more than {limit} bytes of names")]
    Names { limit: u64 },
    #[error("needs a window of more than {limit} bytes to decompress")]
    Window { limit: u64 },
}

impl Error {
    /// Creates [`Error::Unsafe`] from the name as written in the archive.
    pub(super) fn refused(name: &[u8], reason: UnsafeReason) -> Self {
        Self::Unsafe { path: String::from_utf8_lossy(name).into_owned(), reason }
    }
}
