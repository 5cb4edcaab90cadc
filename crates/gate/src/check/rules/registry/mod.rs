//! Rules about the registry directory and its files outside the agents' folders.

pub(super) mod config;
pub(super) mod git_files;
pub(super) mod history;
pub(super) mod quarantine;
pub(super) mod revoked;
pub(super) mod revoked_version;
pub(super) mod similar_name;
pub(super) mod snapshot;
pub(super) mod stray_entry;
pub(super) mod unreadable_file;
