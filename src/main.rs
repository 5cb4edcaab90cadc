//! `acp-registry`: parse, run, exit. Everything else is in `cli/` and in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process becomes an agent, and costs its start as little as it can.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == acp_registry::sys::process::LAUNCH) {
        return acp_registry::sys::process::launch(std::env::args_os().skip(2)).into();
    }
    cli::main()
}
