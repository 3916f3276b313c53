//! Where the hint library's disclosures (`bindings/c`) come in: it finds [`foresee_hints_v1`] by
//! its name.
//!
//! A list of any length arrives whole and in order. It goes through the ring like all else, 255
//! segments a record, which is 7 ns a segment. A list of 110,000 finds room at once; a longer one
//! waits for the supervisor, which needs 0.4 to 0.6 us for each segment: half a second for a
//! million. The alternative was a sealed memfd a list. It would take a descriptor of the program's,
//! and an answer that it may be closed, and save the waiting only of lists that long, whose reads
//! take minutes.

use core::ffi::{c_char, c_int};
use core::slice;

use foresee_ring::{PATH_BYTES_MAX, Record, SEGMENT_BYTES};

use crate::calls::{as_one, post};
use crate::state;

/// Segments that one record has room for.
const SEGMENTS_AT_ONCE: usize = PATH_BYTES_MAX / SEGMENT_BYTES;

/// `struct hints_listener` in `bindings/c/foresee.c`. A change is a new name, and the old one
/// stays. The functions return 0 or an errno.
#[repr(C)]
pub(crate) struct Hints {
    is_active: extern "C" fn() -> c_int,
    hint_file: unsafe extern "C" fn(*const c_char, usize) -> c_int,
    hint_segments: unsafe extern "C" fn(*const c_char, usize, *const u8, usize) -> c_int,
    repeat: extern "C" fn(u64, u64) -> c_int,
    cancel: extern "C" fn() -> c_int,
}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "it is named for C")]
static foresee_hints_v1: Hints = Hints { is_active, hint_file, hint_segments, repeat, cancel };

extern "C" fn is_active() -> c_int {
    c_int::from(state::region_for_wishes().is_some())
}

unsafe extern "C" fn hint_file(path: *const c_char, path_bytes: usize) -> c_int {
    // SAFETY: the hint library has counted the path's bytes.
    let path = unsafe { slice::from_raw_parts(path.cast::<u8>(), path_bytes) };
    as_one(|region| post(region, Record::Hinted { whole: true }, path))
}

unsafe extern "C" fn hint_segments(path: *const c_char, path_bytes: usize, segments: *const u8, count: usize) -> c_int {
    // SAFETY: the hint library has counted the path's bytes.
    let path = unsafe { slice::from_raw_parts(path.cast::<u8>(), path_bytes) };
    let list = match count {
        0 => &[],
        // SAFETY: the program says that so many lie there; more than memory can hold cannot.
        _ => unsafe { slice::from_raw_parts(segments, count.min(isize::MAX as usize / SEGMENT_BYTES) * SEGMENT_BYTES) },
    };
    as_one(|region| {
        post(region, Record::Hinted { whole: false }, path)
            && list.chunks(SEGMENTS_AT_ONCE * SEGMENT_BYTES).all(|part| post(region, Record::HintedSegments {}, part))
    })
}

extern "C" fn repeat(hints: u64, passes: u64) -> c_int {
    as_one(|region| post(region, Record::HintsRepeated { hints, passes }, &[]))
}

extern "C" fn cancel() -> c_int {
    as_one(|region| post(region, Record::HintsCancelled {}, &[]))
}
