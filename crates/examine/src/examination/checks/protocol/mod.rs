//! Level `protocol`: checks that need no session.

mod agent_info;
mod auth_required;
mod before_initialize;
mod cancel_unknown_session;
mod client_capabilities;
mod ends_with_input;
mod ids;
mod initialize;
mod load_unknown_session;
mod long_line;
mod malformed_line;
mod messages;
mod pipelined_requests;
mod prompt_unknown_session;
mod sigterm;
mod split_line;
mod stdout;
mod unadvertised_methods;
mod unknown_auth_method;
mod unknown_extension;
mod unknown_method;
mod unknown_notification;
mod version;
mod wrong_ids;
mod wrong_params;

use acp_registry_plan::text::quote;
use serde_json::json;

use crate::examination::agent::{NO_SESSION, PING, StartedAgent, error_of_code, silent};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::failure::{CheckFailure, ensure, fail, needs, not_exercised};

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[
    &agent_info::CHECK,
    &auth_required::CHECK,
    &before_initialize::CHECK,
    &cancel_unknown_session::CHECK,
    &client_capabilities::CHECK,
    &ends_with_input::CHECK,
    &ids::CHECK,
    &initialize::CHECK,
    &load_unknown_session::CHECK,
    &long_line::CHECK,
    &malformed_line::CHECK,
    &messages::CHECK,
    &pipelined_requests::CHECK,
    &prompt_unknown_session::CHECK,
    &sigterm::CHECK,
    &split_line::CHECK,
    &stdout::CHECK,
    &unadvertised_methods::CHECK,
    &unknown_auth_method::CHECK,
    &unknown_extension::CHECK,
    &unknown_method::CHECK,
    &unknown_notification::CHECK,
    &version::CHECK,
    &wrong_ids::CHECK,
    &wrong_params::CHECK,
];
