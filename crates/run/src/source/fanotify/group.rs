//! The kernel's interface, made safe: a group that is asked before each access to the files of a file system.
//!
//! fanotify(7) of the class pre-content. Who asks for bytes of a file waits until the group's owner has answered, or until
//! the group is closed, however its owner ended. So each [`Access`] is answered at the latest when it is dropped.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

// What libc does not name: linux/fanotify.h of Linux 6.14.
const FAN_PRE_ACCESS: u64 = 0x0010_0000;
const FAN_REPORT_FD_ERROR: u32 = 0x2000;
const FAN_EVENT_INFO_TYPE_RANGE: u8 = 6;
/// Bytes of an event before its first record, and of a record that tells a range.
const METADATA_BYTES: usize = 24;
const RANGE_BYTES: usize = 24;
/// Some 340 events are taken at once. Each brings a descriptor.
const BUFFER_BYTES: usize = 16 << 10;

/// What is taken from the kernel at one time.
pub struct Buffer(Box<[u8; BUFFER_BYTES]>);

impl Buffer {
    /// An empty one.
    pub fn new() -> Self {
        Buffer(Box::new([0; BUFFER_BYTES]))
    }
}

/// A group; while it lives, each access to what it marked waits for it.
pub struct Group(OwnedFd);

impl Group {
    /// A group that marks nothing yet.
    ///
    /// # Errors
    /// EPERM without root; EINVAL where the kernel is older than 6.13, or built without permission events.
    pub fn new() -> io::Result<Self> {
        let class = libc::FAN_CLASS_PRE_CONTENT | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        // The queue holds those who wait, so it needs no other limit than the machine's on threads.
        let limits = libc::FAN_UNLIMITED_QUEUE | libc::FAN_UNLIMITED_MARKS;
        let report = libc::FAN_REPORT_TID | FAN_REPORT_FD_ERROR;
        let files = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC | libc::O_NOATIME;
        // SAFETY: takes no pointers; the descriptor is ours alone.
        unsafe {
            let fd = libc::fanotify_init(class | limits | report, files as u32);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Group(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Asks to be asked about all files of the file system that holds this path, through whichever mount they are reached.
    ///
    /// # Errors
    /// EOPNOTSUPP where the file system does not ask; EINVAL where the kernel is older than 6.14.
    pub fn mark(&self, path: &Path) -> io::Result<()> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
        // SAFETY: the name lives through the call.
        let failed = unsafe {
            libc::fanotify_mark(self.0.as_raw_fd(), flags, FAN_PRE_ACCESS, libc::AT_FDCWD, name.as_ptr()) < 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Takes those who wait; none if nobody does.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn take<'g>(&'g self, buffer: &'g mut Buffer) -> io::Result<Accesses<'g>> {
        // SAFETY: the buffer is as long as said.
        let taken = unsafe { libc::read(self.0.as_raw_fd(), buffer.0.as_mut_ptr().cast(), BUFFER_BYTES) };
        match usize::try_from(taken) {
            Ok(taken) => Ok(Accesses { group: self, left: &buffer.0[..taken] }),
            Err(_) => match io::Error::last_os_error() {
                error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
                    Ok(Accesses { group: self, left: &[] })
                }
                error => Err(error),
            },
        }
    }
}

/// Those who wait, one after the other.
pub struct Accesses<'g> {
    group: &'g Group,
    left: &'g [u8],
}

impl<'g> Iterator for Accesses<'g> {
    type Item = Access<'g>;

    fn next(&mut self) -> Option<Access<'g>> {
        // struct fanotify_event_metadata: event_len, vers, reserved, metadata_len, mask, fd, pid.
        let length = u32::from_ne_bytes(field(self.left, 0)?) as usize;
        let event = self.left.get(..length).filter(|event| event.len() >= METADATA_BYTES)?;
        self.left = &self.left[length..];
        let metadata = u16::from_ne_bytes(field(event, 6)?) as usize;
        let file = i32::from_ne_bytes(field(event, 16)?);
        let thread = u32::from_ne_bytes(field(event, 20)?);
        Some(Access {
            group: self.group,
            thread,
            // SAFETY: the kernel opened this descriptor for us with the event.
            file: (file >= 0).then(|| unsafe { File::from_raw_fd(file) }),
            range: event.get(metadata..).and_then(range),
            answered: false,
        })
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The range among an event's records: type, padding, length, padding, offset, count.
fn range(mut records: &[u8]) -> Option<Range> {
    loop {
        let length = u16::from_ne_bytes(field(records, 2)?) as usize;
        if records[0] == FAN_EVENT_INFO_TYPE_RANGE && length >= RANGE_BYTES {
            let number = |at| field(records, at).map(u64::from_ne_bytes);
            return Some(Range { offset: number(8)?, bytes: number(16)? });
        }
        records = records.get(length.max(4)..)?;
    }
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
    /// The file, open to be read. None if the kernel could not open it for us; the access was refused then.
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
            // SAFETY: the structure lives through the call. It fails only if there is nobody left to be answered.
            unsafe { libc::write(self.group.0.as_raw_fd(), (&raw const response).cast(), size_of_val(&response)) };
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
    fn a_range_is_found_among_other_records() {
        let mut records = vec![4, 0, 12, 0, 9, 9, 9, 9, 9, 9, 9, 9];
        assert_eq!(range(&records), None);
        records.extend([FAN_EVENT_INFO_TYPE_RANGE, 0, 24, 0, 0, 0, 0, 0]);
        records.extend(8192u64.to_ne_bytes());
        assert_eq!(range(&records), None, "cut short");
        records.extend(4096u64.to_ne_bytes());
        assert_eq!(range(&records), Some(Range { offset: 8192, bytes: 4096 }));
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[1, 0, 0, 0]), None, "a record without length is no reason to stay");
    }
}
