//! Calls of the hint library, each posted as one, and those that are answered.
//!
//! A call of the hint library is the program's wish, so it may wait where a hook may not. Two rules
//! keep it harmless. What it says waits until half of the ring is free, so that records of reads
//! find room. And who waited for [`WAITS_MAX`] in vain does not wait again until something was
//! taken: a supervisor that is stopped or killed costs a program one second.

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use foresee_ring::{Process, Record, Region, ticks};
use libc::EAGAIN;

use crate::{state, sys, thread};

/// How long one wait is: in that time the supervisor takes a record's segments.
const WAIT_NS: i64 = 100_000;
/// So many waits in a row, and nothing was taken: at least a second.
const WAITS_MAX: u32 = 10_000;

/// The thread that makes a call; 0 if none does.
static CALLING: AtomicU32 = AtomicU32::new(0);
/// Somebody waited in vain, and nothing was taken since.
static IN_VAIN: AtomicBool = AtomicBool::new(false);
/// The next ticket.
static TICKET: AtomicU32 = AtomicU32::new(0);

/// Says something without another thread's calls among it. Returns 0, also if nobody listens (any
/// more), or an errno.
pub(crate) fn as_one(say: impl FnOnce(&Region) -> bool) -> c_int {
    alone(|region| if say(region) || region.is_closing() { 0 } else { EAGAIN }).unwrap_or_else(|error| error)
}

/// Asks, and waits for the answer. None if nobody listens (any more).
pub(crate) fn ask(question: impl FnOnce(u32) -> Record, path: &[u8]) -> Result<Option<i32>, c_int> {
    alone(|region| {
        let Some(process) = state::process() else { return Err(EAGAIN) };
        // Its 16 bits that count are never all 0.
        let ticket = TICKET.fetch_add(1, Relaxed) % u32::from(u16::MAX) + 1;
        let mut answer = None;
        let is_answered = || {
            answer = process.answer_to(ticket);
            answer.is_some()
        };
        let waits = if post(region, question(ticket), path) { WAITS_MAX } else { 0 };
        match wait_until(region, waits, is_answered) {
            true => answer.transpose().map_err(c_int::from),
            false if region.is_closing() => Ok(None),
            false => Err(EAGAIN),
        }
    })
    .unwrap_or_else(|error| if error == 0 { Ok(None) } else { Err(error) })
}

/// Waits until foresee has no file open. Without an answer it is as without us, but for a moment.
pub(crate) fn quiesce() {
    let _ = ask(|ticket| Record::Quiesces { ticket }, &[]);
}

/// Does something that no other thread of this process does meanwhile; an error, which is 0 if
/// nobody listens, if it cannot.
fn alone<T>(act: impl FnOnce(&Region) -> T) -> Result<T, c_int> {
    let Some(region) = state::region_for_wishes() else { return Err(0) };
    let me = thread::id();
    // A signal handler that interrupted a call of this very thread would wait for itself.
    if CALLING.load(Relaxed) == me {
        return Err(EAGAIN);
    }
    if !wait_until(region, WAITS_MAX, || CALLING.compare_exchange(0, me, Acquire, Relaxed).is_ok()) {
        return Err(EAGAIN);
    }
    let done = act(region);
    CALLING.store(0, Release);
    Ok(done)
}

/// Begins with a ticket that the program which was here before exec has not used: the slot may
/// hold, or be about to get, the answer to its last question.
pub(crate) fn begin(process: Option<&Process>) {
    TICKET.store(process.map_or(0, Process::unasked_ticket), Relaxed);
}

/// This is a new process, of one thread: whoever made a call in the parent is not here.
pub(crate) fn forget() {
    CALLING.store(0, Relaxed);
}

pub(crate) fn post(region: &Region, record: Record, bytes: &[u8]) -> bool {
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
