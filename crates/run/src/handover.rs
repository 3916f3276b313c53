//! Hands the region to those of a run's programs that may not open it by its path: another user's,
//! and those in a user namespace of their own, may not look at our descriptors.
//!
//! A datagram socket is called as the path is. Who sends it what the path's link says is sent the
//! descriptor. The kernel shows that text to those alone who may trace one of the run's programs,
//! and could have the region from that: it holds the region's random name, which is in the
//! programs' environment and in `/proc`.
//!
//! The socket's name is abstract: it lies in no directory, and is gone with us. A datagram is
//! answered at once or not at all, so that whoever sends many takes up nothing but the kernel's
//! short queue.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Requests answered before the others of who waits for us have their turn.
const AT_ONCE: usize = 16;
/// Wrong words after which nobody is heard any more: programs of the run know the right one, so
/// somebody guesses, or keeps us busy.
const STRANGERS_MAX: u32 = 1000;
/// Longer than any word of ours.
const WORD_BYTES_MAX: usize = 64;

/// Where programs ask for a descriptor.
pub struct Handover {
    socket: UnixDatagram,
    word: Vec<u8>,
    given: RawFd,
    strangers: Cell<u32>,
}

impl Handover {
    /// Gives `given`, which stays open as long as this, to those who ask at `path` with this word.
    pub fn new(path: &str, word: &str, given: RawFd) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(path)?)?;
        socket.set_nonblocking(true)?;
        Ok(Handover { socket, word: word.into(), given, strangers: Cell::new(0) })
    }

    /// What to poll; -1, which poll passes over, once nobody is heard any more.
    pub fn fd(&self) -> RawFd {
        if self.is_heard() { self.socket.as_raw_fd() } else { -1 }
    }

    fn is_heard(&self) -> bool {
        self.strangers.get() < STRANGERS_MAX
    }

    /// Answers who has asked. Waits for nothing.
    pub fn answer(&self) {
        let mut word = [0; WORD_BYTES_MAX];
        for _ in 0..AT_ONCE {
            let Some((bytes, asker)) = self.hear(&mut word).filter(|_| self.is_heard()) else { return };
            match word.get(..bytes) == Some(&self.word) {
                true => self.give(&asker),
                false => self.strangers.set(self.strangers.get() + 1),
            }
        }
    }

    fn hear(&self, word: &mut [u8]) -> Option<(usize, Asker)> {
        let mut asker =
            Asker { address: MaybeUninit::zeroed(), bytes: size_of::<libc::sockaddr_un>() as libc::socklen_t };
        let (into, room) = (word.as_mut_ptr().cast(), word.len());
        // SAFETY: the kernel writes no more than the buffers' lengths.
        let got = unsafe {
            let address = asker.address.as_mut_ptr().cast();
            libc::recvfrom(self.socket.as_raw_fd(), into, room, libc::MSG_TRUNC, address, &raw mut asker.bytes)
        };
        Some((usize::try_from(got).ok()?, asker))
    }

    /// Who is gone by now, or has no room, gets nothing.
    fn give(&self, asker: &Asker) {
        let mut byte = 0u8;
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // A header, and a descriptor behind it.
        let mut control = [0u64; 3];
        // SAFETY: zero is valid for all of it; what is pointed to lives through the call; the control
        // message fits in its buffer, which is aligned for its header.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_name = asker.address.as_ptr().cast_mut().cast();
            message.msg_namelen = asker.bytes;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(self.given);
            libc::sendmsg(self.socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        }
    }
}

/// Where an answer goes.
struct Asker {
    address: MaybeUninit<libc::sockaddr_un>,
    bytes: libc::socklen_t,
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn handover(name: &str) -> (Handover, String, File) {
        let path = format!("foresee-test-{name}-{}", std::process::id());
        let file = File::open("/dev/null").unwrap();
        (Handover::new(&path, "the word", file.as_raw_fd()).unwrap(), path, file)
    }

    fn asker(path: &str) -> UnixDatagram {
        let asker = UnixDatagram::unbound().unwrap();
        asker.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        // SAFETY: an address of its family alone, upon which the kernel chooses one.
        let bound = unsafe {
            let family = libc::AF_UNIX as libc::sa_family_t;
            libc::bind(asker.as_raw_fd(), (&raw const family).cast(), size_of::<libc::sa_family_t>() as libc::socklen_t)
        };
        assert_eq!(bound, 0);
        asker.connect_addr(&SocketAddr::from_abstract_name(path).unwrap()).unwrap();
        asker
    }

    #[test]
    fn who_knows_the_word_is_answered_and_nobody_else() {
        let (handover, path, _file) = handover("word");
        let asker = asker(&path);
        for (word, answered) in [("the word", true), ("the wor", false), ("the word and more", false), ("", false)] {
            asker.send(word.as_bytes()).unwrap();
            handover.answer();
            assert_eq!(asker.recv(&mut [0; 8]).is_ok(), answered, "{word}");
        }
        let long = [b'x'; 2 * WORD_BYTES_MAX];
        asker.send(&long).unwrap();
        handover.answer();
        assert!(asker.recv(&mut [0; 8]).is_err());
    }

    #[test]
    fn who_asks_and_goes_does_no_harm() {
        let (handover, path, _file) = handover("gone");
        asker(&path).send(b"the word").unwrap();
        UnixDatagram::unbound()
            .unwrap()
            .send_to_addr(b"the word", &SocketAddr::from_abstract_name(&path).unwrap())
            .unwrap();
        handover.answer();
        let asker = asker(&path);
        asker.send(b"the word").unwrap();
        handover.answer();
        assert!(asker.recv(&mut [0; 8]).is_ok());
    }

    #[test]
    fn who_guesses_is_not_heard_for_ever() {
        let (handover, path, _file) = handover("guesses");
        let asker = asker(&path);
        asker.set_nonblocking(true).unwrap();
        for _ in 0..STRANGERS_MAX {
            asker.send(b"a word").unwrap();
            assert!(handover.fd() >= 0);
            handover.answer();
        }
        assert_eq!(handover.fd(), -1);
    }
}
