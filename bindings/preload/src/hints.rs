//! Where the hint library (`bindings/c`) comes in: it finds [`foresee_hints_v1`] by its name.
//!
//! A call of the hint library is the program's wish, so it may wait where a hook may not: a list of any length arrives whole
//! and in order. It goes through the ring like all else, 255 segments a record, which is 7 ns a segment. A list of 110,000
//! finds room at once; a longer one waits for the supervisor, which needs 0.4 to 0.6 us for each segment: half a second for a
//! million. The alternative was a sealed memfd a list. It would take a descriptor of the program's, and an answer that it may be
//! closed, and save the waiting only of lists that long, whose reads take minutes.
//!
//! Two rules keep it harmless. Hints wait until half of the ring is free, so that records of reads find room. And who waited
//! for [`WAITS_MAX`] in vain does not wait again until something was taken: a supervisor that is stopped or killed costs a
//! program one second.

use core::ffi::{c_char, c_int};
use core::slice;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use foresee_ring::{PATH_BYTES_MAX, Record, Region, SEGMENT_BYTES, ticks};
use libc::EAGAIN;

use crate::{state, sys, thread};

/// How long one wait is: in that time the supervisor takes a record's segments.
const WAIT_NS: i64 = 100_000;
/// So many waits in a row, and nothing was taken: at least a second.
const WAITS_MAX: u32 = 10_000;
/// Segments that one record has room for.
const SEGMENTS_AT_ONCE: usize = PATH_BYTES_MAX / SEGMENT_BYTES;

/// `struct listener` in `bindings/c/foresee.c`. A change is a new name, and the old one stays. The functions return 0 or an
/// errno.
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
    c_int::from(state::region_of_this_process().is_some())
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

/// The thread that makes a hint; 0 if none does.
static HINTING: AtomicU32 = AtomicU32::new(0);
/// Somebody waited in vain, and nothing was taken since.
static IN_VAIN: AtomicBool = AtomicBool::new(false);

/// Says something without another thread's hints among it. Returns 0, also if nobody listens (any more), or an errno.
fn as_one(say: impl FnOnce(&Region) -> bool) -> c_int {
    let Some(region) = state::region_of_this_process() else { return 0 };
    let me = thread::id();
    // A signal handler that interrupted a hint of this very thread would wait for itself.
    if HINTING.load(Relaxed) == me {
        return EAGAIN;
    }
    if !wait_until(region, WAITS_MAX, || HINTING.compare_exchange(0, me, Acquire, Relaxed).is_ok()) {
        return EAGAIN;
    }
    let said = say(region);
    HINTING.store(0, Release);
    if said || region.is_closing() { 0 } else { EAGAIN }
}

/// This is a new process, of one thread: whoever made a hint in the parent is not here.
pub(crate) fn forget() {
    HINTING.store(0, Relaxed);
}

fn post(region: &Region, record: Record, bytes: &[u8]) -> bool {
    let waits = if IN_VAIN.load(Relaxed) { 0 } else { WAITS_MAX };
    let is_taken = || region.is_half_free() && region.post(state::stamp(ticks()), &record, bytes);
    let taken = wait_until(region, waits, is_taken);
    IN_VAIN.store(!taken, Relaxed);
    taken
}

/// Tries until it is done; gives up after so many waits, and when nobody listens any more.
fn wait_until(region: &Region, waits_max: u32, mut is_done: impl FnMut() -> bool) -> bool {
    for _ in 0..waits_max {
        if is_done() {
            return true;
        }
        if region.is_closing() {
            return false;
        }
        sys::sleep(WAIT_NS);
    }
    is_done()
}
