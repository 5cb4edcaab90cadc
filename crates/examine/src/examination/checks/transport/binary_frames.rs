use super::{BASE, Check, CheckFailure, Remote, Run, ensure, json, ping};
use crate::examination::remote::initialize;

pub(super) static CHECK: Check = Check {
    id: "transport/binary-frames",
    summary: "ignores binary frames of a WebSocket",
    why: "All messages are frames of text; binary frames are ignored. A later version may give them a meaning, which \
          must not end connections to older servers.",
    fix: "Read past binary frames: neither answer them nor close the WebSocket.",
    begins: "client WebSocket, 4 bytes",
    fails: "agent closes the WebSocket",
    passes: r#"client WebSocket, {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
agent WebSocket, {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#,
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let (mut socket, _) = remote.upgrade().await?;
    let ids = [json!("binary"), json!("initialize")];
    remote.wait("a WebSocket", socket.send(&ping("binary").to_string(), false)).await?;
    remote.wait("a WebSocket", socket.send(&initialize().to_string(), true)).await?;
    let answer = remote.frame(&mut socket, &ids).await.map_err(|trouble| trouble.with("after a binary frame"))?;
    ensure(answer["id"] != "binary", "answers a binary frame")
}
