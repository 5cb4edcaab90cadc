use super::{BASE, CONNECTION, Check, CheckFailure, JSON, Remote, Run, not_exercised, set_unknown_mode};

pub(super) static CHECK: Check = Check {
    id: "transport/missing-session",
    summary: "answers 400 to messages of a session whose header does not name it",
    why: "The header `Acp-Session-Id` is required for all that is sent in a session, so that a proxy can send it to \
          the right place without reading it.",
    fix: "Answer a POST whose parameters have a `sessionId` with 400 if it has no header `Acp-Session-Id`.",
    begins: r#"client POST /acp, {"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#,
    fails: "agent 202",
    passes: "agent 400",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let (id, session) = remote.session().await?;
    if remote.stream(&id, Some(&session)).await?.events.is_none() {
        return not_exercised("the agent opens no streams of sessions, as before the revision of May 2026");
    }
    let message = set_unknown_mode("missing", &session).to_string();
    let request = ("POST", &[JSON, (CONNECTION, &*id)][..], &*message);
    remote.demand(400, "a message of a session without `Acp-Session-Id`", request).await.map(drop)
}
