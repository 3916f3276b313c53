//! Addresses that the process may have (`ulimit -v`), for those who limit them. Who is refused some within a
//! request cannot answer it, and ends, so it is reckoned with before.

/// What is mapped in the beginning (160 MiB), the stacks of all threads that there may be (370 MiB), connections and
/// names take of them, whatever the memory for what is read.
pub const BESIDE_BYTES: u64 = 768 << 20;

/// How many bytes of them there may be, if that is limited.
pub fn allowed() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is written to, or stays as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    Some(limit.rlim_cur).filter(|&bytes| bytes != libc::RLIM_INFINITY)
}
