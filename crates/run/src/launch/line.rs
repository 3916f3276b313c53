//! What launcher and companion say to each other.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// The program runs, as this process; from foresee's start to its took so long.
    Started { program: i32, start_up: Duration },
    /// The launcher has this signal: has the whole group? `more`: it has another one of that kind
    /// waiting.
    Asked { signal: i32, more: bool },
    /// The answer.
    Answered { signal: i32, group: bool },
    /// The launcher is about to stop because the program has.
    Stopping,
    /// It goes on.
    GoingOn,
    /// The program has ended, with this status, after so long; the launcher took so much of a
    /// processor's time.
    Ended { status: i32, elapsed: Duration, cpu: Duration },
}

/// Messages are of this size: four words.
const BYTES: usize = 32;

impl Message {
    fn encode(self) -> [u8; BYTES] {
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let words: [u64; 4] = match self {
            Message::Started { program, start_up } => [0, program as u64, nanoseconds(start_up), 0],
            Message::Asked { signal, more } => [1, signal as u64, u64::from(more), 0],
            Message::Answered { signal, group } => [2, signal as u64, u64::from(group), 0],
            Message::Stopping => [3, 0, 0, 0],
            Message::GoingOn => [4, 0, 0, 0],
            Message::Ended { status, elapsed, cpu } => [5, status as u64, nanoseconds(elapsed), nanoseconds(cpu)],
        };
        let mut bytes = [0; BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn decode(bytes: [u8; BYTES]) -> Option<Self> {
        let mut words = [0; 4];
        for (place, word) in bytes.chunks_exact(8).zip(&mut words) {
            *word = u64::from_ne_bytes(place.try_into().ok()?);
        }
        let [kind, value, first, second] = words;
        let (value, time) = (value as i32, Duration::from_nanos);
        Some(match kind {
            0 => Message::Started { program: value, start_up: time(first) },
            1 => Message::Asked { signal: value, more: first != 0 },
            2 => Message::Answered { signal: value, group: first != 0 },
            3 => Message::Stopping,
            4 => Message::GoingOn,
            5 => Message::Ended { status: value, elapsed: time(first), cpu: time(second) },
            _ => return None,
        })
    }
}

/// Why there is no message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// None has come yet.
    Yet,
    /// The other side is gone.
    Gone,
}

/// One end of the line.
pub(super) struct Line(OwnedFd);

impl Line {
    /// Both ends.
    pub(super) fn pair() -> io::Result<(Self, Self)> {
        let mut fds = [-1; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: the array has room for two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new and ours.
        Ok(unsafe { (Line(OwnedFd::from_raw_fd(fds[0])), Line(OwnedFd::from_raw_fd(fds[1]))) })
    }

    /// What to poll.
    pub(super) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Says something. That the other side is gone is noticed by who listens.
    pub(super) fn say(&self, message: Message) {
        let bytes = message.encode();
        // SAFETY: the buffer lives through the call.
        unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), BYTES, libc::MSG_NOSIGNAL) };
    }

    /// The next message that is understood, if there is one within this time. The other side is gone
    /// once there is nothing more to read: a program may be killed for it, so nothing else will do.
    pub(super) fn hear(&self, patience: Option<Duration>) -> Result<Message, Silence> {
        let mut polled = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = patience.map_or(-1, |time| time.as_millis() as libc::c_int);
        let (mut bytes, mut has_failed) = ([0; BYTES], false);
        loop {
            // SAFETY: structure and buffer live through the calls, which write no more than they hold. All
            // signals are blocked, so that neither is interrupted.
            let got = unsafe {
                if libc::poll(&raw mut polled, 1, milliseconds) <= 0 {
                    return Err(Silence::Yet);
                }
                libc::recv(self.fd(), bytes.as_mut_ptr().cast(), BYTES, libc::MSG_DONTWAIT | libc::MSG_TRUNC)
            };
            match usize::try_from(got) {
                Ok(0) => return Err(Silence::Gone),
                Ok(BYTES) => {
                    if let Some(message) = Message::decode(bytes) {
                        return Ok(message);
                    }
                }
                Ok(_) => {}
                // That the other side went without having heard all is said once, before what it said last.
                Err(_) if !has_failed => has_failed = true,
                Err(_) => return Err(Silence::Yet),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_said_and_an_end_is_heard() {
        let (one, other) = Line::pair().unwrap();
        let time = Duration::from_nanos(1_234_567_890_123);
        let messages = [
            Message::Started { program: 7, start_up: time },
            Message::Asked { signal: 15, more: true },
            Message::Answered { signal: 64, group: false },
            Message::Stopping,
            Message::GoingOn,
            Message::Ended { status: 139, elapsed: time, cpu: Duration::ZERO },
        ];
        for message in messages {
            one.say(message);
        }
        for message in messages {
            assert_eq!(other.hear(None), Ok(message));
        }
        assert_eq!(other.hear(Some(Duration::ZERO)), Err(Silence::Yet));
        drop(one);
        assert_eq!(other.hear(None), Err(Silence::Gone));
    }

    #[test]
    fn what_was_said_last_is_heard_though_the_other_side_went_without_hearing_all() {
        let (one, other) = Line::pair().unwrap();
        other.say(Message::GoingOn);
        one.say(Message::Stopping);
        drop(one);
        let heard = [(); 2].map(|()| other.hear(Some(Duration::ZERO)));
        assert_eq!(heard, [Ok(Message::Stopping), Err(Silence::Gone)]);
    }

    #[test]
    fn what_is_not_understood_is_no_end() {
        let (one, other) = Line::pair().unwrap();
        let mut unknown = [0; BYTES];
        unknown[..8].copy_from_slice(&u64::MAX.to_ne_bytes());
        for bytes in [&unknown[..], &[0; BYTES - 1], &[0; BYTES + 1]] {
            // SAFETY: the buffer lives through the call.
            let sent = unsafe { libc::send(one.fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
            assert_eq!(usize::try_from(sent), Ok(bytes.len()));
            assert_eq!(other.hear(Some(Duration::ZERO)), Err(Silence::Yet), "{} bytes", bytes.len());
        }
        one.say(Message::GoingOn);
        assert_eq!(other.hear(None), Ok(Message::GoingOn));
    }
}
