//! Level `drafts`: checks of proposals for later versions of the protocol.
//!
//! A proposal that the agent does not advertise is not exercised. `Must` is used where the text says so, and for the
//! form of messages that the text defines; `Observed` where a failure may be what version 1 asks for, or where the text
//! leaves it to the agent.

mod elicitation_answers;
mod elicitation_form;
mod elicitation_unsupported;
mod elicitation_url;
mod hitl_edited;
mod hitl_rejected;
mod inject_cancel;
mod inject_capability;
mod inject_delivered;
mod inject_idle;
mod inject_queue;
mod inject_replace;
mod inject_revoke;
mod inject_steer;
mod inject_unknown;
mod mcp_call;
mod mcp_callback;
mod mcp_connect;
mod nes_close;
mod nes_events;
mod nes_feedback;
mod nes_kinds;
mod nes_positions;
mod nes_start;
mod nes_suggest;
mod steering;
mod steering_turn;
mod symmetric_fs;
mod v2_initialize;
mod v2_messages;
mod v2_prompt;
mod v2_resume_replay;
mod v2_session_methods;

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use crate::examination::agent::{StartedAgent, error_of_code};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::draft_turns::{PRECONDITION, WATCHED};
use crate::examination::failure::{CheckFailure, ensure, fail, needs, not_exercised};

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[
    &elicitation_answers::CHECK,
    &elicitation_form::CHECK,
    &elicitation_unsupported::CHECK,
    &elicitation_url::CHECK,
    &hitl_edited::CHECK,
    &hitl_rejected::CHECK,
    &inject_cancel::CHECK,
    &inject_capability::CHECK,
    &inject_delivered::CHECK,
    &inject_idle::CHECK,
    &inject_queue::CHECK,
    &inject_replace::CHECK,
    &inject_revoke::CHECK,
    &inject_steer::CHECK,
    &inject_unknown::CHECK,
    &mcp_call::CHECK,
    &mcp_callback::CHECK,
    &mcp_connect::CHECK,
    &nes_close::CHECK,
    &nes_events::CHECK,
    &nes_feedback::CHECK,
    &nes_kinds::CHECK,
    &nes_positions::CHECK,
    &nes_start::CHECK,
    &nes_suggest::CHECK,
    &steering::CHECK,
    &steering_turn::CHECK,
    &symmetric_fs::CHECK,
    &v2_initialize::CHECK,
    &v2_messages::CHECK,
    &v2_prompt::CHECK,
    &v2_resume_replay::CHECK,
    &v2_session_methods::CHECK,
];
