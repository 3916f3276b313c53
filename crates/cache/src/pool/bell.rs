//! What a thread hears while it waits for the system (an eventfd).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Readable while it rings.
pub struct Bell(OwnedFd);

impl Bell {
    /// One that does not ring.
    ///
    /// # Errors
    /// If the system has none.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is handed over; the result is checked.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made, and is nobody else's.
        Ok(Bell(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// What to poll.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Rings until it is silenced.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of ours are read. It fails only where it has rung 2^64 - 2 times.
        unsafe { libc::write(self.descriptor(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Rings no more.
    pub fn silence(&self) {
        let mut rung = 0_u64;
        // SAFETY: eight bytes of ours are written. It fails only where it does not ring.
        unsafe { libc::read(self.descriptor(), (&raw mut rung).cast(), size_of::<u64>()) };
    }
}
