//! How often blocks were referenced lately, whether they are here or not, in a few bytes for each
//! page of the memory: a count-min sketch whose counts are halved now and then (Einziger, Friedman,
//! Manes: TinyLFU, ACM TOS 2017, section 3).
//!
//! A block has one counter in each row, and shares it with others; the least of its counters is the
//! nearest to the truth, and never below it. Only those that are the least are raised
//! (*conservative update*), which keeps the error of the others small.

use crate::ids::Block;

const ROWS: usize = 4;
/// Counts beyond this say nothing more: who has so many is kept anyway.
const COUNT_MAX: u8 = 15;
/// References until counts are halved, per page of the memory; the paper's choice.
const SAMPLES_A_PAGE: u64 = 10;
/// Counters in a row, per page of the memory: of a sample, half are blocks not seen before at most.
const COUNTERS_A_PAGE: u64 = 4;
/// A row has so many counters at least.
const COUNTERS_MIN: u64 = 64;

/// The counters.
#[derive(Default)]
pub struct Sketch {
    /// Row after row, each a power of two long.
    counters: Vec<u8>,
    /// The memory it is made for, in pages.
    pages: u64,
    /// References counted since the counts were halved.
    counted: u64,
}

impl Sketch {
    /// Follows the memory: where that grew a lot, counting begins anew.
    pub fn fit(&mut self, pages: u64) {
        if pages > 2 * self.pages || pages < self.pages / 4 {
            self.pages = pages;
            self.counted = 0;
            let row = (pages * COUNTERS_A_PAGE).next_power_of_two().max(COUNTERS_MIN);
            self.counters = vec![0; row as usize * ROWS];
        }
    }

    /// The places of a block's counters.
    fn places(&self, block: Block) -> [usize; ROWS] {
        let row = self.counters.len() / ROWS;
        let mut hash = block.key();
        std::array::from_fn(|nth| {
            // splitmix64: each step is another hash.
            hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            nth * row + (mixed ^ (mixed >> 31)) as usize % row
        })
    }

    /// A reference to this block.
    pub fn count(&mut self, block: Block) {
        let places = self.places(block);
        let least = places.map(|at| self.counters[at]).into_iter().min().unwrap_or(0);
        for at in places {
            if self.counters[at] == least && least < COUNT_MAX {
                self.counters[at] += 1;
            }
        }
        self.counted += 1;
        if self.counted >= SAMPLES_A_PAGE * self.pages {
            self.counted /= 2;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
        }
    }

    /// How often this block was referenced lately; more often than it was, if at all.
    pub fn often(&self, block: Block) -> u8 {
        self.places(block).map(|at| self.counters[at]).into_iter().min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    fn block(index: u64) -> Block {
        Block { file: FileId(0), index }
    }

    #[test]
    fn counts_are_near_and_age() {
        let mut sketch = Sketch::default();
        sketch.fit(1000);
        for index in 0..1000 {
            (0..=index % 4).for_each(|_| sketch.count(block(index)));
        }
        let exact = (0..1000).filter(|&index| u64::from(sketch.often(block(index))) == index % 4 + 1).count();
        assert!((0..1000).all(|index| u64::from(sketch.often(block(index))) > index % 4));
        assert!(exact > 950, "{exact} of 1000");
        // The rest of a sample is one other block; then all are halved.
        (0..10_000 - 2500).for_each(|_| sketch.count(block(5000)));
        assert_eq!((sketch.often(block(5000)), sketch.often(block(3))), (COUNT_MAX / 2, 2));
        assert_eq!(sketch.often(block(0)), 0);
    }
}
