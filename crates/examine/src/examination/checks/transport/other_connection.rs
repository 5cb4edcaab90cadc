use super::{BASE, Check, CheckFailure, Remote, Run, Stream, fail, set_unknown_mode};

pub(super) static CHECK: Check = Check {
    id: "transport/other-connection",
    summary: "sends messages of a session only by its own connection",
    why: "Sessions belong to connections. A client that knows or guesses the id of a session of another client must \
          not get its messages.",
    fix: "Look a stream up by the connection and the session, never by the session alone.",
    begins: "client GET /acp, Acp-Connection-Id: other, Acp-Session-Id: s",
    fails: r#"agent data: {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}"#,
    passes: "agent 404",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let (own, session) = remote.session().await?;
    let other = remote.connect().await?.id;
    let Ok(mut stream) = Stream::try_from(remote.stream(&other, Some(&session)).await?) else { return Ok(()) };
    remote.post(&own, Some(&session), &set_unknown_mode("own", &session)).await?;
    // What the agent of the other connection answers comes after what should not come.
    remote.post(&other, Some(&session), &set_unknown_mode("other", &session)).await?;
    let _ = remote.answer(&mut stream, "other").await;
    if stream.seen.iter().any(|message| message["id"] == "own") {
        return fail("sends the answer of a session to another connection");
    }
    Ok(())
}
