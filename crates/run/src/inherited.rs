//! What whoever started us meant for the program.
//!
//! Rust's runtime changes some of it before `main`: it opens standard descriptors that are closed,
//! and ignores SIGPIPE. The program gets both as they were. And what the program has inherited is
//! its own alone: what it closes must be closed.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Where our arguments lie in memory, one after the other, and how many bytes of them there are.
static ARGUMENTS: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static ARGUMENT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Descriptors looked at where nobody lists those that are open.
const DESCRIPTORS_GUESSED: RawFd = 1024;

/// Runs before the runtime does. The GNU linker calls it as it calls `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn(c_int, *const *mut c_char) = look;

extern "C" fn look(count: c_int, arguments: *const *mut c_char) {
    // SAFETY: no new action is given, and the old one is filled in or stays zero, which is the default
    // one.
    let pipe = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    PIPE_IGNORED.store(pipe == libc::SIG_IGN, Relaxed);
    for (fd, closed) in CLOSED.iter().enumerate() {
        // SAFETY: no pointers.
        closed.store(unsafe { libc::fcntl(fd as i32, libc::F_GETFD) } < 0, Relaxed);
    }
    if cfg!(target_env = "gnu") && count > 0 {
        // SAFETY: so many arguments are there, as strings, the first and the last among them; the kernel
        // puts them in a row.
        unsafe {
            let (first, last) = (*arguments, *arguments.add(count as usize - 1));
            let end = last.add(CStr::from_ptr(last).to_bytes().len());
            ARGUMENTS.store(first.cast(), Relaxed);
            ARGUMENT_BYTES.store((end as usize).saturating_sub(first as usize), Relaxed);
        }
    }
}

/// Whether standard output was closed: what is written there now leads nowhere.
pub fn is_output_closed() -> bool {
    CLOSED[libc::STDOUT_FILENO as usize].load(Relaxed)
}

/// Puts it back, in the child before it becomes the program.
pub fn restore() {
    for (fd, closed) in CLOSED.iter().enumerate() {
        if closed.load(Relaxed) {
            // SAFETY: the child uses nothing of ours any more.
            unsafe { libc::close(fd as i32) };
        }
    }
    if PIPE_IGNORED.load(Relaxed) {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
}

/// Closes what was inherited, but for those of the first three that are kept: the others of these
/// lead nowhere from now on.
pub fn let_go(kept: [bool; 3]) {
    // SAFETY: a string, and no pointers otherwise. Nobody in this process uses what is closed: we
    // opened none of it.
    unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for (fd, _) in kept.into_iter().enumerate().filter(|(_, kept)| !kept) {
            let fd = fd as RawFd;
            // What is opened later must not take such a number.
            if nowhere < 0 || libc::dup2(nowhere, fd) < 0 {
                libc::close(fd);
            }
        }
        for fd in open_descriptors().into_iter().filter(|&fd| fd > 2) {
            // What came through exec does not close at exec; all that we open does.
            if libc::fcntl(fd, libc::F_GETFD) == 0 {
                libc::close(fd);
            }
        }
        if nowhere > 2 {
            libc::close(nowhere);
        }
    }
}

fn open_descriptors() -> Vec<RawFd> {
    match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok()).collect(),
        Err(_) => (3..DESCRIPTORS_GUESSED).collect(),
    }
}

/// Marks what was inherited to be closed at exec. Makes no memory, for a child between fork and
/// exec.
pub fn close_at_exec() {
    // SAFETY: no pointers. Not known before Linux 5.11, where the loop does.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } == 0 {
        return;
    }
    for fd in 3..DESCRIPTORS_GUESSED {
        // SAFETY: no pointers; a descriptor that is not open is an error without consequences.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Goes by another name than the launcher: who ends all processes of that name (`pkill foresee`)
/// must not be taken for one who signals the group.
pub fn rename(launcher: i32) {
    // SAFETY: a string.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"supervisor".as_ptr()) };
    let (place, bytes) = (ARGUMENTS.load(Relaxed), ARGUMENT_BYTES.load(Relaxed));
    let title = format!("supervisor of {launcher}");
    if !place.is_null() {
        // SAFETY: so many bytes are the arguments' own, and writable; whoever wanted to know them has asked
        // by now.
        let arguments = unsafe { std::slice::from_raw_parts_mut(place, bytes) };
        arguments.fill(0);
        let length = title.len().min(bytes);
        arguments[..length].copy_from_slice(&title.as_bytes()[..length]);
    }
}
