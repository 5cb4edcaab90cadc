//! The `acp-registry` program. The command line is in `cli/`, everything else in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Handled first, since this process becomes an agent: starting one should cost as little as possible.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == acp_registry::sys::process::LAUNCH) {
        return acp_registry::sys::process::launch(std::env::args_os().skip(2)).into();
    }
    cli::main()
}
