//! Wraps the operating system. Of this workspace, these modules use `crates/plan` alone.
//!
//! * [`cause`]: finds the line that explains a failure in a program's output
//! * [`command`]: asks package managers and programs of the system, and runs programs that the user has named
//! * [`fs`]: reads untrusted files, and replaces files and directories atomically
//! * [`git`]: runs git to read changes and history, and to update branches of a remote
//! * [`abilities`]: detects what this machine can run besides native programs
//! * [`lock`]: locks between processes
//! * [`owner`]: checks who can change a file
//! * [`process`]: starts agents, and package managers that install, and ends them with all their descendants
//! * [`sandbox`]: confines this process, and what it starts, to some files
//! * [`start`]: runs trusted programs in the user's environment
//! * [`umask`]: restricts the permissions of new files
//! * [`in_use`]: finds the processes that use a directory

pub mod abilities;
pub mod cause;
pub mod command;
#[cfg(unix)]
pub(crate) mod directory;
pub mod fs;
pub mod git;
pub mod in_use;
pub mod lock;
pub mod owner;
#[cfg(target_os = "linux")]
mod proc;
pub mod process;
pub(crate) mod remove;
pub mod sandbox;
pub mod start;
pub mod umask;
