//! The process that keeps a network namespace.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capabilities};

use super::isolated::{self, HostListeners};
use super::passing::{receive, send};
use super::{NamespaceError, loopback, resolver};
use crate::process::launcher::close_inherited;

/// The first argument with which the `acp-registry` executable must call [`keep`].
pub const KEEP: &str = "__keep-namespace";

/// The first byte of each message of the keeper.
pub(super) mod said {
    /// The namespace is there.
    pub(in super::super) const READY: u8 = b'r';
    /// The namespace is there, in a user namespace of its own.
    pub(in super::super) const READY_WITH_USERS: u8 = b'u';
    /// A listener comes with the byte.
    pub(in super::super) const LISTENER: u8 = b'l';
    /// The port of a name server comes with the byte, if there is another one.
    pub(in super::super) const NAME_SERVER: u8 = b'n';
    /// The system refuses; the reason follows.
    pub(in super::super) const REFUSED: u8 = b'x';
    /// The namespace is not isolated; the reason follows.
    pub(in super::super) const NOT_ISOLATED: u8 = b'o';
}

/// Why there is no namespace: the first byte of the message, and the reason.
type NamespaceFailure = (u8, String);

/// Moves this process into a new network namespace, and keeps it until stdin, a Unix socket, is closed: for each byte
/// received, binds a port of the loopback address and sends it back, or sends a port of a name server. `arguments` are those
/// after [`KEEP`]. The `acp-registry` executable must call this before it starts a thread. Returns its exit code.
pub fn keep(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    close_inherited();
    let stdin = io::stdin();
    match set_up(arguments).and_then(|ready| serve(stdin.as_fd(), ready).map_err(refused("the socket"))) {
        Ok(()) => 0,
        Err((kind, reason)) => {
            // If this fails, the receiver has ended.
            let _ = send(stdin.as_fd(), &[&[kind], reason.as_bytes()].concat(), None);
            1
        }
    }
}

fn refused<E: Into<io::Error>>(step: &str) -> impl Fn(E) -> NamespaceFailure {
    move |error| {
        let error = error.into();
        // The system's text for this error is about disks.
        let limit =
            if error.kind() == io::ErrorKind::StorageFull { "the limit of namespaces is reached: " } else { "" };
        (said::REFUSED, format!("{step}: {limit}{error}"))
    }
}

/// Moves this process. Returns the message for success.
fn set_up(arguments: impl IntoIterator<Item = OsString>) -> Result<u8, NamespaceFailure> {
    let mut arguments = arguments.into_iter();
    let port = arguments.next().and_then(|port| port.to_str()?.parse().ok());
    let (Some(port), Some(name)) = (port, arguments.next()) else {
        return Err((said::REFUSED, "the program was replaced by another version".to_owned()));
    };
    let is_admin = move_out()?;
    isolated::check(&HostListeners { port, name: &name }).map_err(|reason| (said::NOT_ISOLATED, reason))?;
    Ok(if is_admin { said::READY } else { said::READY_WITH_USERS })
}

/// Moves this process into a new network namespace with a loopback interface only, where it stays with all that it starts.
///
/// # Errors
/// [`NamespaceError::Refused`].
pub(crate) fn leave_network() -> Result<(), NamespaceError> {
    // The system lets a process that hides from others not write its own files in `/proc`. This one is about to be replaced.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    move_out().map(drop).map_err(|(_, reason)| NamespaceError::Refused(reason))
}

/// Moves this process into a new network namespace. Returns whether it needed no user namespace.
fn move_out() -> Result<bool, NamespaceFailure> {
    // Root needs no user namespace, which some systems forbid.
    let is_admin = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    if is_admin {
        unshare(CloneFlags::CLONE_NEWNET).map_err(refused("unshare"))?;
    } else {
        unshare_users()?;
    }
    loopback::bring_up().map_err(refused("the loopback interface"))?;
    Ok(is_admin)
}

/// Moves this process into a new network namespace that belongs to a new user namespace, in which the user and the group
/// keep their numbers.
fn unshare_users() -> Result<(), NamespaceFailure> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(refused("unshare"))?;
    // Without `deny`, the system does not let an ordinary user map groups.
    for (name, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        let path = format!("/proc/self/{name}");
        fs::write(&path, text).map_err(refused(&path))?;
    }
    Ok(())
}

fn serve(socket: BorrowedFd<'_>, ready: u8) -> io::Result<()> {
    send(socket, &[ready], None)?;
    let mut request = [0];
    let mut servers = resolver::bind();
    while receive(socket, &mut request)?.0 > 0 {
        if request == [said::NAME_SERVER] {
            send(socket, &request, servers.pop().as_ref().map(|server| server.as_fd()))?;
            continue;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        send(socket, &[said::LISTENER], Some(listener.as_fd()))?;
    }
    Ok(())
}
