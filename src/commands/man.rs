//! `acp-registry man`: manual pages for packagers, and the pages of `docs/commands/`

use std::fs;
use std::path::{Path, PathBuf};

use acp_registry::host::fs::{PathError, write_atomic};
use clap::Command;
use clap_mangen::Man;

use crate::terminal::help::{rank, reference, roff};
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Write Markdown instead of manual pages
    #[arg(long)]
    markdown: bool,
}

/// Writes one page for the program and one per command.
pub(crate) fn run(args: &Args, command: Command, ui: &Ui) -> Result<Exit, Failure> {
    fs::create_dir_all(&args.out).map_err(PathError::at(&args.out))?;
    let mut command = command.disable_help_subcommand(true).after_help(None::<&str>).after_long_help(None::<&str>);
    command.build();
    if args.markdown {
        return markdown(&args.out, &command, ui);
    }
    for one in with_subcommands(&command) {
        let path = args.out.join(Man::new(one.clone()).get_filename());
        let text = roff::page(&command, one).map_err(Failure::unable)?;
        write_atomic(&path, &text)?;
        ui.result(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Success)
}

/// Writes one page of Markdown per command, and their index.
fn markdown(out: &Path, program: &Command, ui: &Ui) -> Result<Exit, Failure> {
    // The full command line, which `Command::build` has computed.
    let name = |command: &Command| command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let commands = &with_subcommands(program)[1..];
    let write = |file: &str, text: String| {
        let path = out.join(file);
        write_atomic(&path, text.as_bytes())?;
        ui.result(&format!("{}\n", path.display()))
    };
    for command in commands {
        let name = name(command);
        write(&format!("{}.md", name.replace(' ', "-")), reference::page(&name, command))?;
    }
    let mut listed: Vec<(String, &Command)> = commands.iter().map(|command| (name(command), *command)).collect();
    listed.sort_by_key(|(name, _)| rank(name.split(' ').nth(1).unwrap_or_default()));
    write("README.md", reference::contents(listed.into_iter()))?;
    Ok(Exit::Success)
}

/// Returns a command and all its subcommands, recursively. Hidden ones are left out.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(command).chain(below.flat_map(with_subcommands)).collect()
}
