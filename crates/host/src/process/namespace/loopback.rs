//! Brings up the loopback interface of a new network namespace.

use std::io;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt};

/// `NLMSG_ERROR`: the answer to a request; its error is 0 if it succeeded.
const ANSWER: u16 = 2;

/// `RTM_NEWLINK`: changes an interface.
const CHANGE: u16 = 16;

/// `NLM_F_REQUEST | NLM_F_ACK`
const ANSWERED_REQUEST: u16 = 1 | 4;

/// `IFF_UP`
const UP: u32 = 1;

/// The number of the loopback interface in every network namespace.
const LOOPBACK: i32 = 1;

/// Time limit for the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The length of a netlink header and of the structure after it, each.
const HALF: usize = 16;

/// Brings up the loopback interface, which gives it its usual addresses. The kernel answers at once.
pub(super) fn bring_up() -> io::Result<()> {
    // The default protocol is the one for interfaces.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LIMIT))?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut bytes = [0; 1024];
    let (length, _) = recv(&socket, &mut bytes[..], RecvFlags::empty())?;
    read_answer(&bytes[..length])
}

/// `struct nlmsghdr` and `struct ifinfomsg`.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * HALF);
    bytes.extend(u32::try_from(2 * HALF).unwrap_or_default().to_ne_bytes());
    bytes.extend(CHANGE.to_ne_bytes());
    bytes.extend(ANSWERED_REQUEST.to_ne_bytes());
    // The sequence number and the sender's id are not needed for one request.
    bytes.extend([0; 8]);
    // Any address family, and any type of interface.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    // The new flags, and which of them to change.
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}

/// `struct nlmsghdr` and the error of `struct nlmsgerr`.
fn read_answer(bytes: &[u8]) -> io::Result<()> {
    let kind = bytes.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = bytes.get(HALF..HALF + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
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
            let mut bytes = request();
            bytes[4..6].copy_from_slice(&ANSWER.to_ne_bytes());
            bytes[HALF..HALF + 4].copy_from_slice(&error.to_ne_bytes());
            read_answer(&bytes)
        };
        assert!(answer(0).is_ok());
        assert_eq!(answer(-1).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(read_answer(&request()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_answer(b"").unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
