//! Any bytes as an archive: no panic, nothing written outside, and unpacking sees what listing sees.
#![no_main]

use std::fs;
use std::io::Cursor;

use acp_registry::archive::{self, Limits};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { compressed: 1 << 20, unpacked: 1 << 24, entries: 1000, ratio: 100, ratio_from: 1 << 20 };

fuzz_target!(|bytes: &[u8]| {
    let listed = archive::list(Cursor::new(bytes), "./agent", &LIMITS);
    let _ = archive::list_stream(bytes, "./agent", &LIMITS);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let into = folder.path().join("into");
    fs::create_dir(&into).expect("a directory");
    if let Ok(unpacked) = archive::unpack(Cursor::new(bytes), "./agent", &LIMITS, &into) {
        assert_eq!(listed.expect("a listing").entries, unpacked.entries);
        let root = into.canonicalize().expect("a directory");
        for entry in unpacked.entries {
            if let Ok(real) = root.join(&entry.path).canonicalize() {
                assert!(real.starts_with(&root), "{}", entry.path);
            }
        }
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1);
});
