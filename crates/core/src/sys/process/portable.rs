//! Trees of processes where there is no `/proc`: a process group on Unix, a job object on Windows.
#![allow(clippy::unused_self, reason = "the same calls as on Linux")]

use std::convert::Infallible;
use std::io;
use std::path::Path;

use process_wrap::tokio::ChildWrapper;

/// How a tree is known.
#[derive(Debug)]
pub(super) struct Identity {
    #[cfg_attr(windows, expect(dead_code, reason = "a job object needs no identity"))]
    root: u32,
}

impl Identity {
    pub(super) fn new(root: u32, _sandbox: Option<&Path>, _user: Option<u32>) -> Self {
        Self { root }
    }

    /// How many processes are known to be alive, which is one when any is.
    #[cfg(unix)]
    pub(super) fn alive(&self) -> usize {
        let group = i32::try_from(self.root).ok().and_then(rustix::process::Pid::from_raw);
        usize::from(group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok()))
    }

    #[cfg(not(unix))]
    pub(super) fn alive(&self) -> usize {
        0
    }

    /// Asks all processes to end. There is no such thing for programs without a window on Windows.
    pub(super) fn terminate(&self, child: &dyn ChildWrapper) {
        #[cfg(unix)]
        let _ = child.signal(rustix::process::Signal::TERM.as_raw());
        #[cfg(not(unix))]
        let _ = child;
    }

    /// Ends all processes.
    pub(super) fn kill(&self, child: &mut dyn ChildWrapper) {
        let _ = child.start_kill();
    }
}

/// The launcher's report: no launcher is used here.
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

/// A user of a program's own: no program gets one here.
#[derive(Debug)]
pub(super) struct OwnUser(Infallible);

impl OwnUser {
    pub(super) fn number(&self) -> u32 {
        match self.0 {}
    }
}

impl super::Launch {
    /// Whether the program gets a user of its own, which no program does on this system.
    #[must_use]
    pub fn gets_own_user(&self, _temporary: &Path) -> bool {
        false
    }
}

/// Lets every user read what is below a directory, for programs that get users of their own, which none does here.
pub fn make_readable(_directory: &Path) {}

/// Keeps other processes of the same user from reading the memory of this one, where the system can: this one cannot.
pub fn hide_from_agents() {}

/// Ends what an earlier run has started and not ended, where such processes can be found: here they cannot, and on Windows
/// they have ended with that run.
#[must_use]
pub fn end_launches_below(_folder: &Path) -> bool {
    true
}

/// Whether a living process uses a sandbox: that cannot be seen here, but its maker marks it.
pub(super) fn has_users(_sandbox: &Path) -> bool {
    false
}

/// Processes whose parents have ended before them.
#[derive(Debug)]
pub struct Orphans(());

/// Makes this process the parent of its descendants' orphans, where the system can: this one cannot.
#[must_use]
pub fn adopt_orphans() -> Option<Orphans> {
    None
}

impl Orphans {
    /// Ends them all, and returns how many there were.
    #[must_use]
    pub fn end(self) -> usize {
        0
    }
}
