//! Why another machine cannot be used.

use std::io;
use std::time::Duration;

use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::text::{printable, quote};

use super::Machine;
use super::machine::VERSION;

/// Why another machine cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program that reaches it is not installed here.
    #[error("{machine} needs `{program}`, which is not in PATH")]
    NoProgram {
        /// The machine.
        machine: Machine,
        /// The program.
        program: &'static str,
    },
    /// The program that reaches it does not start.
    #[error("{machine}: `{program}` cannot be started: {error}")]
    Start {
        /// The machine.
        machine: Machine,
        /// The program.
        program: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// Its shell does not answer.
    #[error("{machine} cannot be reached{}", because(line))]
    Unreachable {
        /// The machine.
        machine: Machine,
        /// What `ssh` or `wsl.exe` has printed last.
        line: String,
    },
    /// It says nothing.
    #[error("{machine} has said nothing for {} s{}", patience.as_secs(), because(line))]
    Silent {
        /// The machine.
        machine: Machine,
        /// How long it was waited for.
        patience: Duration,
        /// What `ssh` or `wsl.exe` has printed last.
        line: String,
    },
    /// This program is not there, and a copy of it would not run there.
    #[error("{machine} has no acp-registry {VERSION}, and {} cannot run the one of this machine", quote(system))]
    OtherSystem {
        /// The machine.
        machine: Machine,
        /// Its system and processor.
        system: String,
    },
    /// The copy of this program does not start there.
    #[error("{machine} has no acp-registry {VERSION}, and a copy of this one does not start there{}", because(line))]
    Unfit {
        /// The machine.
        machine: Machine,
        /// What was printed last.
        line: String,
    },
    /// This program cannot be read.
    #[error("acp-registry cannot be copied to {machine}: {error}")]
    Read {
        /// The machine.
        machine: Machine,
        /// Why not.
        error: io::Error,
    },
    /// The copy was not written there.
    #[error("acp-registry cannot be copied to {machine}{}", because(line))]
    Copy {
        /// The machine.
        machine: Machine,
        /// What was printed last.
        line: String,
    },
    /// The connection has ended before the program there.
    #[error("the connection to {machine} was lost{}", because(line))]
    Lost {
        /// The machine.
        machine: Machine,
        /// What was printed last.
        line: String,
    },
    /// What the program there prints cannot be passed on.
    #[error("the output of {machine} cannot be written: {error}")]
    Output {
        /// The machine.
        machine: Machine,
        /// Why not.
        error: io::Error,
    },
    /// A second signal came before the program there had ended.
    #[error("interrupted")]
    Interrupted(u8),
}

fn because(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(": {}", printable(line)) }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::unable(&error);
        match error {
            Error::NoProgram { program: "ssh", .. } => {
                failure.code(Code::MissingRuntime).help("install OpenSSH's client")
            }
            Error::NoProgram { .. } => failure.code(Code::MissingRuntime).help("run it on Windows, with WSL installed"),
            Error::Unreachable { machine, line } if line.ends_with("timed out") => failure.help(format!(
                "see that `{}` succeeds; a `ConnectTimeout` in the configuration of `ssh` lets it wait longer",
                machine.trial()
            )),
            Error::Unreachable { machine, .. } | Error::Silent { machine, .. } => {
                failure.help(format!("see that `{}` succeeds without a question", machine.trial()))
            }
            Error::OtherSystem { machine, .. } | Error::Unfit { machine, .. } => {
                failure.help(format!("install acp-registry {VERSION} on {machine}, in its PATH"))
            }
            Error::Interrupted(signal) => Self::interrupted(signal),
            _ => failure,
        }
    }
}
