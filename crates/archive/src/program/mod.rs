//! Detects the operating system and machine of an executable from its header.

mod elf;
mod fits;
mod header;
mod source;

use std::fs::File;
use std::io::{Cursor, Read, Seek, Write as _};
use std::{fmt, io};

use acp_registry_host::fs::{PathError, temporary, without_path};
pub use fits::{Fit, Mismatch};

use super::Lookalike;
use crate::Error;

/// The format and target of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Program {
    /// An ELF program for Linux or another system.
    Elf {
        /// The machine that it is for.
        machine: Machine,
        /// The operating system in the header. Most Linux programs do not set it, so `linux` is the default.
        system: &'static str,
        /// Path of the required dynamic loader; `None` for a static program.
        interpreter: Option<String>,
        /// The newest glibc version that it requires, if stated.
        glibc: Option<Glibc>,
    },
    /// A macOS program. Universal binaries have several machines.
    MachO {
        /// The machines that it is for.
        machines: Vec<Machine>,
    },
    /// A Windows program.
    Pe {
        /// The machine that it is for.
        machine: Machine,
    },
    /// A script that starts with `#!`.
    Script {
        /// The rest of the first line.
        interpreter: String,
        /// Whether that line ends in a carriage return, which Unix takes for a part of the interpreter's name.
        has_return: bool,
    },
    /// An executable format that cannot be started: a library, an object file, or a broken header.
    Unusable(&'static str),
    /// Anything else, such as a `.cmd` file, and what it seems to be.
    Other(Lookalike),
}

/// A machine architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit ARM.
    Aarch64,
    /// 64-bit Intel and AMD.
    X8664,
    /// 32-bit Intel and AMD.
    X86,
    /// An architecture that no platform of manifests has.
    Other(String),
}

/// A glibc version, such as 2.17.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl Program {
    /// Examines the header of a file, in bounded time and memory even if it is malformed.
    pub fn examine(file: impl Read + Seek) -> Self {
        header::examine(file)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Aarch64 => "aarch64",
            Self::X8664 => "x86_64",
            Self::X86 => "x86",
            Self::Other(name) => name,
        })
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Number of bytes of a program to keep in memory. They contain all headers except those of ELF, which can be anywhere.
const HEAD: usize = 64 * 1024;

/// Receives the content of a file, and keeps what [`Program::examine`] needs.
#[derive(Default)]
pub(crate) struct Examiner {
    head: Vec<u8>,
    /// A temporary file with the whole content, if it is ELF and larger than [`HEAD`].
    spool: Option<File>,
}

impl Examiner {
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if let Some(spool) = &mut self.spool {
            return spool.write_all(chunk).map_err(failed);
        }
        let (kept, rest) = chunk.split_at(chunk.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(kept);
        if !rest.is_empty() && self.head.starts_with(b"\x7fELF") {
            let mut spool = tempfile::tempfile_in(temporary()).map_err(failed)?;
            spool.write_all(&self.head).and_then(|()| spool.write_all(rest)).map_err(failed)?;
            self.spool = Some(spool);
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Program {
        match self.spool {
            Some(spool) => Program::examine(spool),
            None => Program::examine(Cursor::new(self.head)),
        }
    }
}

fn failed(error: io::Error) -> Error {
    Error::Spool(PathError { path: temporary(), error: without_path(error) })
}
