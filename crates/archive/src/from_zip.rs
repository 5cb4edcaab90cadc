//! Reads a `.zip`, entry by entry, from the central directory at its end.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use zip::CompressionMethod;
use zip::read::{Config, ZipFileEntry, ZipReadOptions};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;

use super::meter::{Meter, PATH_LENGTH, Produced, Sought};
use super::walk::{ArchiveMember, Content, Sink, Walk};
use super::{Error, Excess, UnsafeReason};

/// Compression methods that clients and the tools of operating systems support.
const METHODS: [CompressionMethod; 4] =
    [CompressionMethod::Stored, CompressionMethod::Deflated, CompressionMethod::Deflate64, CompressionMethod::Bzip2];

const TYPE_MASK: u32 = 0o170_000;

/// Name of the central directory in messages.
const DIRECTORY: &str = "the table of contents";

/// Walks a `.zip`. Reads the content of all entries, verifies their checksums, and compares their local headers with
/// the central directory.
pub(super) fn walk<R: Read + Seek, S: Sink>(source: R, meter: &Rc<Meter>, walk: &mut Walk<S>) -> Result<(), Error> {
    let mut source = Sought { inner: source, meter: Rc::clone(meter) };
    let length = source.seek(SeekFrom::End(0)).map_err(Error::Read)?;
    let limits = *meter.limits();
    if length > limits.compressed {
        return Err(Error::TooLarge(Excess::Compressed { limit: limits.compressed }));
    }
    let mut archive = ZipIterable::try_new(source, Config::default())
        .map_err(|error| unreadable(error, meter))?
        .enforce_header_consistency(true);
    if archive.len() as u64 > limits.entries {
        return Err(Error::TooLarge(Excess::Entries { limit: limits.entries }));
    }
    let mut taken = BTreeMap::new();
    let entries = archive.files().map_err(|error| explain(error, walk, b""))?;
    let mut index = 0;
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) => walk_entry(entry, entries.reader_mut(), &mut taken, meter, walk)?,
            Err(error) => {
                let name = archive
                    .enforce_header_consistency(false)
                    .files()
                    .ok()
                    .and_then(|entries| entries.nth(index)?.ok())
                    .map_or_else(Vec::new, |entry| entry.name_raw().to_owned());
                return Err(explain(error, walk, &name));
            }
        }
        index += 1;
    }
    Ok(())
}

fn walk_entry<R: Read + Seek, S: Sink>(
    entry: ZipFileEntry<'_>,
    source: &mut R,
    taken: &mut BTreeMap<u64, u64>,
    meter: &Rc<Meter>,
    walk: &mut Walk<S>,
) -> Result<(), Error> {
    let name = entry.name_raw().to_owned();
    let refuse = |reason| Err(Error::refused(&name, reason));
    if entry.encrypted() {
        return refuse(UnsafeReason::Encrypted);
    }
    let method = entry.compression();
    if !METHODS.contains(&method) {
        let path = String::from_utf8_lossy(&name).into_owned();
        return Err(Error::Unsupported { path, what: format!("is compressed by {method}, which few can read") });
    }
    let (start, size, compressed) = (entry.header_start(), entry.size(), entry.compressed_size());
    meter.check_claim(size).map_err(Error::TooLarge)?;
    meter.consume(compressed).map_err(Error::TooLarge)?;
    let mode = entry.unix_mode().unwrap_or_default();
    let kind = content(&entry, mode);
    if matches!(kind, Ok(Content::Directory)) && size > 0 {
        return refuse(UnsafeReason::HasContent);
    }
    let content = entry.with_reader(source, ZipReadOptions::new()).map_err(|error| explain(error, walk, &name))?;
    let end = content.data_start().unwrap_or(start).saturating_add(compressed);
    let before = taken.range(..end).next_back();
    if before.is_some_and(|(_, &before_ends)| before_ends > start) {
        return refuse(UnsafeReason::Overlap);
    }
    taken.insert(start, end);
    let mut content = Produced { inner: content, meter: Rc::clone(meter) };
    match kind {
        Ok(Content::Symlink(_)) => {
            let mut target = Vec::new();
            let read = content.by_ref().take(PATH_LENGTH as u64 + 1).read_to_end(&mut target);
            read.map_err(|error| walk.explain_at(&error, &name))?;
            let member = ArchiveMember { name: &name, content: Content::Symlink(&target), size: Some(0), mode };
            walk.member(&member, &mut io::empty())
        }
        Ok(kind) => walk.member(&ArchiveMember { name: &name, content: kind, size: Some(size), mode }, &mut content),
        Err(reason) => refuse(reason),
    }
}

/// The type of an entry, from its Unix mode and the trailing slash of its name.
fn content(entry: &ZipFileEntry<'_>, mode: u32) -> Result<Content<'static>, UnsafeReason> {
    match mode & TYPE_MASK {
        0o120_000 => Ok(Content::Symlink(b"")),
        0o010_000 => Err(UnsafeReason::SpecialFile("FIFO")),
        0o020_000 | 0o060_000 => Err(UnsafeReason::SpecialFile("device")),
        0o140_000 => Err(UnsafeReason::SpecialFile("socket")),
        0o040_000 => Ok(Content::Directory),
        _ if entry.name_raw().ends_with(b"/") || entry.name_raw().ends_with(b"\\") => Ok(Content::Directory),
        _ => Ok(Content::File),
    }
}

/// The error for a `.zip` that cannot be opened.
fn unreadable(error: ZipError, meter: &Meter) -> Error {
    match error {
        ZipError::Io(error) => meter.explain(&error, DIRECTORY),
        // Without the end of the central directory, the file is cut off.
        ZipError::InvalidArchive(message)
            if message.contains("Could not find") || message.contains("Unexpected end") =>
        {
            Error::Truncated { at: DIRECTORY.to_owned() }
        }
        error => Error::Corrupt { at: DIRECTORY.to_owned(), message: error.to_string() },
    }
}

fn explain<S: Sink>(error: ZipError, walk: &Walk<S>, name: &[u8]) -> Error {
    let path = || String::from_utf8_lossy(name).into_owned();
    match error {
        ZipError::Io(error) => walk.explain_at(&error, name),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Error::refused(name, UnsafeReason::Encrypted),
        ZipError::UnsupportedArchive(what) => Error::Unsupported { path: path(), what: format!("is unusual: {what}") },
        ZipError::InvalidArchive(message) => match message.strip_prefix("header inconsistency detected: ") {
            Some(how) => Error::refused(name, UnsafeReason::HeadersDisagree(how.to_owned())),
            None => walk.corrupt_at(name, &message),
        },
        error => walk.corrupt_at(name, &error.to_string()),
    }
}
