//! Users without an account, one for each program that root starts, on Linux.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::{fs, io};

use crate::lock::{Acquisition, Lock};
use crate::proc;

/// User ids that systems leave to users without an account.
const NUMBERS: RangeInclusive<u32> = 61_184..=65_519;

/// Directory of lock files, so that concurrent runs never use the same id.
const LOCKS: &str = "/run/acp-registry-users";

/// Directory in which systemd records the ids that it uses.
const SYSTEMD: &str = "/run/systemd/dynamic-uid";

/// The lists of accounts and groups.
const ACCOUNTS: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// A user, and a group with the same id, that belong to one program until this is dropped.
#[derive(Debug)]
pub(super) struct OwnUser {
    number: u32,
    lock: Option<Lock>,
}

impl OwnUser {
    /// Allocates an id that no account, process or other run uses.
    pub(super) fn take() -> io::Result<Self> {
        let mut taken: BTreeSet<u32> = ACCOUNTS.iter().flat_map(|path| account_ids(path)).collect();
        taken.extend(process_ids());
        let mapped = [mapped("/proc/self/uid_map"), mapped("/proc/self/gid_map")];
        let is_free = |number: &u32| {
            let is_mapped = mapped.iter().all(|ranges| ranges.iter().any(|range| range.contains(number)));
            is_mapped && !taken.contains(number) && !Path::new(SYSTEMD).join(number.to_string()).exists()
        };
        let has_locks = make_locks();
        // Starting at a random id makes it unlikely that a program owns files that an earlier one left in public
        // directories.
        let first = fastrand::u32(NUMBERS);
        for number in (first..=*NUMBERS.end()).chain(*NUMBERS.start()..first).filter(is_free) {
            if !has_locks {
                return Ok(Self { number, lock: None });
            }
            match Lock::ask(&Path::new(LOCKS).join(number.to_string()), "an agent's user") {
                Ok(Acquisition::Mine(lock)) => return Ok(Self { number, lock: Some(lock) }),
                Ok(Acquisition::Held(_)) => {}
                Err(_) => return Ok(Self { number, lock: None }),
            }
        }
        Err(io::Error::other(format!("no user between {} and {} is free", NUMBERS.start(), NUMBERS.end())))
    }

    /// Whether these ids exist in this process's user namespace.
    pub(super) fn exist() -> bool {
        let has_some = |path: &str| mapped(path).iter().any(|range| range.contains(NUMBERS.start()));
        has_some("/proc/self/uid_map") && has_some("/proc/self/gid_map")
    }

    /// The user id.
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

/// The ids in the third column of an account or group list.
fn account_ids(path: &str) -> Vec<u32> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect()
}

/// The user ids of all running processes.
fn process_ids() -> impl Iterator<Item = u32> {
    proc::pids().flat_map(proc::user_ids)
}

/// The user that [`let_in`](super::directories::let_in) gave access to a directory of root, if any.
pub(super) fn let_into(directory: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(directory).ok()?;
    Some(metadata.gid()).filter(|group| metadata.uid() == 0 && NUMBERS.contains(group))
}

/// The ids that exist in this process's user namespace.
fn mapped(path: &str) -> Vec<RangeInclusive<u32>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let ranges = text.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().map(str::parse::<u32>);
        let (first, _, length) = (columns.next()?.ok()?, columns.next()?, columns.next()?.ok()?);
        Some(first..=first.saturating_add(length.checked_sub(1)?))
    });
    ranges.collect()
}

/// Creates the directory of lock files, which only root may write to.
fn make_locks() -> bool {
    // Another run may have created it.
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
        assert!(account_ids("/etc/passwd").contains(&0));
        assert!(process_ids().any(|user| user == rustix::process::getuid().as_raw()));
        assert!(mapped("/proc/self/uid_map").iter().any(|range| range.contains(&0) || !range.is_empty()));
    }
}
