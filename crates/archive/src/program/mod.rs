//! Detects the operating system and machine of an executable from its header.

mod elf;
mod examiner;
mod fits;
mod header;
mod source;

use std::fmt;
use std::io::{Read, Seek};

use super::Lookalike;
pub(super) use examiner::Examiner;
pub use fits::{Fit, Mismatch};

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
