//! Attributes looked at by path: what a program is about to open, often enough.

use core::ffi::{c_char, c_int, c_uint, c_void};

use libc::AT_FDCWD;

use crate::next::hook;
use crate::observe;

hook! {
    [stat, stat64, lstat, lstat64](path: *const c_char, into: *mut c_void) -> c_int, next => {
        observe::stat(AT_FDCWD, path, || next(path, into))
    }
}

hook! {
    [fstatat, fstatat64](dirfd: c_int, path: *const c_char, into: *mut c_void, flags: c_int) -> c_int, next => {
        observe::stat(dirfd, path, || next(dirfd, path, into, flags))
    }
}

hook! {
    [statx](dirfd: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut c_void) -> c_int, next => {
        observe::stat(dirfd, path, || next(dirfd, path, flags, mask, into))
    }
}

hook! {
    [access, eaccess, euidaccess](path: *const c_char, mode: c_int) -> c_int, next => {
        observe::stat(AT_FDCWD, path, || next(path, mode))
    }
}

hook! {
    [faccessat](dirfd: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int, next => {
        observe::stat(dirfd, path, || next(dirfd, path, mode, flags))
    }
}

hook! {
    // What programs built against glibc before 2.33 call.
    [__xstat, __xstat64, __lxstat, __lxstat64](version: c_int, path: *const c_char, into: *mut c_void) -> c_int, next => {
        observe::stat(AT_FDCWD, path, || next(version, path, into))
    }
}

hook! {
    // What programs built against glibc before 2.33 call.
    [__fxstatat, __fxstatat64](
        version: c_int, dirfd: c_int, path: *const c_char, into: *mut c_void, flags: c_int
    ) -> c_int, next => {
        observe::stat(dirfd, path, || next(version, dirfd, path, into, flags))
    }
}
