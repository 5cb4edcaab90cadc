//! Archives of every format: each is listed, streamed and unpacked, and all three must agree.

mod attacks;
mod good;
mod hostile;
mod limits;
mod programs;

use std::fs;
use std::io::Cursor;
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;

use super::testing::{COMPRESSIONS, Tar, Zip};
use super::{ArchiveListing, Error, Limits, UnsafeReason, list, list_stream, unpack};

fn listed(bytes: &[u8]) -> Result<ArchiveListing, Error> {
    list(Cursor::new(bytes), "./agent", &Limits::default())
}

fn streamed(bytes: &[u8]) -> Result<ArchiveListing, Error> {
    list_stream(bytes, "./agent", &Limits::default())
}

/// A directory to unpack into, next to a file and a directory that must not change.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.0.path().join("into")).unwrap();
        fs::create_dir(place.0.path().join("beside")).unwrap();
        fs::write(place.0.path().join("victim"), "untouched").unwrap();
        place
    }

    fn root(&self) -> std::path::PathBuf {
        self.0.path().join("into")
    }

    fn unpack(&self, bytes: &[u8]) -> Result<ArchiveListing, Error> {
        self.unpack_within(bytes, &Limits::default())
    }

    fn unpack_within(&self, bytes: &[u8], limits: &Limits) -> Result<ArchiveListing, Error> {
        let result = unpack(Cursor::new(bytes), "./agent", limits, &self.root(), &AtomicBool::new(false));
        self.assert_untouched();
        result
    }

    fn assert_untouched(&self) {
        let mut names: Vec<_> = fs::read_dir(self.0.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["beside", "into", "victim"]);
        assert_eq!(fs::read_dir(self.0.path().join("beside")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(self.0.path().join("victim")).unwrap(), "untouched");
    }
}

/// Lists, streams and unpacks an archive that all three must refuse in the same way. Returns the entry and the reason.
#[track_caller]
fn refused(bytes: &[u8]) -> (String, UnsafeReason) {
    let reason = |result: Result<ArchiveListing, Error>| match result {
        Err(Error::Unsafe { path, reason }) => (path, reason),
        other => panic!("not refused: {other:?}"),
    };
    let found = reason(listed(bytes));
    assert_eq!(reason(Place::new().unpack(bytes)), found);
    match streamed(bytes) {
        Err(Error::NotSeekable) => {}
        other => assert_eq!(reason(other), found),
    }
    found
}
