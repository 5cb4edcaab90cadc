//! Detects the operating system and machine of an executable from its header.

mod header;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, Write as _};
use std::ops::Range;

use acp_registry_host::fs::{PathError, temporary, without_path};
use acp_registry_plan::manifest::Platform;
use object::read::{ReadCache, ReadRef};

use crate::{Error, Lookalike};

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

/// Maximum number of bytes to read of an executable. Headers and tables are much smaller.
const TOTAL: u64 = 4 * 1024 * 1024;

/// The number of bytes that each string counts as.
const STRING: u64 = 4096;

/// A file with a budget of bytes to read, so that sizes in headers cannot exhaust memory.
struct BoundedFile<R: Read + Seek> {
    cache: ReadCache<R>,
    allowance: Cell<u64>,
}

impl<R: Read + Seek> BoundedFile<R> {
    fn new(file: R) -> Self {
        Self { cache: ReadCache::new(file), allowance: Cell::new(TOTAL) }
    }

    fn spend(&self, size: u64) -> Result<(), ()> {
        self.allowance.set(self.allowance.get().checked_sub(size).ok_or(())?);
        Ok(())
    }
}

/// A handle to the file, which the parsers copy.
struct FileHandle<'a, R: Read + Seek>(&'a BoundedFile<R>);

impl<R: Read + Seek> Clone for FileHandle<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Read + Seek> Copy for FileHandle<'_, R> {}

impl<'a, R: Read + Seek> ReadRef<'a> for FileHandle<'a, R> {
    fn len(self) -> Result<u64, ()> {
        (&self.0.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.0.spend(size)?;
        (&self.0.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.0.spend(STRING)?;
        (&self.0.cache).read_bytes_at_until(range, delimiter)
    }
}

/// The result for a program that is not known to be wrong for a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Operating system and machine are right.
    Fits,
    /// The file is a script or similar, which has no platform.
    NotJudged,
}

/// Why a program does not run on a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// It is for another operating system.
    #[error("is a program for {found}, not for {wanted}")]
    System {
        /// The operating system that it is for.
        found: &'static str,
        /// The operating system of the platform.
        wanted: &'static str,
    },
    /// It is for another machine.
    #[error("is a program for {}, not for {wanted}{}", list(.found), emulation(*.emulated))]
    Machine {
        /// The machines that it is for.
        found: Vec<Machine>,
        /// The machine of the platform.
        wanted: Machine,
        /// Whether the platform can emulate the machine, if its emulator is installed.
        emulated: bool,
    },
    /// It cannot run on any platform.
    #[error("is {0}")]
    Unusable(&'static str),
    /// The platform starts no such file.
    #[error("is {0}, not a program")]
    NotAProgram(Lookalike),
    /// It is a script that Unix does not start.
    #[error("ends its first line with a carriage return, which is taken for a part of the interpreter's name")]
    CarriageReturn,
}

impl Program {
    /// Checks whether the program, which is started under this name, is for a platform.
    ///
    /// # Errors
    /// Returns [`Mismatch`] if it is not.
    pub fn fits(&self, name: &str, platform: Platform) -> Result<Fit, Mismatch> {
        let is_windows = platform.os() == "windows";
        let (found, machines) = match self {
            Self::Elf { machine, system, .. } => (*system, std::slice::from_ref(machine)),
            Self::MachO { machines } => ("darwin", machines.as_slice()),
            Self::Pe { machine } => ("windows", std::slice::from_ref(machine)),
            Self::Unusable(what) => return Err(Mismatch::Unusable(what)),
            Self::Script { has_return: true, .. } if !is_windows => return Err(Mismatch::CarriageReturn),
            Self::Script { .. } => return Ok(Fit::NotJudged),
            // Windows starts scripts by their endings, which only they have.
            Self::Other(Lookalike::Text | Lookalike::Unknown) if is_windows && !is_named_as_program(name) => {
                return Ok(Fit::NotJudged);
            }
            Self::Other(lookalike) => return Err(Mismatch::NotAProgram(*lookalike)),
        };
        let wanted = platform.os();
        if found != wanted {
            return Err(Mismatch::System { found, wanted });
        }
        let wanted = required_machine(platform);
        // 64-bit Windows on x86-64 runs 32-bit programs natively.
        let fits =
            |machine: &Machine| *machine == wanted || (platform == Platform::WindowsX8664 && *machine == Machine::X86);
        if machines.iter().any(fits) {
            return Ok(Fit::Fits);
        }
        let is_emulated = |machine: &Machine| match platform {
            Platform::DarwinAarch64 => *machine == Machine::X8664,
            Platform::WindowsAarch64 => matches!(machine, Machine::X8664 | Machine::X86),
            _ => false,
        };
        Err(Mismatch::Machine { found: machines.to_vec(), wanted, emulated: machines.iter().any(is_emulated) })
    }
}

/// Whether Windows starts a file of this name only if it is a program.
fn is_named_as_program(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ["com", "exe"].iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

fn required_machine(platform: Platform) -> Machine {
    match platform {
        Platform::DarwinAarch64 | Platform::LinuxAarch64 | Platform::WindowsAarch64 => Machine::Aarch64,
        Platform::DarwinX8664 | Platform::LinuxX8664 | Platform::WindowsX8664 => Machine::X8664,
    }
}

fn list(machines: &[Machine]) -> String {
    const SHOWN: usize = 4;
    let names: BTreeSet<String> = machines.iter().map(ToString::to_string).collect();
    let more = if names.len() > SHOWN { " and others" } else { "" };
    names.into_iter().take(SHOWN).collect::<Vec<_>>().join(" and ") + more
}

fn emulation(emulated: bool) -> &'static str {
    if emulated { "; it runs only where the system can emulate that machine" } else { "" }
}
