//! Writing: where files grow, and positions move. `write` itself may be patched in libc, like
//! `read`.

use core::ffi::{c_int, c_void};

use foresee_ring::OFFSET_CURRENT;
use libc::{iovec, off_t};

use crate::next::hook;
use crate::observe;
use crate::patch::entry::WRITE;

hook! {
    sited [write](fd: c_int, from: *const c_void, bytes: usize) -> isize, next => {
        let wrote = next(fd, from, bytes);
        if !WRITE.is_patched() {
            observe::wrote(fd, OFFSET_CURRENT, wrote);
        }
        wrote
    }
}

hook! {
    sited [pwrite, pwrite64](fd: c_int, from: *const c_void, bytes: usize, offset: off_t) -> isize, next => {
        let wrote = next(fd, from, bytes, offset);
        observe::wrote(fd, offset as u64, wrote);
        wrote
    }
}

hook! {
    sited [writev](fd: c_int, parts: *const iovec, count: c_int) -> isize, next => {
        let wrote = next(fd, parts, count);
        observe::wrote(fd, OFFSET_CURRENT, wrote);
        wrote
    }
}

hook! {
    sited [pwritev2, pwritev64v2](fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize, next => {
        let wrote = next(fd, parts, count, offset, flags);
        let at = if offset < 0 { OFFSET_CURRENT } else { offset as u64 };
        observe::wrote_or_appended(fd, at, wrote, flags & libc::RWF_APPEND != 0);
        wrote
    }
}

hook! {
    sited [pwritev, pwritev64](fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize, next => {
        let wrote = next(fd, parts, count, offset);
        observe::wrote(fd, offset as u64, wrote);
        wrote
    }
}
