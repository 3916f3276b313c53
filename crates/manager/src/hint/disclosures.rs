//! What a source disclosed, counted by disclosures.
//!
//! Blocks of one disclosure are read together or not at all: who read a file of 300 blocks as he said
//! has been right once. By blocks alone, a few long files that came true hid that every fifth short one was
//! wrong, and earned the window to bring them all.

use super::entry::Entry;

/// A longer disclosure counts for several, one for so many blocks: 16 MiB. Else one short file that is wrong
/// would speak against a file of many gigabytes until it is read.
const WITNESS_BLOCKS: u64 = 4096;
/// So many must have come true for each that was wrong if hardly any is.
pub(super) const FLAWLESS_ODDS: u64 = 64;

/// Of those before what came true no more are looked at: sixteen of them left out are a sixty-fourth.
const LOOKED_AT: usize = 1024;

/// Those that came true and that were wrong; one of which a part did counts for that part.
#[derive(Debug, Default)]
pub(super) struct Disclosures {
    came_true: f64,
    passed: f64,
    /// Those that are likely to be passed over, while it is not known how many are.
    left_out: usize,
}

/// For how much so many blocks count of a disclosure that is so long.
fn part(blocks: u64, of: u64) -> f64 {
    blocks as f64 / of.clamp(1, WITNESS_BLOCKS) as f64
}

impl Disclosures {
    /// Blocks of a disclosure that is so long came true.
    pub fn came_true(&mut self, blocks: u64, of: u64) {
        self.came_true += part(blocks, of);
    }

    /// The same were passed over.
    pub fn proved_wrong(&mut self, blocks: u64, of: u64) {
        self.passed += part(blocks, of);
    }

    /// These lie before what came true; of which nothing was read is left out.
    pub fn left_out<'a>(&mut self, before: impl Iterator<Item = &'a Entry>) {
        self.left_out = before.take(LOOKED_AT).filter(|entry| entry.is_untouched()).count();
    }

    /// One of so many blocks that were passed over is read after all.
    pub fn take_back(&mut self, of_passed: u64) {
        let one = self.passed / of_passed.max(1) as f64;
        (self.passed, self.came_true) = (self.passed - one, self.came_true + one);
    }

    /// Whether hardly any was wrong so far.
    pub fn are_hardly_wrong(&self) -> bool {
        (self.passed + self.left_out as f64) * FLAWLESS_ODDS as f64 <= self.came_true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_says_no_more_than_a_short_one() {
        let mut disclosures = Disclosures::default();
        (0..300).for_each(|_| disclosures.came_true(1, 300));
        disclosures.proved_wrong(1, 1);
        assert!(!disclosures.are_hardly_wrong());
        (0..62).for_each(|_| disclosures.came_true(2, 2));
        assert!(!disclosures.are_hardly_wrong(), "63");
        disclosures.came_true(2, 2);
        assert!(disclosures.are_hardly_wrong(), "64");
    }

    #[test]
    fn a_file_of_gigabytes_says_more_than_a_short_one() {
        let mut disclosures = Disclosures::default();
        disclosures.proved_wrong(1, 1);
        disclosures.came_true(63 * WITNESS_BLOCKS, 1000 * WITNESS_BLOCKS);
        assert!(!disclosures.are_hardly_wrong());
        disclosures.came_true(WITNESS_BLOCKS, 1000 * WITNESS_BLOCKS);
        assert!(disclosures.are_hardly_wrong());
    }

    #[test]
    fn what_is_read_after_all_was_not_wrong() {
        let mut disclosures = Disclosures::default();
        (0..63).for_each(|_| disclosures.came_true(1, 1));
        disclosures.proved_wrong(8, 8);
        disclosures.proved_wrong(4, 4);
        assert!(!disclosures.are_hardly_wrong());
        (1..=12).rev().for_each(|passed| disclosures.take_back(passed));
        disclosures.proved_wrong(1, 1);
        assert!(disclosures.are_hardly_wrong(), "65 came true");
    }
}
