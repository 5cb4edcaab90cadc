//! Reads tars, compressed or not. The `tar` crate parses the headers; extensions before an entry are read here, since the crate would read
//! them completely whatever their size, and finds records inside the values of others.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::mem;
use std::rc::Rc;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tar::EntryType;

use super::format::{is_tar_header, read_head};
use super::meter::{Meter, Produced, WINDOW};
use super::walk::{ArchiveMember, Content, Sink, Walk};
use super::{Compression, Error, Excess, Lookalike, UnsafeReason};

/// Size of buffers, in bytes.
const BUFFER: usize = 128 * 1024;

/// Maximum size of an entry's extension, in bytes. In practice, the largest ones are extended attributes.
const EXTENSION: u64 = 1024 * 1024;

/// Extensions before an entry that describe it.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<Vec<u8>>,
    sparse_name: Option<Vec<u8>>,
    is_sparse: bool,
    any: bool,
}

/// Walks a tar to the end of the stream, so that damage and decompression bombs after the last entry are found too.
pub(super) fn walk<R: Read, S: Sink>(
    source: R,
    compression: Compression,
    meter: &Rc<Meter>,
    walk: &mut Walk<S>,
) -> Result<(), Error> {
    let source = BufReader::with_capacity(BUFFER, source);
    let content = Decompressed::new(compression, source, Rc::clone(meter));
    let mut content = BufReader::with_capacity(BUFFER, Produced { inner: content, meter: Rc::clone(meter) });
    let first = read_head(&mut content, 512).map_err(|error| meter.explain(&error, ""))?;
    if compression != Compression::None && !first.first_chunk().is_some_and(is_tar_header) {
        // The content may look like this because of damage that is detected only at the end of the stream.
        io::copy(&mut content, &mut io::sink()).map_err(|error| meter.explain(&error, ""))?;
        return Err(Error::NotAnArchive(Lookalike::Compressed(compression)));
    }
    let mut archive = tar::Archive::new(Cursor::new(first).chain(content));
    walk_entries(&mut archive, walk)?;
    let mut rest = archive.into_inner();
    // This reader stops at the first block of zeros. Others need two, and read on after a single one.
    let second = read_head(&mut rest, 512).map_err(|error| walk.explain(&error))?;
    if second.iter().any(|&byte| byte != 0) {
        let name = second.iter().take(100).take_while(|&&byte| byte != 0).copied().collect::<Vec<u8>>();
        let how = "it follows a single block of zeros, at which some programs stop and others do not";
        return Err(Error::refused(&name, UnsafeReason::HeadersDisagree(how.to_owned())));
    }
    io::copy(&mut rest, &mut io::sink()).map_err(|error| walk.explain(&error))?;
    Ok(())
}

fn walk_entries<R: Read, S: Sink>(archive: &mut tar::Archive<R>, walk: &mut Walk<S>) -> Result<(), Error> {
    let entries = archive.entries().map_err(|error| walk.explain(&error))?.raw(true);
    let mut extensions = Extensions::default();
    for entry in entries {
        let mut entry = entry.map_err(|error| walk.explain(&error))?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => read_once(&mut entry, &mut extensions.name, walk)?,
            EntryType::GNULongLink => read_once(&mut entry, &mut extensions.link, walk)?,
            EntryType::XHeader => read_pax(&mut entry, &mut extensions, walk)?,
            EntryType::XGlobalHeader => {
                let mut global = Extensions::default();
                read_pax(&mut entry, &mut global, walk)?;
                if global.name.is_some() || global.link.is_some() || global.size.is_some() || global.is_sparse {
                    return Err(ambiguous(&entry, "a global header names or sizes all that follows"));
                }
                walk.count()?;
                continue;
            }
            _ => {
                walk_entry(&mut entry, &extensions, walk)?;
                extensions = Extensions::default();
                continue;
            }
        }
        extensions.any = true;
    }
    if extensions.any {
        let error = io::ErrorKind::UnexpectedEof.into();
        return Err(walk.explain(&error));
    }
    Ok(())
}

fn walk_entry<R: Read, S: Sink>(
    entry: &mut tar::Entry<'_, R>,
    extensions: &Extensions,
    walk: &mut Walk<S>,
) -> Result<(), Error> {
    let header = entry.header().clone();
    let name = extensions.name.as_deref().map_or_else(|| header.path_bytes(), Cow::Borrowed);
    let link = match extensions.link.as_deref() {
        Some(link) => Cow::Borrowed(link),
        None => header.link_name_bytes().unwrap_or_default(),
    };
    let refuse = |reason| Err(Error::refused(&name, reason));
    let size = header.entry_size().map_err(|error| walk.explain(&error))?;
    if extensions.size.as_deref().is_some_and(|stated| stated != size.to_string().as_bytes()) {
        return refuse(UnsafeReason::HeadersDisagree("it has two sizes".to_owned()));
    }
    if extensions.is_sparse {
        let name = extensions.sparse_name.as_deref().unwrap_or(&name);
        return Err(Error::refused(name, UnsafeReason::Sparse));
    }
    let content = match header.entry_type() {
        // In old formats, directories are regular files with a trailing slash.
        EntryType::Regular if name.ends_with(b"/") => Content::Directory,
        EntryType::Regular => Content::File,
        EntryType::Directory => Content::Directory,
        EntryType::Symlink => Content::Symlink(&link),
        EntryType::Link => Content::Hardlink(&link),
        EntryType::Char | EntryType::Block => return refuse(UnsafeReason::SpecialFile("device")),
        EntryType::Fifo => return refuse(UnsafeReason::SpecialFile("FIFO")),
        EntryType::GNUSparse => return refuse(UnsafeReason::Sparse),
        other => return refuse(UnsafeReason::UnknownType(other.as_byte())),
    };
    if !matches!(content, Content::File) && size > 0 {
        return refuse(UnsafeReason::HasContent);
    }
    let member = ArchiveMember { name: &name, content, size: Some(size), mode: header.mode().unwrap_or_default() };
    walk.member(&member, entry)
}

/// Reads a long name that precedes its entry.
fn read_once<R: Read, S: Sink>(
    entry: &mut tar::Entry<'_, R>,
    into: &mut Option<Vec<u8>>,
    walk: &Walk<S>,
) -> Result<(), Error> {
    let mut bytes = read_extension(entry, walk)?;
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    if into.replace(bytes).is_some() {
        return Err(ambiguous(entry, "it has two names"));
    }
    Ok(())
}

/// Reads the records of a pax header. Each is a length in decimal digits, a space, a key, `=`, a value, and a line
/// feed.
fn read_pax<R: Read, S: Sink>(
    entry: &mut tar::Entry<'_, R>,
    into: &mut Extensions,
    walk: &Walk<S>,
) -> Result<(), Error> {
    let bytes = read_extension(entry, walk)?;
    let mut rest = &bytes[..];
    while rest.iter().any(|&byte| byte != 0) {
        let Some((key, value, after)) = pax_record(rest) else {
            return Err(ambiguous(entry, "a pax header cannot be read"));
        };
        let place = match key {
            b"path" => Some(&mut into.name),
            b"linkpath" => Some(&mut into.link),
            b"size" => Some(&mut into.size),
            // Instead of `path`, which is then the name of a file with the parts.
            b"GNU.sparse.name" => Some(&mut into.sparse_name),
            _ => None,
        };
        if place.is_some_and(|place| place.replace(value.to_owned()).is_some()) {
            return Err(ambiguous(entry, "it has two names or sizes"));
        }
        into.is_sparse |= key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize";
        rest = after;
    }
    Ok(())
}

/// Splits off the first record: its key, its value, and the remaining bytes.
fn pax_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().take(20).position(|&byte| byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
    let (record, after) = bytes.split_at_checked(length)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|&byte| byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], after))
}

fn read_extension<R: Read, S: Sink>(entry: &mut tar::Entry<'_, R>, walk: &Walk<S>) -> Result<Vec<u8>, Error> {
    let size = entry.size();
    if size > EXTENSION {
        return Err(Error::refused(&entry.header().path_bytes(), UnsafeReason::HeaderTooLong { limit: EXTENSION }));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| walk.explain(&error))?;
    if (bytes.len() as u64) < size {
        return Err(walk.explain(&io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes)
}

fn ambiguous<R: Read>(entry: &tar::Entry<'_, R>, how: &str) -> Error {
    Error::refused(&entry.header().path_bytes(), UnsafeReason::HeadersDisagree(how.to_owned()))
}

/// Memory limit of the xz decoder in KiB: the window, and 1 MiB for the decoder itself.
#[expect(clippy::cast_possible_truncation, reason = "a constant that fits")]
const XZ_MEMORY: u32 = (WINDOW / 1024) as u32 + 1024;

/// Reads the content of a compressed stream.
pub(super) struct Decompressed<R: BufRead> {
    compression: Compression,
    state: Decoder<R>,
    meter: Rc<Meter>,
}

/// Decoders are boxed because they are large and moved often.
enum Decoder<R: BufRead> {
    /// At the start of a member.
    Start(R),
    Plain(R),
    Gzip(Box<GzDecoder<R>>),
    Bzip2(Box<BzDecoder<R>>),
    Xz(Box<XzReader<R>>),
    Zstd(Box<FrameDecoder>, R),
    /// At the end, or after an error: a failed decoder is not used again.
    End,
}

impl<R: BufRead> Decompressed<R> {
    /// Creates a reader for a stream that is known to start with a member.
    pub(super) fn new(compression: Compression, source: R, meter: Rc<Meter>) -> Self {
        Self { compression, state: Decoder::Start(source), meter }
    }

    /// Creates a decoder for the member that starts here.
    fn start(&self, mut source: R) -> io::Result<Decoder<R>> {
        Ok(match self.compression {
            Compression::None => Decoder::Plain(source),
            Compression::Gzip => Decoder::Gzip(Box::new(GzDecoder::new(source))),
            Compression::Bzip2 => Decoder::Bzip2(Box::new(BzDecoder::new(source))),
            Compression::Xz => Decoder::Xz(Box::new(XzReader::new_mem_limit(source, false, XZ_MEMORY))),
            Compression::Zstd => {
                let mut decoder = FrameDecoder::new();
                decoder.set_max_window_size(WINDOW);
                match decoder.init(&mut source) {
                    Ok(()) => Decoder::Zstd(Box::new(decoder), source),
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length, ..
                    })) => {
                        let length = u64::from(length);
                        if io::copy(&mut source.by_ref().take(length), &mut io::sink())? < length {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                        after_member(self.compression, source)?
                    }
                    Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(self.window_too_large()),
                    Err(error) => return Err(io::Error::other(error)),
                }
            }
        })
    }

    fn window_too_large(&self) -> io::Error {
        self.meter.fail(Error::TooLarge(Excess::Window { limit: WINDOW }))
    }
}

/// Checks whether another member follows.
fn after_member<R: BufRead>(compression: Compression, mut source: R) -> io::Result<Decoder<R>> {
    loop {
        let ready = source.fill_buf()?;
        if ready.is_empty() {
            return Ok(Decoder::End);
        }
        // Tapes and xz pad with zeros.
        let zeros = ready.iter().take_while(|&&byte| byte == 0).count();
        let first = ready.get(zeros).copied();
        source.consume(zeros);
        let Some(first) = first else { continue };
        let begins = match compression {
            Compression::None => false,
            Compression::Gzip => first == 0x1f,
            Compression::Bzip2 => first == b'B',
            Compression::Xz => first == 0xfd,
            Compression::Zstd => matches!(first, 0x28 | 0x50..=0x5f),
        };
        return Ok(if begins { Decoder::Start(source) } else { Decoder::End });
    }
}

/// Reads from a frame, and verifies the checksum at its end.
fn read_zstd(decoder: &mut FrameDecoder, source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    while decoder.can_collect() == 0 && !decoder.is_finished() {
        decoder.decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1)).map_err(io::Error::other)?;
    }
    let count = decoder.read(buffer)?;
    let stated = decoder.get_checksum_from_data();
    if count == 0 && !buffer.is_empty() && stated.is_some() && stated != decoder.get_calculated_checksum() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
    }
    Ok(count)
}

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            // If an operation below fails, the state stays at the end.
            let (count, state) = match mem::replace(&mut self.state, Decoder::End) {
                Decoder::Start(source) => (0, self.start(source)?),
                Decoder::Plain(mut source) => (source.read(buffer)?, Decoder::Plain(source)),
                Decoder::Gzip(mut decoder) => match decoder.read(buffer)? {
                    0 => (0, after_member(self.compression, decoder.into_inner())?),
                    count => (count, Decoder::Gzip(decoder)),
                },
                Decoder::Bzip2(mut decoder) => match decoder.read(buffer)? {
                    0 => (0, after_member(self.compression, decoder.into_inner())?),
                    count => (count, Decoder::Bzip2(decoder)),
                },
                Decoder::Xz(mut decoder) => match decoder.read(buffer) {
                    Ok(0) => (0, after_member(self.compression, decoder.into_inner())?),
                    Ok(count) => (count, Decoder::Xz(decoder)),
                    Err(error) if error.kind() == io::ErrorKind::OutOfMemory => return Err(self.window_too_large()),
                    Err(error) => return Err(error),
                },
                Decoder::Zstd(mut decoder, mut source) => match read_zstd(&mut decoder, &mut source, buffer)? {
                    0 => (0, after_member(self.compression, source)?),
                    count => (count, Decoder::Zstd(decoder, source)),
                },
                Decoder::End => return Ok(0),
            };
            let goes_on =
                matches!((self.compression, &state), (_, Decoder::End) | (Compression::None, Decoder::Plain(_)));
            self.state = state;
            if count > 0 || (goes_on && !matches!(self.state, Decoder::Start(_))) {
                return Ok(count);
            }
        }
    }
}
