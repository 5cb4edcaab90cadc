//! What people see: output, tables, progress, signals, remedies, usage errors and help.

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod help;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod progress;
pub(crate) mod remedy;
pub(crate) mod signals;
pub(crate) mod similar_messages;
pub(crate) mod table;
pub(crate) mod ui;
pub(crate) mod usage;
