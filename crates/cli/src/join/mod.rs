//! `foresee run --join NAME`: several runs of one user share one supervisor, so that one policy
//! decides whose page goes.
//!
//! ```text
//! foresee run --join NAME ...  --socket-->  foresee supervise        (started by the first, gone with the last)
//!       |                                       |
//!    program  ----------- ring in memory -------+
//!
//! run:         {"policy": its name or null, "memory": bytes or null, "advice": text or null}
//! supervisor:  {"ring": "/proc/PID/fd/N"}                            or {"refused": "why"}
//! run:         {"elapsed_s": 1.5, "start_up_s": 0.004, "status": 0}  once its command has ended
//! supervisor:  {"account": as --json has it, "lines": as people are told, "warnings": [...]}
//! ```
//!
//! Messages are lines. The socket's name is abstract: it lies in no directory, and is gone with the
//! supervisor, however that ends. Either side looks whether the other is of its own user.

mod client;
mod hearing;
mod server;

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use serde_json::Value;

pub use client::main;
pub use server::main as supervise;

/// The longest message: an advice file of a few thousand lines.
const MESSAGE_BYTES_MAX: u64 = 4 << 20;

/// Where the runs of this user that are joined under this name meet.
fn address(name: &str) -> Result<SocketAddr, String> {
    // SAFETY: takes nothing, cannot fail.
    let user = unsafe { libc::geteuid() };
    SocketAddr::from_abstract_name(format!("foresee-{user}-{name}"))
        .map_err(|_| format!("--join {name}: a name has at most 90 bytes, none of them NUL"))
}

/// One end of the conversation.
struct Line {
    reader: BufReader<UnixStream>,
}

/// A message that did not come: the other side is gone, or says what is none.
struct Broken;

impl Line {
    /// With whoever is at the other end, if that is the same user.
    fn new(stream: UnixStream) -> Option<Self> {
        // SAFETY: takes nothing, cannot fail.
        let own = unsafe { libc::geteuid() };
        (peer(&stream)?.uid == own).then(|| Line { reader: BufReader::new(stream) })
    }

    /// The process at the other end.
    fn peer(&self) -> Option<u32> {
        peer(self.stream()).map(|it| it.pid as u32)
    }

    fn stream(&self) -> &UnixStream {
        self.reader.get_ref()
    }

    fn say(&mut self, message: &Value) -> Result<(), Broken> {
        self.reader.get_mut().write_all(format!("{message}\n").as_bytes()).map_err(|_| Broken)
    }

    fn hear(&mut self) -> Result<Value, Broken> {
        let mut text = String::new();
        let read = std::io::Read::take(&mut self.reader, MESSAGE_BYTES_MAX).read_line(&mut text);
        read.map_err(|_| Broken)?;
        serde_json::from_str(&text).map_err(|_| Broken)
    }
}

/// Who was at the other end when the two were connected.
fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let target = (&raw mut peer).cast();
    // SAFETY: the kernel writes a structure of this size at most.
    let got =
        unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, target, &raw mut size) };
    (got == 0).then_some(peer)
}
