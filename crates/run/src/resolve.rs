//! Opens what a name leads to by rules that the system keeps (openat2(2)).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens this with these flags, from a directory on if its name is relative, if that is one of this
/// kind: `libc::RESOLVE_CACHED` and others.
///
/// # Errors
/// If it is not, or cannot be opened: ENOSYS before Linux 5.6, EINVAL where it knows no such rule.
pub fn open(directory: Option<&File>, path: &Path, flags: i32, resolve: u64) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let at = directory.map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd);
    // SAFETY: a structure of numbers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = resolve;
    // SAFETY: name and structure live through the call; the descriptor is ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat2, at, name.as_ptr(), &raw const how, size_of_val(&how));
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(fd as i32)) }
    }
}
