//! Level `sessions`: checks of sessions, without a prompt.

mod additional_directories;
mod close;
mod command_names;
mod commands;
mod config_options;
mod config_values;
mod cwd;
mod delete;
mod delete_unknown;
mod distinct_ids;
mod fork;
mod list;
mod list_cursor;
mod list_filter;
mod list_new;
mod list_paging;
mod load;
mod mcp_env;
mod mcp_server;
mod modes;
mod modes_in_sync;
mod null_cwd;
mod relative_cwd;
mod resume;
mod set_config_option;
mod set_config_values;
mod set_mode;
mod unadvertised_methods;
mod unknown_config_option;
mod unknown_config_value;
mod unknown_mode;

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use crate::examination::agent::{StartedAgent, refused};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::failure::{CheckFailure, ensure, fail, needs, not_exercised};
use crate::examination::session_options::{ConfigOption, UNKNOWN, read_options, shown};

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[
    &additional_directories::CHECK,
    &close::CHECK,
    &command_names::CHECK,
    &commands::CHECK,
    &config_options::CHECK,
    &config_values::CHECK,
    &cwd::CHECK,
    &delete::CHECK,
    &delete_unknown::CHECK,
    &distinct_ids::CHECK,
    &fork::CHECK,
    &list::CHECK,
    &list_cursor::CHECK,
    &list_filter::CHECK,
    &list_new::CHECK,
    &list_paging::CHECK,
    &load::CHECK,
    &mcp_env::CHECK,
    &mcp_server::CHECK,
    &modes::CHECK,
    &modes_in_sync::CHECK,
    &null_cwd::CHECK,
    &relative_cwd::CHECK,
    &resume::CHECK,
    &set_config_option::CHECK,
    &set_config_values::CHECK,
    &set_mode::CHECK,
    &unadvertised_methods::CHECK,
    &unknown_config_option::CHECK,
    &unknown_config_value::CHECK,
    &unknown_mode::CHECK,
];
