//! Users that no account has, one for each program that root starts, on Linux.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use crate::sys::lock::{Answer, Lock};

/// Numbers that systems leave to users without an account.
const NUMBERS: RangeInclusive<u32> = 61_184..=65_519;

/// Where the locks of numbers are, so that two runs never use the same one.
const LOCKS: &str = "/run/acp-registry-users";

/// Where systemd notes which of the numbers it uses.
const SYSTEMD: &str = "/run/systemd/dynamic-uid";

/// The lists of accounts and groups.
const ACCOUNTS: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// A user, and a group of the same number, that belong to one program until this is dropped.
#[derive(Debug)]
pub(super) struct OwnUser {
    number: u32,
    lock: Option<Lock>,
}

impl OwnUser {
    /// Takes a number that no account, no process and no other run has.
    pub(super) fn take() -> io::Result<Self> {
        let mut taken: BTreeSet<u32> = ACCOUNTS.iter().flat_map(|path| of_accounts(path)).collect();
        taken.extend(of_processes());
        let mapped = [mapped("/proc/self/uid_map"), mapped("/proc/self/gid_map")];
        let is_free = |number: &u32| {
            let is_mapped = mapped.iter().all(|ranges| ranges.iter().any(|range| range.contains(number)));
            is_mapped && !taken.contains(number) && !Path::new(SYSTEMD).join(number.to_string()).exists()
        };
        let has_locks = make_locks();
        // Files that a program has left in public places belong to a stranger then.
        let first = fastrand::u32(NUMBERS);
        for number in (first..=*NUMBERS.end()).chain(*NUMBERS.start()..first).filter(is_free) {
            if !has_locks {
                return Ok(Self { number, lock: None });
            }
            match Lock::ask(&Path::new(LOCKS).join(number.to_string()), "an agent's user") {
                Ok(Answer::Mine(lock)) => return Ok(Self { number, lock: Some(lock) }),
                Ok(Answer::Held(_)) => {}
                Err(_) => return Ok(Self { number, lock: None }),
            }
        }
        Err(io::Error::other(format!("no user between {} and {} is free", NUMBERS.start(), NUMBERS.end())))
    }

    /// Whether this process's namespace has such numbers.
    pub(super) fn exist() -> bool {
        let has_some = |path: &str| mapped(path).iter().any(|range| range.contains(NUMBERS.start()));
        has_some("/proc/self/uid_map") && has_some("/proc/self/gid_map")
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for OwnUser {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            lock.remove();
        }
    }
}

/// The numbers that a list of accounts or groups has in its third column.
fn of_accounts(path: &str) -> Vec<u32> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect()
}

/// The numbers of all running processes.
fn of_processes() -> impl Iterator<Item = u32> {
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    items.filter_map(|item| item.file_name().to_str()?.parse().ok()).flat_map(users_of)
}

/// The users of a process: real, effective, saved, and that for files. The owner of its folder below `/proc` is another one
/// where the process can hide its memory.
pub(super) fn users_of(process: u32) -> Vec<u32> {
    fs::read(format!("/proc/{process}/status")).map(|status| users_in(&status)).unwrap_or_default()
}

fn users_in(status: &[u8]) -> Vec<u32> {
    let status = String::from_utf8_lossy(status);
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    users.split_whitespace().filter_map(|user| user.parse().ok()).collect()
}

/// The user that a directory of root's was opened for by [`let_in`](super::sandbox::let_in), if it was.
pub(super) fn let_into(directory: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(directory).ok()?;
    Some(metadata.gid()).filter(|group| metadata.uid() == 0 && NUMBERS.contains(group))
}

/// The numbers that exist in this process's namespace.
fn mapped(path: &str) -> Vec<RangeInclusive<u32>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let ranges = text.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().map(str::parse::<u32>);
        let (first, _, length) = (columns.next()?.ok()?, columns.next()?, columns.next()?.ok()?);
        Some(first..=first.saturating_add(length.checked_sub(1)?))
    });
    ranges.collect()
}

/// Makes the directory of locks, which only root may change.
fn make_locks() -> bool {
    // Another run may have made it.
    let _ = fs::DirBuilder::new().mode(0o700).create(LOCKS);
    fs::symlink_metadata(LOCKS).is_ok_and(|found| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_programs_never_have_the_same_user() {
        let taken: Vec<OwnUser> = (0..8).map(|_| OwnUser::take().unwrap()).collect();
        let numbers: BTreeSet<u32> = taken.iter().map(OwnUser::number).collect();
        assert!(numbers.iter().all(|number| NUMBERS.contains(number)), "{numbers:?}");
        if make_locks() && rustix::process::geteuid().is_root() {
            assert_eq!(numbers.len(), 8);
            drop(taken);
            assert!(numbers.iter().all(|number| !Path::new(LOCKS).join(number.to_string()).exists()));
        }
    }

    #[test]
    fn accounts_and_processes_are_known() {
        assert!(of_accounts("/etc/passwd").contains(&0));
        assert_eq!(users_of(std::process::id()), [rustix::process::getuid().as_raw(); 4]);
        assert_eq!(users_in(b"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n"), [1, 2, 3, 4]);
        assert!(of_processes().any(|user| user == rustix::process::getuid().as_raw()));
        assert!(mapped("/proc/self/uid_map").iter().any(|range| range.contains(&0) || !range.is_empty()));
    }
}
