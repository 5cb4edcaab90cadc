//! Builders for valid and malicious archives in tests.

use std::io::{Cursor, Write as _};

use tar::{EntryType, Header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::Compression;

/// Builds a tar with any headers.
#[derive(Default)]
pub(super) struct Tar(Vec<u8>);

impl Tar {
    pub(super) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.file_with_mode(name, content, 0o644)
    }

    pub(super) fn file_with_mode(self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> Self {
        self.raw(EntryType::Regular, name.as_bytes(), b"", content.as_ref(), mode)
    }

    pub(super) fn directory(self, name: &str) -> Self {
        self.raw(EntryType::Directory, name.as_bytes(), b"", b"", 0o755)
    }

    pub(super) fn symlink(self, name: &str, target: &str) -> Self {
        self.raw(EntryType::Symlink, name.as_bytes(), target.as_bytes(), b"", 0o777)
    }

    pub(super) fn hardlink(self, name: &str, target: &str) -> Self {
        self.raw(EntryType::Link, name.as_bytes(), target.as_bytes(), b"", 0o644)
    }

    /// Adds a pax extended header for the next entry.
    pub(super) fn pax(self, records: &[(&str, &str)]) -> Self {
        self.raw(EntryType::XHeader, b"PaxHeaders/x", b"", &pax_records(records), 0o644)
    }

    pub(super) fn raw(mut self, kind: EntryType, name: &[u8], link: &[u8], content: &[u8], mode: u32) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        let bytes = header.as_mut_bytes();
        bytes[..name.len()].copy_from_slice(name);
        bytes[157..157 + link.len()].copy_from_slice(link);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// The bytes, with the end-of-archive marker.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }

    pub(super) fn compressed(self, compression: Compression) -> Vec<u8> {
        compress(&self.bytes(), compression)
    }
}

pub(super) fn pax_records(records: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let rest = key.len() + value.len() + 3;
        let length = (rest..rest + 9).find(|length| rest + length.to_string().len() == *length).unwrap();
        format!("{length} {key}={value}\n")
    };
    records.iter().map(record).collect::<String>().into_bytes()
}

pub(super) fn compress(bytes: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::None => bytes.to_owned(),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Xz => {
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
    }
}

pub(super) const COMPRESSIONS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd];

/// Builds a `.zip` with any headers.
pub(super) struct Zip(ZipWriter<Cursor<Vec<u8>>>);

impl Zip {
    pub(super) fn new() -> Self {
        Self(ZipWriter::new(Cursor::new(Vec::new())))
    }

    pub(super) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.file_with(name, content, SimpleFileOptions::default().unix_permissions(0o644))
    }

    pub(super) fn file_with(mut self, name: &str, content: impl AsRef<[u8]>, options: SimpleFileOptions) -> Self {
        self.0.start_file(name, options).unwrap();
        self.0.write_all(content.as_ref()).unwrap();
        self
    }

    pub(super) fn directory(mut self, name: &str) -> Self {
        self.0.add_directory(name, SimpleFileOptions::default()).unwrap();
        self
    }

    pub(super) fn symlink(mut self, name: &str, target: &str) -> Self {
        self.0.add_symlink(name, target, SimpleFileOptions::default()).unwrap();
        self
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.finish().unwrap().into_inner()
    }
}

/// Replaces all occurrences of `from` by `to`, of the same length.
pub(super) fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

/// The smallest header of a 64-bit ELF program, with one segment.
pub(super) fn elf(machine: u16, os_abi: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64 + 56];
    bytes[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi]);
    bytes[16..18].copy_from_slice(&2_u16.to_le_bytes());
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[20] = 1;
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[52..54].copy_from_slice(&64_u16.to_le_bytes());
    bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
    bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
    bytes[64] = 1;
    bytes
}

pub(super) const ELF_X86_64: u16 = 62;
pub(super) const ELF_AARCH64: u16 = 183;

/// A Mach-O program.
pub(super) fn mach_o(cpu: u32, file_type: u32) -> Vec<u8> {
    [0xfeed_facf, cpu, 0, file_type, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A universal Mach-O program.
pub(super) fn universal(cpus: &[u32]) -> Vec<u8> {
    let count = u32::try_from(cpus.len()).unwrap();
    let slices = cpus.iter().flat_map(|&cpu| [cpu, 0, 4096, 32, 12]);
    [0xcafe_babe, count].into_iter().chain(slices).flat_map(u32::to_be_bytes).collect()
}

pub(super) const MAC_X86_64: u32 = 0x0100_0007;
pub(super) const MAC_ARM64: u32 = 0x0100_000c;

/// A Windows program.
pub(super) fn pe(machine: u16, characteristics: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64 + 24];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[60..64].copy_from_slice(&64_u32.to_le_bytes());
    bytes[64..68].copy_from_slice(b"PE\0\0");
    bytes[68..70].copy_from_slice(&machine.to_le_bytes());
    bytes[86..88].copy_from_slice(&characteristics.to_le_bytes());
    bytes
}

pub(super) const PE_AMD64: u16 = 0x8664;
pub(super) const PE_ARM64: u16 = 0xaa64;
pub(super) const PE_I386: u16 = 0x014c;
