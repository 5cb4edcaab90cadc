//! Whether a program runs on a platform.

use std::collections::BTreeSet;

use super::{Machine, Program};
use crate::Lookalike;
use acp_registry_plan::manifest::Platform;

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
