//! Births and deaths of threads, as the kernel's process connector tells them (netlink;
//! linux/cn_proc.h).
//!
//! A fork is told before the child runs, so whoever waits for an answer of ours is known once all
//! that was told is taken.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Its place among the connectors: CN_IDX_PROC, CN_VAL_PROC.
const PROCESSES: u32 = 1;
/// PROC_CN_MCAST_LISTEN.
const LISTEN: u32 = 1;
/// struct nlmsghdr and struct cn_msg, which stand before what is told.
const NETLINK_BYTES: usize = 16;
const HEADERS_BYTES: usize = NETLINK_BYTES + 20;
/// Of what is told: what, which processor, when; then what it depends on.
const DATA: usize = HEADERS_BYTES + 16;
/// No message is longer.
const MESSAGE_BYTES: usize = 256;
/// Room for some ten thousand births that we have not looked at.
const ROOM_BYTES: libc::c_int = 8 << 20;
/// The kernel answers at once, or, to who is in a container, never.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// What became of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was begun: as a new process, or as one more thread of one.
    Began {
        /// It.
        thread: u32,
        /// Its process.
        process: u32,
        /// The process that began it, if it is a process's first.
        parent: u32,
    },
    /// A process became another program; this thread is all that is left of it.
    Executed(u32),
    /// It ended.
    Ended(u32),
    /// Some were not told, because we did not take them in time.
    Missed,
}

/// The ear.
pub struct Connector(OwnedFd);

impl Connector {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the kernel does not tell: without root, in a container, or built without
    /// CONFIG_PROC_EVENTS (ENOTSUP).
    pub fn new() -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: each structure lives through its call and has the size that is said; the descriptor is
        // ours alone.
        unsafe {
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_CONNECTOR);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let connector = Connector(OwnedFd::from_raw_fd(fd));
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            (address.nl_family, address.nl_groups) = (libc::AF_NETLINK as u16, PROCESSES);
            let size = size_of_val(&address) as u32;
            if libc::bind(fd, (&raw const address).cast(), size) < 0 {
                return Err(io::Error::last_os_error());
            }
            let (room, size) = (ROOM_BYTES, size_of_val(&ROOM_BYTES) as u32);
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, (&raw const room).cast(), size);
            let message = listen();
            if libc::send(fd, message.as_ptr().cast(), message.len(), 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            match connector.is_answered() {
                true => Ok(connector),
                false => Err(io::Error::from_raw_os_error(libc::ENOTSUP)),
            }
        }
    }

    /// Waits to be told that we are told. What others made it tell may come before that, and is of
    /// a time before our own.
    fn is_answered(&self) -> bool {
        let begun = Instant::now();
        while let Some(left) = ANSWER_MAX.checked_sub(begun.elapsed()) {
            let mut message = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one structure, which lives through the call.
            unsafe { libc::poll(&raw mut message, 1, left.as_millis() as i32) };
            if self.receive(&mut [0; MESSAGE_BYTES]).is_ok_and(|message| what(message) == Some(libc::PROC_EVENT_NONE)) {
                return true;
            }
        }
        false
    }

    fn receive<'b>(&self, buffer: &'b mut [u8; MESSAGE_BYTES]) -> io::Result<&'b [u8]> {
        // SAFETY: the buffer is as long as said.
        let taken = unsafe { libc::recv(self.fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        usize::try_from(taken).map(|taken| &buffer[..taken]).map_err(|_| io::Error::last_os_error())
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// The next change; None if there is none now.
    pub fn next(&self) -> Option<Change> {
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            match self.receive(&mut buffer).map(change) {
                // What does not concern us is passed over.
                Ok(None) => {}
                Ok(change) => return change,
                Err(error) => match error.raw_os_error() {
                    Some(libc::ENOBUFS) => return Some(Change::Missed),
                    Some(libc::EINTR) => {}
                    _ => return None,
                },
            }
        }
    }
}

/// The message that asks to be told.
fn listen() -> Vec<u8> {
    let length = (HEADERS_BYTES + size_of_val(&LISTEN)) as u32;
    // struct nlmsghdr: length, type NLMSG_DONE and no flags, sequence, sender.
    let header = [length, libc::NLMSG_DONE as u32, 0, std::process::id()];
    // struct cn_msg: which connector, sequence, acknowledgement, length and no flags.
    let connector = [PROCESSES, PROCESSES, 0, 0, size_of_val(&LISTEN) as u32];
    header.into_iter().chain(connector).chain([LISTEN]).flat_map(u32::to_ne_bytes).collect()
}

fn number(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?))
}

/// What a message tells of: PROC_EVENT_FORK and so on.
fn what(message: &[u8]) -> Option<u32> {
    number(message, HEADERS_BYTES)
}

fn change(message: &[u8]) -> Option<Change> {
    let number = |at| number(message, at);
    match what(message)? {
        libc::PROC_EVENT_FORK => {
            let (parent, thread, process) = (number(DATA + 4)?, number(DATA + 8)?, number(DATA + 12)?);
            Some(Change::Began { thread, process, parent })
        }
        libc::PROC_EVENT_EXEC => Some(Change::Executed(number(DATA)?)),
        libc::PROC_EVENT_EXIT => Some(Change::Ended(number(DATA)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_the_kernel_lays_them_out() {
        let told = |what: u32, data: &[u32]| {
            let mut message = vec![0; DATA];
            message[HEADERS_BYTES..HEADERS_BYTES + 4].copy_from_slice(&what.to_ne_bytes());
            message.extend(data.iter().flat_map(|number| number.to_ne_bytes()));
            change(&message)
        };
        let began = Change::Began { thread: 13, process: 12, parent: 11 };
        assert_eq!(told(libc::PROC_EVENT_FORK, &[10, 11, 13, 12]), Some(began));
        assert_eq!(told(libc::PROC_EVENT_EXIT, &[13, 12, 0, 17]), Some(Change::Ended(13)));
        assert_eq!(told(libc::PROC_EVENT_EXEC, &[12, 12]), Some(Change::Executed(12)));
        assert_eq!(told(libc::PROC_EVENT_COMM, &[12, 12]), None);
        assert_eq!(change(&[]), None);
    }
}
