//! SETTINGS: how an agent is set up in a client of the protocol; a [`AgentCommand`] to the text that the client reads.
//!
//! * [`CLIENTS`]: the clients, each with one function that writes its settings
//! * [`AgentCommand`]: what is to be started
//! * [`elisp`], [`lua`], [`powershell`], [`shell`]: serialisers, one for each language: the result is one literal or
//!   one command, whatever a manifest holds. JSON is written by [`acp_registry_plan::json`].

mod client;
mod launch;
mod text;

pub mod elisp;
pub mod lua;
pub mod powershell;
pub mod shell;

pub use client::{CLIENTS, EditorClient, TooLong, Unwritable, find};
pub use launch::{AgentCommand, PROGRAM, display_name};
pub use text::zed_registry;

/// The longest display name that settings have, in Unicode scalar values.
const NAME_LIMIT: usize = 80;

/// The longest settings that people are shown to copy, in bytes.
pub const SETTINGS_LIMIT: usize = 16 << 10;

/// Whether the text is a valid name of a shell variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
