use super::{BASE, CONNECTION, Check, CheckFailure, JSON, Remote, Run, ensure, ping};
use crate::examination::remote::Line;

pub(super) static CHECK: Check = Check {
    id: "transport/delete",
    summary: "ends a connection, and its streams, at DELETE",
    why: "DELETE terminates the connection and is answered with 202; its streams close, and its id is unknown from \
          then on. Otherwise, each closed editor leaves an agent and an open connection behind.",
    fix: "Forget the id, answer DELETE with 202, end the agent of the connection, and end its streams.",
    begins: "client DELETE /acp",
    fails: "agent 202\nclient POST /acp\nagent 202",
    passes: "agent 202, and ends the stream\nclient POST /acp\nagent 404",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    let Line { id, stream } = remote.connect().await?;
    remote.demand(202, "DELETE", ("DELETE", &[(CONNECTION, &id)], "")).await?;
    ensure(remote.ends(stream).await, "does not end the stream of a connection after DELETE")?;
    let (message, headers) = (ping("deleted").to_string(), [JSON, (CONNECTION, &*id)]);
    remote.demand(404, "a message of a connection after DELETE", ("POST", &headers, &message)).await.map(drop)
}
