//! What programs say of their reads anyway.

use core::ffi::{c_int, c_void};

use foresee_ring::{Advice, Record};
use libc::off_t;

use crate::next::hook;
use crate::{fds, observe, state};

hook! {
    [posix_fadvise, posix_fadvise64](fd: c_int, offset: off_t, len: off_t, advice: c_int) -> c_int, next => {
        let result = next(fd, offset, len, advice);
        let advice = match advice {
            libc::POSIX_FADV_NORMAL => Some(Advice::Normal),
            libc::POSIX_FADV_SEQUENTIAL => Some(Advice::Sequential),
            libc::POSIX_FADV_RANDOM => Some(Advice::Random),
            libc::POSIX_FADV_WILLNEED => Some(Advice::WillNeed),
            libc::POSIX_FADV_DONTNEED => Some(Advice::DontNeed),
            libc::POSIX_FADV_NOREUSE => Some(Advice::NoReuse),
            _ => None,
        };
        if result == 0 && let Some(advice) = advice {
            advised(fd, offset as u64, len as u64, advice);
        }
        result
    }
}

hook! {
    [readahead](fd: c_int, offset: i64, bytes: usize) -> isize, next => {
        let result = next(fd, offset, bytes);
        if result == 0 {
            advised(fd, offset as u64, bytes as u64, Advice::WillNeed);
        }
        result
    }
}

hook! {
    // Only what may be of a file: allocators give memory back (`MADV_DONTNEED`, `MADV_FREE`) all the time.
    [madvise](addr: *mut c_void, len: usize, advice: c_int) -> c_int, next => {
        let result = next(addr, len, advice);
        let advice = match advice {
            libc::MADV_NORMAL => Some(Advice::Normal),
            libc::MADV_SEQUENTIAL => Some(Advice::Sequential),
            libc::MADV_RANDOM => Some(Advice::Random),
            libc::MADV_WILLNEED => Some(Advice::WillNeed),
            _ => None,
        };
        if result == 0 && let Some(advice) = advice && let Some(region) = state::region() {
            observe::post(region, Record::AdvisedMemory { advice, addr: addr as u64, len: len as u64 }, &[]);
        }
        result
    }
}

fn advised(fd: c_int, offset: u64, len: u64, advice: Advice) {
    let is_wish = advice == Advice::WillNeed;
    if let Some(region) = state::region()
        // Nobody need know that a file will be read in order whose reads nobody need know of.
        && (is_wish || !region.is_quiet() || fds::get(fd).is_some_and(|file| !file.is_untold()))
        && let Some(file) = fds::regular(fd)
    {
        observe::post(region, Record::Advised { fd, generation: file.generation(), advice, offset, len }, &[]);
    }
}
