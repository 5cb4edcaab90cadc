//! The `acp-registry` program: what is not here is in the library.
//!
//! | folder | what it has |
//! |---|---|
//! | `commands` | a file or folder for each command, or for several of one kind (`list` and `search`, `run` and `which`, `login` and `logout`, `rules` and `explain`): flags, one call of the library, its text, its document; what several share: `verifier` installs and starts agents for a check, `elsewhere` is `--on`, `hint` names a next step, `leftovers` tells what stays |
//! | `flags` | flags that several commands share, and what they become |
//! | `documents` | what JSON documents of several commands share, and events; documents about agents are the reports of the library's `ops` |
//! | `formats` | findings and outcomes as JSON, SARIF, JUnit, Markdown, workflow commands and text |
//! | `terminal` | output, tables, progress, signals, remedies, usage errors and help |
//!
//! Only this program uses clap, reads variables of the environment and prints.

mod commands;
mod documents;
mod flags;
mod formats;
mod terminal;

use std::process::ExitCode;
use std::{env, io};

/// Releases for Linux are linked with musl, which has one heap with one lock: `validate` of 10,000 agents took 1.3 instead of 0.34 s.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Handled first, since this process becomes an agent: starting one should cost as little as possible.
    #[cfg(target_os = "linux")]
    {
        use acp_registry::host::process::{JOIN, KEEP, LAUNCH, join, keep, launch};

        let mut arguments = env::args_os().skip(1);
        match arguments.next().as_ref().and_then(|word| word.to_str()) {
            Some(LAUNCH) => return launch(arguments).into(),
            Some(JOIN) => return join(arguments).into(),
            Some(KEEP) => return keep(arguments).into(),
            _ => {}
        }
    }
    if env::args_os().nth(1).is_some_and(|word| word == acp_registry::mcp::MCP) {
        return serve_mcp();
    }
    #[cfg(unix)]
    if env::args_os().nth(1).is_some_and(|word| word == acp_registry::elsewhere::ELSEWHERE) {
        return commands::elsewhere::serve();
    }
    commands::main()
}

/// Serves MCP to the agent of an examination, which has started this program. The second argument is the path of the record.
fn serve_mcp() -> ExitCode {
    use acp_registry::mcp::{Started, VARIABLE, serve};

    let Some(record) = env::args_os().nth(2) else { return ExitCode::from(2) };
    let started = Started { directory: env::current_dir().ok(), variable: env::var(VARIABLE).ok() };
    match serve(record.as_ref(), started, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
