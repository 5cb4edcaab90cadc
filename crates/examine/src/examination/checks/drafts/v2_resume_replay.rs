use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, needs, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "drafts/v2-resume-replay",
    force: Force::Must,
    spec: "rfds/v2/session-resume-replay",
    summary: "replays a conversation when it is asked to, and only then",
    why: "With `replayFrom` of the type `start`, the agent replays the whole conversation before it responds to \
          `session/resume`; without `replayFrom`, it resumes without replaying. Otherwise, the client shows an empty \
          conversation, or each message twice.",
    fix: "Replay the updates of the session before the response if `replayFrom` is there, and not otherwise.",
    begins: r#"client {"jsonrpc":"2.0","id":5,"method":"session/resume","params":{"sessionId":"$SESSION","replayFrom":{"type":"start"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":5,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"u-3","content":[{"type":"text","text":"Say hello again."}]}}}
agent {"jsonrpc":"2.0","id":5,"result":{}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    agent.needs_turns()?;
    let session = agent.open_session().await?.id;
    if let Err(error) = agent.prompt_2(&session, "Say hello again.").await? {
        return not_exercised(format!("the agent answers a prompt with {error}"));
    }
    needs(agent.until(|agent| agent.is_idle(&session)).await.is_ok(), "the agent does not end the turn")?;
    let plain = replayed(agent, &session, false).await?;
    let whole = replayed(agent, &session, true).await?;
    match (whole, plain) {
        (0, _) => fail("replays no message for `replayFrom` of the type `start`"),
        (_, 0) => Ok(()),
        _ => fail("replays messages without `replayFrom`"),
    }
}

/// Closes and resumes the session, and returns the number of messages that were replayed before the response.
async fn replayed(agent: &mut StartedAgent, session: &str, is_whole: bool) -> Result<usize, CheckFailure> {
    let close = json!({ "sessionId": session });
    if let Err(error) = agent.ask("session/close", &close).await? {
        return not_exercised(format!("the agent answers `session/close` with {error}"));
    }
    agent.client.updates.clear();
    let mut params = agent.session_params_with("sessionId", session);
    if is_whole {
        params["replayFrom"] = json!({ "type": "start" });
    }
    if let Err(error) = agent.ask_within("session/resume", &params, agent.turn_limit()).await? {
        return not_exercised(format!("the agent answers `session/resume` with {error}"));
    }
    let is_message = |kind: &str| kind.starts_with("user_message") || kind.starts_with("agent_message");
    Ok(agent.client.session_updates(session).filter(|update| is_message(update.kind())).count())
}
