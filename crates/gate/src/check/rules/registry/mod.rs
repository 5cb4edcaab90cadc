//! Rules about the registry directory and the files beside the agents.

pub(super) mod config;
pub(super) mod git_files;
pub(super) mod quarantine;
pub(super) mod stray_entry;
pub(super) mod unreadable_file;
