use super::{BASE, CONNECTION, Check, Run};

pub(super) static CHECK: Check = Check {
    id: "transport/accept",
    summary: "refuses a stream that is asked for without `Accept: text/event-stream`",
    why: "The header must include `text/event-stream`, and the status is 406 otherwise. A client that wants \
          something else, such as a browser, would wait for the end of a stream.",
    fix: "Answer a GET without `Upgrade` with 406, unless `Accept` includes `text/event-stream`.",
    begins: "client GET /acp, Accept: application/json",
    fails: "agent 200",
    passes: "agent 406",
    run: Run::Visit(|remote| {
        Box::pin(async move {
            let id = remote.connection().await?;
            let request = ("GET", &[("accept", "application/json"), (CONNECTION, &*id)][..], "");
            remote.demand(406, "the request for a stream with another `Accept`", request).await.map(drop)
        })
    }),
    ..BASE
};
