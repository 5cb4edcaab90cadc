use super::{BASE, Check, CheckFailure, JSON, Remote, Run, ping};
use crate::examination::remote::EVENTS;

pub(super) static CHECK: Check = Check {
    id: "transport/missing-connection",
    summary: "answers 400 to requests that name no connection",
    why: "Every request but `initialize` and the handshake of a WebSocket names its connection.",
    fix: "Answer a POST, GET or DELETE without `Acp-Connection-Id` with 400.",
    begins: "client GET /acp",
    fails: "agent 404",
    passes: "agent 400",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let message = ping("missing").to_string();
    for (method, headers, body) in [("POST", &[JSON][..], &*message), ("GET", &[EVENTS], ""), ("DELETE", &[], "")] {
        let what = format!("a {method} without `Acp-Connection-Id`");
        remote.demand(400, &what, (method, headers, body)).await?;
    }
    Ok(())
}
