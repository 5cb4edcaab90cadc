//! Decompresses tars. Concatenated members are read as one stream, as gzip, bzip2, xz and zstd do; other data after the
//! last member is ignored.

use std::io::{self, BufRead, Read};
use std::mem;
use std::rc::Rc;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::meter::{Meter, WINDOW};
use super::{Compression, Error, Excess};

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
