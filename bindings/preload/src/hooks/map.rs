//! Files mapped into memory.

use core::ffi::{c_int, c_void};

use foresee_ring::Record;
use libc::off_t;

use crate::next::hook;
use crate::{fds, observe, state};

hook! {
    [mmap, mmap64](
        at: *mut c_void, bytes: usize, prot: c_int, flags: c_int, fd: c_int, offset: off_t
    ) -> *mut c_void, next => {
        let mapped = next(at, bytes, prot, flags, fd, offset);
        if fd >= 0 && flags & libc::MAP_ANONYMOUS == 0 && mapped != libc::MAP_FAILED {
            told(fd, prot, mapped, offset, bytes);
        }
        mapped
    }
}

fn told(fd: c_int, prot: c_int, mapped: *mut c_void, offset: off_t, bytes: usize) {
    if let Some(region) = state::region()
        && let Some(file) = fds::regular(fd)
    {
        let (addr, offset, len) = (mapped as u64, offset as u64, bytes as u64);
        observe::post(region, Record::Mapped { fd, generation: file.generation(), prot, addr, offset, len }, &[]);
    }
}
