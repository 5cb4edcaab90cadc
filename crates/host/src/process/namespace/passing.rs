//! Passes bytes and file descriptors over a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

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
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

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
        std::fs::File::from(received.unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!((&bytes[..length], text.as_str()), (&b"c"[..], "content"));
        assert_eq!(receive(other.as_fd(), &mut bytes).unwrap().0, 0);
        assert!(send(other.as_fd(), b"x", None).is_err());
    }
}
