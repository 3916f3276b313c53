//! A process by a handle that stays its own, whatever becomes of its number (pidfd, since Linux 5.3).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Of one process.
pub(crate) struct Handle(OwnedFd);

impl Handle {
    /// That of the process which has this number now.
    ///
    /// # Errors
    /// ENOSYS where the kernel has no handles, ESRCH where there is no such process.
    pub fn of(process: u32) -> io::Result<Self> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process as libc::pid_t, 0) };
        // SAFETY: if there is one, it is new and ours.
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Handle(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })) }
    }

    /// Kills it, if it is still there and we may.
    pub fn kill(&self) {
        let (nothing, flags) = (std::ptr::null::<libc::siginfo_t>(), 0);
        // SAFETY: a null pointer alone, which stands for what kill(2) says of the sender.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), libc::SIGKILL, nothing, flags) };
    }

    /// What it has open by this number (since Linux 5.6; of a process that we may trace).
    ///
    /// # Errors
    /// As pidfd_getfd(2) says.
    pub fn descriptor(&self, fd: RawFd) -> io::Result<File> {
        // SAFETY: no pointers.
        let borrowed = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.0.as_raw_fd(), fd, 0) };
        if borrowed < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is new and ours.
        Ok(unsafe { File::from_raw_fd(borrowed as RawFd) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn who_has_ended_is_not_another_of_its_number() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let Ok(handle) = Handle::of(child.id()) else {
            println!("skipped: this kernel has no handles of processes");
            child.kill().and_then(|()| child.wait()).unwrap();
            return;
        };
        handle.kill();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        // Its number is free by now.
        handle.kill();
        assert!(handle.descriptor(0).is_err());
    }
}
