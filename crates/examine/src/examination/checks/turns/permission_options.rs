use super::{Check, CheckFailure, Force, Permission, Run, Setup, StartedAgent, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/permission-options",
    force: Force::Must,
    spec: "protocol/v1/tool-calls",
    summary: "offers distinct options when it asks for permission, in the session of the turn",
    why: "A request for permission has options, each with a unique identifier, a label, and a kind: allow or reject, \
          once or always. The client answers with the identifier of the option that the person has chosen.",
    fix: "Give each option an `optionId` of its own, a `name`, and one of the four kinds.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell options"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"1","name":"Allow","kind":"allow_once"},{"optionId":"1","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"reject"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    agent.client.permission = Permission::Reject;
    let (turn, _) = agent.play_command(&session, "options.txt", "Options").await?;
    let ended = agent.end_with_tools(&turn).await;
    let Some(asked) = agent.permissions(&turn).first().copied().cloned() else {
        ended?;
        return agent.needs_permission(&turn);
    };
    agent.names_session(&turn, "session/request_permission")?;
    let options = asked["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    ensure(!options.is_empty(), "asks for permission without options")?;
    for (at, option) in options.iter().enumerate() {
        let text = |name: &str| option[name].as_str().unwrap_or_default();
        let id = quote(text("optionId"));
        if options[..at].iter().any(|other| other["optionId"] == option["optionId"]) {
            return fail(format!("asks for permission with two options that have the id {id}"));
        }
        if text("name").trim().is_empty() {
            return fail(format!("asks for permission with the option {id}, which has no name"));
        }
        if !["allow_once", "allow_always", "reject_once", "reject_always"].contains(&text("kind")) {
            let kind = quote(text("kind"));
            return fail(format!("asks for permission with the option {id} of the unknown kind {kind}"));
        }
    }
    Ok(())
}
