//! What one thread leaves for another to find, without a lock and without waiting: a ring of which
//! only its owner puts entries in, and only one at a time takes them out.
//!
//! ```text
//! positions:   0 ...... taken ...... kept ...... left
//!                                    [  to be taken  )      kept is what the owner forgot up to
//! ```
//!
//! Positions only grow; an entry's place is its position modulo the ring's length. The owner may
//! forget what was not taken, and write over it while it is being taken: who takes looks once more
//! at how far that went, and lets go of what may be torn.

use std::array;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Entries that there is room for.
pub const ROOM: usize = 64;

/// Positions of entries: from this one to before that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries {
    /// The first one's.
    pub begin: u64,
    /// Where the next one goes.
    pub end: u64,
}

/// Entries of so many words.
pub struct Trail<const WORDS: usize> {
    places: [[AtomicU64; WORDS]; ROOM],
    /// Written by the owner.
    left: AtomicU64,
    kept: AtomicU64,
    taken: Taken,
}

/// By who takes; on a line of its own, as the owner writes to the others all the time.
#[repr(align(128))]
#[derive(Default)]
struct Taken(AtomicU64);

impl<const WORDS: usize> Default for Trail<WORDS> {
    fn default() -> Self {
        Trail {
            places: array::from_fn(|_| array::from_fn(|_| AtomicU64::new(0))),
            left: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            taken: Taken::default(),
        }
    }
}

impl<const WORDS: usize> Trail<WORDS> {
    fn place(&self, position: u64) -> &[AtomicU64; WORDS] {
        &self.places[position as usize % ROOM]
    }

    /// Leaves an entry; there are fewer than [`ROOM`]. By the owner. Returns where the next one goes.
    pub fn leave(&self, entry: [u64; WORDS]) -> u64 {
        assert!(self.len() < ROOM, "what is full is to be taken or forgotten");
        self.leave_in_room(entry)
    }

    /// The same where the owner knows that there is room, as [`Trail::entries`] said since that was last
    /// made: to look at it each time takes longer than to leave an entry.
    #[inline]
    pub fn leave_in_room(&self, entry: [u64; WORDS]) -> u64 {
        debug_assert!(self.len() < ROOM, "what is full is to be taken or forgotten");
        let end = self.left.load(Relaxed);
        for (word, value) in self.place(end).iter().zip(entry) {
            word.store(value, Relaxed);
        }
        self.left.store(end + 1, Release);
        end + 1
    }

    /// Those that were neither taken nor forgotten. By the owner.
    #[inline]
    pub fn entries(&self) -> Entries {
        // What was taken has been read before its place is written to again.
        let begin = self.taken.0.load(Acquire).max(self.kept.load(Relaxed));
        Entries { begin, end: self.left.load(Relaxed) }
    }

    /// How many those are. By the owner.
    #[inline]
    pub fn len(&self) -> usize {
        let Entries { begin, end } = self.entries();
        (end - begin) as usize
    }

    /// So many were left in all.
    pub fn count(&self) -> u64 {
        self.left.load(Relaxed)
    }

    /// Forgets all entries. By the owner.
    #[inline]
    pub fn forget(&self) {
        self.kept.store(self.left.load(Relaxed), Relaxed);
        // Who finds what is written next finds this as well.
        fence(Release);
    }

    /// Takes all entries there are. By one at a time.
    pub fn take(&self, into: &mut Vec<[u64; WORDS]>) {
        let (taken, left) = (self.taken.0.load(Relaxed), self.left.load(Acquire));
        let first = taken.max(self.kept.load(Relaxed)).min(left);
        if first == left {
            // Not to have the owner wait for a line that says nothing new.
            return;
        }
        into.extend((first..left).map(|position| array::from_fn(|at| self.place(position)[at].load(Relaxed))));
        fence(Acquire);
        let forgotten = self.kept.load(Relaxed).clamp(first, left) - first;
        let begin = into.len() - (left - first) as usize;
        into.drain(begin..begin + forgotten as usize);
        self.taken.0.store(left, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn what_was_left_and_not_forgotten_is_taken_once() {
        let trail = Trail::<2>::default();
        let taken = || {
            let mut taken = Vec::new();
            trail.take(&mut taken);
            taken
        };
        trail.leave([1, 2]);
        assert_eq!((trail.leave([3, 4]), trail.entries()), (2, Entries { begin: 0, end: 2 }));
        assert_eq!((taken(), trail.len()), (vec![[1, 2], [3, 4]], 0));
        trail.leave([5, 6]);
        trail.forget();
        assert_eq!((trail.leave([7, 8]), trail.entries()), (4, Entries { begin: 3, end: 4 }));
        assert_eq!((taken(), taken()), (vec![[7, 8]], vec![]));
        for count in 1..=ROOM {
            trail.leave([count as u64; 2]);
            assert_eq!(trail.len(), count);
        }
        assert_eq!(taken().len(), ROOM);
    }

    #[test]
    fn nothing_that_is_kept_is_lost_and_nothing_is_torn() {
        const ENTRIES: u64 = 2_000_000;
        let (trail, ended) = (Trail::<3>::default(), AtomicBool::new(false));
        let (kept, taken) = thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let (mut all, mut some) = (Vec::new(), Vec::new());
                loop {
                    let last = ended.load(Acquire);
                    trail.take(&mut some);
                    all.append(&mut some);
                    if last {
                        return all;
                    }
                }
            });
            let wait_until = |is_so: &dyn Fn() -> bool| {
                while !is_so() {
                    thread::yield_now();
                }
            };
            // Stretches that may be forgotten, and others that are waited for.
            let mut kept = Vec::new();
            for number in 1..=ENTRIES {
                let must = number % 1000 < 100;
                // Before what must not be forgotten, all is that may be; behind it, all is taken.
                match number % 1000 {
                    0 => trail.forget(),
                    100 => wait_until(&|| trail.len() == 0),
                    _ if must => wait_until(&|| trail.len() < ROOM),
                    _ if trail.len() == ROOM => trail.forget(),
                    _ => {}
                }
                trail.leave([number; 3]);
                if must {
                    kept.push(number);
                }
            }
            ended.store(true, Release);
            (kept, taker.join().unwrap())
        });
        assert!(taken.iter().all(|entry| entry.iter().all(|it| *it == entry[0])), "an entry was torn");
        assert!(taken.is_sorted_by(|a, b| a[0] < b[0]), "an entry came twice, or not in order");
        let found: Vec<_> = taken.iter().map(|it| it[0]).filter(|number| number % 1000 < 100).collect();
        let differs = found.iter().zip(&kept).find(|(found, kept)| found != kept);
        assert!(differs.is_none() && found.len() == kept.len(), "{differs:?}, {} of {}", found.len(), kept.len());
    }
}
