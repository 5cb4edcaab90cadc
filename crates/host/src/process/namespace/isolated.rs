//! Checks from within a network namespace that nothing outside can be reached.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::time::Duration;

/// Addresses that are reserved for documentation: if one of them can be routed, so can others.
const OUTSIDE: [SocketAddr; 2] = [
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443),
    SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 443),
];

/// How long to wait for a connection that must not be possible.
const WAIT: Duration = Duration::from_secs(1);

/// Listeners of the host that must not be reachable.
pub(super) struct HostListeners<'a> {
    /// A port on the host's loopback address.
    pub(super) port: u16,
    /// The name of an abstract Unix socket.
    pub(super) name: &'a OsStr,
}

/// Checks that nothing outside this process's network namespace can be reached. Returns what can be.
pub(super) fn check(host: &HostListeners<'_>) -> Result<(), String> {
    for address in OUTSIDE {
        let tcp = TcpStream::connect_timeout(&address, WAIT).map(drop);
        let any: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let udp = UdpSocket::bind(any).and_then(|socket| socket.connect(address));
        for (result, protocol) in [(tcp, "TCP"), (udp, "UDP")] {
            refused(result, &[ErrorKind::NetworkUnreachable, ErrorKind::HostUnreachable], || {
                format!("{protocol} to {}", address.ip())
            })?;
        }
    }
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, host.port));
    refused(TcpStream::connect_timeout(&own, WAIT).map(drop), &[ErrorKind::ConnectionRefused], || {
        "the host's loopback address".to_owned()
    })?;
    let abstract_name = UnixAddr::from_abstract_name(host.name.as_bytes());
    let connected = abstract_name.and_then(|address| UnixStream::connect_addr(&address)).map(drop);
    refused(connected, &[ErrorKind::ConnectionRefused], || "an abstract Unix socket of the host".to_owned())?;
    let read = |name: &str| fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default();
    match routed(&read("route"), &read("ipv6_route")) {
        Some(interface) => Err(format!("it has a route through the interface `{interface}`")),
        None => Ok(()),
    }
}

/// Checks that a connection failed in one of these ways, or because the system lacks the protocol.
fn refused(result: io::Result<()>, expected: &[ErrorKind], what: impl Fn() -> String) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
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
        let refused = |result| refused(result, &[ErrorKind::ConnectionRefused], || "a port".to_owned());
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
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let host = HostListeners { port: listener.local_addr().unwrap().port(), name: OsStr::new(&name) };
        assert!(check(&host).is_err());
        drop(socket);
    }
}
