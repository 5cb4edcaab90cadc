use super::{BASE, CONNECTION, Check, CheckFailure, JSON, Remote, Run, ensure, json, ping};
use crate::examination::agent::PING;

pub(super) static CHECK: Check = Check {
    id: "transport/accepted",
    summary: "accepts requests and notifications with 202 and no body",
    why: "The answer to a request arrives by a stream; the status 202 says that the message is accepted. A client \
          that reads an answer from the body as well has two.",
    fix: "Answer each POST but `initialize` with 202, at once, and send what the agent answers by the stream.",
    begins: r#"client POST /acp, {"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#,
    fails: r#"agent 200, {"jsonrpc":"2.0","id":1,"result":{}}"#,
    passes: "agent 202",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let id = remote.connection().await?;
    let notification = json!({ "jsonrpc": "2.0", "method": PING, "params": {} });
    for (what, message) in [("a request", ping("accepted")), ("a notification", notification)] {
        let headers = [JSON, (CONNECTION, &*id)];
        let answer = remote.demand(202, what, ("POST", &headers, &message.to_string())).await?;
        ensure(answer.body.is_empty(), format!("answers {what} with 202 and a body"))?;
    }
    Ok(())
}
