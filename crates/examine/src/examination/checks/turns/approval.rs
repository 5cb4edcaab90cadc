use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, ToolCall, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/approval",
    force: Force::Should,
    spec: "protocol/v1/prompt-turn",
    summary: "runs a tool in the working directory once it is approved",
    why: "Once permission is granted, the agent should invoke the tool and report it, and then send its result back \
          to the model.",
    fix: "Run the tool after the response that allows it, and add its result to the next request to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell approved"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"reject","name":"Allow","kind":"allow_once"},{"optionId":"allow","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let file = agent.work().join("approved.txt");
    // A relative path: it is resolved in the working directory of the session.
    let command = "echo acp-registry > approved.txt && cat approved.txt".to_owned();
    let call = ToolCall::Shell { command: command.clone() };
    let turn = agent.play(&session, Script::calling(call, "Approved")).await?;
    agent.end_with_tools(&turn).await?;
    agent.needs_permission(&turn)?;
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if text.trim() != "acp-registry" {
        let result = turn.requests().last().and_then(|request| request.results.last().cloned()).unwrap_or_default();
        let result = quote(&result.chars().take(300).collect::<String>());
        return fail(format!(
            "does not run a command that was approved, in the directory of the session; the model gets {result}"
        ));
    }
    let has_result = turn.requests().iter().any(|request| request.new_results > 0);
    ensure(has_result, "does not send the result of a tool to the model")?;
    // Some repeat the command in the result.
    let has_output = turn.any_result(|result| result.replace(&command, "").contains("acp-registry"));
    ensure(has_output, "does not pass the output of a command to the model")
}
