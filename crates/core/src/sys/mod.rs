//! The operating system: the other modules call it, and it calls none of them.
//!
//! * [`command`]: asking the package managers, and running what a person has named
//! * [`fs`]: reading files that strangers wrote, and replacing files and folders as a whole
//! * [`git`]: asking the `git` program what has changed, and branches of a remote
//! * [`host`]: what this machine can run besides its own programs
//! * [`lock`]: locks between processes
//! * [`owner`]: whom files belong to
//! * [`rename`]: renaming where others look at what is renamed
//! * [`process`]: starting untrusted programs, and ending them with all that they have started
//! * [`start`]: programs that take the place of this one, or that have its terminal
//! * [`umask`]: the permissions of files that are made
//! * [`users`]: which processes use a folder

pub mod command;
pub mod fs;
pub mod git;
#[cfg(unix)]
pub(crate) mod held;
pub mod host;
pub mod lock;
pub mod owner;
pub mod private;
pub mod process;
pub(crate) mod remove;
pub mod rename;
pub mod start;
pub mod umask;
pub mod users;
pub mod walk;
