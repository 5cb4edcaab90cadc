//! Bytes without meaning: random, damaged and mutated archives must end in an error, not in a crash.

use std::io::Read as _;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::Program;
use super::super::testing::{ELF_X86_64, MAC_ARM64, PE_AMD64, elf, mach_o, pe, universal};
use super::*;

const TIGHT: Limits = Limits { compressed: 1 << 20, unpacked: 1 << 22, entries: 1000, ratio: 100, ratio_from: 1 << 20 };

static ARCHIVES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let tar = || {
        Tar::default()
            .pax(&[("path", "bin/agent"), ("mtime", "1.5")])
            .file_with_mode("x", elf(ELF_X86_64, 0), 0o755)
            .symlink("link", "bin/agent")
            .hardlink("hard", "bin/agent")
            .directory("d")
            .file("d/text", "text ".repeat(300))
    };
    let zip =
        Zip::new().file("bin/agent", pe(PE_AMD64, 2)).symlink("link", "bin/agent").file("d/text", "text ".repeat(300));
    let mut archives: Vec<_> = COMPRESSIONS.map(|compression| tar().compressed(compression)).into();
    archives.push(zip.bytes());
    archives
});

static PROGRAMS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut real = Vec::new();
    let this = fs::File::open(std::env::current_exe().unwrap()).unwrap();
    this.take(4096).read_to_end(&mut real).unwrap();
    vec![elf(ELF_X86_64, 0), mach_o(MAC_ARM64, 2), universal(&[MAC_ARM64]), pe(PE_AMD64, 2), real]
});

/// Programs that stop at the first block of zeros would not see entries that others unpack.
#[test]
fn entries_behind_a_lone_block_of_zeros_are_refused() {
    let entry = |name: &str| {
        let mut bytes = Tar::default().file(name, b"x").bytes();
        bytes.truncate(bytes.len() - 1024);
        bytes
    };
    for behind in [entry("hidden"), b"garbage".to_vec()] {
        let bytes = [entry("agent"), vec![0; 512], behind.clone(), vec![0; 1024]].concat();
        let (_, reason) = refused(&bytes);
        assert!(
            matches!(&reason, UnsafeReason::HeadersDisagree(how) if how.contains("single block of zeros")),
            "{reason:?}"
        );
    }
    // A single block of zeros may end the archive, and no program reads past a complete end.
    assert!(listed(&[entry("agent"), vec![0; 512]].concat()).is_ok());
    assert!(listed(&[entry("agent"), vec![0; 1024], entry("hidden")].concat()).is_ok());
}

/// For any input: no panic, nothing written outside, and the same result of listing and unpacking.
fn survive(bytes: &[u8]) {
    let listing = list(Cursor::new(bytes), "./bin/agent", &TIGHT);
    let _ = list_stream(bytes, "./link", &TIGHT);
    let place = Place::new();
    let unpacked = place.unpack_within(bytes, &TIGHT);
    if let Ok(unpacked) = unpacked {
        assert_eq!(listing.unwrap().entries.len(), unpacked.entries.len());
    }
}

/// Fixes the checksums of a tar's headers, so that modified headers are processed further.
fn mend(bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(512).filter(|block| &block[257..262] == b"ustar") {
        let mut header = tar::Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000), start in 0..8_usize) {
        const STARTS: [&[u8]; 8] =
            [b"", b"PK\x03\x04", b"\x1f\x8b\x08\0", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x7fELF\x02\x01\x01", b"MZ"];
        survive(&[STARTS[start], &bytes].concat());
    }

    #[test]
    fn changed_archives_do_no_harm(
        which in 0..6_usize,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..12),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = ARCHIVES[which].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if which == 0 {
            mend(&mut bytes);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        survive(&bytes);
    }

    #[test]
    fn names_made_of_dangerous_parts_do_no_harm(
        names in proptest::collection::vec(proptest::collection::vec("(\\.\\.?|/|\\\\|a|A|l|b|C:)", 1..6), 1..6),
        targets in proptest::collection::vec(proptest::collection::vec("(\\.\\.|/|a|l|b)", 1..6), 6),
        kinds in proptest::collection::vec(0..4_u8, 6),
    ) {
        let mut tar = Tar::default();
        for ((name, target), kind) in names.iter().zip(&targets).zip(kinds) {
            let (name, target) = (name.concat(), target.concat());
            tar = match kind {
                0 => tar.file(&name, "written"),
                1 => tar.directory(&name),
                2 => tar.symlink(&name, &target),
                _ => tar.hardlink(&name, &target),
            };
        }
        let bytes = tar.bytes();
        let place = Place::new();
        let unpacked = place.unpack_within(&bytes, &TIGHT);
        if unpacked.is_ok() {
            let root = place.root().canonicalize().unwrap();
            for entry in unpacked.unwrap().entries {
                if let Ok(real) = root.join(&entry.path).canonicalize() {
                    prop_assert!(real.starts_with(&root), "{}", entry.path);
                }
            }
        }
    }

    #[test]
    fn broken_headers_of_programs_do_no_harm(
        which in 0..5_usize,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        tail in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = PROGRAMS[which].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.extend(tail);
        let program = Program::examine(Cursor::new(bytes));
        for platform in acp_registry_plan::manifest::Platform::ALL {
            let _ = program.fits("agent", platform);
        }
    }
}
