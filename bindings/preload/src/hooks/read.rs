//! Reading. `read` itself may be patched in libc (`patch.rs`); then libc's own entry tells, and its
//! hooks here pass on.

use core::ffi::{c_int, c_void};

use foresee_ring::OFFSET_CURRENT;
use libc::{iovec, off_t};

use crate::next::hook;
use crate::observe;
use crate::patch::entry::READ;

hook! {
    sited [read](fd: c_int, into: *mut c_void, bytes: usize) -> isize, next => {
        if READ.is_patched() {
            return next(fd, into, bytes);
        }
        observe::read(fd, OFFSET_CURRENT, bytes, || next(fd, into, bytes))
    }
}

hook! {
    sited [__read_chk](fd: c_int, into: *mut c_void, bytes: usize, room: usize) -> isize, next => {
        if READ.is_patched() {
            return next(fd, into, bytes, room);
        }
        observe::read(fd, OFFSET_CURRENT, bytes, || next(fd, into, bytes, room))
    }
}

hook! {
    sited [pread, pread64](fd: c_int, into: *mut c_void, bytes: usize, offset: off_t) -> isize, next => {
        observe::read(fd, offset as u64, bytes, || next(fd, into, bytes, offset))
    }
}

hook! {
    sited [__pread_chk, __pread64_chk](fd: c_int, into: *mut c_void, bytes: usize, offset: off_t, room: usize) -> isize, next => {
        observe::read(fd, offset as u64, bytes, || next(fd, into, bytes, offset, room))
    }
}

hook! {
    sited [readv](fd: c_int, parts: *const iovec, count: c_int) -> isize, next => {
        vector(fd, OFFSET_CURRENT, parts, count, || next(fd, parts, count))
    }
}

hook! {
    sited [preadv, preadv64](fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize, next => {
        vector(fd, offset as u64, parts, count, || next(fd, parts, count, offset))
    }
}

hook! {
    sited [preadv2, preadv64v2](fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize, next => {
        let at = if offset < 0 { OFFSET_CURRENT } else { offset as u64 };
        vector(fd, at, parts, count, || next(fd, parts, count, offset, flags))
    }
}

hook! {
    sited [sendfile, sendfile64](to: c_int, from: c_int, offset: *mut off_t, bytes: usize) -> isize, next => {
        let sent = observe::read_found(from, || {
            let sent = next(to, from, offset, bytes);
            (sent, began(offset, sent), bytes)
        });
        observe::wrote(to, OFFSET_CURRENT, sent);
        sent
    }
}

hook! {
    sited [copy_file_range, splice](
        from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, bytes: usize, flags: u32
    ) -> isize, next => {
        let copied = observe::read_found(from, || {
            let copied = next(from, from_offset, to, to_offset, bytes, flags);
            (copied, began(from_offset, copied), bytes)
        });
        observe::wrote(to, began(to_offset, copied), copied);
        copied
    }
}

/// Where a call began that moved the program's offset, or the file position, on by what it did.
///
/// # Safety
/// The call has just read and written the offset, if there is one and it succeeded.
unsafe fn began(offset: *const i64, done: isize) -> u64 {
    if offset.is_null() || done < 0 {
        return OFFSET_CURRENT;
    }
    // SAFETY: by the caller's promise.
    unsafe { offset.read() }.wrapping_sub(done as i64) as u64
}

/// Reads into a vector, whose bytes are asked for.
///
/// # Safety
/// `call` reads into `parts`.
#[inline(always)]
unsafe fn vector(fd: c_int, offset: u64, parts: *const iovec, count: c_int, call: impl FnOnce() -> isize) -> isize {
    observe::read_found(fd, || {
        let got = call();
        // The vector is the program's and may be bad: it is read only if the kernel could.
        let readable = if got < 0 { 0 } else { count.max(0) as usize };
        // SAFETY: by the caller's promise, and the kernel has read as many parts.
        let asked = (0..readable).fold(0usize, |sum, part| sum.saturating_add(unsafe { (*parts.add(part)).iov_len }));
        (got, offset, asked)
    })
}
