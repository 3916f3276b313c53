//! What the library knows of the ring and of itself.

use core::ptr::{null_mut, with_exposed_provenance};
use core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use foresee_ring::{NO_PROCESS_SLOT, Process, Record, Region, Stamp, ticks};

use crate::{sys, thread};

/// All that a read needs, on one cache line that nobody writes.
#[repr(align(64))]
struct State {
    region: AtomicPtr<Region>,
    process: AtomicPtr<Process>,
    /// libc's `__libc_single_threaded`, if it has one.
    single_threaded: AtomicUsize,
    pid: AtomicU32,
    seed: AtomicU32,
}

static STATE: State = State {
    region: AtomicPtr::new(null_mut()),
    process: AtomicPtr::new(null_mut()),
    single_threaded: AtomicUsize::new(0),
    pid: AtomicU32::new(0),
    seed: AtomicU32::new(0),
};

/// The ring, as long as there is one.
#[inline(always)]
pub(crate) fn region() -> Option<&'static Region> {
    // SAFETY: set once to a mapping that is never undone.
    unsafe { STATE.region.load(Acquire).as_ref() }
}

/// Our process slot, if we have one.
#[inline(always)]
pub(crate) fn process() -> Option<&'static Process> {
    // SAFETY: set to a part of the region only.
    unsafe { STATE.process.load(Relaxed).as_ref() }
}

/// What the generations of this program image begin with, so that the supervisor's wish for a descriptor of the image
/// that was here before (exec keeps the process slot) does not match one of ours.
#[inline(always)]
pub(crate) fn seed() -> u32 {
    STATE.seed.load(Relaxed)
}

/// No other thread runs. Where libc cannot say, there may be one.
#[inline(always)]
pub(crate) fn is_single_threaded() -> bool {
    let flag = STATE.single_threaded.load(Relaxed);
    // SAFETY: libc's variable, which it also writes without a lock.
    flag != 0 && unsafe { (*with_exposed_provenance::<AtomicU8>(flag)).load(Relaxed) != 0 }
}

pub(crate) fn find_single_threaded() {
    // SAFETY: the name ends with a NUL.
    let flag = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    STATE.single_threaded.store(flag.expose_provenance(), Relaxed);
}

/// Begins to speak, as the process this is. Returns its slot.
pub(crate) fn enter(region: &'static Region) -> u32 {
    STATE.seed.store((ticks() >> 8) as u32, Relaxed);
    let slot = become_this_process(region);
    STATE.region.store(core::ptr::from_ref(region).cast_mut(), Release);
    slot
}

/// Takes the identity of the process we find ourselves in, and a slot of its own. Returns the slot.
pub(crate) fn become_this_process(region: &'static Region) -> u32 {
    let pid = sys::getpid();
    STATE.pid.store(pid, Relaxed);
    thread::forget();
    let slot = region.claim(pid).unwrap_or(NO_PROCESS_SLOT);
    let process = region.process(slot).map_or(null_mut(), |process| core::ptr::from_ref(process).cast_mut());
    STATE.process.store(process, Relaxed);
    slot
}

/// Falls silent for good.
pub(crate) fn leave() {
    STATE.region.store(null_mut(), Release);
}

pub(crate) fn pid() -> u32 {
    STATE.pid.load(Relaxed)
}

/// The ring, if we are also the process we think we are: not a child of vfork, which runs in our memory with
/// descriptors of its own. One system call, so not for reads.
pub(crate) fn region_of_this_process() -> Option<&'static Region> {
    region().filter(|region| !region.is_closing() && sys::getpid() == pid())
}

#[inline(always)]
pub(crate) fn stamp(ticks: u64) -> Stamp {
    Stamp { pid: pid(), tid: thread::id(), ticks }
}

/// Posts something that happened just now.
pub(crate) fn post(region: &Region, record: Record, path: &[u8]) {
    region.post(stamp(ticks()), &record, path);
}
