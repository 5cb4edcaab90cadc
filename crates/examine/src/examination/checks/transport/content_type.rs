use super::{BASE, CONNECTION, Check, Run, ping};

pub(super) static CHECK: Check = Check {
    id: "transport/content-type",
    summary: "refuses messages that are not `application/json`",
    why: "The type must be `application/json`, and the status is 415 otherwise. A page of a browser can send texts \
          of other types to any server without being asked.",
    fix: "Answer a POST of another type with 415, and do not read it.",
    begins: "client POST /acp, Content-Type: text/plain",
    fails: "agent 202",
    passes: "agent 415",
    run: Run::Visit(|remote| {
        Box::pin(async move {
            let id = remote.connection().await?;
            let message = ping("text").to_string();
            let request = ("POST", &[("content-type", "text/plain"), (CONNECTION, &*id)][..], &*message);
            remote.demand(415, "a message of the type `text/plain`", request).await.map(drop)
        })
    }),
    ..BASE
};
