//! The `acp-registry` program. The command line is in `cli/`, everything else in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Handled first, since this process becomes an agent: starting one should cost as little as possible.
    #[cfg(target_os = "linux")]
    {
        use acp_registry::host::process::{JOIN, KEEP, LAUNCH, join, keep, launch};

        let mut arguments = std::env::args_os().skip(1);
        match arguments.next().as_ref().and_then(|word| word.to_str()) {
            Some(LAUNCH) => return launch(arguments).into(),
            Some(JOIN) => return join(arguments).into(),
            Some(KEEP) => return keep(arguments).into(),
            _ => {}
        }
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == acp_registry::mcp::MCP) {
        return cli::serve_mcp();
    }
    cli::main()
}
