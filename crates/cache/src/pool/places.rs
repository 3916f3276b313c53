//! Where a thread notes the views that it has, for whoever speaks with the manager to look into; see
//! `pool/posts.rs`.

use std::array;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Places for views that a thread has at most, and how many threads have some; of all views that
/// there may be, one in so many is for them.
pub const PLACES: usize = 8;
pub const THREADS: usize = 64;
pub const PLACES_PART: usize = 16;
/// Where there are few places, this many threads have one or two: most views are given back before the
/// next is taken.
pub const THREADS_FIRST: usize = 16;
pub const PLACES_FIRST: usize = 2;
/// What stands in a place that a thread does not have.
const BARRED: u32 = u32::MAX;

/// One more than the frame that a view is of, for each place; 0: none.
#[repr(align(128))]
pub struct Places([AtomicU32; PLACES]);

impl Places {
    /// So many.
    pub fn new(count: usize) -> Self {
        Places(array::from_fn(|at| AtomicU32::new(if at < count { 0 } else { BARRED })))
    }

    /// Notes a view of this frame, if a place is free, and where.
    #[inline]
    pub fn note(&self, frame: u32) -> Option<usize> {
        let at = self.0.iter().position(|it| it.load(Relaxed) == 0)?;
        self.0[at].store(frame + 1, Relaxed);
        Some(at)
    }

    /// The view that is noted there is over.
    #[inline]
    pub fn free(&self, at: usize) {
        self.0[at].store(0, Relaxed);
    }

    /// Frames that are viewed.
    pub fn frames(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|it| it.load(Relaxed)).filter(|&it| it != BARRED).filter_map(|it| it.checked_sub(1))
    }

    /// How many threads have some where there may be so many views, and how many each has.
    pub fn shared(views_max: usize) -> (usize, usize) {
        let all = views_max / PLACES_PART;
        let threads = (all / PLACES).max(THREADS_FIRST.min(all / PLACES_FIRST)).min(THREADS);
        (threads, (all / threads.max(1)).min(PLACES))
    }
}

/// A view: whose frame it pins, and where that is noted. One word, as most views are as short as it
/// takes to move two, and never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewed(NonZeroU64);

/// It is noted in no place, but counted.
pub const COUNTED: u32 = u32::MAX >> 1;

impl Viewed {
    #[inline]
    pub fn new(frame: u32, place: u32) -> Self {
        Viewed(NonZeroU64::MIN | u64::from(frame) << 32 | u64::from(place) << 1)
    }

    /// The frame.
    #[inline]
    pub fn frame(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// Counted from 0.
    #[inline]
    pub fn place(self) -> u32 {
        self.0.get() as u32 >> 1
    }
}
