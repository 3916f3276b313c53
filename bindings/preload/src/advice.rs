//! Where the hint library's advice (002 section 3) comes in: it finds [`foresee_advice_v1`] by its
//! name.
//!
//! Advice may be refused, and is asked for, so that all calls but one wait for an answer: some
//! milliseconds, in programs that make a handful of them as they begin. A temporary priority is
//! given at each block that is done with, and waits for nothing; that one was refused is told by
//! the next.

use core::ffi::{c_char, c_int};
use core::slice;

use foresee_ring::{LevelOrder, Record};
use libc::EINVAL;

use crate::calls::{as_one, ask, post};
use crate::state;

/// `struct advice_listener` in `bindings/c/foresee.c`. A change is a new name, and the old one
/// stays. The functions return 0 or an errno, and leave what they were to answer alone where nobody
/// does.
#[repr(C)]
pub(crate) struct Advice {
    manage: extern "C" fn(c_int) -> c_int,
    set_priority: unsafe extern "C" fn(*const c_char, usize, c_int) -> c_int,
    get_priority: unsafe extern "C" fn(*const c_char, usize, *mut c_int) -> c_int,
    set_policy: extern "C" fn(c_int, c_int) -> c_int,
    get_policy: unsafe extern "C" fn(c_int, *mut c_int) -> c_int,
    set_temporary_priority: unsafe extern "C" fn(*const c_char, usize, u64, u64, c_int) -> c_int,
}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "it is named for C")]
static foresee_advice_v1: Advice =
    Advice { manage, set_priority, get_priority, set_policy, get_policy, set_temporary_priority };

/// The path's bytes.
///
/// # Safety
/// So many bytes lie there, for as long as the call lasts.
unsafe fn path<'a>(path: *const c_char, bytes: usize) -> &'a [u8] {
    // SAFETY: by the caller's promise: the hint library has counted them.
    unsafe { slice::from_raw_parts(path.cast::<u8>(), bytes) }
}

/// The errno of a call whose answer says no more.
fn told(answer: Result<Option<i32>, c_int>) -> c_int {
    answer.err().unwrap_or(0)
}

/// Writes the answer where the program wants it. Returns the errno.
///
/// # Safety
/// `target` can be written to.
unsafe fn written(answer: Result<Option<i32>, c_int>, target: *mut c_int) -> c_int {
    if let Ok(Some(value)) = answer {
        // SAFETY: by the caller's promise.
        unsafe { target.write(value) };
    }
    told(answer)
}

extern "C" fn manage(on: c_int) -> c_int {
    told(ask(|ticket| Record::Managed { ticket, on: on != 0 }, &[]))
}

unsafe extern "C" fn set_priority(name: *const c_char, bytes: usize, priority: c_int) -> c_int {
    // SAFETY: the hint library gives a path and its length.
    told(ask(|ticket| Record::PrioritySet { ticket, priority }, unsafe { path(name, bytes) }))
}

unsafe extern "C" fn get_priority(name: *const c_char, bytes: usize, priority: *mut c_int) -> c_int {
    // SAFETY: the hint library gives a path and its length, and a place for the answer.
    unsafe { written(ask(|ticket| Record::PriorityAsked { ticket }, path(name, bytes)), priority) }
}

extern "C" fn set_policy(priority: c_int, order: c_int) -> c_int {
    let order = match order {
        0 => LevelOrder::Lru,
        1 => LevelOrder::Mru,
        _ => return EINVAL,
    };
    told(ask(|ticket| Record::PolicySet { ticket, priority, order }, &[]))
}

unsafe extern "C" fn get_policy(priority: c_int, order: *mut c_int) -> c_int {
    // SAFETY: the hint library gives a place for the answer.
    unsafe { written(ask(|ticket| Record::PolicyAsked { ticket, priority }, &[]), order) }
}

unsafe extern "C" fn set_temporary_priority(
    name: *const c_char,
    bytes: usize,
    offset: u64,
    len: u64,
    priority: c_int,
) -> c_int {
    // SAFETY: the hint library gives a path and its length.
    let path = unsafe { path(name, bytes) };
    let before = state::process().and_then(|process| process.take_refusal());
    let said = as_one(|region| post(region, Record::TemporaryPrioritySet { priority, offset, len }, path));
    if said == 0 { before.map_or(0, c_int::from) } else { said }
}
