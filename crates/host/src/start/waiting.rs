//! Waits for a program that cannot replace this process.

use std::io;

use process_wrap::tokio::{CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;
use tokio::runtime::Builder;

use super::{Ended, Program};

pub(super) fn replace_with(program: Program) -> io::Result<Ended> {
    let (command, _kept) = program.into_command();
    let command = Command::from(command);
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut command = CommandWrap::from(command);
        // Processes that the program has started end with it, and all of them with this process.
        command.wrap(KillOnDrop).wrap(JobObject);
        let mut child = command.spawn()?;
        loop {
            tokio::select! {
                status = child.wait() => return Ok(Ended::Code(status?.code().unwrap_or(1))),
                // The console sends Ctrl-C to the program too, which decides what to do.
                told = tokio::signal::ctrl_c() => told?,
            }
        }
    })
}
