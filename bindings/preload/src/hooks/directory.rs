//! Directories listed, and made the working one.

use core::ffi::{c_char, c_int};

use foresee_ring::Record;
use libc::{AT_FDCWD, DIR};

use crate::next::{Missing, hook};
use crate::{fds, observe, state, sys};

impl Missing for *mut DIR {
    fn missing() -> Self {
        sys::set_errno(libc::ENOSYS);
        core::ptr::null_mut()
    }
}

hook! {
    [opendir](path: *const c_char) -> *mut DIR, next => {
        let naming = observe::Naming::begin(true);
        let directory = next(path);
        let fd = descriptor(directory);
        if let Some(took) = naming.opened(fd, true) {
            observe::opened(fd, AT_FDCWD, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, took);
            listed(fd, observe::bytes(path));
        }
        observe::begin_listing();
        directory
    }
}

hook! {
    [fdopendir](fd: c_int) -> *mut DIR, next => {
        let directory = next(fd);
        if !directory.is_null() && state::region().is_some_and(|region| !region.is_quiet()) {
            let _ = fds::regular(fd);
            listed(fd, &[]);
        }
        observe::begin_listing();
        directory
    }
}

hook! {
    [closedir](directory: *mut DIR) -> c_int, next => {
        observe::end_listing();
        observe::closed(descriptor(directory));
        next(directory)
    }
}

hook! {
    [chdir](path: *const c_char) -> c_int, next => {
        let result = next(path);
        if result == 0 && let Some(region) = state::region_of_this_process() {
            state::post(region, Record::ChangedDirectory { fd: -1 }, observe::bytes(path));
        }
        result
    }
}

hook! {
    [fchdir](fd: c_int) -> c_int, next => {
        let result = next(fd);
        if result == 0 && let Some(region) = state::region_of_this_process() {
            // Adopts it, so that the supervisor knows the descriptor.
            let _ = fds::regular(fd);
            state::post(region, Record::ChangedDirectory { fd }, &[]);
        }
        result
    }
}

fn listed(fd: c_int, path: &[u8]) {
    if let Some(region) = state::region()
        && fd >= 0
    {
        observe::post(region, Record::Listed { fd }, path);
    }
}

/// A stream's descriptor, or -1 if it is none.
///
/// # Safety
/// `directory` is null or open.
unsafe fn descriptor(directory: *mut DIR) -> c_int {
    // SAFETY: by the caller's promise.
    if directory.is_null() { -1 } else { unsafe { libc::dirfd(directory) } }
}
