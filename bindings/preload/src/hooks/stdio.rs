//! Streams. stdio opens and closes by entries of libc's own, so what it did is looked at
//! afterwards.

use core::ffi::{c_char, c_int};

use foresee_ring::Took;
use libc::{AT_FDCWD, FILE};

use crate::next::{Missing, hook};
use crate::{fds, observe, state, sys};

impl Missing for *mut FILE {
    fn missing() -> Self {
        sys::set_errno(libc::ENOSYS);
        core::ptr::null_mut()
    }
}

hook! {
    [fopen, fopen64](path: *const c_char, mode: *const c_char) -> *mut FILE, next => {
        // Only libc may read the mode before it has checked it.
        let naming = observe::Naming::begin(true);
        let stream = next(path, mode);
        if let Some(took) = naming.opened(descriptor(stream), false) {
            opened(stream, path, took);
        } else if !is_to_read(mode) {
            opened(stream, path, Took::default());
        }
        stream
    }
}

/// Whether a stream of this mode is only read.
///
/// # Safety
/// libc has just read `mode`.
unsafe fn is_to_read(mode: *const c_char) -> bool {
    // SAFETY: by the caller's promise.
    let mode = unsafe { observe::bytes(mode) };
    mode.starts_with(b"r") && !mode.contains(&b'+')
}

hook! {
    [freopen, freopen64](path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE, next => {
        let before = descriptor(stream);
        let was = fds::get(before);
        let stream = next(path, mode, stream);
        observe::closed_since(before, was);
        // Without a path it is the same file in another mode, which is adopted at its next read.
        if !path.is_null() {
            opened(stream, path, Took::default());
        }
        stream
    }
}

hook! {
    // Forgotten afterwards, unlike in `close`: closing a stream may still write and seek.
    [fclose](stream: *mut FILE) -> c_int, next => {
        let fd = descriptor(stream);
        let was = fds::get(fd);
        let result = next(stream);
        observe::closed_since(fd, was);
        result
    }
}

/// # Safety
/// `stream` is null or open, and libc has just looked for `path`.
unsafe fn opened(stream: *mut FILE, path: *const c_char, took: Took) {
    if state::region().is_none() {
        return;
    }
    // SAFETY: by the caller's promise.
    let fd = unsafe { descriptor(stream) };
    // SAFETY: likewise.
    unsafe { observe::opened(fd, AT_FDCWD, path, if fd < 0 { 0 } else { sys::open_flags(fd) }, took) };
}

/// A stream's descriptor, or -1 if it has none.
///
/// # Safety
/// `stream` is null or open.
unsafe fn descriptor(stream: *mut FILE) -> c_int {
    if stream.is_null() {
        return -1;
    }
    let before = sys::errno();
    // SAFETY: by the caller's promise.
    let fd = unsafe { libc::fileno(stream) };
    sys::set_errno(before);
    fd
}
