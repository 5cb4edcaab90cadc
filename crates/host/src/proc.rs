//! Reads `/proc`. What cannot be read about a process is empty.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum size of an environment or of arguments to read, in bytes. A program controls their length; by default, the kernel
/// allows at most 6 MiB.
const READ_LIMIT: u64 = 8 << 20;

/// An entry of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    /// Start time, in clock ticks since boot.
    pub(super) started: u64,
    /// Whether it has ended, and was not waited for yet.
    pub(super) dead: bool,
}

/// The ids of all processes.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    items.filter_map(|item| item.file_name().to_str()?.parse().ok())
}

/// The id that was assigned last.
pub(super) fn newest() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// The entry of a process.
pub(super) fn process(pid: u32) -> Option<Process> {
    parse(pid, &fs::read_to_string(path(pid, "stat")).ok()?)
}

/// Whether an id is that of a thread other than the first of its process. `/proc` answers for these, but does not list them.
pub(super) fn is_thread(pid: u32) -> bool {
    let status = fs::read(path(pid, "status")).unwrap_or_default();
    let process = field(&status, "Tgid:").and_then(|id| id.trim().parse().ok());
    process.is_some_and(|process: u32| process != pid)
}

/// The user ids of a process: real, effective, saved and file system. The owner of its directory in `/proc` is not used,
/// since it is root for processes that hide their memory.
pub(super) fn user_ids(pid: u32) -> Vec<u32> {
    fs::read(path(pid, "status")).map(|status| users_in(&status)).unwrap_or_default()
}

/// The environment of a process: entries, each followed by a NUL.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    read(&path(pid, "environ"))
}

/// A thread of a process.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: u32,
    /// How long it has waited for a processor since it began.
    pub(super) run_delay: Duration,
    /// The processes that it has started, and that have not ended.
    pub(super) children: Vec<u32>,
}

/// The threads of a process; none if the kernel does not record how long they wait.
pub(super) fn threads(pid: u32) -> impl Iterator<Item = Thread> {
    let threads = fs::read_dir(path(pid, "task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| {
        let read = |name: &str| fs::read_to_string(thread.path().join(name));
        let schedstat = read("schedstat").ok()?;
        // The time on a processor and the time in the run queue, in nanoseconds, and a number of time slices.
        let delay = schedstat.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let children = read("children").unwrap_or_default();
        Some(Thread {
            id: thread.file_name().to_str()?.parse().ok()?,
            run_delay: Duration::from_nanos(delay),
            children: children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        })
    })
}

/// The arguments of a process, each followed by a NUL.
pub(super) fn arguments(pid: u32) -> Vec<u8> {
    read(&path(pid, "cmdline"))
}

/// The executable of a process.
pub(super) fn program(pid: u32) -> Option<PathBuf> {
    fs::read_link(path(pid, "exe")).ok()
}

/// The working directory of a process.
pub(super) fn directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(path(pid, "cwd")).ok()
}

fn path(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // After a read error, the part that was read is used.
    let _ = File::open(path).and_then(|file| file.take(READ_LIMIT).read_to_end(&mut bytes));
    bytes
}

/// Parses `/proc/PID/stat`. The second field is the program's name in parentheses, which may contain any character.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Process {
        pid,
        dead: matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

fn users_in(status: &[u8]) -> Vec<u32> {
    field(status, "Uid:").unwrap_or_default().split_whitespace().filter_map(|user| user.parse().ok()).collect()
}

/// The value of a line of `/proc/PID/status`, if it is UTF-8.
fn field<'a>(status: &'a [u8], name: &str) -> Option<&'a str> {
    let mut lines = status.split(|byte| *byte == b'\n');
    lines.find_map(|line| std::str::from_utf8(line.strip_prefix(name.as_bytes())?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_cannot_lie_by_its_name() {
        let stat = "42 (a) R 1 1 (b) S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0 0";
        let process = Process { pid: 42, parent: 7, group: 8, session: 9, started: 12345, dead: false };
        assert_eq!(parse(42, stat), Some(process));
        assert_eq!(parse(1, "1 (x"), None);
        assert_eq!(parse(1, "1 (x) S 1"), None);
    }

    #[test]
    fn this_process_is_known() {
        let me = std::process::id();
        assert!(pids().any(|pid| pid == me) && process(me).is_some_and(|process| !process.dead));
        assert_eq!(user_ids(me), [rustix::process::getuid().as_raw(); 4]);
        assert_eq!((program(me), directory(me)), (std::env::current_exe().ok(), std::env::current_dir().ok()));
        assert!(threads(me).any(|thread| thread.id == me && thread.run_delay > Duration::ZERO));
        assert!(arguments(me).ends_with(b"\0"));
        assert_eq!(users_in(b"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n"), [1, 2, 3, 4]);
    }

    #[test]
    fn what_is_not_there_is_empty() {
        let none = u32::MAX;
        assert_eq!((process(none), program(none), directory(none)), (None, None, None));
        assert!(user_ids(none).is_empty() && environment(none).is_empty() && arguments(none).is_empty());
    }
}
