use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised};
use crate::examination::client::SessionUpdate;

pub(super) static CHECK: Check = Check {
    id: "drafts/v2-prompt",
    force: Force::Must,
    spec: "rfds/v2/prompt",
    summary: "accepts a prompt of version 2, repeats it with the id that it answers, and reports when it is idle",
    why: "In version 2, the agent responds once the prompt has been accepted, with the `messageId` of the message that it \
          becomes, and sends that message as a `user_message` with the same id. A `state_update` says when a turn begins, and when the agent is idle. \
          Clients learn from these alone where the message belongs and when the turn is over.",
    fix: "Answer the prompt with a `messageId`, send the `user_message` with the same id, the state `running` and, in the end, `idle`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Say hello."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"u-1","content":[{"type":"text","text":"Say hello."}]}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","messageId":"a-1","content":{"type":"text","text":"Hello."}}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    agent.needs_turns()?;
    let session = agent.open_session().await?.id;
    let own = match agent.prompt_2(&session, "Say hello.").await? {
        Ok(result) if result.get("stopReason").is_some() => {
            return fail("answers a prompt of version 2 with a `stopReason`");
        }
        Ok(result) => match result["messageId"].as_str() {
            Some(id) => id.to_owned(),
            None => return fail("answers a prompt of version 2 without a `messageId`"),
        },
        Err(error) => {
            return not_exercised(format!("the agent answers a prompt with {error}"));
        }
    };
    let ended = agent.until(|agent| agent.is_idle(&session)).await;
    let has = |is_meant: &dyn Fn(&SessionUpdate) -> bool| agent.client.session_updates(&session).any(is_meant);
    let is_message = |update: &SessionUpdate| {
        ["user_message", "user_message_chunk"].contains(&update.kind()) && update.body["messageId"] == own.as_str()
    };
    if !has(&is_message) {
        return fail("sends no `user_message` with the `messageId` that it has answered for a prompt of version 2");
    }
    if !has(&|update| update.kind() == "state_update" && update.body["state"] == "running") {
        return fail("reports no state `running` for a prompt of version 2");
    }
    let has_said = has(&|update| update.kind().starts_with("agent_message"));
    match ended {
        Ok(()) => Ok(()),
        // Without a model, an agent may try again for minutes.
        Err(_) if !has_said => not_exercised("the agent does not end the turn, and says nothing"),
        Err(_) => Err(CheckFailure::Silent("reports no state `idle` at the end of a turn".to_owned())),
    }
}
