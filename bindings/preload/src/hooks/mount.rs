//! File systems unmounted: nobody may have a file open there, so foresee is asked to close what it
//! has.

use core::ffi::{c_char, c_int};

use crate::calls;
use crate::next::hook;

hook! {
    [umount](target: *const c_char) -> c_int, next => {
        calls::quiesce();
        next(target)
    }
}

hook! {
    [umount2](target: *const c_char, flags: c_int) -> c_int, next => {
        calls::quiesce();
        next(target, flags)
    }
}
