//! Process trees, read from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, iter, thread};

use process_wrap::tokio::ChildWrapper;
use rustix::process::{Pid, Signal, WaitOptions};

use super::abandoned::is_random;
use super::directories::MARKER;
pub(super) use super::launcher::Report;
pub(super) use super::own_user::OwnUser;
use super::own_user::let_into;
pub use super::reach::make_readable;
use super::tree::RunDelays;
use crate::proc::{self, Process, directory, environment, user_ids};

/// How long to kill repeatedly, since processes may keep starting new ones.
const HUNT: Duration = Duration::from_secs(5);

/// How many of the ids that were assigned last are read before the list of all processes.
const RECENT: u32 = 32;

/// Identifies the processes of a tree.
#[derive(Debug)]
pub(super) struct Identity {
    root: u32,
    /// Start time of the root in kernel ticks. Older processes are not descendants.
    started: u64,
    /// The environment entry that descendants inherit; without it, only the session and the group count.
    marker: Option<Vec<u8>>,
    /// The user that only this program has.
    user: Option<u32>,
}

impl Identity {
    /// Must be called before the root was waited for.
    pub(super) fn new(root: u32, sandbox: Option<&Path>, user: Option<u32>) -> Self {
        let started = proc::process(root).map_or(0, |process| process.started);
        let marker = sandbox.map(|path| [MARKER.as_bytes(), b"=", path.as_os_str().as_bytes(), b"\0"].concat());
        Self { root, started, marker, user }
    }

    /// Number of running processes in the tree.
    pub(super) fn alive(&self) -> usize {
        self.each(|_| ()).len()
    }

    /// How long each thread of the root and its descendants has waited for a processor. Asked for often, so the table of all
    /// processes is not read: those whose parent has ended are left out.
    pub(super) fn run_delays(&self) -> RunDelays {
        let mut delays = BTreeMap::new();
        let mut processes = if self.is_reused() { Vec::new() } else { vec![self.root] };
        while let Some(process) = processes.pop() {
            if delays.contains_key(&process) {
                continue;
            }
            for thread in proc::threads(process) {
                delays.insert(thread.id, thread.run_delay);
                processes.extend(thread.children);
            }
        }
        RunDelays(delays)
    }

    /// Whether the id of the root is that of a later process.
    fn is_reused(&self) -> bool {
        proc::process(self.root).is_some_and(|process| process.started != self.started)
    }

    /// Asks all processes of the tree to end.
    pub(super) fn terminate(&self, _child: &dyn ChildWrapper) {
        self.signal(Signal::TERM);
    }

    /// Kills all processes of the tree.
    pub(super) fn kill(&self, _child: &mut dyn ChildWrapper) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let mut group = pid(self.root);
        self.each(|process| {
            if process.group != self.root {
                send(process.pid, signal);
            } else if let Some(group) = group.take() {
                // Signals the whole group at once, so that no member can start another process meanwhile.
                let _ = rustix::process::kill_process_group(group, signal);
            }
        });
    }

    /// Calls `call` for each running process of the tree as soon as it is found: the root, its session and group,
    /// processes with its environment entry or its own user, and all their descendants.
    fn each(&self, mut call: impl FnMut(&Process)) -> Vec<Process> {
        // After the tree has ended, the system may reuse the root's process id.
        let is_reused = self.is_reused();
        let is_own = |process: &Process| {
            (!is_reused && [process.pid, process.group, process.session].contains(&self.root)) || self.marks(process)
        };
        let me = std::process::id();
        let mut candidates = Vec::new();
        let mut known = BTreeSet::new();
        for process in newest_first().filter(|process| process.started >= self.started && process.pid != me) {
            if is_own(&process) {
                known.insert(process.pid);
                if !process.dead {
                    call(&process);
                } else if process.parent == me && process.pid != self.root {
                    // Adopted from its parent: see `adopt_orphans`. A run of many agents would fill the process table.
                    reap(process.pid);
                }
            }
            candidates.push(process);
        }
        if self.marker.is_none() {
            candidates.retain(is_own);
        }
        let found = living(&candidates, known.clone());
        found.iter().filter(|process| !known.contains(&process.pid)).for_each(call);
        found
    }

    fn marks(&self, process: &Process) -> bool {
        if self.user.is_some_and(|user| user_ids(process.pid).contains(&user)) {
            return true;
        }
        let Some(marker) = &self.marker else { return false };
        environment(process.pid).split_inclusive(|byte| *byte == 0).any(|entry| entry == marker)
    }
}

/// The running processes among `known` and their descendants.
fn living(candidates: &[Process], mut known: BTreeSet<u32>) -> Vec<Process> {
    loop {
        let before = known.len();
        known.extend(
            candidates
                .iter()
                .filter(|process| known.contains(&process.parent))
                .map(|process| process.pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            break;
        }
    }
    candidates.iter().filter(|process| known.contains(&process.pid) && !process.dead).copied().collect()
}

/// Reads the process table, newest processes first. A process that keeps starting others is among the newest, and must
/// be found before it starts the next one: the ids that were assigned last are read before the list of all, which takes
/// longer than such a process lives if the list is long.
fn newest_first() -> impl Iterator<Item = Process> {
    let newest = proc::newest().unwrap_or_default();
    let recent = newest.saturating_sub(RECENT)..=newest;
    let others = iter::once(recent.clone()).flat_map(|known| {
        let mut pids: Vec<u32> = proc::pids().filter(|pid| !known.contains(pid)).collect();
        // Asked for after the list was made, so that no process in the list is newer.
        sort_by_age(&mut pids, proc::newest().unwrap_or(u32::MAX));
        pids
    });
    // An id that was assigned last may be that of a thread, which the list has not.
    let recent = recent.rev().filter_map(proc::process).filter(|process| !proc::is_thread(process.pid));
    recent.chain(others.filter_map(proc::process))
}

/// Sorts the newest processes first. The system assigns ascending ids, and starts again at the lowest after the highest: ids
/// above the newest one are older than all others.
fn sort_by_age(pids: &mut [u32], newest: u32) {
    pids.sort_unstable_by_key(|pid| newest.wrapping_sub(*pid));
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

fn send(number: u32, signal: Signal) {
    if let Some(pid) = pid(number) {
        // The process may have ended already.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills all processes of launches whose sandboxes are below a directory. Such processes remain if this program was
/// killed. Returns whether none is left.
pub fn end_launches_below(folder: &Path) -> bool {
    let marker = [MARKER.as_bytes(), b"=", folder.as_os_str().as_bytes(), b"/"].concat();
    let is_of_launch = |process: &Process| {
        let environment = environment(process.pid);
        environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(&marker))
    };
    let until = Instant::now() + HUNT;
    loop {
        let table: Vec<Process> = newest_first().collect();
        let known = table.iter().filter(|process| is_of_launch(process)).map(|process| process.pid).collect();
        let alive = living(&table, known);
        for process in &alive {
            send(process.pid, Signal::KILL);
        }
        if alive.is_empty() || Instant::now() >= until {
            return alive.is_empty();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Prevents other processes of the same user from reading the memory and environment of this one. For programs that
/// start agents. This also disables core dumps and debuggers.
pub fn hide_from_agents() {
    // Supported by all kernels that this program runs on.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Whether a running process has its working directory below this sandbox, was started in it, or has the user that it
/// was made accessible to.
pub(super) fn has_users(sandbox: &Path) -> bool {
    let marker = [MARKER.as_bytes(), b"=", sandbox.as_os_str().as_bytes()].concat();
    let real = sandbox.canonicalize().unwrap_or_else(|_| sandbox.to_owned());
    let works_below = |pid: u32| directory(pid).is_some_and(|place| place.starts_with(&real));
    let is_of_it = |pid: u32| {
        environment(pid).split(|byte| *byte == 0).any(|entry| {
            // Installed programs run in sandboxes below this one.
            entry.strip_prefix(&marker[..]).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    };
    // Installed programs were started in sandboxes below this one.
    let inner = fs::read_dir(sandbox).into_iter().flatten().flatten();
    let inner = inner.filter(|item| is_random(&item.file_name().to_string_lossy())).map(|item| item.path());
    let users: Vec<u32> = inner.chain([sandbox.to_owned()]).filter_map(|path| let_into(&path)).collect();
    let has_user = |pid: u32| user_ids(pid).iter().any(|user| users.contains(user));
    let is_user = |pid: u32| works_below(pid) || is_of_it(pid) || has_user(pid);
    newest_first().any(|process| !process.dead && is_user(process.pid))
}

/// Orphaned descendants, which this process has adopted.
///
/// There is no other way to find a process that has left its session, cleared its environment and lost its parent.
#[derive(Debug)]
pub struct Orphans {
    /// Children of this process that existed before, and their descendants, which become children when their parents end.
    earlier: BTreeSet<u32>,
}

/// Makes this process the parent of its orphaned descendants, until it ends.
///
/// This affects the whole process. Use it only in programs that start children through [`super::ProcessTree`], or that wait
/// for all other children before they call [`Orphans::end`].
pub fn adopt_orphans() -> Option<Orphans> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok()?;
    let me = std::process::id();
    let table: Vec<Process> = newest_first().collect();
    let children: BTreeSet<u32> =
        table.iter().filter(|process| process.parent == me).map(|process| process.pid).collect();
    let living = living(&table, children.clone()).into_iter().map(|process| process.pid);
    Some(Orphans { earlier: living.chain(children).collect() })
}

impl Orphans {
    /// Kills all children of this process and their descendants. Returns how many were still running.
    pub fn end(self) -> usize {
        let me = std::process::id();
        let until = Instant::now() + HUNT;
        let mut ended = BTreeSet::new();
        loop {
            let mut table = Vec::new();
            let mut children = BTreeSet::new();
            // One that has ended may have started another that is not in this table.
            let mut has_ended = false;
            for process in newest_first() {
                if process.parent == me && !self.earlier.contains(&process.pid) {
                    children.insert(process.pid);
                    if process.dead {
                        reap(process.pid);
                        has_ended = true;
                    } else {
                        send(process.pid, Signal::KILL);
                    }
                }
                table.push(process);
            }
            let alive = living(&table, children);
            for process in &alive {
                send(process.pid, Signal::KILL);
                ended.insert(process.pid);
            }
            if (alive.is_empty() && !has_ended) || Instant::now() >= until {
                return ended.len();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn reap(number: u32) {
    if let Some(pid) = pid(number) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_through_the_dead() {
        let process = |pid, parent, dead| Process { pid, parent, group: 0, session: 0, started: 0, dead };
        let all = [process(4, 3, false), process(3, 2, true), process(2, 1, false), process(9, 8, false)];
        let pids: Vec<u32> = living(&all, [2].into()).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [4, 2]);
    }

    #[test]
    fn low_ids_are_newer_than_high_ones_after_the_highest_was_assigned() {
        let sorted = |newest| {
            let mut pids = [1, 300, 301, 32_000, 32_767];
            sort_by_age(&mut pids, newest);
            pids
        };
        assert_eq!(sorted(301), [301, 300, 1, 32_767, 32_000]);
        assert_eq!(sorted(u32::MAX), [32_767, 32_000, 301, 300, 1]);
        assert!(proc::newest().is_some_and(|newest| newest > 0));
    }

    #[test]
    fn threads_are_no_processes() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            wait.recv().unwrap_err();
        });
        let id = receive.recv().unwrap();
        assert!(proc::process(id).is_some() && proc::is_thread(id) && !proc::is_thread(std::process::id()));
        assert!(newest_first().all(|process| process.pid != id));
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn each_process_is_in_the_table_once() {
        let mut pids: Vec<u32> = newest_first().map(|process| process.pid).collect();
        let count = pids.len();
        pids.sort_unstable();
        pids.dedup();
        assert_eq!(pids.len(), count);
    }

    #[test]
    fn this_process_is_in_the_table() {
        assert!(newest_first().any(|process| process.pid == std::process::id() && !process.dead));
    }
}
