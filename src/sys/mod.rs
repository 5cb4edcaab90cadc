//! The operating system: everything here is called by the others and calls nobody.
//!
//! * [`branch`]: commits on branches of a remote, made without touching the checkout
//! * [`command`]: asking the package managers
//! * [`fs`]: reading files that strangers wrote, and replacing files and folders as a whole
//! * [`git`]: asking the `git` program what has changed
//! * [`process`]: starting programs that nobody vouches for, and ending them with all that they have started

pub mod branch;
pub mod command;
pub mod fs;
pub mod git;
pub mod process;
