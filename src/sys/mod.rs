//! The operating system: everything here is called by the others and calls nobody.
//!
//! * [`fs`]: reading files that strangers wrote, and replacing files and folders as a whole
//! * [`git`]: asking the `git` program what has changed
//! * [`process`]: starting programs that nobody vouches for, and ending them with all that they have started

pub mod fs;
pub mod git;
pub mod process;
