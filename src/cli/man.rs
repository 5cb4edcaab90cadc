//! `acp-registry man`, for those who make packages

use std::fs;
use std::path::PathBuf;

use acp_registry::sys::fs::{PathError, write_atomic};
use clap::Command;
use clap_mangen::Man;

use super::exit::{Exit, Failure};
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes a page for the program, with what stands below its help as the exit codes, and one for each command.
pub(super) fn run(args: &Args, command: Command, exit_codes: &str, ui: &Ui) -> Result<Exit, Failure> {
    fs::create_dir_all(&args.out).map_err(PathError::at(&args.out))?;
    let mut command = command.disable_help_subcommand(true).after_help(None::<&str>);
    command.build();
    for (at, command) in with_subcommands(&command).into_iter().enumerate() {
        let page = Man::new(command.clone());
        let path = args.out.join(page.get_filename());
        let mut text = Vec::new();
        page.render(&mut text).map_err(Failure::unable)?;
        if at == 0 {
            text.extend_from_slice(exit_status(exit_codes).as_bytes());
        }
        write_atomic(&path, &text)?;
        ui.result(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Success)
}

/// A command, those below it, and those below these.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(command).chain(below.flat_map(with_subcommands)).collect()
}

/// The section about exit codes: a paragraph for each line that begins with one.
fn exit_status(exit_codes: &str) -> String {
    let lines = exit_codes.lines().skip(1).map(|line| match line.trim_start().split_once("  ") {
        Some((code, meaning)) => format!(".TP\n{code}\n{meaning}\n"),
        None => format!("{}\n", line.trim_start()),
    });
    let text: String = std::iter::once(".SH \"EXIT STATUS\"\n".to_owned()).chain(lines).collect();
    // A bare one may become another sign, which nobody can copy.
    text.replace('-', "\\-")
}
