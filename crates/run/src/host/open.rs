//! Opening a file of a program's: only if it is the one that is meant, and only if that can do no
//! harm.
//!
//! A name may lead elsewhere by now: to another file, or to a FIFO, whose writer would be let
//! through by our opening it. So a name is first resolved without being opened (`O_PATH`), what it
//! leads to is compared with what is expected, and that very file is then opened through
//! `/proc/self/fd`. A file that somebody holds a lease on is left alone ([`leases`]).
//!
//! Where opening is harmful whatever the file is (on many FUSE mounts it empties the file's page
//! cache), the program's own descriptor is borrowed instead ([`borrow`]): that opens nothing.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::leases;
use super::mounts::Kind;
use super::residency::Residency;
use crate::handle::Handle;
use crate::names::Identity;

/// A file that is open here.
#[derive(Debug)]
pub struct Opened {
    /// Open for reading.
    pub file: File,
    /// How the kernel is asked what of it is in memory.
    pub residency: Residency,
}

impl Opened {
    /// This file, open for reading, on a mount of this kind.
    pub fn new(file: File, kind: Kind) -> Self {
        let residency = Residency::of(&file, kind);
        Opened { file, residency }
    }
}

/// Where an open file of a program's is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The process.
    pub pid: u32,
    /// Its descriptor.
    pub fd: i32,
}

/// Opens a regular file for reading ahead, or for asking about it: without touching its access time
/// where that is allowed. If one is expected, it must be that; anything else is an error.
///
/// The kernel's own readahead stays on for this descriptor: it leaves scattered reads alone, and
/// gives long ones larger folios, which cost it and the program half as much as single pages.
pub fn open_to_read(path: &Path, expected: Option<Identity>) -> io::Result<File> {
    Resolved::of(path)?.open(expected)
}

/// The same for a file that a program had open until a moment ago: that nobody else held a lease on
/// it, it has seen to.
pub fn reopen(path: &Path, expected: Option<Identity>) -> io::Result<File> {
    Resolved::of(path)?.open_unless(|_| false, expected)
}

/// What a name leads to, without opening it: to be asked what it is, and no more.
pub fn resolve(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)
}

/// What a name leads to, and what that is.
pub struct Resolved {
    found: File,
    /// What it is.
    pub metadata: Metadata,
}

impl Resolved {
    /// Looks a name up, once for all that is to be known of it.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = resolve(path)?;
        let metadata = found.metadata()?;
        Ok(Resolved { found, metadata })
    }

    /// Its device and inode.
    pub fn identity(&self) -> Identity {
        (self.metadata.dev(), self.metadata.ino())
    }

    /// Opens it, as [`open_to_read`] does.
    pub fn open(&self, expected: Option<Identity>) -> io::Result<File> {
        self.open_unless(leases::is_leased, expected)
    }

    fn open_unless(&self, is_barred: fn(Identity) -> bool, expected: Option<Identity>) -> io::Result<File> {
        let identity = self.identity();
        let is_another = expected.is_some_and(|expected| expected != identity);
        if !self.metadata.is_file() || is_another || is_barred(identity) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let open = |flags| {
            let options = libc::O_NONBLOCK | flags;
            OpenOptions::new().read(true).custom_flags(options).open(own_name(&self.found))
        };
        open(libc::O_NOATIME).or_else(|error| match error.raw_os_error() {
            Some(libc::EPERM) => open(0),
            _ => Err(error),
        })
    }
}

/// The name under which a descriptor of ours leads to its file, whatever that is called.
fn own_name(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Borrows a program's own descriptor of this file (since Linux 5.6; from a process that we may
/// trace). It shares the descriptor's position, which nothing here moves. What bypasses the page
/// cache, or may not be read, is left alone.
pub fn borrow(from: Descriptor, expected: Identity) -> io::Result<File> {
    let file = Handle::of(from.pid)?.descriptor(from.fd)?;
    // SAFETY: asks only.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    let reads_by_cache = flags & libc::O_DIRECT == 0 && flags & libc::O_ACCMODE != libc::O_WRONLY;
    // The number may be another file's by now.
    match reads_by_cache && regular_file(&file)? == Some(expected) {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Which regular file this is, if it is one; by what the kernel knows: a daemon or a server that
/// was asked may have to ask another.
fn regular_file(file: &File) -> io::Result<Option<Identity>> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    let wanted = libc::STATX_TYPE | libc::STATX_INO;
    // SAFETY: an empty path, which means the descriptor itself; the result has room for what is asked.
    let asked = unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, wanted, found.as_mut_ptr()) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, and filled in by the kernel.
    let found = unsafe { found.assume_init() };
    let is_file = u32::from(found.stx_mode) & libc::S_IFMT == libc::S_IFREG;
    Ok(is_file.then(|| (libc::makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("foresee-open-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn identity(path: &Path) -> Identity {
        let metadata = fs::metadata(path).unwrap();
        (metadata.dev(), metadata.ino())
    }

    #[test]
    fn only_the_expected_regular_file_is_opened() {
        let directory = scratch("expected");
        let (file, other, fifo) = (directory.join("file"), directory.join("other"), directory.join("fifo"));
        fs::write(&file, "x").unwrap();
        fs::write(&other, "y").unwrap();
        let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        // Another test's leased file may have had its number.
        leases::forget();
        assert!(open_to_read(&file, None).is_ok());
        assert!(open_to_read(&file, Some(identity(&file))).is_ok());
        assert!(open_to_read(&file, Some(identity(&other))).is_err());
        assert!(open_to_read(&directory, None).is_err());
        assert!(open_to_read(&fifo, None).is_err());
        // Had it been opened for reading for a moment, this would not be refused.
        let writer = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&fifo);
        assert_eq!(writer.unwrap_err().raw_os_error(), Some(libc::ENXIO));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_leased_file_is_left_alone() {
        let directory = scratch("leased");
        let path = directory.join("file");
        fs::write(&path, "x").unwrap();
        let holder = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // SAFETY: the signal of a broken lease is ignored for the time of the test; no pointers.
        let leased = unsafe {
            libc::signal(libc::SIGIO, libc::SIG_IGN);
            libc::fcntl(holder.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0
        };
        if leased {
            leases::forget();
            assert!(open_to_read(&path, None).is_err());
            // SAFETY: asks only.
            let now = unsafe { libc::fcntl(holder.as_raw_fd(), libc::F_GETLEASE) };
            assert_eq!(now, libc::F_WRLCK, "the lease holds");
        } else {
            println!("skipped: no leases here");
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_descriptor_is_borrowed_from_whoever_has_it() {
        let directory = scratch("borrowed");
        let path = directory.join("file");
        fs::write(&path, "x").unwrap();
        let input = File::open(&path).unwrap();
        let mut child = std::process::Command::new("sleep").arg("10").stdin(input).spawn().unwrap();
        let from = |fd| Descriptor { pid: child.id(), fd };
        match borrow(from(0), identity(&path)) {
            Ok(file) => {
                assert_eq!(file.metadata().unwrap().ino(), identity(&path).1);
                assert!(borrow(from(0), (0, 1)).is_err(), "another file is expected");
                assert!(borrow(from(999), identity(&path)).is_err());
            }
            Err(error) => println!("skipped: descriptors cannot be borrowed here: {error}"),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(&directory).unwrap();
    }
}
