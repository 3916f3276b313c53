//! What it costs that a block is missing. One that is read after the block before it, by the same reader, is of a run, and runs may be
//! read ahead: then most of their blocks are brought before anybody waits for them, and a missing one costs a transfer, where any other
//! costs a whole request. So the price of a missing block of a run is the share of such blocks that were waited for lately.

use crate::ids::Block;
use crate::policy::Access;

/// Readers whose last blocks are known; what shares a place with another makes that one's next block begin a run.
const READERS: usize = 16;
/// A transfer is a part of a request at least: of a request of 128 KiB, a block of 4.
const TRANSFER: f64 = 1.0 / 32.0;
/// Blocks counted of runs until the counts are halved.
const COUNTED_MAX: u64 = 1024;

/// What is known of runs.
pub struct Prices {
    last: [Option<Block>; READERS],
    /// Blocks of runs that were not here when they were read, and those brought ahead.
    waited: u64,
    brought: u64,
}

impl Default for Prices {
    fn default() -> Self {
        Prices { last: [None; READERS], waited: 1, brought: 0 }
    }
}

/// How a reference found its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It had been read before.
    Here,
    /// It was brought ahead, and this is its first read.
    Brought,
    /// It had to be waited for.
    Missing,
}

impl Prices {
    /// A reference: what it costs whom its block is missing.
    pub fn refer(&mut self, block: Block, access: &Access, found: Found) -> f64 {
        let last = self.last[access.reader.0 as usize % READERS].replace(block);
        let goes_on = last.is_some_and(|last| last.file == block.file && last.index + 1 == block.index);
        if !goes_on {
            return 1.0;
        }
        match found {
            Found::Here => {}
            Found::Brought => self.brought += 1,
            Found::Missing => self.waited += 1,
        }
        let counted = self.waited + self.brought;
        if counted >= COUNTED_MAX {
            (self.waited, self.brought) = (self.waited / 2, self.brought / 2);
        }
        (self.waited as f64 / counted as f64).max(TRANSFER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Demand;
    use crate::ids::{FileId, ReaderId, Site, Time};

    fn price(prices: &mut Prices, reader: u32, index: u64, found: Found) -> f64 {
        let access = Access {
            now: Time(0),
            reader: ReaderId(reader),
            site: Site(0),
            demand: Demand::Observed,
            hinted: None,
            first: false,
            next: None,
        };
        prices.refer(Block { file: FileId(0), index }, &access, found)
    }

    #[test]
    fn runs_are_cheap_once_they_are_read_ahead() {
        let mut prices = Prices::default();
        for index in 0..100 {
            assert_eq!(price(&mut prices, 1, index, Found::Missing), 1.0, "nobody reads them ahead");
        }
        let late = (100..5000).map(|index| price(&mut prices, 1, index, Found::Brought)).last();
        assert_eq!(late, Some(TRANSFER));
        assert_eq!(price(&mut prices, 1, 9, Found::Missing), 1.0, "of no run");
        assert_eq!(price(&mut prices, 2, 5000, Found::Brought), 1.0, "another reader's");
    }
}
