use futures_util::future::{FutureExt as _, select_ok};

use super::{BASE, Check, Run, Stream, ping};
use crate::examination::check::Force;

pub(super) static CHECK: Check = Check {
    id: "transport/second-stream",
    force: Force::Observed,
    summary: "loses no message if a stream is asked for twice",
    why: "A client whose connection has broken may open a stream again before the server notices. The page does not \
          say what happens to the first.",
    fix: "Refuse the second stream, such as with 409, or end the first one; each message goes to one of them.",
    begins: "client GET /acp\nagent 200\nclient GET /acp",
    fails: "agent 200\nagent ends both streams",
    passes: "agent 409",
    run: Run::Visit(|remote| {
        Box::pin(async move {
            let mut line = remote.connect().await?;
            let mut second = Stream::try_from(remote.stream(&line.id, None).await?).ok();
            remote.post(&line.id, None, &ping("second")).await?;
            let first = remote.answer(&mut line.stream, "second").boxed();
            let answers = second.as_mut().map(|second| remote.answer(second, "second").boxed());
            let answer = select_ok([first].into_iter().chain(answers)).await;
            answer.map(drop).map_err(|trouble| trouble.with("after it was asked for twice"))
        })
    }),
    ..BASE
};
