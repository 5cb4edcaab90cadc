//! Detects the format of a file from its first bytes.

use std::fmt;
use std::io::{self, Read};

use acp_registry_plan::manifest::archive as address;

/// Number of bytes that [`BinaryFormat::detect`] needs.
pub const HEAD_LENGTH: usize = 4096;

/// The format of an agent's binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryFormat {
    /// A `.zip`.
    Zip,
    /// A `.tar`, compressed or not.
    Tar(Compression),
    /// The program itself, or a script that starts with `#!`.
    Executable,
}

/// The compression of a tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Compression {
    None,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

/// A file that has none of the [`BinaryFormat`]s, as far as its first bytes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Lookalike {
    #[error("an empty file")]
    Empty,
    #[error("an HTML page, as servers send in place of an error")]
    Html,
    #[error("an XML document, as servers send in place of an error")]
    Xml,
    #[error("a JSON document, as servers send in place of an error")]
    Json,
    #[error("a pointer of Git LFS in place of the file")]
    GitLfs,
    #[error("a text without `#!` at its beginning")]
    Text,
    #[error("a single file compressed by {0}, with no tar inside")]
    Compressed(Compression),
    #[error("a 7z archive")]
    SevenZip,
    #[error("a RAR archive")]
    Rar,
    #[error("an Apple disk image (.dmg)")]
    Dmg,
    #[error("an Apple installer (.pkg)")]
    Pkg,
    #[error("a Debian package (.deb)")]
    Deb,
    #[error("an RPM package")]
    Rpm,
    #[error("a Windows installer (.msi)")]
    Msi,
    #[error("a Windows cabinet")]
    Cabinet,
    #[error("a file of no known format")]
    Unknown,
}

impl BinaryFormat {
    /// Detects the format from the first 4096 bytes, or all bytes of a shorter file. Whether compressed data
    /// contains a tar is found out only by reading it.
    ///
    /// # Errors
    /// Returns what the file seems to be instead.
    pub fn detect(head: &[u8]) -> Result<Self, Lookalike> {
        if let Some(compression) = Compression::detect(head) {
            return Ok(Self::Tar(compression));
        }
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Ok(Self::Zip)
        } else if is_executable(head) {
            Ok(Self::Executable)
        } else if head.first_chunk().is_some_and(is_tar_header) {
            Ok(Self::Tar(Compression::None))
        } else {
            Err(Lookalike::of(head))
        }
    }

    /// The format that the file extension in a URL indicates, or `None` if it is one that this module does not read.
    /// Names without a known extension indicate a bare executable.
    pub(super) fn promised(url: &str) -> Option<Self> {
        match address::format(url) {
            Ok(address::Format::Zip) => Some(Self::Zip),
            Ok(address::Format::TarGz) => Some(Self::Tar(Compression::Gzip)),
            Ok(address::Format::TarBz2) => Some(Self::Tar(Compression::Bzip2)),
            Ok(address::Format::Raw) => Some(Self::Executable),
            Err(".tar") => Some(Self::Tar(Compression::None)),
            Err(".tar.xz" | ".txz") => Some(Self::Tar(Compression::Xz)),
            Err(".tar.zst" | ".tzst") => Some(Self::Tar(Compression::Zstd)),
            Err(_) => None,
        }
    }

    /// Checks that the file extension in a URL indicates this format.
    ///
    /// # Errors
    /// Returns [`Misnamed`] if it indicates another format.
    pub fn check_name(self, url: &str) -> Result<(), Misnamed> {
        match Self::promised(url) {
            Some(promised) if promised != self => Err(Misnamed { promised, found: self }),
            _ => Ok(()),
        }
    }
}

/// The file extension indicates another format than the content. Clients that rely on the extension cannot unpack the
/// archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("by its name the archive is {promised}, by its content {found}")]
pub struct Misnamed {
    /// The format indicated by the name.
    pub promised: BinaryFormat,
    /// The format detected from the content.
    pub found: BinaryFormat,
}

impl fmt::Display for BinaryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Zip => "a .zip",
            Self::Tar(Compression::None) => "a .tar",
            Self::Tar(Compression::Gzip) => "a .tar.gz",
            Self::Tar(Compression::Bzip2) => "a .tar.bz2",
            Self::Tar(Compression::Xz) => "a .tar.xz",
            Self::Tar(Compression::Zstd) => "a .tar.zst",
            Self::Executable => "a bare executable",
        })
    }
}

impl Compression {
    fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "nothing",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// Whether a block can start a tar: a header with a valid checksum, or zeros, which end an empty tar.
pub(super) fn is_tar_header(block: &[u8; 512]) -> bool {
    let header = tar::Header::from_byte_slice(block);
    // The checksum field itself is counted as eight spaces.
    let sum: u32 = block.iter().enumerate().map(|(at, &b)| if (148..156).contains(&at) { 32 } else { b.into() }).sum();
    block.iter().all(|&byte| byte == 0) || header.cksum().is_ok_and(|stated| stated == sum)
}

fn is_executable(head: &[u8]) -> bool {
    match head {
        [b'M', b'Z', ..] => head.len() >= 64,
        [b'#', b'!', ..]
        | [0x7f, b'E', b'L', b'F', ..]
        | [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
        | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => true,
        // Java class files have the same magic number, followed by their version, which is at least 45, in place of the
        // number of slices.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, 0, 0, 0, slices, ..] => *slices < 45,
        _ => false,
    }
}

impl Lookalike {
    fn of(head: &[u8]) -> Self {
        const MAGIC: &[(&[u8], Lookalike)] = &[
            (b"7z\xbc\xaf\x27\x1c", Lookalike::SevenZip),
            (b"Rar!\x1a\x07", Lookalike::Rar),
            (b"\x78\x01\x73\x0d\x62\x62\x60", Lookalike::Dmg),
            (b"xar!", Lookalike::Pkg),
            (b"!<arch>\ndebian-binary", Lookalike::Deb),
            (b"\xed\xab\xee\xdb", Lookalike::Rpm),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Lookalike::Msi),
            (b"MSCF", Lookalike::Cabinet),
        ];
        if head.is_empty() {
            return Self::Empty;
        }
        let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        known.map_or_else(|| Self::from_text(head), |(_, lookalike)| *lookalike)
    }

    fn from_text(head: &[u8]) -> Self {
        // The last character may be cut off.
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Self::Unknown,
        };
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
            Self::Unknown
        } else if ["<!doctype html", "<html", "<head", "<body", "<!--"].into_iter().any(begins) {
            Self::Html
        } else if begins("<") {
            Self::Xml
        } else if begins("{") || begins("[") {
            Self::Json
        } else if begins("version https://git-lfs") {
            Self::GitLfs
        } else {
            Self::Text
        }
    }
}

/// Reads the first bytes of a stream, which may be shorter than `length`.
pub(super) fn read_head(source: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.take(length as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_archive_is_called_what_it_is() {
        for (head, lookalike) in [
            (&b""[..], Lookalike::Empty),
            (b"\n<!DOCTYPE HTML><title>404</title>", Lookalike::Html),
            (b"\xef\xbb\xbf<html>", Lookalike::Html),
            (b"<?xml version=\"1.0\"?><Error/>", Lookalike::Xml),
            (b"{\"message\": \"Not Found\"}", Lookalike::Json),
            (b"version https://git-lfs.example/spec/v1\n", Lookalike::GitLfs),
            (b"Not Found", Lookalike::Text),
            (b"r\xc3\xa9sum\xc3", Lookalike::Text),
            (b"7z\xbc\xaf\x27\x1c\0\x04", Lookalike::SevenZip),
            (b"Rar!\x1a\x07\x01\0", Lookalike::Rar),
            (b"\x78\x01\x73\x0d\x62\x62\x60\x60", Lookalike::Dmg),
            (b"xar!\0\x1c", Lookalike::Pkg),
            (b"!<arch>\ndebian-binary   ", Lookalike::Deb),
            (b"\xed\xab\xee\xdb\x03", Lookalike::Rpm),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", Lookalike::Msi),
            (b"MSCF\0\0", Lookalike::Cabinet),
            (b"\xca\xfe\xba\xbe\0\0\0\x34", Lookalike::Unknown),
            (b"\0\x01\x02\x03", Lookalike::Unknown),
            (b"MZ", Lookalike::Text),
        ] {
            assert_eq!(BinaryFormat::detect(head), Err(lookalike), "{head:?}");
        }
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        for (head, format) in [
            (&b"PK\x03\x04\x14\0"[..], BinaryFormat::Zip),
            (b"PK\x05\x06\0\0", BinaryFormat::Zip),
            (b"\x1f\x8b\x08", BinaryFormat::Tar(Compression::Gzip)),
            (b"BZh91AY", BinaryFormat::Tar(Compression::Bzip2)),
            (b"\xfd7zXZ\0\0\x04", BinaryFormat::Tar(Compression::Xz)),
            (b"\x28\xb5\x2f\xfd\x04", BinaryFormat::Tar(Compression::Zstd)),
            (b"\x50\x2a\x4d\x18\x04\0\0\0", BinaryFormat::Tar(Compression::Zstd)),
            (b"\x7fELF\x02", BinaryFormat::Executable),
            (b"\xcf\xfa\xed\xfe", BinaryFormat::Executable),
            (b"\xca\xfe\xba\xbe\0\0\0\x02", BinaryFormat::Executable),
            (b"#!/bin/sh\n", BinaryFormat::Executable),
            (&[0; 512], BinaryFormat::Tar(Compression::None)),
        ] {
            assert_eq!(BinaryFormat::detect(head), Ok(format), "{head:?}");
        }
    }

    #[test]
    fn an_address_promises_a_format() {
        for (name, format) in [
            ("a.zip", Some(BinaryFormat::Zip)),
            ("a.ZIP?t=1", Some(BinaryFormat::Zip)),
            ("a.tar.gz", Some(BinaryFormat::Tar(Compression::Gzip))),
            ("a.tgz", Some(BinaryFormat::Tar(Compression::Gzip))),
            ("a.tar.bz2", Some(BinaryFormat::Tar(Compression::Bzip2))),
            ("a.tbz2", Some(BinaryFormat::Tar(Compression::Bzip2))),
            ("a.tar.xz", Some(BinaryFormat::Tar(Compression::Xz))),
            ("a.txz", Some(BinaryFormat::Tar(Compression::Xz))),
            ("a.tar.zst", Some(BinaryFormat::Tar(Compression::Zstd))),
            ("a.tzst", Some(BinaryFormat::Tar(Compression::Zstd))),
            ("a.tar", Some(BinaryFormat::Tar(Compression::None))),
            ("agent", Some(BinaryFormat::Executable)),
            ("agent-1.2.0", Some(BinaryFormat::Executable)),
            ("agent.exe", Some(BinaryFormat::Executable)),
            ("a.dmg", None),
            ("a.gz", None),
        ] {
            assert_eq!(BinaryFormat::promised(&format!("https://h.example/{name}")), format, "{name}");
        }
    }
}
