//! A run's state, told to whoever of the same user asks while it goes on: `foresee top`.
//!
//! The companion listens on an abstract socket that is named after the user and the process:
//! nothing goes stale, and a run that was killed is not found. Who connects is sent the state as it
//! is, and nothing is read from it.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How often is looked whether somebody asks.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// Who asks at one time; others are told next time.
const ASKERS_MAX: usize = 8;
/// How long is waited for a run's answer, and how long that may be.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: u64 = 1 << 20;

fn prefix(user: u32) -> String {
    format!("foresee-run-{user}-")
}

fn user() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() }
}

/// Tells a run's state.
pub struct Status {
    listener: UnixListener,
    looked: Instant,
}

impl Status {
    /// Of this process; None if it cannot be asked. Then the run is not seen, and otherwise as any.
    pub fn begin() -> Option<Self> {
        let name = format!("{}{}", prefix(user()), std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Status { listener, looked: Instant::now() })
    }

    /// Answers who asks, if it is time to look.
    pub fn answer(&mut self, mut state: impl FnMut() -> String) {
        if self.looked.elapsed() < LOOKS_EVERY {
            return;
        }
        self.looked = Instant::now();
        for _ in 0..ASKERS_MAX {
            let Ok((mut asker, _)) = self.listener.accept() else { return };
            if peer(&asker).is_some_and(|uid| uid == user() || uid == 0) && asker.set_nonblocking(true).is_ok() {
                // What does not fit into the socket's buffer is not waited for: the asker gets less, and sees that.
                let _ = asker.write_all(state().as_bytes());
            }
        }
    }
}

/// The user at the other end.
fn peer(stream: &UnixStream) -> Option<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: there is room for as much as the call may write.
    let asked = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut len,
        )
    };
    (asked == 0).then_some(credentials.uid)
}

/// The states of this user's runs that are under way, in the order of their processes; root sees
/// everybody's.
///
/// # Errors
/// If it cannot be found which there are.
pub fn states() -> io::Result<Vec<String>> {
    // Others name their sockets as they like.
    let sockets = std::fs::read("/proc/net/unix")?;
    let sockets = String::from_utf8_lossy(&sockets);
    let names = sockets.lines().filter_map(|line| line.split_ascii_whitespace().nth(7)?.strip_prefix('@'));
    let (own, anybody) = (prefix(user()), "foresee-run-");
    let mut names: Vec<&str> =
        names.filter(|name| name.starts_with(if user() == 0 { anybody } else { &own })).collect();
    names.sort_unstable();
    // Connections that wait to be accepted are listed under the same name.
    names.dedup();
    Ok(names.into_iter().filter_map(|name| ask(name).ok()).collect())
}

fn ask(name: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    // Anybody may take a name that says it is of this user.
    let user_of_name = name.split('-').nth(2).and_then(|uid| uid.parse().ok());
    if user_of_name.is_none() || peer(&stream) != user_of_name {
        return Err(io::Error::other("of another user"));
    }
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut state = String::new();
    Read::by_ref(&mut stream).take(ANSWER_BYTES_MAX).read_to_string(&mut state)?;
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_and_asked() {
        let mut status = Status::begin().unwrap();
        let asker = std::thread::spawn(|| states().unwrap());
        while !asker.is_finished() {
            status.answer(|| "as it is".to_owned());
            std::thread::yield_now();
        }
        assert!(asker.join().unwrap().contains(&"as it is".to_owned()));
        drop(status);
        assert!(!states().unwrap().contains(&"as it is".to_owned()));
    }
}
