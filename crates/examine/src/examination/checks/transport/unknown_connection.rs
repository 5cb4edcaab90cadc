use super::{BASE, CONNECTION, Check, CheckFailure, JSON, Remote, Run, ping};
use crate::examination::remote::EVENTS;

pub(super) static CHECK: Check = Check {
    id: "transport/unknown-connection",
    summary: "answers 404 to requests that name an unknown connection",
    why: "A client learns by the status 404 that the connection is over, and begins anew; other statuses say that \
          the request itself is wrong.",
    fix: "Answer a POST or GET whose `Acp-Connection-Id` is unknown with 404.",
    begins: "client POST /acp, Acp-Connection-Id: other",
    fails: "agent 400",
    passes: "agent 404",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let (message, unknown) = (ping("unknown").to_string(), (CONNECTION, "acp-registry-unknown"));
    for (method, headers, body) in [("POST", [JSON, unknown], &*message), ("GET", [EVENTS, unknown], "")] {
        remote.demand(404, &format!("a {method} of an unknown connection"), (method, &headers, body)).await?;
    }
    Ok(())
}
