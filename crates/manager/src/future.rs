//! What is to come, known beforehand: of a trace at hand, when each block is referenced next.

use crate::ids::Block;
use crate::table::FastMap;

/// No further reference. Numbers have 32 bits, to spare memory: a trace of 2^32 references fills 16
/// GiB here.
const NEVER: u32 = u32::MAX;

/// For each reference of a trace, the number of the next one to the same block.
#[derive(Debug)]
pub struct Future {
    next: Vec<u32>,
    blocks: u64,
}

impl Future {
    /// The future of these references, given last first.
    ///
    /// # Panics
    /// If there are more than 2^32 - 1.
    pub fn of_reversed(references: impl Iterator<Item = Block>, count: u64) -> Future {
        assert!(count <= u64::from(NEVER), "{count} references; a future has room for 2^32 - 1");
        let mut next = vec![NEVER; count as usize];
        let mut later: FastMap<u64, u32> = FastMap::default();
        for (number, block) in (0..count as u32).rev().zip(references) {
            if let Some(later) = later.insert(block.key(), number) {
                next[number as usize] = later;
            }
        }
        Future { next, blocks: later.len() as u64 }
    }

    /// The number of the next reference to the block of this one. References are numbered from 0.
    pub fn next(&self, number: u64) -> Option<u64> {
        let next = *self.next.get(usize::try_from(number).ok()?)?;
        (next != NEVER).then_some(u64::from(next))
    }

    /// How many different blocks are referenced.
    pub fn distinct_blocks(&self) -> u64 {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    #[test]
    fn each_reference_knows_its_next() {
        let blocks = [7, 8, 7, 9, 7, 8].map(|index| Block { file: FileId(1), index });
        let future = Future::of_reversed(blocks.into_iter().rev(), 6);
        let next: Vec<_> = (0..7).map(|number| future.next(number)).collect();
        assert_eq!(next, [Some(2), Some(5), Some(4), None, None, None, None]);
        assert_eq!(future.distinct_blocks(), 3);
    }
}
