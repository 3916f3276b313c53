//! The region: what lies where, and how each side comes to hold it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::process::Process;
use crate::slot::Slot;
use crate::sync::{AtomicU32, AtomicU64};
use crate::{ATTENTION_FDS, COUNTED_STALLS_MAX, PROCESS_SLOTS, SLOTS};

/// "foresee" and a number, read as a little-endian word.
const MAGIC: u64 = u64::from_le_bytes(*b"foresee\x01");

/// Changes with every change of the layout or of the records.
const VERSION: u32 = 10;

/// What the two sides must agree on.
#[repr(C)]
#[cfg_attr(loom, derive(Default))]
struct Shape {
    magic: AtomicU64,
    version: AtomicU32,
    slots: AtomicU32,
    process_slots: AtomicU32,
    attention_fds: AtomicU32,
    bytes: AtomicU64,
}

/// A number on a cache line of its own.
#[repr(C, align(64))]
#[cfg_attr(loom, derive(Default))]
pub(crate) struct Alone<T>(pub(crate) T);

/// The memory shared by programs and their supervisor. Only atomics, because all of it changes
/// under everyone's feet.
#[repr(C, align(64))]
#[cfg_attr(loom, derive(Default))]
pub struct Region {
    shape: Shape,
    closing: AtomicU32,
    stall_ticks_min: AtomicU64,
    wishes: AtomicU32,
    /// 0, or until when it is quiet whoever waits.
    quiet: AtomicU64,
    waited_ticks: AtomicU64,
    /// The next position to be reserved.
    pub(crate) tail: Alone<AtomicU64>,
    pub(crate) lost: Alone<AtomicU64>,
    /// The process that owns each process slot, or 0. Apart from the slots, so that a search
    /// touches 2 KiB.
    pub(crate) claims: Alone<[AtomicU32; PROCESS_SLOTS]>,
    pub(crate) processes: [Process; PROCESS_SLOTS],
    slots: [Slot; SLOTS],
}

/// Why memory is not a region that this code can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Too short, or not aligned to a cache line.
    Size,
    /// Not a region at all, or one not yet initialised.
    Magic,
    /// A region of another version or other sizes.
    Version,
}

impl Region {
    /// The bytes a region takes.
    pub const fn layout_size() -> usize {
        size_of::<Region>()
    }

    /// Makes a region of zeroed memory, all but the mark that lets programs attach last.
    ///
    /// # Safety
    /// `memory` is valid for reads and writes of [`Region::layout_size`] bytes for `'a`, aligned to
    /// 64 bytes, and zero (a fresh memfd is).
    pub unsafe fn initialise<'a>(memory: *mut u8) -> &'a Region {
        // SAFETY: by the caller's promise; a Region is atomics only, for which zero is valid and sharing is
        // sound.
        let region = unsafe { &*memory.cast::<Region>() };
        region.set_stall_ticks_min(u64::MAX);
        region.shape.version.store(VERSION, Relaxed);
        region.shape.slots.store(SLOTS as u32, Relaxed);
        region.shape.process_slots.store(PROCESS_SLOTS as u32, Relaxed);
        region.shape.attention_fds.store(ATTENTION_FDS as u32, Relaxed);
        region.shape.bytes.store(Self::layout_size() as u64, Relaxed);
        region.shape.magic.store(MAGIC, Release);
        region
    }

    /// Takes memory that somebody else initialised.
    ///
    /// # Safety
    /// `memory` is valid for reads and writes of `bytes` bytes for `'a`.
    pub unsafe fn attach<'a>(memory: *mut u8, bytes: usize) -> Result<&'a Region, Mismatch> {
        if bytes < Self::layout_size() || !(memory as usize).is_multiple_of(align_of::<Region>()) {
            return Err(Mismatch::Size);
        }
        // SAFETY: by the caller's promise and the check above; any bytes are valid atomics.
        let region = unsafe { &*memory.cast::<Region>() };
        let shape = &region.shape;
        if shape.magic.load(Acquire) != MAGIC {
            return Err(Mismatch::Magic);
        }
        let same = shape.version.load(Relaxed) == VERSION
            && shape.slots.load(Relaxed) == SLOTS as u32
            && shape.process_slots.load(Relaxed) == PROCESS_SLOTS as u32
            && shape.attention_fds.load(Relaxed) == ATTENTION_FDS as u32
            && shape.bytes.load(Relaxed) == Self::layout_size() as u64;
        if same { Ok(region) } else { Err(Mismatch::Version) }
    }

    /// Tells programs that nobody listens any more.
    pub fn close(&self) {
        self.closing.store(1, Relaxed);
    }

    /// Nobody listens any more.
    #[inline(always)]
    pub fn is_closing(&self) -> bool {
        self.closing.load(Relaxed) != 0
    }

    /// Somebody wants to know from where in a program its reads come. Programs look once, as they
    /// begin.
    pub fn want_sites(&self) {
        self.wishes.fetch_or(1, Relaxed);
    }

    /// See [`Region::want_sites`].
    pub fn wants_sites(&self) -> bool {
        self.wishes.load(Relaxed) & 1 != 0
    }

    /// Somebody wants to know as well what lies there ([`crate::Record::SiteMet`]).
    pub fn want_places(&self) {
        self.wishes.fetch_or(2, Relaxed);
    }

    /// See [`Region::want_places`].
    pub fn wants_places(&self) -> bool {
        self.wishes.load(Relaxed) & 2 != 0
    }

    /// Programs are looked at from outside as well, so that who makes system calls of its own need not
    /// tell of a part of them.
    pub fn look_from_outside(&self) {
        self.wishes.fetch_or(4, Relaxed);
    }

    /// See [`Region::look_from_outside`].
    pub fn looks_from_outside(&self) -> bool {
        self.wishes.load(Relaxed) & 4 != 0
    }

    /// Names that are looked up, what is opened to be read or listed, and reads, need not be told
    /// until one waits that ends at these ticks or later. With `u64::MAX` none ends it: how long they
    /// wait is counted in place of that.
    pub fn set_quiet(&self, until: u64) {
        self.quiet.store(until.max(1), Relaxed);
    }

    /// All is told again.
    pub fn end_quiet(&self) {
        self.quiet.store(0, Relaxed);
    }

    /// See [`Region::set_quiet`]. A program whose call waits says itself that this is over.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.quiet.load(Relaxed) != 0
    }

    /// While it is quiet: how long calls wait is counted.
    #[inline(always)]
    pub fn counts_waits(&self) -> bool {
        self.quiet.load(Relaxed) == u64::MAX
    }

    /// While it was quiet, a call of a program waited for so long, until now. Returns whether that is
    /// to be told, as all that follows.
    #[cold]
    pub fn ends_quiet(&self, now: u64, took: u64) -> bool {
        if self.counts_waits() {
            let stall = self.stall_ticks_min();
            if took >= stall {
                let counted = took.min(stall.saturating_mul(u64::from(COUNTED_STALLS_MAX)));
                self.waited_ticks.fetch_add(counted, Relaxed);
            }
            return false;
        }
        let until = self.quiet.load(Relaxed);
        let is_over = now >= until;
        if is_over {
            // What was said anew meanwhile holds.
            let _ = self.quiet.compare_exchange(until, 0, Relaxed, Relaxed);
        }
        is_over
    }

    /// For how many ticks calls waited, of those that were counted since this was asked last.
    pub fn take_waited_ticks(&self) -> u64 {
        self.waited_ticks.swap(0, Relaxed)
    }

    /// Reads that take at least so many ticks are counted as stalls. `u64::MAX` until set: none is.
    pub fn set_stall_ticks_min(&self, ticks: u64) {
        self.stall_ticks_min.store(ticks, Relaxed);
    }

    /// See [`Region::set_stall_ticks_min`].
    #[inline(always)]
    pub fn stall_ticks_min(&self) -> u64 {
        self.stall_ticks_min.load(Relaxed)
    }

    /// Records dropped because the ring was full, or because their path was too long.
    pub fn lost(&self) -> u64 {
        self.lost.0.load(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn slot(&self, position: u64) -> &Slot {
        &self.slots[position as usize % SLOTS]
    }
}
