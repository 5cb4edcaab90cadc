//! Level `turns`: checks of prompts, with a scripted model.

mod after_cancel;
mod approval;
mod cancel_idle;
mod cancel_model;
mod cancel_other;
mod cancel_permission;
mod cancel_request;
mod cancel_streaming;
mod cancel_tool;
mod cancel_updates;
mod close;
mod cwd;
mod elicitation;
mod embedded_context;
mod empty_prompt;
mod ends_command;
mod failed_model;
mod file_reads;
mod file_writes;
mod history;
mod images;
mod late_text;
mod link_context;
mod load;
mod long_answer;
mod long_prompt;
mod mcp_http;
mod mcp_tools;
mod model_breaks_off;
mod model_error;
mod model_rate_limit;
mod parallel_sessions;
mod permission_options;
mod refusal;
mod rejection;
mod resource_links;
mod resume;
mod streaming;
mod terminal_output;
mod terminals;
mod text;
mod token_limit;
mod tool_call_status;
mod tool_calls;

use acp_registry_plan::text::quote;
use serde_json::json;

use crate::examination::agent::StartedAgent;
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::client::{Permission, SessionUpdate};
use crate::examination::failure::{CheckFailure, ensure, fail, needs, not_exercised};
use crate::examination::turn::{is_reason, plain, stop_reason};
use crate::model::{Script, Step, ToolCall};

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[
    &after_cancel::CHECK,
    &approval::CHECK,
    &cancel_idle::CHECK,
    &cancel_model::CHECK,
    &cancel_other::CHECK,
    &cancel_permission::CHECK,
    &cancel_request::CHECK,
    &cancel_streaming::CHECK,
    &cancel_tool::CHECK,
    &cancel_updates::CHECK,
    &close::CHECK,
    &cwd::CHECK,
    &elicitation::CHECK,
    &embedded_context::CHECK,
    &empty_prompt::CHECK,
    &ends_command::CHECK,
    &failed_model::CHECK,
    &file_reads::CHECK,
    &file_writes::CHECK,
    &history::CHECK,
    &images::CHECK,
    &late_text::CHECK,
    &link_context::CHECK,
    &load::CHECK,
    &long_answer::CHECK,
    &long_prompt::CHECK,
    &mcp_http::CHECK,
    &mcp_tools::CHECK,
    &model_breaks_off::CHECK,
    &model_error::CHECK,
    &model_rate_limit::CHECK,
    &parallel_sessions::CHECK,
    &permission_options::CHECK,
    &refusal::CHECK,
    &rejection::CHECK,
    &resource_links::CHECK,
    &resume::CHECK,
    &streaming::CHECK,
    &terminal_output::CHECK,
    &terminals::CHECK,
    &text::CHECK,
    &token_limit::CHECK,
    &tool_call_status::CHECK,
    &tool_calls::CHECK,
];
