//! Process trees on systems without `/proc`: a process group on Unix, a job object on Windows.
#![allow(clippy::unused_self, reason = "the same calls as on Linux")]

use std::convert::Infallible;
use std::io;
use std::path::Path;

use process_wrap::tokio::ChildWrapper;

use super::tree::RunDelays;

/// Identifies the processes of a tree.
#[derive(Debug)]
pub(super) struct Identity {
    #[cfg_attr(windows, expect(dead_code, reason = "a job object needs no identity"))]
    root: u32,
}

impl Identity {
    pub(super) fn new(root: u32, _sandbox: Option<&Path>, _user: Option<u32>) -> Self {
        Self { root }
    }

    /// Number of running processes; 1 if there are any.
    #[cfg(unix)]
    pub(super) fn alive(&self) -> usize {
        let group = i32::try_from(self.root).ok().and_then(rustix::process::Pid::from_raw);
        usize::from(group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok()))
    }

    #[cfg(not(unix))]
    pub(super) fn alive(&self) -> usize {
        0
    }

    /// Not known on these systems.
    pub(super) fn run_delays(&self) -> RunDelays {
        RunDelays::default()
    }

    /// Asks all processes to end. Not possible on Windows for programs without a window.
    pub(super) fn terminate(&self, child: &dyn ChildWrapper) {
        #[cfg(unix)]
        let _ = child.signal(rustix::process::Signal::TERM.as_raw());
        #[cfg(not(unix))]
        let _ = child;
    }

    /// Kills all processes.
    pub(super) fn kill(&self, child: &mut dyn ChildWrapper) {
        let _ = child.start_kill();
    }
}

/// The launcher's report. There is no launcher on this system.
#[derive(Debug)]
pub(super) struct Report(Infallible);

impl Report {
    #[expect(clippy::unused_async, reason = "the same call as on Linux")]
    pub(super) async fn read(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn read_rest(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// A user of a program's own. No program gets one on this system.
#[derive(Debug)]
pub(super) struct OwnUser(Infallible);

impl OwnUser {
    pub(super) fn number(&self) -> u32 {
        match self.0 {}
    }
}

impl super::LaunchSpec {
    /// Whether the program gets a user of its own: never on this system.
    pub fn gets_own_user(&self, _temporary: &Path) -> bool {
        false
    }
}

/// Makes files readable for programs with users of their own. Does nothing on this system, where no program has one.
pub fn make_readable(_directory: &Path) {}

/// Prevents other processes of the same user from reading the memory of this one. Does nothing on this system.
pub fn hide_from_agents() {}

/// Kills processes that an earlier run has started. They cannot be found on this system; on Windows, they have ended
/// with that run.
pub fn end_launches_below(_folder: &Path) -> bool {
    true
}

/// Whether a running process uses a sandbox. Unknown on this system; processes mark the sandboxes that they create.
pub(super) fn has_users(_sandbox: &Path) -> bool {
    false
}

/// Orphaned descendants.
#[derive(Debug)]
pub struct Orphans(());

/// Makes this process the parent of its orphaned descendants. Not possible on this system.
pub fn adopt_orphans() -> Option<Orphans> {
    None
}

impl Orphans {
    /// Kills all orphans. Returns how many there were.
    pub fn end(self) -> usize {
        0
    }
}
