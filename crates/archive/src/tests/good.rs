//! Archives that are accepted, and what is on the disk afterwards.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::Ordering;

use acp_registry_host::fs::PathError;
use tar::EntryType;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::super::testing::{compress, pax_records};
use super::super::{BinaryFormat, Compression, Entry, EntryKind};
use super::*;

fn paths(listing: &ArchiveListing) -> Vec<&str> {
    listing.entries.iter().map(|entry| entry.path.as_str()).collect()
}

/// All files below a directory with their contents; links with their targets.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap().map(|item| item.unwrap()) {
            let name = item.path().strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            if item.file_type().unwrap().is_dir() {
                folders.push(item.path());
            } else if item.file_type().unwrap().is_symlink() {
                found.insert(name, fs::read_link(item.path()).unwrap().to_str().unwrap().as_bytes().to_owned());
            } else {
                found.insert(name, fs::read(item.path()).unwrap());
            }
        }
    }
    found
}

fn as_map(files: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

#[test]
fn every_format_is_listed_and_unpacked() {
    let large: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let expected = as_map(&[("bin/agent", b"#!/bin/sh\n"), ("bin/data", &large), ("empty", b"")]);
    let tar = || {
        Tar::default()
            .directory("./")
            .directory("./bin/")
            .file_with_mode("./bin/agent", "#!/bin/sh\n", 0o755)
            .file("./bin/data", &large)
            .file("empty", "")
    };
    let archives = COMPRESSIONS.map(|compression| (BinaryFormat::Tar(compression), tar().compressed(compression)));
    for (format, bytes) in archives {
        for listing in [listed(&bytes), streamed(&bytes)].map(Result::unwrap) {
            assert_eq!((listing.format, paths(&listing)), (format, vec!["bin", "bin/agent", "bin/data", "empty"]));
            assert_eq!(listing.entries[2].size, large.len() as u64);
        }
        let place = Place::new();
        place.unpack(&bytes).unwrap();
        assert_eq!(files(&place.root()), expected, "{format}");
    }
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated, CompressionMethod::Bzip2] {
        let options = SimpleFileOptions::default().compression_method(method).unix_permissions(0o755);
        let bytes = Zip::new()
            .directory("bin/")
            .file_with("bin\\agent", "#!/bin/sh\n", options)
            .file_with("./bin/data", &large, options)
            .file_with("empty", "", options)
            .bytes();
        let listing = listed(&bytes).unwrap();
        assert_eq!(
            (listing.format, paths(&listing)),
            (BinaryFormat::Zip, vec!["bin", "bin/agent", "bin/data", "empty"])
        );
        let place = Place::new();
        assert_eq!(place.unpack(&bytes).unwrap(), listing);
        assert_eq!(files(&place.root()), expected, "{method}");
    }
}

#[test]
fn a_bare_executable_is_named_as_cmd_asks() {
    let bytes = b"#!/bin/sh\nexit 0\n";
    let entry = Entry { path: "agent".to_owned(), kind: EntryKind::File, size: bytes.len() as u64, executable: true };
    for listing in [listed(bytes), streamed(bytes)].map(Result::unwrap) {
        assert_eq!((listing.format, &listing.entries), (BinaryFormat::Executable, &vec![entry.clone()]));
        assert_eq!(listing.find_cmd("agent"), Ok(&entry));
    }
    let place = Place::new();
    place.unpack(bytes).unwrap();
    assert_eq!(files(&place.root()), as_map(&[("agent", bytes)]));
    let listing = list(Cursor::new(bytes), "./bin/agent", &Limits::default()).unwrap();
    assert_eq!(listing.find_cmd("./bin/agent").unwrap_err().suggestion().as_deref(), Some("./agent"));
    for cmd in ["", "../agent", "/bin/sh"] {
        let place = Place::new();
        unpack(Cursor::new(bytes), cmd, &Limits::default(), &place.root(), &AtomicBool::new(false)).unwrap();
        place.assert_untouched();
        assert_eq!(files(&place.root()), as_map(&[("executable", bytes)]), "{cmd}");
    }
}

#[test]
fn a_package_of_npm_is_read_as_it_is() {
    let bytes = Tar::default()
        .file("package/package.json", "{}")
        .file("package/bin/x", "\x7fELF")
        .compressed(Compression::Gzip);
    let listing = listed(&bytes).unwrap();
    let found = listing.find_cmd("./package/bin/x").unwrap();
    assert_eq!((found.size, found.executable), (4, false));
}

#[cfg(unix)]
#[test]
fn modes_keep_nothing_but_the_executable_bit() {
    use std::os::unix::fs::PermissionsExt as _;

    let tar = Tar::default()
        .file_with_mode("setuid", "x", 0o6755)
        .file_with_mode("others", "x", 0o001)
        .file_with_mode("writable", "x", 0o666)
        .bytes();
    let zip = |mode| SimpleFileOptions::default().unix_permissions(mode);
    let zip = Zip::new()
        .file_with("setuid", "x", zip(0o755))
        .file_with("others", "x", zip(0o001))
        .file_with("writable", "x", zip(0o666))
        .bytes();
    for bytes in [tar, zip] {
        let place = Place::new();
        place.unpack(&bytes).unwrap();
        let mode = |name: &str| fs::metadata(place.root().join(name)).unwrap().permissions().mode() & 0o7777;
        // The umask may remove further bits.
        assert_eq!(
            [mode("setuid") & 0o7722, mode("others") & 0o7722, mode("writable") & 0o7733],
            [0o700, 0o700, 0o600]
        );
    }
}

#[cfg(unix)]
#[test]
fn links_that_stay_inside_are_made() {
    let tar = Tar::default()
        .symlink("bin/agent", "../lib/agent")
        .symlink("current", ".")
        .symlink("lib64", "lib")
        .symlink("dangling", "lib/nothing")
        .symlink("windows", "lib\\agent")
        .file_with_mode("lib/agent", "#!/bin/sh\n", 0o755)
        .hardlink("again", "./lib/agent")
        .bytes();
    let place = Place::new();
    let listing = place.unpack(&tar).unwrap();
    let found = files(&place.root());
    assert_eq!(
        found,
        as_map(&[
            ("again", b"#!/bin/sh\n"),
            ("bin/agent", b"../lib/agent"),
            ("current", b"."),
            ("dangling", b"lib/nothing"),
            ("lib/agent", b"#!/bin/sh\n"),
            ("lib64", b"lib"),
            ("windows", b"lib/agent"),
        ])
    );
    assert_eq!(fs::read_to_string(place.root().join("lib64/agent")).unwrap(), "#!/bin/sh\n");
    assert_eq!(listing.find_cmd("./current/lib64/agent").unwrap().path, "lib/agent");
    let zip = Zip::new().symlink("bin/agent", "../lib/agent").file("lib/agent", "x").bytes();
    let place = Place::new();
    place.unpack(&zip).unwrap();
    assert_eq!(fs::read_to_string(place.root().join("bin/agent")).unwrap(), "x");
}

#[test]
fn long_names_and_harmless_extensions_are_read() {
    let long = format!("{}/{}", "d".repeat(150), "f".repeat(150));
    let global = pax_records(&[("comment", "c0ffee")]);
    let bytes = Tar::default()
        .raw(EntryType::XGlobalHeader, b"pax_global_header", b"", &global, 0o644)
        .pax(&[("path", &long), ("mtime", "1.5"), ("SCHILY.xattr.x", "line\nfeed")])
        .file("short", "1")
        .raw(EntryType::GNULongName, b"././@LongLink", b"", format!("{long}2\0").as_bytes(), 0o644)
        .file("short", "2")
        .raw(EntryType::GNULongLink, b"././@LongLink", b"", format!("{long}\0").as_bytes(), 0o644)
        .hardlink("hard", "short")
        .file("._agent", "mac")
        .file("__MACOSX/._agent", "mac")
        .raw(EntryType::Regular, b"old-directory/", b"", b"", 0o755)
        .directory("again")
        .directory("again")
        .bytes();
    let listing = listed(&bytes).unwrap();
    let second = format!("{long}2");
    assert_eq!(paths(&listing), [&long, &second, "hard", "._agent", "__MACOSX/._agent", "old-directory", "again"]);
    assert_eq!(listing.entries[2].kind, EntryKind::Hardlink { target: long.clone() });
    assert_eq!(listing.entries[5].kind, EntryKind::Directory);
}

#[test]
fn members_are_one_stream_and_what_follows_is_left_alone() {
    let tar = Tar::default().file("agent", vec![7; 3000]).bytes();
    let (first, second) = tar.split_at(1700);
    for compression in [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd] {
        let joined = [compress(first, compression), compress(second, compression)].concat();
        assert_eq!(paths(&listed(&joined).unwrap()), ["agent"], "{compression}");
        for tail in [&[0; 700][..], b"trailing garbage"] {
            let padded = [&joined[..], tail].concat();
            assert_eq!(paths(&listed(&padded).unwrap()), ["agent"], "{compression}");
        }
    }
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &compress(&tar, Compression::Zstd)].concat();
    assert_eq!(paths(&listed(&skippable).unwrap()), ["agent"]);
    let behind = [tar.clone(), b"garbage".repeat(100)].concat();
    assert_eq!(paths(&listed(&behind).unwrap()), ["agent"]);
    let endless = &tar[..tar.len() - 1024];
    assert_eq!(paths(&listed(endless).unwrap()), ["agent"]);
}

#[test]
fn an_empty_archive_holds_nothing() {
    for bytes in [Tar::default().bytes(), Tar::default().compressed(Compression::Gzip), Zip::new().bytes()] {
        let listing = listed(&bytes).unwrap();
        assert_eq!((paths(&listing).len(), listing.program.is_none()), (0, true));
        assert_eq!(listing.find_cmd("./agent").unwrap_err().nearest, None);
    }
}

#[test]
fn only_an_empty_directory_is_filled() {
    let place = Place::new();
    fs::write(place.root().join("x"), "mine").unwrap();
    let result = place.unpack(&Tar::default().file("x", "theirs").bytes());
    assert!(matches!(result, Err(Error::Write(_))));
    assert_eq!(fs::read_to_string(place.root().join("x")).unwrap(), "mine");
}

#[test]
fn an_ending_that_lies_can_be_told() {
    let bytes = Zip::new().file("agent", "x").bytes();
    let promised = BinaryFormat::promised("https://h.example/agent.tar.gz").unwrap();
    let found = listed(&bytes).unwrap().format;
    assert_ne!(found, promised);
    assert_eq!((found.to_string(), promised.to_string()), ("a .zip".to_owned(), "a .tar.gz".to_owned()));
}

/// Cancels when this many bytes of an archive were read.
struct CancelAt<'a> {
    archive: Cursor<&'a [u8]>,
    read: usize,
    at: usize,
    is_cancelled: &'a AtomicBool,
}

impl Read for CancelAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.archive.read(buffer)?;
        self.read += count;
        self.is_cancelled.fetch_or(self.read >= self.at, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for CancelAt<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.archive.seek(to)
    }
}

#[test]
fn nothing_more_is_written_after_a_cancellation() {
    let content = "x".repeat(1 << 20);
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let archives = [
        Tar::default().directory("first/").file("first/a", &content).file("b", "").bytes(),
        Zip::new().directory("first/").file_with("first/a", &content, stored).file("b", "").bytes(),
    ];
    for bytes in archives {
        let (place, is_cancelled) = (Place::new(), AtomicBool::new(false));
        let archive = CancelAt { archive: Cursor::new(&bytes), read: 0, at: 1 << 19, is_cancelled: &is_cancelled };
        let error = unpack(archive, "./agent", &Limits::default(), &place.root(), &is_cancelled).unwrap_err();
        assert!(matches!(&error, Error::Write(PathError { error, .. }) if error.kind() == io::ErrorKind::Interrupted));
        let written = files(&place.root());
        assert_eq!(written.keys().collect::<Vec<_>>(), ["first/a"]);
        assert!(written["first/a"].len() < content.len());
    }
    let entries = [Tar::default().directory("first/"), Tar::default().file("a", ""), Tar::default().symlink("a", "b")];
    for entry in entries {
        let place = Place::new();
        let bytes = Cursor::new(entry.bytes());
        unpack(bytes, "./agent", &Limits::default(), &place.root(), &AtomicBool::new(true)).unwrap_err();
        assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0);
    }
}
