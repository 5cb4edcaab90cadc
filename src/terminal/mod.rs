//! What people see: output, tables, progress, prompts, help and completion.

pub(crate) mod age;
pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod excerpt;
pub(crate) mod help;
pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod markdown;
pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod signals;
pub(crate) mod similar_messages;
pub(crate) mod streams;
pub(crate) mod table;
pub(crate) mod ui;
pub(crate) mod usage;

/// Formats a number with its noun: `1 agent`, `2 agents`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
