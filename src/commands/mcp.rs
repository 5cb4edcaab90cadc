//! The MCP server of an examination, which agents start.

use std::process::ExitCode;
use std::{env, io};

use acp_registry::mcp::{Started, VARIABLE, serve};

/// Serves the agent that has started this program. The second argument is the path of the record.
pub(crate) fn serve_mcp() -> ExitCode {
    let Some(record) = env::args_os().nth(2) else { return ExitCode::from(2) };
    let started = Started { directory: env::current_dir().ok(), variable: env::var(VARIABLE).ok() };
    match serve(record.as_ref(), started, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
