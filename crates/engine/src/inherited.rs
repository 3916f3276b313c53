//! What whoever started us meant for the program, and Rust's runtime changes before `main`: it opens standard descriptors
//! that are closed, and ignores SIGPIPE. The program gets both as they were.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before the runtime does.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: no new action is given, and the old one is filled in or stays zero, which is the default one.
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
