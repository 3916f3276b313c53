//! Ending as the program did.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The least that the kernel calls a core: a page.
const CORE_BYTES_MAX: u64 = 64 << 10;

/// Ends this process as a child of this status ended; or with the companion's exit status, if that
/// failed and the program did not. What else there is to be done at an end is the companion's.
pub fn end_as(status: i32, of_companion: i32) -> ! {
    if libc::WIFSIGNALED(status) {
        die_by(libc::WTERMSIG(status), libc::WCOREDUMP(status));
    }
    let of_program = libc::WEXITSTATUS(status);
    // SAFETY: ends the process.
    unsafe { libc::_exit(if of_program == 0 { of_companion } else { of_program }) }
}

/// Ends by a signal. That a core was dumped is in the status only if one was.
fn die_by(signal: i32, dumped: bool) -> ! {
    if !(dumped && prepare_core().is_ok()) {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    }
    // SAFETY: the set is filled in before it is read; no handler is installed.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        // None that we know of lets us come here.
        libc::_exit(128 + signal)
    }
}

/// Sees to it that a core of ours covers up nobody else's: it is small, and in a directory of its
/// own that is gone as soon as we are.
fn prepare_core() -> io::Result<()> {
    let pattern = fs::read("/proc/sys/kernel/core_pattern")?;
    if pattern.iter().any(|byte| b"/|@".contains(byte)) {
        // It would go where the program's went, or to whoever collects them.
        return Err(io::ErrorKind::Unsupported.into());
    }
    let template = CString::new(std::env::temp_dir().join("foresee-core-XXXXXX").as_os_str().as_bytes())?;
    let name = template.into_raw();
    // SAFETY: the name is a string of our own, which is changed in place and freed by its owner.
    let (made, name) = unsafe { (libc::mkdtemp(name), CString::from_raw(name)) };
    if made.is_null() {
        return Err(io::Error::last_os_error());
    }
    let directory = PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes()));
    remove_after_us(&directory)?;
    std::env::set_current_dir(&directory)?;
    fs::write("/proc/self/coredump_filter", "0")?;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is written to, then read.
    let limited = unsafe {
        libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max.min(CORE_BYTES_MAX);
        libc::setrlimit(libc::RLIMIT_CORE, &raw const limit)
    };
    if limited == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Leaves a process that waits for our end, and then removes this directory.
fn remove_after_us(directory: &PathBuf) -> io::Result<()> {
    let (mut ended, ends) = io::pipe()?;
    // SAFETY: there is no other thread, so that the child may do what it likes.
    match unsafe { libc::fork() } {
        -1 => fs::remove_dir(directory).and(Err(io::ErrorKind::OutOfMemory.into())),
        0 => {
            drop(ends);
            let _ = ended.read(&mut [0]);
            let _ = fs::remove_dir_all(directory);
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        _ => {
            // Open until we are dead.
            std::mem::forget(ends);
            Ok(())
        }
    }
}
