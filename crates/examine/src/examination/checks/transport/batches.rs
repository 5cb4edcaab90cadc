use super::{BASE, CONNECTION, Check, JSON, Run, ping};

pub(super) static CHECK: Check = Check {
    id: "transport/batches",
    summary: "refuses batches of messages with 501",
    why: "There are no batches in the protocol. A server that takes one by mistake loses its messages, or answers \
          some of them.",
    fix: "Answer a POST whose body is an array with 501.",
    begins: r#"client POST /acp, [{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}]"#,
    fails: "agent 202",
    passes: "agent 501",
    run: Run::Visit(|remote| {
        Box::pin(async move {
            let id = remote.connection().await?;
            let batch = format!("[{}]", ping("batch"));
            remote.demand(501, "a batch", ("POST", &[JSON, (CONNECTION, &id)], &batch)).await.map(drop)
        })
    }),
    ..BASE
};
