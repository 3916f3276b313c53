//! What the kernel has at hand of a name: found without waiting for a file system. What a program
//! has just opened is at hand.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::names::Identity;
use crate::resolve;

/// What a name leads to, as the kernel remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub identity: Identity,
    pub kind: Kind,
}

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file of so many bytes.
    Regular(u64),
    Directory,
    Other,
}

/// Opens this as a place only, which reads nothing and tells nobody.
///
/// # Errors
/// EAGAIN if the kernel would have to ask a file system; EINVAL before Linux 5.12.
pub(super) fn open(path: &Path) -> io::Result<File> {
    open_as(path, libc::O_PATH)
}

/// Opens this directory as one that is read.
///
/// # Errors
/// As [`open`], and if it is no directory or may not be read.
pub(super) fn open_directory(path: &Path) -> io::Result<File> {
    open_as(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK)
}

fn open_as(path: &Path, flags: i32) -> io::Result<File> {
    resolve::open(None, path, flags, libc::RESOLVE_CACHED)
}

/// What is open here, without asking whoever serves it.
pub(super) fn found(file: &File) -> io::Result<Found> {
    statx(file.as_raw_fd(), c"")
}

/// What a name leads to.
///
/// # Errors
/// As [`open`].
pub(super) fn find(path: &Path) -> io::Result<Found> {
    found(&open(path)?)
}

/// What a link of `/proc` leads to: what is open or mapped there, and so needs no looking up.
pub(super) fn behind(link: &str) -> io::Result<Found> {
    statx(libc::AT_FDCWD, &CString::new(link)?)
}

fn statx(at: i32, name: &std::ffi::CStr) -> io::Result<Found> {
    let wanted = libc::STATX_TYPE | libc::STATX_INO | libc::STATX_SIZE;
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
    // SAFETY: a structure of numbers, which the call fills in; the name lives through it.
    let stat = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        if libc::statx(at, name.as_ptr(), flags, wanted, &raw mut stat) != 0 {
            return Err(io::Error::last_os_error());
        }
        stat
    };
    let kind = match u32::from(stat.stx_mode) & libc::S_IFMT {
        libc::S_IFREG => Kind::Regular(stat.stx_size),
        libc::S_IFDIR => Kind::Directory,
        _ => Kind::Other,
    };
    Ok(Found { identity: (libc::makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino), kind })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_was_just_looked_at_is_at_hand() {
        let path = std::env::temp_dir().join(format!("foresee-at-hand-{}", std::process::id()));
        fs::write(&path, "12345").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        match find(&path) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => println!("skipped: {error}"),
            found => {
                let identity = (metadata.dev(), metadata.ino());
                assert_eq!(found.unwrap(), Found { identity, kind: Kind::Regular(5) });
                assert_eq!(find(path.parent().unwrap()).unwrap().kind, Kind::Directory);
                assert!(find(&path.with_extension("missing")).is_err());
            }
        }
        fs::remove_file(path).unwrap();
    }
}
