//! Room to work in, where whoever started us allows little stack ('ulimit -s'): reading the command
//! line takes some of it.

use std::thread;

/// What is enough, and what is taken where there is less.
const STACK_BYTES: usize = 1 << 20;

/// Calls it with enough stack. If none is to be had, with what there is.
pub fn with_room<T: Send + 'static>(call: fn() -> T) -> T {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is filled in, or stays as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if limit.rlim_cur >= STACK_BYTES as u64 {
        return call();
    }
    // SAFETY: both sets are filled in before they are read.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        // What we are sent is for the thread that works.
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    };
    let restore = move || {
        // SAFETY: the set was filled in above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    };
    let working = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        restore();
        call()
    });
    match working.map(thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => {
            restore();
            call()
        }
    }
}
