//! Which system and machine an executable is for, by its header.

mod elf;
mod examiner;
mod fits;
mod header;
mod source;

use std::fmt;
use std::io::{Read, Seek};

pub(super) use examiner::Examiner;
pub use fits::{Fit, Mismatch};

/// What the content of a file says of where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Program {
    /// For Linux and other systems, see `system`.
    Elf {
        /// What it runs on.
        machine: Machine,
        /// The operating system, as far as the header says: Linux programs mostly say nothing, which counts as `linux`.
        system: &'static str,
        /// The path of the dynamic loader that must be there; `None` for a static program.
        interpreter: Option<String>,
        /// The newest glibc that it needs, as far as it says.
        glibc: Option<Glibc>,
    },
    /// For macOS; a universal one has several machines.
    MachO {
        /// What it runs on.
        machines: Vec<Machine>,
    },
    /// For Windows.
    Pe {
        /// What it runs on.
        machine: Machine,
    },
    /// Begins with `#!`.
    Script {
        /// The rest of that line.
        interpreter: String,
    },
    /// In an executable format, but nothing that can be started: a library, an object file, or a broken header.
    Unusable(&'static str),
    /// Anything else: a `.cmd`, a `.js`, …
    Other,
}

/// What a program runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit ARM.
    Aarch64,
    /// 64-bit Intel and AMD.
    X8664,
    /// 32-bit Intel and AMD.
    X86,
    /// One that no platform of a manifest has.
    Other(String),
}

/// A version of glibc, such as 2.17.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Program {
    /// Reads the header of a file. However broken it is, this takes bounded time and memory.
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
