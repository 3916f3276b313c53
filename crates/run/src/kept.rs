//! Files that are kept for later runs: written only where nobody else can meddle, read only if
//! nobody else has.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// So much is made of a directory's path: `.cache/foresee/profiles`, or a cache's own directory as well.
/// A home that is not to be there stays so.
const OWN_LEVELS: usize = 3;
/// What is being written is named so.
const UNFINISHED: &str = "unfinished";
/// What has been so for this long was left by somebody who was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);

/// A directory of our own.
pub(crate) struct Directory(File);

impl Directory {
    /// Opens it, or makes it.
    pub(crate) fn own(path: &Path) -> io::Result<Self> {
        // The place of a path that is not absolute may be the one we are in.
        let place = path.ancestors().nth(OWN_LEVELS).filter(|place| !place.as_os_str().is_empty());
        if let Some(place) = place.filter(|place| !place.is_dir()) {
            let why = format!("{} is no directory that is there", place.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        // Command lines hold secrets, and what somebody reads is nobody else's business.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let directory = File::open(path)?;
        let metadata = directory.metadata()?;
        // SAFETY: takes nothing, cannot fail.
        if metadata.uid() != unsafe { libc::geteuid() } {
            return Err(io::Error::other("belongs to another user; FORESEE_PROFILES names another place"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(io::Error::other("others may write to it; 'chmod 700' it"));
        }
        Ok(Directory(directory))
    }

    /// Writes a file, whole or not at all.
    pub(crate) fn put(&self, name: &OsStr, contents: &[u8]) -> io::Result<()> {
        let unfinished = CString::new(format!(".{:016x}.{UNFINISHED}", RandomState::new().hash_one(0)))?;
        let name = CString::new(name.as_bytes())?;
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let at = self.0.as_raw_fd();
        // SAFETY: the name is a string.
        let mut file = match unsafe { libc::openat(at, unfinished.as_ptr(), flags, 0o600) } {
            -1 => return Err(io::Error::last_os_error()),
            // SAFETY: it is new and ours.
            fd => unsafe { File::from_raw_fd(fd) },
        };
        let written = file.write_all(contents).and_then(|()| {
            // ext4 writes out what replaces a file before this returns, which takes a millisecond. A crash may
            // cost the file. SAFETY: both names are strings. That there is nothing to remove is no
            // error.
            let renamed = unsafe {
                libc::unlinkat(at, name.as_ptr(), 0);
                libc::renameat(at, unfinished.as_ptr(), at, name.as_ptr())
            };
            if renamed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
        if written.is_err() {
            // SAFETY: the name is a string.
            unsafe { libc::unlinkat(at, unfinished.as_ptr(), 0) };
        }
        written
    }

    /// Removes what was never finished.
    pub(crate) fn sweep(path: &Path) {
        let is_old = |metadata: fs::Metadata| {
            let age = metadata.modified().and_then(|it| it.elapsed().map_err(io::Error::other));
            age.is_ok_and(|age| age > ABANDONED_AFTER)
        };
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|it| it == UNFINISHED) && entry.metadata().is_ok_and(is_old) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Why a file says nothing.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Missing,
    Damaged(String),
}

/// Reads what is a regular file of our own and not too long. Anything else may have been put there
/// by somebody who wishes us ill: it is not followed, not waited for, and not read.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<(Vec<u8>, File), Unreadable> {
    let unreadable = |error: io::Error| match error.raw_os_error() {
        // That nothing can be kept here is told by who would keep it.
        Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES) => Unreadable::Missing,
        Some(libc::ELOOP) => Unreadable::Damaged("is a link".to_owned()),
        _ => Unreadable::Damaged(error.to_string()),
    };
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let damage = |why: String| Err(Unreadable::Damaged(why));
    // SAFETY: takes nothing, cannot fail.
    let user = unsafe { libc::geteuid() };
    if !metadata.is_file() {
        return damage("is no regular file".to_owned());
    }
    if metadata.uid() != user {
        return damage("belongs to another user".to_owned());
    }
    if metadata.len() > bytes_max {
        return damage(format!("{} bytes are more than such a file has", metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    (&file).take(bytes_max).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes, file))
}
