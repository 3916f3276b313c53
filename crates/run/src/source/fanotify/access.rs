//! Those who wait for an answer before they access a file.
//!
//! A group of the class pre-content. Who asks for bytes of a file waits until the group's owner has
//! answered, or until the group is closed, however its owner ended. So each [`Access`] is answered
//! at the latest when it is dropped.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::source::group::{Buffer, Event, Events, Group, field};

// What libc does not name: linux/fanotify.h of Linux 6.14.
const FAN_PRE_ACCESS: u64 = 0x0010_0000;
const FAN_REPORT_FD_ERROR: u32 = 0x2000;
const FAN_EVENT_INFO_TYPE_RANGE: u8 = 6;
/// Bytes of a record that tells a range.
const RANGE_BYTES: usize = 24;

/// While it lives, each access to what it marked waits for it.
pub struct Accesses(Group);

impl Accesses {
    /// Asked about nothing yet.
    ///
    /// # Errors
    /// EPERM without root; EINVAL where the kernel is older than 6.13, or built without permission
    /// events.
    pub fn new() -> io::Result<Self> {
        // The queue holds those who wait, so it needs no other limit than the machine's on threads.
        let limits = libc::FAN_UNLIMITED_QUEUE | libc::FAN_UNLIMITED_MARKS;
        let report = libc::FAN_REPORT_TID | FAN_REPORT_FD_ERROR;
        let files = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC | libc::O_NOATIME;
        Group::new(libc::FAN_CLASS_PRE_CONTENT | limits | report, files).map(Accesses)
    }

    /// Asks to be asked about all files of the file system that holds this path, through whichever
    /// mount they are reached.
    ///
    /// # Errors
    /// EOPNOTSUPP where the file system does not ask; EINVAL where the kernel is older than 6.14.
    pub fn mark(&self, path: &Path) -> io::Result<()> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        self.0.mark(libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM, FAN_PRE_ACCESS, libc::AT_FDCWD, &name)
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.0.fd()
    }

    /// Takes those who wait; none if nobody does.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn take(&self, buffer: &mut Buffer) -> io::Result<Vec<Access<'_>>> {
        let events: Events<'_> = self.0.take(buffer)?;
        Ok(events.map(|event| self.access(&event)).collect())
    }

    fn access(&self, event: &Event<'_>) -> Access<'_> {
        Access {
            group: &self.0,
            thread: event.who,
            // SAFETY: the kernel opened this descriptor for us with the event.
            file: (event.fd >= 0).then(|| unsafe { File::from_raw_fd(event.fd) }),
            range: event.record(range),
            answered: false,
        }
    }
}

/// The range that a record tells: type, padding, length, padding, offset, count.
fn range(record: &[u8]) -> Option<Range> {
    let number = |at| field(record, at).map(u64::from_ne_bytes);
    let is_range = record.first() == Some(&FAN_EVENT_INFO_TYPE_RANGE) && record.len() >= RANGE_BYTES;
    is_range.then_some(Range { offset: number(8)?, bytes: number(16)? })
}

/// Bytes of a file, in whole pages: the kernel rounds what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub offset: u64,
    /// How many; 0 where a file is cut or made longer.
    pub bytes: u64,
}

/// Somebody waits to access a file.
pub struct Access<'g> {
    group: &'g Group,
    /// The thread, or 0 if it is in no process namespace of ours.
    pub thread: u32,
    /// The file, open to be read. None if the kernel could not open it for us; the access was
    /// refused then.
    pub file: Option<File>,
    /// What of the file; None if the kernel does not tell.
    pub range: Option<Range>,
    answered: bool,
}

impl Access<'_> {
    /// Lets it go on. Once is enough.
    pub fn answer(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| !self.answered) {
            let response = libc::fanotify_response { fd: file.as_raw_fd(), response: libc::FAN_ALLOW };
            // SAFETY: the structure lives through the call. It fails only if there is nobody left to be
            // answered.
            unsafe { libc::write(self.group.fd(), (&raw const response).cast(), size_of_val(&response)) };
        }
        self.answered = true;
    }
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        self.answer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_told_by_one_kind_of_record() {
        let mut record = vec![FAN_EVENT_INFO_TYPE_RANGE, 0, 24, 0, 0, 0, 0, 0];
        record.extend(8192u64.to_ne_bytes());
        assert_eq!(range(&record), None, "cut short");
        record.extend(4096u64.to_ne_bytes());
        assert_eq!(range(&record), Some(Range { offset: 8192, bytes: 4096 }));
        record[0] = 4;
        assert_eq!(range(&record), None);
        assert_eq!(range(&[]), None);
    }
}
