//! From a block to the frame, or the slot on the disk, that may hold it, without a lock for who
//! only looks.
//!
//! Open addressing with linear probing. Each place is one word: a part of the key's hash, and the
//! frame. One side changes it, under the driver's lock; readers look at any time, and may overlook
//! an entry that is being moved: then they ask the driver, which knows. What they find is a guess,
//! which the frame itself confirms (`pool/frame.rs`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const EMPTY: u64 = 0;

/// The table.
pub struct Table {
    /// A power of two of them.
    slots: Box<[AtomicU64]>,
}

/// The part of the hash that is kept; slots are chosen by it too.
#[inline]
fn tag_of(key: u64) -> u32 {
    let mixed = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (mixed as u64 ^ (mixed >> 64) as u64) as u32
}

fn word(tag: u32, frame: u32) -> u64 {
    (u64::from(tag) << 32) | (u64::from(frame) + 1)
}

#[inline]
fn tag_in(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The entries of one tag, from where it belongs to the next gap.
pub struct Candidates<'t> {
    table: &'t Table,
    tag: u32,
    at: usize,
}

impl Iterator for Candidates<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        // Half of the table is gaps.
        loop {
            let word = self.table.slots[self.table.place(self.at)].load(Acquire);
            if word == EMPTY {
                return None;
            }
            self.at += 1;
            if tag_in(word) == self.tag {
                return Some(word as u32 - 1);
            }
        }
    }
}

impl Table {
    /// A table for so many frames: at most half of it is ever in use. Frames are numbered below
    /// 2^31.
    pub fn new(frames: usize) -> Self {
        let slots = (frames.max(1) * 2).next_power_of_two();
        Table { slots: (0..slots).map(|_| AtomicU64::new(EMPTY)).collect() }
    }

    /// Which slot that is.
    #[inline]
    fn place(&self, at: usize) -> usize {
        at & (self.slots.len() - 1)
    }

    /// Bytes of it for each frame, at most.
    pub const BYTES_EACH: usize = 4 * size_of::<u64>();

    /// The frames that may hold the block of this key.
    #[inline]
    pub fn candidates(&self, key: u64) -> Candidates<'_> {
        let tag = tag_of(key);
        Candidates { table: self, tag, at: tag as usize }
    }

    /// Puts in that this frame holds the block of this key. By one at a time.
    pub fn insert(&self, key: u64, frame: u32) {
        let tag = tag_of(key);
        let mut at = self.place(tag as usize);
        while self.slots[at].load(Relaxed) != EMPTY {
            at = self.place(at + 1);
        }
        self.slots[at].store(word(tag, frame), Release);
    }

    /// Takes out what was put in. By one at a time.
    pub fn remove(&self, key: u64, frame: u32) {
        let tag = tag_of(key);
        let mut gap = self.place(tag as usize);
        while self.slots[gap].load(Relaxed) != word(tag, frame) {
            assert!(self.slots[gap].load(Relaxed) != EMPTY, "what is taken out was put in");
            gap = self.place(gap + 1);
        }
        // What lies behind the gap moves into it, if it belongs there or before it.
        let mut next = self.place(gap + 1);
        loop {
            let moved = self.slots[next].load(Relaxed);
            if moved == EMPTY {
                break;
            }
            let home = self.place(tag_in(moved) as usize);
            let (to_gap, to_next) = (self.place(gap.wrapping_sub(home)), self.place(next.wrapping_sub(home)));
            if to_gap < to_next {
                self.slots[gap].store(moved, Release);
                gap = next;
            }
            next = self.place(next + 1);
        }
        self.slots[gap].store(EMPTY, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_was_put_in_and_not_taken_out_is_found() {
        const FRAMES: u32 = 61;
        let table = Table::new(FRAMES as usize);
        let mut held = BTreeMap::new();
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let frame = ((random >> 33) % u64::from(FRAMES)) as u32;
            match held.remove(&frame) {
                Some(key) => table.remove(key, frame),
                None => {
                    let key = random >> 40;
                    table.insert(key, frame);
                    held.insert(frame, key);
                }
            }
            for (&frame, &key) in &held {
                assert!(table.candidates(key).any(|it| it == frame), "frame {frame} is not found by {key}");
            }
            let entries = table.slots.iter().filter(|slot| slot.load(Relaxed) != EMPTY).count();
            assert_eq!(entries, held.len());
        }
    }
}
