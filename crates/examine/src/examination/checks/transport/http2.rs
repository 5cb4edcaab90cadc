use super::{BASE, Check, CheckFailure, Remote, Run, ensure};
use crate::examination::check::Force;

pub(super) static CHECK: Check = Check {
    id: "transport/http2",
    force: Force::Should,
    summary: "speaks HTTP/2",
    why: "Streams of events require HTTP/2, by which one connection has any number of streams. By HTTP/1.1, each \
          needs a connection of its own; browsers open six. A proxy in front of the server may speak it instead.",
    fix: "Serve HTTP/2, with TLS by ALPN, or put a proxy that does in front of the server.",
    begins: "client speaks HTTP/2",
    fails: "agent speaks HTTP/1.1 only",
    passes: "agent speaks HTTP/2",
    run: Run::Visit(|remote| Box::pin(run(remote))),
    ..BASE
};

async fn run(remote: &mut Remote) -> Result<(), CheckFailure> {
    ensure(remote.has_http2().await?, "speaks HTTP/1.1 only")
}
