//! fanotify(7) made safe: a group that is told of accesses to files, and its events.
//!
//! What an event tells depends on the group's class: [`fanotify`](super::fanotify) is asked before
//! each access, with a descriptor and a range; [`outside`](super::outside) is told afterwards, with
//! a directory and a name.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Bytes of `struct fanotify_event_metadata`.
const METADATA_BYTES: usize = 24;
/// Some 300 events are taken at once.
const BUFFER_BYTES: usize = 16 << 10;

/// A group.
pub(super) struct Group(OwnedFd);

impl Group {
    /// A group that marks nothing yet. Descriptors in its events are opened by `file_flags`.
    ///
    /// # Errors
    /// EINVAL where the kernel does not know these flags, EPERM without the rights for them, EMFILE
    /// where this user has too many.
    pub fn new(flags: u32, file_flags: i32) -> io::Result<Self> {
        // SAFETY: takes no pointers; the descriptor is ours alone.
        unsafe {
            let fd = libc::fanotify_init(flags | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK, file_flags as u32);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Group(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Adds, removes or flushes marks: of `name`, seen from the directory `at`.
    ///
    /// # Errors
    /// As fanotify_mark(2) says.
    pub fn mark(&self, flags: u32, mask: u64, at: RawFd, name: &CStr) -> io::Result<()> {
        // SAFETY: the name lives through the call.
        let failed = unsafe { libc::fanotify_mark(self.0.as_raw_fd(), flags, mask, at, name.as_ptr()) < 0 };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Takes what there is by now; no event if there is nothing.
    ///
    /// # Errors
    /// If the kernel does not give it.
    pub fn take<'b>(&self, buffer: &'b mut Buffer) -> io::Result<Events<'b>> {
        // SAFETY: the buffer is as long as said.
        let taken = unsafe { libc::read(self.0.as_raw_fd(), buffer.0.as_mut_ptr().cast(), BUFFER_BYTES) };
        match usize::try_from(taken) {
            Ok(taken) => Ok(Events(&buffer.0[..taken])),
            Err(_) => match io::Error::last_os_error() {
                error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(Events(&[])),
                error => Err(error),
            },
        }
    }
}

/// What is taken from the kernel at one time.
pub(super) struct Buffer(Box<[u8; BUFFER_BYTES]>);

impl Buffer {
    /// An empty one.
    pub fn new() -> Self {
        Buffer(Box::new([0; BUFFER_BYTES]))
    }
}

/// What was taken at one time, in the order it happened.
pub(super) struct Events<'b>(&'b [u8]);

/// One event.
pub(super) struct Event<'b> {
    /// What happened: `FAN_OPEN` and others.
    pub mask: u64,
    /// A descriptor of the file, which whoever takes the event must close; below 0 if there is
    /// none.
    pub fd: RawFd,
    /// Who did it, by process or thread as the group was told to; 0 if that is not told.
    pub who: u32,
    records: &'b [u8],
}

impl Event<'_> {
    /// The first of its records that `read` can read.
    pub fn record<T>(&self, read: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        Records(self.records).find_map(read)
    }
}

impl<'b> Iterator for Events<'b> {
    type Item = Event<'b>;

    fn next(&mut self) -> Option<Event<'b>> {
        // event_len, vers, reserved, metadata_len, mask, fd, pid.
        let length = u32::from_ne_bytes(field(self.0, 0)?) as usize;
        let event = self.0.get(..length).filter(|event| event.len() >= METADATA_BYTES)?;
        self.0 = &self.0[length..];
        let metadata = u16::from_ne_bytes(field(event, 6)?) as usize;
        Some(Event {
            mask: u64::from_ne_bytes(field(event, 8)?),
            fd: i32::from_ne_bytes(field(event, 16)?),
            who: u32::from_ne_bytes(field(event, 20)?),
            records: event.get(metadata..).unwrap_or_default(),
        })
    }
}

/// An event's records, each with its head: type, padding, length in two bytes.
struct Records<'b>(&'b [u8]);

impl<'b> Iterator for Records<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        let length = u16::from_ne_bytes(field(self.0, 2)?) as usize;
        let record = self.0.get(..length.max(4))?;
        self.0 = &self.0[record.len()..];
        Some(record)
    }
}

/// The bytes of a number at a place, if they are there.
pub(super) fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_their_records_are_found() {
        let mut bytes = Vec::new();
        for who in [7u32, 8] {
            bytes.extend((METADATA_BYTES as u32 + 12).to_ne_bytes());
            bytes.extend([3, 0, METADATA_BYTES as u8, 0]);
            bytes.extend(libc::FAN_OPEN.to_ne_bytes());
            bytes.extend((-1i32).to_ne_bytes());
            bytes.extend(who.to_ne_bytes());
            bytes.extend([4, 0, 8, 0, 1, 2, 3, 4, 9, 0, 4, 0]);
        }
        let found: Vec<Event<'_>> = Events(&bytes).collect();
        let told: Vec<_> = found.iter().map(|it| (it.mask, it.fd, it.who)).collect();
        assert_eq!(told, [(libc::FAN_OPEN, -1, 7), (libc::FAN_OPEN, -1, 8)]);
        assert_eq!(found[0].record(|record| (record[0] == 9).then_some(record.len())), Some(4));
        assert_eq!(found[0].record(|record| record.get(7).copied()), Some(4));
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        assert!(Events(&[200, 0, 0, 0]).next().is_none());
        assert_eq!(Records(&[]).next(), None);
        assert_eq!(Records(&[1, 0, 9, 0, 1]).next(), None, "cut short");
        assert_eq!(Records(&[1, 0, 0, 0]).count(), 1, "a record without length is no reason to stay");
    }
}
