//! The process that keeps a network namespace: it checks from within that nothing outside can be reached, and passes file
//! descriptors over a Unix socket.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capabilities};

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
        let limit = if error.kind() == ErrorKind::StorageFull { "the limit of namespaces is reached: " } else { "" };
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
    check(port, &name).map_err(|reason| (said::NOT_ISOLATED, reason))?;
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

/// Addresses that are reserved for documentation: if one of them can be routed, so can others.
const OUTSIDE: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 443),
];

/// How long to wait for a connection that must not be possible.
const WAIT: Duration = Duration::from_secs(1);

/// Checks that nothing outside this process's network namespace can be reached: neither a port on the host's loopback address,
/// nor an abstract Unix socket of the host. Returns what can be.
fn check(port: u16, name: &OsStr) -> Result<(), String> {
    for address in OUTSIDE {
        let tcp = TcpStream::connect_timeout(&address, WAIT).map(drop);
        let any: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let udp = UdpSocket::bind(any).and_then(|socket| socket.connect(address));
        for (result, protocol) in [(tcp, "TCP"), (udp, "UDP")] {
            expect_refusal(result, &[ErrorKind::NetworkUnreachable, ErrorKind::HostUnreachable], || {
                format!("{protocol} to {}", address.ip())
            })?;
        }
    }
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    expect_refusal(TcpStream::connect_timeout(&own, WAIT).map(drop), &[ErrorKind::ConnectionRefused], || {
        "the host's loopback address".to_owned()
    })?;
    let abstract_name = UnixAddr::from_abstract_name(name.as_bytes());
    let connected = abstract_name.and_then(|address| UnixStream::connect_addr(&address)).map(drop);
    expect_refusal(connected, &[ErrorKind::ConnectionRefused], || "an abstract Unix socket of the host".to_owned())?;
    let read = |name: &str| fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default();
    match routed(&read("route"), &read("ipv6_route")) {
        Some(interface) => Err(format!("it has a route through the interface `{interface}`")),
        None => Ok(()),
    }
}

/// Checks that a connection failed in one of these ways, or because the system lacks the protocol.
fn expect_refusal(result: io::Result<()>, expected: &[ErrorKind], what: impl Fn() -> String) -> Result<(), String> {
    /// `EAFNOSUPPORT` on Linux.
    const NO_PROTOCOL: i32 = 97;
    match result {
        Ok(()) => Err(format!("it reaches {}", what())),
        Err(error)
            if expected.contains(&error.kind())
                || error.kind() == ErrorKind::AddrNotAvailable
                || error.raw_os_error() == Some(NO_PROTOCOL) =>
        {
            Ok(())
        }
        Err(error) => Err(format!("{}: {error}", what())),
    }
}

/// The first interface other than `lo` in the routing tables `/proc/net/route` and `/proc/net/ipv6_route`. Interfaces
/// without routes do no harm: some kernels put unused tunnels into each namespace.
fn routed(ipv4: &str, ipv6: &str) -> Option<String> {
    let first = ipv4.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let last = ipv6.lines().filter_map(|line| line.split_whitespace().last());
    first.chain(last).find(|name| *name != "lo").map(|name| acp_registry_plan::text::printable(name).into_owned())
}

/// Sends bytes, which must not be empty, with or without a file descriptor.
pub(super) fn send(socket: BorrowedFd<'_>, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = file.map(|file| [file]);
    if let Some(files) = &files {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    // If the other process has ended, this is an error and not a signal.
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives bytes, and a file descriptor if one comes with them. Returns the number of bytes; 0 at the end.
pub(super) fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut received = None;
    for item in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = item {
            received = files.last();
        }
    }
    Ok((message.bytes, received))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_route_is_found_in_either_table() {
        const HEAD: &str = "Iface\tDestination\tGateway\n";
        const LOOP: &str = "00000000000000000000000000000001 80 00 00 00 lo\n";
        assert_eq!(routed(HEAD, LOOP), None);
        assert_eq!(routed("", ""), None);
        assert_eq!(routed(&format!("{HEAD}eth0\t00000000\t0100A8C0\n"), LOOP).as_deref(), Some("eth0"));
        assert_eq!(routed(HEAD, &format!("{LOOP}fe80 40 00 00 00 wlan0\n")).as_deref(), Some("wlan0"));
    }

    #[test]
    fn only_the_expected_errors_count_as_isolated() {
        let refused = |result| expect_refusal(result, &[ErrorKind::ConnectionRefused], || "a port".to_owned());
        assert_eq!(refused(Err(ErrorKind::ConnectionRefused.into())), Ok(()));
        assert_eq!(refused(Err(io::Error::from_raw_os_error(97))), Ok(()));
        assert_eq!(refused(Ok(())), Err("it reaches a port".to_owned()));
        // A firewall that drops packets does not isolate.
        assert!(refused(Err(ErrorKind::TimedOut.into())).unwrap_err().starts_with("a port: "));
    }

    #[test]
    fn this_process_is_not_isolated() {
        let name = format!("acp-registry-test-{}", std::process::id());
        let socket =
            std::os::unix::net::UnixListener::bind_addr(&UnixAddr::from_abstract_name(&name).unwrap()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(check(listener.local_addr().unwrap().port(), OsStr::new(&name)).is_err());
        drop(socket);
    }

    #[test]
    fn a_file_arrives_with_its_bytes() {
        let (one, other) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"content").unwrap();
        file.rewind().unwrap();
        send(one.as_fd(), b"ab", None).unwrap();
        send(one.as_fd(), b"c", Some(file.as_fd())).unwrap();
        drop((one, file));
        let mut bytes = [0; 2];
        let (length, none) = receive(other.as_fd(), &mut bytes).unwrap();
        assert_eq!((&bytes[..length], none.is_none()), (&b"ab"[..], true));
        let (length, received) = receive(other.as_fd(), &mut bytes).unwrap();
        let mut text = String::new();
        fs::File::from(received.unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!((&bytes[..length], text.as_str()), (&b"c"[..], "content"));
        assert_eq!(receive(other.as_fd(), &mut bytes).unwrap().0, 0);
        assert!(send(other.as_fd(), b"x", None).is_err());
    }
}
