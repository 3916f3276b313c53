//! Turns the numbers of a trace's objects into block indices of the manager, which lie below 2^40.
//!
//! A small number stays what it is, so that neighbours stay neighbours. A number of 2^39 or more is a hash: it is given
//! the next free index from 2^39 on. The two halves never meet, and nothing of the trace need be known beforehand.

use std::collections::HashMap;

use foresee_manager::Block;

const HASHES_FROM: u64 = Block::INDEX_LIMIT / 2;

#[derive(Default)]
pub(crate) struct Numbering {
    hashes: HashMap<u64, u64>,
}

impl Numbering {
    pub(crate) fn index(&mut self, number: u64) -> u64 {
        if number < HASHES_FROM {
            return number;
        }
        let next = HASHES_FROM + self.hashes.len() as u64;
        *self.hashes.entry(number).or_insert(next)
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
}
