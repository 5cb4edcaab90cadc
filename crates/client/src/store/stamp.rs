//! The times of a file, by which a change is seen without reading it.

use std::fs::Metadata;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The times of a file that the system changes when the file is written to, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When its content was changed last; any program can set this.
    modified: i64,
    /// When its content or metadata was changed last. A program can set this only by changing the clock.
    changed: i64,
}

impl Stamp {
    /// The stamp of a file.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&path.metadata()?))
    }
}

#[cfg(unix)]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        let nanoseconds = |time: io::Result<std::time::SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
        };
        Self { modified: nanoseconds(metadata.modified()), changed: nanoseconds(metadata.created()) }
    }
}
