//! File systems unmounted: nobody may have a file open there, so foresee is asked to close what it has.

use core::ffi::{c_char, c_int};

use foresee_ring::Record;

use crate::next::hook;
use crate::{calls, observe, state};

hook! {
    [umount](target: *const c_char) -> c_int, next => {
        unmounts(target);
        next(target)
    }
}

hook! {
    [umount2](target: *const c_char, flags: c_int) -> c_int, next => {
        unmounts(target);
        next(target, flags)
    }
}

/// # Safety
/// The target is a path, or null.
unsafe fn unmounts(target: *const c_char) {
    if state::region().is_some() {
        // SAFETY: by the caller's promise.
        let path = unsafe { observe::bytes(target) };
        // Without an answer it is as without us, but for a moment.
        let _ = calls::ask(|ticket| Record::Unmounts { ticket }, path);
    }
}
