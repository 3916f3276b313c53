//! Files that one cache at a time writes, of whichever process.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Who has just closed it may still be through with a write; it is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Locks it, if nobody else has it.
pub fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: a descriptor that is open; no memory is handed over.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}

/// The same with some patience.
pub fn lock(file: &File) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        let is_ours = try_lock(file)?;
        if is_ours || begun.elapsed() >= PATIENCE {
            return Ok(is_ours);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Others may have it. To close it is not enough: a child that was forked meanwhile has it open as
/// well, and with it the lock.
pub fn unlock(file: &File) {
    // SAFETY: a descriptor that is open; no memory is handed over.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}
