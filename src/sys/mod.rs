//! The operating system: everything here is called by the others and calls nobody.
//!
//! * [`fs`]: reading files that strangers wrote, and replacing files and folders as a whole
//! * [`git`]: asking the `git` program what has changed

pub mod fs;
pub mod git;
