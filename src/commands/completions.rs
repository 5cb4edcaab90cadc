//! `acp-registry completions`, and the answers to completion scripts.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use acp_registry::settings::PROGRAM;
use clap::{CommandFactory as _, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{Bash, EnvCompleter, Fish, Powershell, Zsh};

use crate::commands::Cli;
use crate::terminal::help;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The variable with which a completion script asks for candidates; its value is the shell.
const VARIABLE: &str = "ACP_REGISTRY_COMPLETE";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(alias = "pwsh")]
    Powershell,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).map_err(Failure::unable)?;
    ui.result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Answers a completion script; `None` if the process was not started by one. Errors are not printed, since they would
/// appear on the line that is being typed.
pub(crate) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    let is_empty = is_empty(arguments);
    // A command is offered under one name, unless a part of another is typed.
    let command = || help::shape(help::with_aliases(Cli::command(), !is_empty));
    let engine = CompleteEnv::with_factory(command).var(VARIABLE).bin(PROGRAM).completer(PROGRAM);
    let directory = env::current_dir().ok();
    match engine.try_complete(arguments.iter().cloned(), directory.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Exit::Success.into()),
        Err(_) => Some(Exit::Unable.into()),
    }
}

/// Whether the word that is completed is empty. Scripts pass the words after `--`, and those of bash and zsh the position of
/// the word, without which it is the last one.
fn is_empty(arguments: &[OsString]) -> bool {
    let words: Vec<&OsString> = arguments.iter().skip_while(|word| *word != "--").skip(1).collect();
    let at = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|at| at.parse().ok());
    words.get(at.unwrap_or(words.len().saturating_sub(1))).is_none_or(|word| word.is_empty())
}
