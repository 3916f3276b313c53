//! Turns the numbers of a trace's objects into block indices of the manager, which lie below 2^40.
//!
//! A small number stays what it is, so that neighbours stay neighbours. A number of 2^39 or more is
//! a hash: it is given the next free index from 2^39 on. The two halves never meet, and nothing of
//! the trace need be known beforehand.

use foresee_manager::Block;

const HASHES_FROM: u64 = Block::INDEX_LIMIT / 2;
/// The least number of slots, as a power of two.
const BITS_MIN: u32 = 6;

/// An open hash table: each request of an object trace looks its number up, which is one access to
/// memory here, and two in a `HashMap`.
pub(crate) struct Numbering {
    /// A hash and its index, which is never 0; no index where nothing is. A hash is where its first
    /// bits say, or behind.
    slots: Vec<(u64, u64)>,
    bits: u32,
    len: u64,
}

impl Default for Numbering {
    fn default() -> Self {
        Numbering { slots: vec![(0, 0); 1 << BITS_MIN], bits: BITS_MIN, len: 0 }
    }
}

impl Numbering {
    #[inline]
    pub(crate) fn index(&mut self, number: u64) -> u64 {
        if number < HASHES_FROM {
            return number;
        }
        let at = self.slot(number);
        match self.slots[at].1 {
            0 => self.insert(at, number),
            index => index,
        }
    }

    /// The slot where a hash is, or would be.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        // Multiplied, for the hash may be a poor one.
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.bits)) as usize;
        while self.slots[at].1 != 0 && self.slots[at].0 != number {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    fn insert(&mut self, at: usize, number: u64) -> u64 {
        let index = HASHES_FROM + self.len;
        self.slots[at] = (number, index);
        self.len += 1;
        if self.len * 3 > self.slots.len() as u64 * 2 {
            self.bits += 1;
            let slots = std::mem::replace(&mut self.slots, vec![(0, 0); 1 << self.bits]);
            for slot in slots.into_iter().filter(|slot| slot.1 != 0) {
                let at = self.slot(slot.0);
                self.slots[at] = slot;
            }
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_stay_and_hashes_are_dense() {
        let mut numbering = Numbering::default();
        let indices: Vec<u64> = [7, u64::MAX, HASHES_FROM, 0, u64::MAX].map(|it| numbering.index(it)).into();
        assert_eq!(indices, [7, HASHES_FROM, HASHES_FROM + 1, 0, HASHES_FROM]);
    }

    #[test]
    fn many_hashes_keep_their_indices() {
        let mut numbering = Numbering::default();
        // Hashes that are anything but spread.
        let number = |at: u64| HASHES_FROM + at * 4096;
        for _ in 0..2 {
            for at in 0..10_000 {
                assert_eq!(numbering.index(number(at)), HASHES_FROM + at);
            }
        }
    }
}
