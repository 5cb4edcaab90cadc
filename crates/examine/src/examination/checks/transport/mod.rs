//! Level `transport`: checks of the server of an agent on a network.

mod accept;
mod accepted;
mod batches;
mod binary_frames;
mod content_type;
mod delete;
mod events;
mod http2;
mod initialize;
mod missing_connection;
mod missing_session;
mod other_connection;
mod second_stream;
mod session_streams;
mod unknown_connection;
mod web_socket;

use acp_registry_remote::CONNECTION;
use serde_json::json;

use crate::examination::check::{Check, Force, Run};
use crate::examination::failure::{CheckFailure, ensure, fail, not_exercised};
use crate::examination::remote::{JSON, Remote, Stream, ping, set_unknown_mode};

/// What most checks of the level have in common.
const BASE: Check = Check {
    id: "",
    force: Force::Must,
    spec: "rfds/streamable-http-websocket-transport",
    summary: "",
    why: "",
    fix: "",
    begins: "",
    fails: "",
    passes: "",
    run: Run::Visit(|_| Box::pin(async { Ok(()) })),
};

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[
    &accept::CHECK,
    &accepted::CHECK,
    &batches::CHECK,
    &binary_frames::CHECK,
    &content_type::CHECK,
    &delete::CHECK,
    &events::CHECK,
    &http2::CHECK,
    &initialize::CHECK,
    &missing_connection::CHECK,
    &missing_session::CHECK,
    &other_connection::CHECK,
    &second_stream::CHECK,
    &session_streams::CHECK,
    &unknown_connection::CHECK,
    &web_socket::CHECK,
];
