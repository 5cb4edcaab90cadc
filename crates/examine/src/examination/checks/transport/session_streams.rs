use serde_json::Value;

use super::{BASE, Check, CheckFailure, Remote, Run, Stream, ensure, fail, ping, set_unknown_mode};

pub(super) static CHECK: Check = Check {
    id: "transport/session-streams",
    summary: "sends the messages of each session by its own stream",
    why: "A stream with `Acp-Session-Id` has all messages of this session and no other; the stream of the connection \
          has the rest, such as the answer to `session/new`. Before the revision of May 2026, a connection had one \
          stream.",
    fix: "Note with each request by which stream it is answered, and send what has a `sessionId` by the stream of \
          this session.",
    begins: "client GET /acp, Acp-Session-Id: s",
    fails: "agent 409",
    passes: "agent 200",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let mut line = remote.connect().await?;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let session = remote.open_session(&mut line).await?;
        let answer = remote.stream(&line.id, Some(&session)).await?;
        let status = answer.status;
        let Ok(stream) = Stream::try_from(answer) else {
            return fail(format!("answers {status} to the stream of a session that it has opened"));
        };
        streams.push((session, stream));
    }
    for (number, (session, _)) in streams.iter().enumerate() {
        remote.post(&line.id, Some(session), &set_unknown_mode(&number.to_string(), session)).await?;
    }
    remote.post(&line.id, None, &ping("last")).await?;
    let last = remote.answer(&mut line.stream, "last").await;
    let is_wrong =
        |message: &Value| message["id"] == "0" || message["id"] == "1" || message["params"]["sessionId"] != Value::Null;
    ensure(!line.stream.seen.iter().any(is_wrong), "sends a message of a session by the stream of the connection")?;
    last.map_err(CheckFailure::into_obstacle)?;
    for (number, (session, stream)) in streams.iter_mut().enumerate() {
        remote.answer(stream, &number.to_string()).await?;
        let is_other = |message: &Value| message["params"]["sessionId"].as_str().is_some_and(|id| id != session);
        ensure(!stream.seen.iter().any(is_other), "sends a message of a session by the stream of another one")?;
    }
    Ok(())
}
