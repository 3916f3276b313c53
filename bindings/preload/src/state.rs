//! What the library knows of the ring and of itself.

use core::ptr::{null_mut, with_exposed_provenance};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use foresee_ring::{NO_PROCESS_SLOT, Process, Record, Region, Stamp, Unseen, ticks};

use crate::{sys, thread};

/// Who it is that executes something is not known.
const NOBODY: u32 = 0;

/// All that a read needs, on one cache line that nobody writes.
#[repr(align(64))]
struct State {
    region: AtomicPtr<Region>,
    /// The ring, also after we fell silent: what is executed is told all the same.
    for_executions: AtomicPtr<Region>,
    process: AtomicPtr<Process>,
    /// libc's `__libc_single_threaded`, if it has one.
    single_threaded: AtomicUsize,
    /// What this process is called where we speak of it: its number in the supervisor's PID
    /// namespace.
    process_number: AtomicU32,
    /// Its number in its own.
    own_number: AtomicU32,
    seed: AtomicU32,
}

static STATE: State = State {
    region: AtomicPtr::new(null_mut()),
    for_executions: AtomicPtr::new(null_mut()),
    process: AtomicPtr::new(null_mut()),
    single_threaded: AtomicUsize::new(0),
    process_number: AtomicU32::new(0),
    own_number: AtomicU32::new(0),
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

/// What the generations of this program image begin with, so that the supervisor's wish for a
/// descriptor of the image that was here before (exec keeps the process slot) does not match one of
/// ours.
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

/// Begins to speak, as the process this is. Returns its slot; nothing if the supervisor could not
/// know who speaks.
pub(crate) fn enter(region: &'static Region) -> Option<u32> {
    STATE.seed.store((ticks() >> 8) as u32, Relaxed);
    let slot = become_this_process(region)?;
    let shared = core::ptr::from_ref(region).cast_mut();
    STATE.region.store(shared, Release);
    STATE.for_executions.store(shared, Release);
    Some(slot)
}

/// Takes the identity of the process we find ourselves in, and a slot of its own. Returns the slot;
/// nothing if we cannot tell what the supervisor calls it.
pub(crate) fn become_this_process(region: &'static Region) -> Option<u32> {
    let own = sys::getpid();
    let was_in_its_namespace = process_number() == STATE.own_number.load(Relaxed);
    // The ring was found in this `/proc`, so the supervisor's numbers are in it. It may be out of sight
    // by now (chroot). Then a child is in its parent's namespace, unless it is the first of its
    // own.
    let number = sys::number_in_proc().or((was_in_its_namespace && own != 1).then_some(own))?;
    STATE.process_number.store(number, Relaxed);
    STATE.own_number.store(own, Relaxed);
    thread::forget();
    let slot = region.claim(number).unwrap_or(NO_PROCESS_SLOT);
    let process = region.process(slot).map_or(null_mut(), |process| core::ptr::from_ref(process).cast_mut());
    STATE.process.store(process, Relaxed);
    Some(slot)
}

/// The parent's number in the supervisor's PID namespace; 0 if this process is in another one.
pub(crate) fn parent_number() -> u32 {
    if process_number() == STATE.own_number.load(Relaxed) { sys::getppid() } else { 0 }
}

/// Falls silent for good.
pub(crate) fn leave() {
    STATE.region.store(null_mut(), Release);
    HEARS_WISHES.store(false, Relaxed);
}

/// In a child of a process that fell silent: it is the one that is silent here, and may confine
/// itself. Confined already, it makes no call.
pub(crate) fn stay_silent() {
    if region_for_executions().is_some() {
        leave();
        STATE.own_number.store(sys::getpid(), Relaxed);
    }
}

/// Of what the program does nothing is told; but what it says by itself, through the hint library, is.
static HEARS_WISHES: AtomicBool = AtomicBool::new(false);

/// See [`HEARS_WISHES`].
pub(crate) fn tell_wishes_alone() {
    leave();
    HEARS_WISHES.store(true, Relaxed);
}

/// The ring as [`region_of_this_process`], for what the program says by itself.
pub(crate) fn region_for_wishes() -> Option<&'static Region> {
    let alone = || region_for_executions().filter(|_| HEARS_WISHES.load(Relaxed));
    region().or_else(alone).filter(|region| is_open_here(region))
}

/// Nothing of ours may be done in this process any more, nor in what it executes.
static CONFINED: AtomicBool = AtomicBool::new(false);

/// Falls silent if this is the process we think we are: what a child of vfork gives up is its own.
pub(crate) fn fall_silent() {
    if region_for_wishes().is_some() {
        leave();
    }
}

/// The same, and for what this process executes.
pub(crate) fn confine() {
    let is_own = STATE.own_number.load(Relaxed) == sys::getpid();
    // Who is silent loses but names by it, if this is a child of vfork's; it may be one of `clone`'s, which
    // nobody told us of.
    if is_own || region().is_none() {
        STATE.for_executions.store(null_mut(), Release);
    }
    if is_own {
        leave();
        CONFINED.store(true, Relaxed);
    }
}

/// See [`confine`].
pub(crate) fn is_confined() -> bool {
    CONFINED.load(Relaxed)
}

/// The ring, for what this process executes: not if it is confined.
pub(crate) fn region_for_executions() -> Option<&'static Region> {
    // SAFETY: as `region`.
    unsafe { STATE.for_executions.load(Acquire).as_ref() }
}

/// Tells that what is executed will not tell of itself. The supervisor will look for it where it
/// knows who executes it; of who fell silent, and makes no calls of ours nor asks for the time, it
/// learns the name.
pub(crate) fn tell_of_execution(region: &Region, why: Unseen, path: &[u8]) {
    let (known, own) = (process_number(), STATE.own_number.load(Relaxed));
    let heard = self::region();
    let stamp = |pid| Stamp { pid, tid: pid, ticks: heard.map_or(0, |_| ticks()) };
    let number = match heard.map(|_| sys::getpid()) {
        Some(number) if number == own => known,
        // A child of vfork's, which runs in our memory.
        Some(number) if known == own && sys::getppid() == own => {
            region.post(stamp(number), &Record::Forked { parent: known, slot: NO_PROCESS_SLOT }, &[]);
            number
        }
        _ => NOBODY,
    };
    region.post(stamp(number), &Record::ExecutesUnseen { why }, path);
}

/// What this process is called where we speak of it.
pub(crate) fn process_number() -> u32 {
    STATE.process_number.load(Relaxed)
}

/// The ring, if we are also the process we think we are: not a child of vfork, which runs in our
/// memory with descriptors of its own. One system call, so not for reads.
pub(crate) fn region_of_this_process() -> Option<&'static Region> {
    region().filter(|region| is_open_here(region))
}

fn is_open_here(region: &Region) -> bool {
    !region.is_closing() && sys::getpid() == STATE.own_number.load(Relaxed)
}

#[inline(always)]
pub(crate) fn stamp(ticks: u64) -> Stamp {
    Stamp { pid: process_number(), tid: thread::id(), ticks }
}

/// Posts something that happened just now.
pub(crate) fn post(region: &Region, record: Record, path: &[u8]) {
    region.post(stamp(ticks()), &record, path);
}
