//! What it costs that a block is missing.
//!
//! One that is read after the block before it, by the same reader, is of a run, and runs may be
//! read ahead: then most of their blocks are brought before anybody waits for them, and a missing
//! one costs a transfer, where any other costs a whole request. So the price of a missing block of
//! a run is the share of such blocks that were waited for lately.
//!
//! That is so of a piece that is missing as a whole. Behind blocks that stayed its first one is a
//! request of its own: who keeps a loop in many pieces pays for each of them.
//!
//! ```text
//! read:  1 2 3 4 5 6 7 8        of which 3 4 and 8 are missing: request + price, request
//!                               of which 3 4 5 are missing:     request + price + price
//! ```

use crate::ids::Block;
use crate::policy::Access;

/// Readers whose last blocks are known; what shares a place with another makes that one's next
/// block begin a run.
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

/// The pieces that one memory, or a shadow of it, lacks of what is read.
#[derive(Default)]
pub struct Pieces {
    /// By reader, which block was missing last.
    last: [Option<Block>; READERS],
}

impl Pieces {
    /// A block is missing: what that costs, `price` as the runs have it. Of one that is not
    /// `preceded`, nobody can say whether the block before it is missing too.
    pub fn cost(&mut self, block: Block, access: &Access, price: f64, is_preceded: bool) -> f64 {
        let last = self.last[access.reader.0 as usize % READERS].replace(block);
        let goes_on = last.is_some_and(|last| last.file == block.file && last.index + 1 == block.index);
        if goes_on || !is_preceded { price } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Demand;
    use crate::ids::{FileId, ReaderId, Site, Time};

    fn access(reader: u32) -> Access {
        Access {
            now: Time(0),
            reader: ReaderId(reader),
            site: Site(0),
            demand: Demand::Observed,
            hinted: None,
            first: false,
            next: None,
        }
    }

    fn block(index: u64) -> Block {
        Block { file: FileId(0), index }
    }

    fn price(prices: &mut Prices, reader: u32, index: u64, found: Found) -> f64 {
        prices.refer(block(index), &access(reader), found)
    }

    #[test]
    fn each_piece_that_is_missing_costs_a_request() {
        let mut pieces = Pieces::default();
        let mut cost = |reader, index| pieces.cost(block(index), &access(reader), 0.1, index % 16 > 0);
        assert_eq!([3, 4, 8, 9].map(|index| cost(1, index)), [1.0, 0.1, 1.0, 0.1]);
        assert_eq!(cost(2, 10), 1.0, "another reader's");
        assert_eq!(cost(1, 16), 0.1, "the one before is in no sample");
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
