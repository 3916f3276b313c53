//! An eventfd that wakes the supervisor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
use std::sync::Arc;

/// Cheap to clone; all clones ring the same bell.
#[derive(Clone)]
pub struct Doorbell(Arc<File>);

impl Doorbell {
    /// A bell that has not rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; a negative result is an error.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(Doorbell(Arc::new(unsafe { File::from_raw_fd(fd) })))
    }

    /// Rings. A full counter means that it rings already.
    pub fn ring(&self) {
        let _ = (&*self.0).write(&1u64.to_ne_bytes());
    }

    /// Silences it until the next ring.
    pub fn answer(&self) {
        let _ = (&*self.0).read(&mut [0; 8]);
    }

    /// What to poll.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
