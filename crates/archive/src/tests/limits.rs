//! Archives that would take too much space, memory or time.

use tar::EntryType;

use super::super::testing::compress;
use super::super::{Compression, Excess, Lookalike};
use super::*;

fn too_large(bytes: &[u8], limits: &Limits) -> Excess {
    let excess = |result| match result {
        Err(Error::TooLarge(excess)) => excess,
        other => panic!("not refused: {other:?}"),
    };
    let found = excess(list(Cursor::new(bytes), "./agent", limits));
    let unpacked = excess(Place::new().unpack_within(bytes, limits));
    assert_eq!(std::mem::discriminant(&unpacked), std::mem::discriminant(&found));
    found
}

const SMALL: Limits = Limits { compressed: 1 << 20, unpacked: 1 << 20, entries: 100, ratio: 20, ratio_from: 1 << 17 };

#[test]
fn a_bomb_by_ratio_is_stopped_on_the_way() {
    let zeros = vec![0; 900_000];
    for compression in [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd] {
        let bytes = Tar::default().file("a", &zeros).compressed(compression);
        let excess = too_large(&bytes, &SMALL);
        assert!(matches!(excess, Excess::Ratio { limit: 20, .. }), "{compression}: {excess:?}");
    }
    assert!(matches!(too_large(&Zip::new().file("a", &zeros).bytes(), &SMALL), Excess::Ratio { limit: 20, .. }));
    // Decompressed data after the end of the tar is counted too.
    let bytes = [Tar::default().bytes(), zeros].concat();
    assert!(matches!(too_large(&compress(&bytes, Compression::Gzip), &SMALL), Excess::Ratio { .. }));
}

#[test]
fn a_bomb_by_size_is_stopped_on_the_way() {
    let limits = Limits { ratio: u64::MAX, ..SMALL };
    let zeros = vec![0; 600_000];
    for compression in [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd] {
        let bytes = Tar::default().file("a", &zeros).file("b", &zeros).compressed(compression);
        assert_eq!(too_large(&bytes, &limits), Excess::Unpacked { limit: 1 << 20 }, "{compression}");
    }
    let bytes = Zip::new().file("a", &zeros).file("b", &zeros).bytes();
    assert_eq!(too_large(&bytes, &limits), Excess::Unpacked { limit: 1 << 20 });
    let plain = Tar::default().file("a", &zeros).file("b", &zeros).bytes();
    let wide = Limits { unpacked: 1 << 30, ..limits };
    assert_eq!(too_large(&plain, &wide), Excess::Compressed { limit: 1 << 20 });
    let noise: Vec<u8> = (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let gzip = compress(&Tar::default().file("a", &noise).bytes(), Compression::Gzip);
    assert_eq!(too_large(&gzip, &wide), Excess::Compressed { limit: 1 << 20 });
    let executable = [b"#!/bin/sh\n".to_vec(), zeros.clone(), zeros].concat();
    assert_eq!(too_large(&executable, &limits), Excess::Compressed { limit: 1 << 20 });
}

#[test]
fn a_claim_alone_is_enough_to_be_refused() {
    let mut header = tar::Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    let bytes = compress(header.as_bytes(), Compression::Gzip);
    assert_eq!(too_large(&bytes, &Limits::default()), Excess::Unpacked { limit: 4 << 30 });
}

#[test]
fn a_bomb_by_count_is_stopped_on_the_way() {
    let many = (0..101).fold(Tar::default(), |tar, at| tar.file(&format!("f{at}"), ""));
    assert_eq!(too_large(&many.bytes(), &SMALL), Excess::Entries { limit: 100 });
    let many = (0..101).fold(Zip::new(), |zip, at| zip.file(&format!("f{at}"), ""));
    assert_eq!(too_large(&many.bytes(), &SMALL), Excess::Entries { limit: 100 });
    let again = (0..101).fold(Tar::default(), |tar, _| tar.directory("d"));
    assert_eq!(too_large(&again.bytes(), &SMALL), Excess::Entries { limit: 100 });
    // Directories that only occur in paths are counted too, since they are created.
    let deep = (0..10).fold(Tar::default(), |tar, at| tar.file(&format!("{at}{}", "/d".repeat(20)), ""));
    assert_eq!(too_large(&deep.bytes(), &SMALL), Excess::Entries { limit: 100 });
}

#[test]
fn names_take_bounded_memory() {
    let name = format!("{}{}", "d".repeat(200), format!("/{}", "x".repeat(240)).repeat(15));
    let tar = (0..4600).fold(Tar::default(), |tar, at| tar.pax(&[("path", &format!("{at}{name}"))]).file("x", ""));
    let result = streamed(&tar.bytes());
    assert!(matches!(result, Err(Error::TooLarge(Excess::Names { .. }))), "{result:?}");
    let long = "x".repeat(2 << 20);
    let bytes = Tar::default().raw(EntryType::GNULongName, b"l", b"", long.as_bytes(), 0o644).file("x", "").bytes();
    assert_eq!(refused(&bytes).1, UnsafeReason::HeaderTooLong { limit: 1 << 20 });
}

#[test]
fn a_window_larger_than_any_is_refused() {
    // 4 GiB, without a content size.
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 22 << 3][..], &[0; 64]].concat();
    assert!(matches!(too_large(&zstd, &Limits::default()), Excess::Window { .. }));
    let mut xz = Tar::default().file("a", "x").compressed(Compression::Xz);
    // The dictionary size is in the block header, which is followed by its checksum.
    let at = 12 + xz[12..].windows(2).position(|w| w == [0x21, 0x01]).unwrap() + 2;
    xz[at] = 40;
    let end = 12 + (usize::from(xz[12]) + 1) * 4 - 4;
    let mut crc = flate2::Crc::new();
    crc.update(&xz[12..end]);
    xz[end..end + 4].copy_from_slice(&crc.sum().to_le_bytes());
    assert!(matches!(too_large(&xz, &Limits::default()), Excess::Window { .. }));
}

#[test]
fn what_is_cut_off_is_said_to_be() {
    let noise: Vec<u8> = (0..40_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for compression in COMPRESSIONS {
        let bytes = Tar::default().file("first", "1").file("agent", &noise).compressed(compression);
        listed(&bytes).unwrap();
        for length in [600, bytes.len() / 2, bytes.len() * 9 / 10] {
            for result in [listed(&bytes[..length]), streamed(&bytes[..length]), Place::new().unpack(&bytes[..length])]
            {
                assert!(matches!(result, Err(Error::Truncated { .. })), "{compression} {length}: {result:?}");
            }
        }
    }
    let gzip = Tar::default().file("agent", &noise).compressed(Compression::Gzip);
    for length in [3, 12, gzip.len() - 9, gzip.len() - 1] {
        assert!(matches!(listed(&gzip[..length]), Err(Error::Truncated { .. })), "{length}");
    }
    let zip = Zip::new().file("first", "1").file("agent", &noise).bytes();
    for length in [4, 600, zip.len() / 2, zip.len() - 1] {
        let result = listed(&zip[..length]);
        assert!(matches!(result, Err(Error::Truncated { .. })), "{length}: {result:?}");
    }
    let half = listed(&Tar::default().file("agent", &noise).bytes()[..50_000]).unwrap_err();
    assert_eq!(half.to_string(), "ends in the middle of `agent`; the download or the upload was cut off");
    let dangling = Tar::default().pax(&[("path", "x")]).bytes();
    assert!(listed(&dangling).is_err());
}

#[test]
fn damage_is_found_by_checksums() {
    let noise: Vec<u8> = (0..40_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for compression in [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd] {
        let mut bytes = Tar::default().file("agent", &noise).compressed(compression);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        let result = listed(&bytes);
        assert!(matches!(result, Err(Error::Corrupt { .. } | Error::Truncated { .. })), "{compression}: {result:?}");
    }
    let mut bytes = Zip::new().file("agent", &noise).bytes();
    bytes[5000] ^= 0x55;
    assert!(matches!(listed(&bytes), Err(Error::Corrupt { at, .. }) if at == "`agent`"));
    let mut header = Tar::default().file("a", "1").file("b", "1").bytes();
    header[1024] ^= 1;
    assert!(matches!(listed(&header), Err(Error::Corrupt { .. })));
}

#[test]
fn a_lone_compressed_file_is_no_tar() {
    for compression in [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd] {
        for content in [&b"text"[..], &[7; 5000]] {
            let result = listed(&compress(content, compression));
            let lone = Lookalike::Compressed(compression);
            assert!(matches!(&result, Err(Error::NotAnArchive(found)) if *found == lone), "{result:?}");
        }
    }
}

#[test]
fn an_error_of_the_reader_is_no_fault_of_the_archive() {
    struct Broken(Vec<u8>);
    impl std::io::Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = buffer.len().min(self.0.len());
            if count == 0 {
                return Err(std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset"));
            }
            buffer[..count].copy_from_slice(&self.0.drain(..count).collect::<Vec<_>>());
            Ok(count)
        }
    }
    let noise: Vec<u8> = (0..40_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for compression in COMPRESSIONS {
        let mut bytes = Tar::default().file("agent", &noise).compressed(compression);
        bytes.truncate(60_000);
        let result = list_stream(Broken(bytes), "./agent", &Limits::default());
        assert!(
            matches!(&result, Err(Error::Read(error)) if error.kind() == std::io::ErrorKind::ConnectionReset),
            "{compression}: {result:?}"
        );
    }
}
