//! How much may be written: a disk wears, and shares its time between writes and reads.
//!
//! To fill it once is free: without that it could never show what it is worth, and room that
//! nothing lies in is worth nothing. So meanwhile all goes there that was read and that memory
//! gives up. What is written over something else is paid for, a block by each block that was read
//! from the disk, and one by eight that came from stores all the same. So over any time no more is
//! written than the disk holds, what was read from it, and an eighth of what stores had to bring.
//! That eighth is what finds out, where the disk is of no use, whether other blocks would be: in
//! eight times what the disk holds it may all be others.

/// Blocks from stores that pay for one that is written.
const STORE_BLOCKS: u64 = 8;

/// The account.
pub struct Wear {
    /// Blocks that fill the disk.
    free: u64,
    /// Earned, each [`STORE_BLOCKS`] times.
    earned: u64,
    /// No more is kept for later: what was of use long ago says little.
    earned_max: u64,
}

impl Wear {
    /// Of a disk of so many slots, of which some are in use.
    pub fn new(slots: u64, used: u64) -> Self {
        Wear { free: slots - used, earned: 0, earned_max: slots * STORE_BLOCKS }
    }

    fn earn(&mut self, parts: u64) {
        self.earned = (self.earned + parts).min(self.earned_max);
    }

    /// Blocks were read from the disk.
    pub fn read(&mut self, blocks: u64) {
        self.earn(blocks * STORE_BLOCKS);
    }

    /// Blocks came from a store.
    pub fn missed(&mut self, blocks: u64) {
        self.earn(blocks);
    }

    /// How many blocks may be written for nothing: the disk has not been filled once.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// How many blocks may be written at most.
    pub fn affords(&self) -> u64 {
        self.free + self.earned / STORE_BLOCKS
    }

    /// Whether a block may be written, to a slot that is empty or not; then it is paid for.
    pub fn pay(&mut self, is_empty: bool) -> bool {
        let (account, price) = match is_empty && self.free > 0 {
            true => (&mut self.free, 1),
            false => (&mut self.earned, STORE_BLOCKS),
        };
        let left = account.checked_sub(price);
        left.into_iter().for_each(|left| *account = left);
        left.is_some()
    }

    /// Blocks that were paid for were not written. Nothing lies in their slots: to fill them is free.
    pub fn not_written(&mut self, blocks: u64) {
        self.free += blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_written_than_is_paid_for() {
        let mut wear = Wear::new(10, 4);
        let written = |wear: &mut Wear| (0..1000).filter(|_| wear.pay(true)).count();
        assert_eq!(written(&mut wear), 6);
        wear.read(3);
        assert_eq!(written(&mut wear), 3);
        wear.missed(17);
        assert_eq!(written(&mut wear), 2);
        wear.missed(7);
        assert_eq!(written(&mut wear), 1);
        wear.read(1000);
        assert_eq!(written(&mut wear), 10);
        wear.not_written(4);
        assert_eq!((wear.free(), wear.affords(), wear.pay(false)), (4, 4, false), "only what is empty is free");
        wear.read(3);
        assert_eq!((wear.affords(), written(&mut wear), wear.affords()), (7, 7, 0));
    }
}
