use super::{BASE, CONNECTION, Check, CheckFailure, Remote, Run, ensure, json};
use crate::examination::remote::initialize;

pub(super) static CHECK: Check = Check {
    id: "transport/web-socket",
    summary: "names the connection at the handshake of a WebSocket, and answers by frames of text",
    why: "The answer to the handshake has the header `Acp-Connection-Id`. All messages, beginning with `initialize`, \
          are frames of text.",
    fix: "Set the header in the answer with the status 101, and write each message as one frame of text.",
    begins: "client GET /acp, Upgrade: websocket",
    fails: "agent 101",
    passes: "agent 101, Acp-Connection-Id: c",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let (mut socket, answer) = remote.upgrade().await?;
    ensure(answer.header(CONNECTION).is_some(), "opens a WebSocket without a header `Acp-Connection-Id`")?;
    remote.wait("a WebSocket", socket.send(&initialize().to_string(), true)).await?;
    remote.frame(&mut socket, &[json!("initialize")]).await.map(drop)
}
