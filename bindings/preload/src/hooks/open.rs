//! Opening by path. The mode is read whether or not the program passed one, as libc does itself.

use core::ffi::{c_char, c_int};

use libc::{AT_FDCWD, mode_t};

use crate::next::hook;
use crate::observe;

hook! {
    [open, open64](path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => {
        observe::open(AT_FDCWD, path, flags, || next(path, flags, mode))
    }
}

hook! {
    [openat, openat64](dirfd: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, next => {
        observe::open(dirfd, path, flags, || next(dirfd, path, flags, mode))
    }
}

hook! {
    [creat, creat64](path: *const c_char, mode: mode_t) -> c_int, next => {
        observe::open(AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, || next(path, mode))
    }
}

hook! {
    // What programs compiled with `_FORTIFY_SOURCE` call.
    [__open_2, __open64_2](path: *const c_char, flags: c_int) -> c_int, next => {
        observe::open(AT_FDCWD, path, flags, || next(path, flags))
    }
}

hook! {
    // What programs compiled with `_FORTIFY_SOURCE` call.
    [__openat_2, __openat64_2](dirfd: c_int, path: *const c_char, flags: c_int) -> c_int, next => {
        observe::open(dirfd, path, flags, || next(dirfd, path, flags))
    }
}
