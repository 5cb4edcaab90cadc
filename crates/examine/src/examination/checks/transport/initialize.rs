use serde_json::Value;

use super::{BASE, CONNECTION, Check, CheckFailure, Remote, Run, fail};

pub(super) static CHECK: Check = Check {
    id: "transport/initialize",
    summary: "answers `initialize` with 200, its result and the id of a connection",
    why: "The answer to `initialize` is the body of the answer to the POST, as `application/json`, and its header \
          `Acp-Connection-Id` names the new connection. A `connectionId` in the result is the same.",
    fix: "Start a connection at `initialize` without the header `Acp-Connection-Id`, and answer with its id when the \
          agent has answered.",
    begins: r#"client POST /acp, {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
    fails: "agent 202",
    passes: r#"agent 200, Acp-Connection-Id: c, {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#,
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let answer = remote.initialize().await?;
    let body = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    let text = match answer.status {
        200 if answer.header(CONNECTION).is_none_or(str::is_empty) => "without a header `Acp-Connection-Id`",
        200 if !answer.has_type("application/json") => "with another type than `application/json`",
        200 if body["id"] != "initialize" || body.get("result").is_none() => "without the result as the body",
        200 if body["result"].get("connectionId").is_some_and(|id| id.as_str() != answer.header(CONNECTION)) => {
            "with another `connectionId` than `Acp-Connection-Id`"
        }
        200 => return Ok(()),
        status => return fail(format!("answers `initialize` with {status} instead of 200")),
    };
    fail(format!("answers `initialize` {text}"))
}
