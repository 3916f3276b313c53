//! What LRU would have missed of the sample beside what the memory missed.

use crate::estimate::debt::Debt;
use crate::estimate::ghosts::Ghosts;
use crate::ids::Block;

/// LRU looking on.
#[derive(Default)]
pub struct Lru {
    /// What it would hold of the sample, the one used longest ago first.
    held: Ghosts<()>,
    /// Which part of all blocks the sample is.
    part: f64,
    /// It has not seen as much yet of this sample as it would hold.
    is_filling: bool,
    debt: Debt,
}

impl Lru {
    /// A block of the sample, which is such a part of all, is read. What a miss costs, whether it was
    /// one, and how many pages of blocks there are, in the sample or not.
    pub fn refer(&mut self, block: Block, part: f64, is_missing: bool, cost: f64, pages: u64) {
        if part != self.part {
            (self.held, self.part, self.is_filling) = (Ghosts::default(), part, true);
        }
        let pages = (pages as f64 * part).max(1.0);
        let paid_if = |is_missing| if is_missing { cost } else { 0.0 };
        let by_lru = paid_if(self.held.take(block).is_none());
        self.held.push(block, ());
        while self.held.len() as f64 > pages {
            self.held.expire();
        }
        self.is_filling &= (self.held.len() + 1) as f64 <= pages;
        if !self.is_filling {
            self.debt.refer(paid_if(is_missing), by_lru, pages);
        }
    }

    /// A block is here no longer, or another policy's, though nobody chose it to go: LRU would not
    /// have it either.
    pub fn forget(&mut self, block: Block) {
        self.held.take(block);
    }

    /// Whether it says what goes.
    pub fn decides(&self) -> bool {
        self.debt.is_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    const PAGES: u64 = 10;

    fn block(index: u64) -> Block {
        Block { file: FileId(1), index }
    }

    /// LRU, which holds these blocks of a sample that is such a part of all.
    fn holding(part: f64, blocks: std::ops::Range<u64>) -> Lru {
        let mut lru = Lru::default();
        blocks.for_each(|index| lru.refer(block(index), part, true, 1.0, PAGES));
        assert!(!lru.decides());
        lru
    }

    /// How many misses of a block that LRU would have it takes until it decides.
    fn misses_until_due(lru: &mut Lru, part: f64) -> u64 {
        let mut misses = 0;
        while !lru.decides() {
            lru.refer(block(3), part, true, 1.0, PAGES);
            misses += 1;
        }
        misses
    }

    #[test]
    fn what_lru_would_have_is_owed_but_not_what_nobody_gave_up() {
        assert_eq!(misses_until_due(&mut holding(1.0, 0..PAGES), 1.0), PAGES);
        let mut lru = holding(1.0, 0..PAGES);
        for _ in 0..100 {
            lru.forget(block(3));
            lru.refer(block(3), 1.0, true, 1.0, PAGES);
        }
        assert!(!lru.decides());
    }

    #[test]
    fn another_sample_counts_once_lru_has_filled_its_memory() {
        let mut lru = holding(1.0, 0..PAGES);
        for _ in 0..2 {
            (0..PAGES / 2 - 1).for_each(|index| lru.refer(block(index), 0.5, true, 1.0, PAGES));
            assert!(lru.is_filling);
        }
        lru.refer(block(PAGES), 0.5, true, 1.0, PAGES);
        assert!(!lru.is_filling && !lru.decides());
        assert_eq!(misses_until_due(&mut lru, 0.5), PAGES / 2);
    }
}
