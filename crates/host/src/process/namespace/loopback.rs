//! Brings up the loopback interface of a new network namespace, and gives it addresses.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt};

/// `NLMSG_ERROR`: the answer to a request; its error is 0 if it succeeded.
const ANSWER: u16 = 2;

/// `RTM_NEWLINK`: changes an interface.
const CHANGE: u16 = 16;

/// `RTM_NEWADDR`: adds an address to an interface.
const ADD: u16 = 20;

/// `NLM_F_REQUEST | NLM_F_ACK`
const ANSWERED_REQUEST: u16 = 1 | 4;

/// `IFF_UP`
const UP: u32 = 1;

/// The number of the loopback interface in every network namespace.
const LOOPBACK: i32 = 1;

/// Time limit for the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The length of a netlink header.
const HEADER: usize = 16;

/// Brings up the loopback interface, which gives it its usual addresses.
pub(super) fn bring_up() -> io::Result<()> {
    ask(&request(CHANGE, &up()))
}

/// Gives the loopback interface another address, so that what is sent there arrives in this namespace.
pub(super) fn add_address(address: IpAddr) -> io::Result<()> {
    ask(&request(ADD, &with_address(address)))
}

/// Sends a request to the kernel, which answers at once.
fn ask(request: &[u8]) -> io::Result<()> {
    // The default protocol is the one for interfaces.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LIMIT))?;
    send(&socket, request, SendFlags::empty())?;
    let mut bytes = [0; 1024];
    let (length, _) = recv(&socket, &mut bytes[..], RecvFlags::empty())?;
    read_answer(&bytes[..length])
}

/// `struct nlmsghdr` and what follows it.
fn request(kind: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(u32::try_from(HEADER + content.len()).unwrap_or_default().to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(ANSWERED_REQUEST.to_ne_bytes());
    // The sequence number and the sender's id are not needed for one request.
    bytes.extend([0; 8]);
    bytes.extend(content);
    bytes
}

/// `struct ifinfomsg`.
fn up() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Any address family, and any type of interface.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    // The new flags, and which of them to change.
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}

/// `struct ifaddrmsg` and its one attribute.
fn with_address(address: IpAddr) -> Vec<u8> {
    /// `AF_INET`, and `IFA_LOCAL`.
    const V4: (u8, u16) = (2, 2);
    /// `AF_INET6`, and `IFA_ADDRESS`.
    const V6: (u8, u16) = (10, 1);
    /// `RT_SCOPE_HOST`: it is valid on this machine only.
    const SCOPE: u8 = 254;
    let ((family, attribute), octets) = match address {
        IpAddr::V4(address) => (V4, address.octets().to_vec()),
        IpAddr::V6(address) => (V6, address.octets().to_vec()),
    };
    let bits = u8::try_from(octets.len() * 8).unwrap_or_default();
    let mut bytes = vec![family, bits, 0, SCOPE];
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(u16::try_from(4 + octets.len()).unwrap_or_default().to_ne_bytes());
    bytes.extend(attribute.to_ne_bytes());
    bytes.extend(octets);
    bytes
}

/// `struct nlmsghdr` and the error of `struct nlmsgerr`.
fn read_answer(bytes: &[u8]) -> io::Result<()> {
    let kind = bytes.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = bytes.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(ANSWER), Some(0)) => Ok(()),
        (Some(ANSWER), Some(error)) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_the_systems_own_error() {
        let answer = |error: i32| {
            let mut bytes = request(CHANGE, &up());
            bytes[4..6].copy_from_slice(&ANSWER.to_ne_bytes());
            bytes[HEADER..HEADER + 4].copy_from_slice(&error.to_ne_bytes());
            read_answer(&bytes)
        };
        assert!(answer(0).is_ok());
        assert_eq!(answer(-1).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(read_answer(&request(CHANGE, &up())).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_answer(b"").unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
