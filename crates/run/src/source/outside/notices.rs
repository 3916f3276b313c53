//! What the kernel tells of directories that are watched: what is opened and read in them.
//!
//! A group of the class notification: nobody waits for us. Since Linux 5.13 it needs no rights;
//! without any, the kernel does not say which process it was, but for our own.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::source::group::{Buffer, Event, Group, field};

/// What precedes the handle in a record of a directory and a name.
const RECORD_BYTES: usize = 12;
/// Before its bytes, a handle has their number and its kind.
const HANDLE_BYTES: usize = 8;
const HANDLE_BYTES_MAX: usize = 128;
const MASK: u64 = libc::FAN_OPEN | libc::FAN_ACCESS | libc::FAN_ONDIR | libc::FAN_EVENT_ON_CHILD;

/// What the kernel knows a directory by: its file system's number, and its handle there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(Box<[u8]>);

/// Something was opened or read, or both since the last notice of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// The directory: that of the file, or itself.
    pub directory: Key,
    /// The file's name in it; `.` of a directory itself.
    pub name: Box<OsStr>,
    /// Who did it; 0 if that is not told.
    pub process: u32,
    pub is_opened: bool,
    pub is_read: bool,
}

/// The group.
pub(super) struct Notices {
    group: Group,
    tells_processes: bool,
    buffer: Buffer,
}

impl Notices {
    /// A group that watches nothing yet.
    ///
    /// # Errors
    /// EINVAL or EPERM where the kernel is too old, EMFILE where this user has too many.
    pub fn new() -> io::Result<Self> {
        let class = libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_DFID_NAME;
        // Only who is told of processes may watch without a limit of the kernel's; ours is lower.
        let (group, tells_processes) = match Group::new(class | libc::FAN_UNLIMITED_MARKS, libc::O_RDONLY) {
            Ok(group) => (group, true),
            Err(_) => (Group::new(class, libc::O_RDONLY)?, false),
        };
        Ok(Notices { group, tells_processes, buffer: Buffer::new() })
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.group.fd()
    }

    /// Whether it says who did something.
    pub fn tells_processes(&self) -> bool {
        self.tells_processes
    }

    /// Watches a directory. Returns what it is called in notices.
    ///
    /// # Errors
    /// If it is none, may not be read, or is on a file system that has no numbers for such purposes
    /// (FUSE).
    pub fn watch(&self, directory: &File) -> io::Result<Key> {
        let key = Key::of(directory)?;
        self.group.mark(libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR, MASK, directory.as_raw_fd(), c".")?;
        Ok(key)
    }

    /// Watches it no more.
    ///
    /// # Errors
    /// If it is not watched.
    pub fn forget(&self, directory: &File) -> io::Result<()> {
        self.group.mark(libc::FAN_MARK_REMOVE, MASK, directory.as_raw_fd(), c".")
    }

    /// Watches nothing any more.
    pub fn forget_all(&self) {
        // There is nothing that could fail.
        let _ = self.group.mark(libc::FAN_MARK_FLUSH, 0, libc::AT_FDCWD, c".");
    }

    /// Takes what there is by now, in the order it happened, but for what was done again before it
    /// was told: notices, or None for some that were lost because the queue was full. None if
    /// there is nothing.
    pub fn take(&mut self) -> Option<impl Iterator<Item = Option<Notice>> + '_> {
        let mut events = self.group.take(&mut self.buffer).ok()?.peekable();
        events.peek()?;
        Some(notices(events))
    }
}

/// What is told of a directory whose path is not known: a name to open it by, which root may.
pub(super) fn path_of(key: &Key, on: &File) -> Option<PathBuf> {
    let mut handle = Handle::default();
    let bytes = key.0.get(FSID_BYTES..)?;
    handle.0[..bytes.len()].copy_from_slice(bytes);
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the handle is as long as it says; the descriptor is ours alone.
    let directory = unsafe {
        let fd = libc::syscall(libc::SYS_open_by_handle_at, on.as_raw_fd(), handle.0.as_ptr(), flags);
        if fd < 0 {
            return None;
        }
        File::from_raw_fd(fd as i32)
    };
    let path = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

const FSID_BYTES: usize = 8;

/// `struct file_handle`: how many bytes, which kind, the bytes.
#[repr(align(8))]
struct Handle([u8; HANDLE_BYTES + HANDLE_BYTES_MAX]);

impl Default for Handle {
    fn default() -> Self {
        Handle([0; HANDLE_BYTES + HANDLE_BYTES_MAX])
    }
}

impl Key {
    fn of(directory: &File) -> io::Result<Self> {
        let (mut handle, mut mount) = (Handle::default(), 0i32);
        handle.0[..4].copy_from_slice(&(HANDLE_BYTES_MAX as u32).to_ne_bytes());
        let at = directory.as_raw_fd();
        // SAFETY: handle, name and number live through the call, which writes no more than the handle says
        // it has room for; the structure is of numbers and filled in.
        let filesystem = unsafe {
            let (name, handle) = (c"".as_ptr(), handle.0.as_mut_ptr());
            if libc::syscall(libc::SYS_name_to_handle_at, at, name, handle, &raw mut mount, libc::AT_EMPTY_PATH) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut stat: libc::statfs = std::mem::zeroed();
            if libc::fstatfs(at, &raw mut stat) != 0 {
                return Err(io::Error::last_os_error());
            }
            std::mem::transmute::<libc::fsid_t, [u8; FSID_BYTES]>(stat.f_fsid)
        };
        let bytes = u32::from_ne_bytes(field(&handle.0, 0).unwrap_or_default()) as usize;
        let handle = handle.0.get(..HANDLE_BYTES + bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Key([&filesystem, handle].concat().into()))
    }

    /// Whether both are of one file system.
    pub fn is_beside(&self, other: &Key) -> bool {
        self.0[..FSID_BYTES] == other.0[..FSID_BYTES]
    }
}

/// What these events tell, but for those that make no sense.
fn notices<'b>(events: impl Iterator<Item = Event<'b>>) -> impl Iterator<Item = Option<Notice>> {
    events.filter_map(|event| {
        let is = |what| event.mask & what != 0;
        if is(libc::FAN_Q_OVERFLOW) {
            return Some(None);
        }
        let (directory, name) = event.record(place)?;
        let (is_opened, is_read) = (is(libc::FAN_OPEN), is(libc::FAN_ACCESS));
        Some(Some(Notice { directory, name, process: event.who, is_opened, is_read }))
    })
}

/// The directory and the name that a record tells: type, padding, length, file system, handle,
/// name, 0.
fn place(record: &[u8]) -> Option<(Key, Box<OsStr>)> {
    if record.first() != Some(&libc::FAN_EVENT_INFO_TYPE_DFID_NAME) {
        return None;
    }
    let bytes = u32::from_ne_bytes(field(record, RECORD_BYTES)?) as usize;
    let name = RECORD_BYTES + HANDLE_BYTES + bytes;
    let key = record.get(RECORD_BYTES - FSID_BYTES..name).filter(|_| bytes <= HANDLE_BYTES_MAX)?;
    let name = record.get(name..)?.split(|&byte| byte == 0).next()?;
    Some((Key(key.into()), OsStr::from_bytes(name).into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::at_hand;
    use super::*;

    #[test]
    fn what_is_opened_and_read_in_a_directory_is_told_in_order() {
        let directory = std::env::temp_dir().join(format!("foresee-notices-{}", std::process::id()));
        fs::create_dir_all(directory.join("inner")).unwrap();
        for name in ["b", "a"] {
            fs::write(directory.join(name), "something").unwrap();
        }
        let watched = || {
            let notices = Notices::new()?;
            let key = notices.watch(&at_hand::open(&directory)?)?;
            Ok::<_, io::Error>((notices, key))
        };
        match watched() {
            Err(error) => println!("skipped: {error}"),
            Ok((mut notices, key)) => {
                for name in ["b", "a"] {
                    fs::read(directory.join(name)).unwrap();
                }
                File::open(directory.join("inner")).unwrap();
                let told: Vec<_> = notices.take().unwrap().map(Option::unwrap).collect();
                let names: Vec<_> = told.iter().map(|it| it.name.to_str().unwrap()).collect();
                assert_eq!(names, ["b", "a", "."]);
                assert!(told[..2].iter().all(|it| it.directory == key && it.is_opened && it.is_read));
                assert!(told.iter().all(|it| it.process == std::process::id()));
                assert!(told[2].directory != key && told[2].directory.is_beside(&key) && !told[2].is_read);
                let on = at_hand::open_directory(&directory).unwrap();
                if notices.tells_processes() {
                    let inner = told[2].directory.clone();
                    assert_eq!(path_of(&inner, &on), directory.join("inner").canonicalize().ok());
                }
                notices.forget(&at_hand::open(&directory).unwrap()).unwrap();
                while notices.take().is_some() {}
                fs::read(directory.join("a")).unwrap();
                assert!(notices.take().is_none(), "it is watched no more");
            }
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        let mut record = vec![libc::FAN_EVENT_INFO_TYPE_DFID_NAME, 0, 30, 0];
        record.extend([7; FSID_BYTES]);
        record.extend(4u32.to_ne_bytes());
        record.extend([0; 8]);
        record.extend(b"file\0\0");
        let (key, name) = place(&record).unwrap();
        assert_eq!((key.0.len(), name), (FSID_BYTES + HANDLE_BYTES + 4, OsStr::new("file").into()));
        record[RECORD_BYTES..RECORD_BYTES + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(place(&record), None, "a handle longer than the record");
        for length in 0..record.len() {
            assert_eq!(place(&record[..length]), None);
        }
    }
}
