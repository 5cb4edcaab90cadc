//! Text of other languages, one serialiser each: whatever a manifest holds, what comes out is one literal or one command.
//!
//! JSON is written by [`crate::json`].

pub mod elisp;
pub mod lua;
pub mod powershell;
pub mod shell;

/// Whether a shell takes the text as the name of a variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
