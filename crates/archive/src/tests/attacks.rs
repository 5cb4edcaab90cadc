//! Archives made to write outside the directory, or to show one thing and unpack another.

use tar::EntryType;
use zip::write::SimpleFileOptions;

use super::super::testing::{pax_records, replace};
use super::*;

fn of(path: &str, reason: UnsafeReason) -> (String, UnsafeReason) {
    (path.to_owned(), reason)
}

#[test]
fn names_that_lead_out_or_deceive_are_refused_in_every_format() {
    for (name, reason) in [
        ("../victim", UnsafeReason::Parent),
        ("a/../../victim", UnsafeReason::Parent),
        ("..\\victim", UnsafeReason::Parent),
        ("/tmp/victim", UnsafeReason::Absolute),
        ("\\victim", UnsafeReason::Absolute),
        ("C:/victim", UnsafeReason::Drive),
        ("C:victim", UnsafeReason::Drive),
        ("\\\\host\\share\\victim", UnsafeReason::Unc),
        ("a\u{1b}[2J", UnsafeReason::ControlCharacter),
        ("ex\u{202e}fdp.exe", UnsafeReason::ControlCharacter),
        ("victim:stream", UnsafeReason::Colon),
        ("CON", UnsafeReason::DeviceName),
        ("a/aux.txt", UnsafeReason::DeviceName),
        ("COM\u{b9}", UnsafeReason::DeviceName),
        ("a./b", UnsafeReason::TrailingDotOrSpace),
        ("a ", UnsafeReason::TrailingDotOrSpace),
    ] {
        assert_eq!(refused(&Tar::default().file(name, "x").bytes()), of(name, reason.clone()), "{name}");
        assert_eq!(refused(&Zip::new().file(name, "x").bytes()), of(name, reason.clone()), "{name}");
        assert_eq!(refused(&Tar::default().pax(&[("path", name)]).file("ok", "x").bytes()), of(name, reason), "{name}");
    }
    let not_utf8 = Tar::default().raw(EntryType::Regular, b"a\xff", b"", b"x", 0o644).bytes();
    assert_eq!(refused(&not_utf8), of("a\u{fffd}", UnsafeReason::NotUtf8));
    let unnamed = Tar::default().raw(EntryType::Regular, b"", b"", b"x", 0o644).bytes();
    assert_eq!(refused(&unnamed), of("", UnsafeReason::Empty));
    assert_eq!(refused(&Tar::default().file("./.", "x").bytes()), of("./.", UnsafeReason::Empty));
}

#[test]
fn links_that_leave_are_refused() {
    for (name, target) in [
        ("l", "../victim"),
        ("l", "/etc/passwd"),
        ("a/l", "../../victim"),
        ("l", "C:\\x"),
        ("l", "a/../../into/x"),
        ("l", ".."),
    ] {
        let (path, reason) = refused(&Tar::default().symlink(name, target).bytes());
        assert!(path == name && matches!(reason, UnsafeReason::LinkLeaves { .. }), "{target}: {reason:?}");
        let (path, reason) = refused(&Zip::new().symlink(name, target).bytes());
        assert!(path == name && matches!(reason, UnsafeReason::LinkLeaves { .. }), "{target}: {reason:?}");
    }
    for target in ["../victim", "/etc/passwd", "C:/x", "//host/x"] {
        let (_, reason) = refused(&Tar::default().file("a", "x").hardlink("l", target).bytes());
        assert_eq!(reason, UnsafeReason::LinkLeaves { target: target.to_owned() });
    }
}

#[test]
fn chains_of_links_are_followed_to_their_end() {
    // Each link alone stays inside.
    let bytes = Tar::default().directory("a/b").symlink("a/b/up", "..").symlink("l", "a/b/up/../../victim").bytes();
    assert_eq!(refused(&bytes), of("l", UnsafeReason::LinkLeaves { target: "a/b/up/../../victim".to_owned() }));
    let bytes = Tar::default().symlink("x", "y").symlink("y", "z/../..").symlink("z", "d").directory("d").bytes();
    assert!(matches!(refused(&bytes).1, UnsafeReason::LinkLeaves { .. }));
    // The link's name differs in case, which some file systems ignore.
    let bytes = Tar::default().directory("a/b").symlink("a/b/UP", "../..").symlink("l", "a/b/up/../victim").bytes();
    assert!(matches!(refused(&bytes).1, UnsafeReason::LinkLeaves { .. }));
    let circle = Tar::default().symlink("a", "b").symlink("b", "a").bytes();
    assert_eq!(refused(&circle), of("a", UnsafeReason::LinkLoop { target: "b".to_owned() }));
}

#[test]
fn nothing_is_written_through_a_link() {
    for target in ["..", "real", "nothing"] {
        let bytes = Tar::default().directory("real").symlink("l", target).file("l/victim", "x").bytes();
        assert_eq!(refused(&bytes), of("l/victim", UnsafeReason::ThroughLink { link: "l".to_owned() }), "{target}");
        let bytes = Zip::new().directory("real").symlink("l", target).file("l/victim", "x").bytes();
        assert_eq!(refused(&bytes), of("l/victim", UnsafeReason::ThroughLink { link: "l".to_owned() }), "{target}");
    }
    let bytes = Tar::default().symlink("l", "../victim").file("l", "x").bytes();
    assert_eq!(refused(&bytes), of("l", UnsafeReason::Duplicate));
    let bytes = Tar::default().file("l/x", "x").symlink("l", "..").bytes();
    assert_eq!(refused(&bytes), of("l", UnsafeReason::FileAsDirectory));
    let bytes = Tar::default().file("f", "x").symlink("l", "f").hardlink("h", "l").bytes();
    assert_eq!(refused(&bytes), of("h", UnsafeReason::HardlinkToNothing { target: "l".to_owned() }));
}

#[test]
fn a_hard_link_names_a_file_that_came_before() {
    for target in ["later", "d", "nothing", "F"] {
        let bytes = Tar::default().directory("d").file("f", "x").hardlink("h", target).file("later", "x").bytes();
        assert_eq!(refused(&bytes), of("h", UnsafeReason::HardlinkToNothing { target: target.to_owned() }));
    }
}

#[test]
fn special_files_and_unknown_types_are_refused() {
    for (kind, reason) in [
        (EntryType::Fifo, UnsafeReason::SpecialFile("FIFO")),
        (EntryType::Char, UnsafeReason::SpecialFile("device")),
        (EntryType::Block, UnsafeReason::SpecialFile("device")),
        (EntryType::GNUSparse, UnsafeReason::Sparse),
        (EntryType::Continuous, UnsafeReason::UnknownType(b'7')),
        (EntryType::new(b'V'), UnsafeReason::UnknownType(b'V')),
    ] {
        assert_eq!(refused(&Tar::default().raw(kind, b"x", b"", b"", 0o644).bytes()), of("x", reason));
    }
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Directory] {
        let bytes = Tar::default().raw(kind, b"x", b"y", b"content", 0o644).bytes();
        assert_eq!(refused(&bytes), of("x", UnsafeReason::HasContent));
    }
    let sparse = Tar::default().pax(&[("GNU.sparse.major", "1")]).file("x", "x").bytes();
    assert_eq!(refused(&sparse), of("x", UnsafeReason::Sparse));
    let named = [("GNU.sparse.major", "1"), ("GNU.sparse.name", "bin/agent")];
    let sparse = Tar::default().pax(&named).file("bin/GNUSparseFile.0/agent", "x").bytes();
    assert_eq!(refused(&sparse), of("bin/agent", UnsafeReason::Sparse));
    for (mode, reason) in [
        (0o010_644_u32, UnsafeReason::SpecialFile("FIFO")),
        (0o020_644, UnsafeReason::SpecialFile("device")),
        (0o060_644, UnsafeReason::SpecialFile("device")),
        (0o140_644, UnsafeReason::SpecialFile("socket")),
    ] {
        let options = SimpleFileOptions::default().system(zip::System::Unix).external_attributes(mode << 16);
        assert_eq!(refused(&Zip::new().file_with("x", "", options).bytes()), of("x", reason));
    }
}

#[test]
fn names_that_are_one_on_some_systems_are_refused() {
    assert_eq!(refused(&Tar::default().file("a", "1").file("./a", "2").bytes()), of("./a", UnsafeReason::Duplicate));
    let mut twice = Zip::new().file("name1", "1").file("name2", "2").bytes();
    replace(&mut twice, b"name2", b"name1");
    let (path, reason) = refused(&twice);
    assert_eq!((path.as_str(), reason), ("name1", UnsafeReason::Duplicate));
    for (first, second) in
        [("a/readme", "a/README"), ("Lib/x", "lib/y"), ("\u{e9}", "e\u{301}"), ("stra\u{df}e", "STRASSE")]
    {
        let (path, reason) = refused(&Tar::default().file(first, "1").file(second, "2").bytes());
        assert!(path == second && matches!(reason, UnsafeReason::CaseCollision { .. }), "{second}: {reason:?}");
        let (path, reason) = refused(&Zip::new().file(first, "1").file(second, "2").bytes());
        assert!(path == second && matches!(reason, UnsafeReason::CaseCollision { .. }), "{second}: {reason:?}");
    }
    assert_eq!(
        refused(&Tar::default().file("a", "1").file("a/b", "2").bytes()),
        of("a/b", UnsafeReason::FileAsDirectory)
    );
    assert_eq!(
        refused(&Tar::default().file("a/b", "1").file("a", "2").bytes()),
        of("a", UnsafeReason::FileAsDirectory)
    );
    assert_eq!(refused(&Tar::default().directory("a").file("a", "2").bytes()), of("a", UnsafeReason::FileAsDirectory));
}

#[test]
fn two_readers_must_not_see_two_archives() {
    let how = |reason| matches!(reason, UnsafeReason::HeadersDisagree(_));
    let (path, reason) = refused(&Tar::default().pax(&[("path", "a"), ("path", "b")]).file("x", "1").bytes());
    assert!(path == "PaxHeaders/x" && how(reason));
    let (path, reason) = refused(&Tar::default().pax(&[("size", "700")]).file("x", "1").bytes());
    assert!(path == "x" && how(reason));
    let long = |tar: Tar| tar.raw(EntryType::GNULongName, b"././@LongLink", b"", b"long\0", 0o644);
    assert!(how(refused(&long(long(Tar::default())).file("x", "1").bytes()).1));
    assert!(how(refused(&long(Tar::default().pax(&[("path", "a")])).file("x", "1").bytes()).1));
    let global = pax_records(&[("path", "../victim")]);
    let bytes = Tar::default().raw(EntryType::XGlobalHeader, b"g", b"", &global, 0o644).file("x", "1").bytes();
    assert!(how(refused(&bytes).1));
    // A record inside the value of another is ignored.
    let nested = Tar::default().pax(&[("comment", "x\n18 path=../victim\n")]).file("agent", "1").bytes();
    assert_eq!(listed(&nested).unwrap().entries[0].path, "agent");

    let mut bytes = Zip::new().file("good", "1").bytes();
    let at = bytes.windows(4).rposition(|w| w == b"good").unwrap();
    bytes[at..at + 4].copy_from_slice(b"evil");
    let (path, reason) = refused(&bytes);
    assert!(path == "evil" && how(reason));
}

#[test]
fn entries_of_a_zip_must_not_share_bytes() {
    // Both entries of the central directory refer to the first file.
    let mut bytes = Zip::new().file("a", "one").file("b", "one").bytes();
    let second = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bytes[second + 42..second + 46].fill(0);
    bytes[second + 46] = b'a';
    assert_eq!(refused(&bytes), of("a", UnsafeReason::Overlap));
}

#[test]
fn encrypted_and_exotic_zip_entries_are_refused() {
    let mut bytes = Zip::new().file("a", "one").bytes();
    let second = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bytes[6] |= 1;
    bytes[second + 8] |= 1;
    assert_eq!(refused(&bytes), of("a", UnsafeReason::Encrypted));

    let mut bytes = Zip::new().file("a", "one").bytes();
    bytes[8] = 98;
    bytes[second + 10] = 98;
    let error = listed(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "the entry `a` is compressed by Ppmd, which few can read");
}

#[test]
fn a_web_page_is_no_archive() {
    let page = b"<!DOCTYPE html><html><body>Not found</body></html>";
    let expected = "is an HTML page, as servers send in place of an error, neither a .zip, a .tar nor an executable";
    for result in [listed(page), streamed(page), Place::new().unpack(page)] {
        assert_eq!(result.unwrap_err().to_string(), expected);
    }
}

#[test]
fn messages_are_fit_to_be_shown() {
    let error = listed(&Tar::default().file("a\u{1b}[31m", "x").bytes()).unwrap_err().to_string();
    assert_eq!(error, "the entry `a\\u{1b}[31m` has control or invisible characters in its name");
}
