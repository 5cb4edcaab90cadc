use std::collections::BTreeSet;

use super::{Machine, Program};
use crate::manifest::Platform;

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
}

impl Program {
    /// Checks whether the program is for a platform.
    ///
    /// # Errors
    /// Returns [`Mismatch`] if it is not.
    pub fn fits(&self, platform: Platform) -> Result<Fit, Mismatch> {
        let (found, machines) = match self {
            Self::Elf { machine, system, .. } => (*system, std::slice::from_ref(machine)),
            Self::MachO { machines } => ("darwin", machines.as_slice()),
            Self::Pe { machine } => ("windows", std::slice::from_ref(machine)),
            Self::Unusable(what) => return Err(Mismatch::Unusable(what)),
            Self::Script { .. } | Self::Other => return Ok(Fit::NotJudged),
        };
        let wanted = platform.os();
        if found != wanted {
            return Err(Mismatch::System { found, wanted });
        }
        let wanted = machine_of(platform);
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

fn machine_of(platform: Platform) -> Machine {
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
