use super::{BASE, CONNECTION, Check, CheckFailure, Remote, Run, Stream, fail, not_exercised, ping};

pub(super) static CHECK: Check = Check {
    id: "transport/events",
    summary: "sends messages as events of a stream of the type `text/event-stream`",
    why: "Each event has one message as its data. A client cannot do anything with other data, and does not know \
          what it has missed.",
    fix: "Answer a GET with 200 and `text/event-stream`, and write one JSON-RPC message as the data of each event; a \
          comment keeps the connection alive.",
    begins: "client GET /acp",
    fails: "agent data: ready",
    passes: r#"agent data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let answer = remote.initialize().await.map_err(CheckFailure::into_obstacle)?;
    let Some(id) = answer.header(CONNECTION) else {
        return not_exercised("the agent opens no connection");
    };
    let id = id.to_owned();
    let answer = remote.stream(&id, None).await?;
    let status = answer.status;
    let opened = Stream::try_from(answer);
    let Ok(mut stream) = opened else {
        let text = format!("answers {status} to a stream, or another type than `text/event-stream`");
        return fail(text);
    };
    remote.post(&id, None, &ping("event")).await?;
    let answer = remote.answer(&mut stream, "event").await;
    if let Some(data) = stream.odd {
        return fail(format!("sends an event whose data is no message: {}", remote.quote(&data)));
    }
    answer.map(drop).map_err(CheckFailure::into_obstacle)
}
