use std::collections::BTreeSet;
use std::path::Path;

use acp_registry_protocol::handshake::Silence;
use tokio::time::Instant;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, needs, quote};
use crate::examination::agent::silent;
use crate::examination::turn::Turn;

pub(super) static CHECK: Check = Check {
    id: "turns/terminals",
    force: Force::Must,
    spec: "protocol/v1/terminals",
    summary: "creates terminals in the directory of the session, and releases them",
    why: "If the client advertises terminals, the agent can run commands in them, where the person sees the output as \
          it arrives. The agent must release each terminal when it is no longer needed.",
    fix: "Call `terminal/release` after the command has ended, also if it failed.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell terminal
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"terminal/release","params":{"sessionId":"$SESSION","terminalId":"terminal-0"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"terminal/release","params":{"sessionId":"$SESSION","terminalId":"$TERMINAL"}}"#,
    run: Run::Talk(Setup::Editor, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let (turn, _) = agent.play_command(&session, "terminal.txt", "Terminal").await?;
    agent.end_with_tools(&turn).await?;
    let created = agent.calls(&turn, "terminal/create").len();
    needs(created != 0, "the agent runs commands itself")?;
    for method in ["terminal/create", "terminal/output", "terminal/release"] {
        agent.names_session(&turn, method)?;
    }
    let work = agent.work().canonicalize().ok();
    let directories = agent.calls(&turn, "terminal/create").into_iter().filter_map(|params| params["cwd"].as_str());
    if let Some(other) = directories.into_iter().find(|path| Path::new(path).canonicalize().ok() != work) {
        return fail(format!("creates a terminal in {} instead of the `cwd` of the session", quote(other)));
    }
    // It may be released after the end of the turn.
    let until = Instant::now() + agent.patience();
    if let Err(silence @ Silence::Starved(_)) = agent.read_until(until, |agent| released(agent, &turn) >= created).await
    {
        return Err(silent(silence, "session/prompt"));
    }
    let released = released(agent, &turn);
    ensure(released >= created, format!("creates {created} terminals, and releases {released} of them"))
}

/// Number of the agent's terminals that it has released.
fn released(agent: &StartedAgent, turn: &Turn) -> usize {
    let ids = agent.calls(turn, "terminal/release").into_iter().filter_map(|params| params["terminalId"].as_str());
    let known = ids.filter(|id| agent.client.has_terminal(id));
    known.collect::<BTreeSet<_>>().len()
}
