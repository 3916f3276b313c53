//! Blocks that are followed from one use to the next, whether they are here or not: a sample of all,
//! by a hash of the block (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with
//! SHARDS, FAST 2015). So what is learned of a block does not depend on whether it is kept.

use std::collections::HashMap;

use super::ages::{self, BUCKETS};
use crate::ids::Block;

/// Blocks followed at most; 32 bytes each. With all blocks followed, hits are within 0.1 points in
/// the mean of 98 cells (`bench/policies/untold.py`), with half of this within 0.1 as well.
const SAMPLES_MAX: usize = 1 << 14;

/// What is known of a block that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The reference that came last to it.
    pub last: u64,
    /// The class it has had since.
    pub class: u8,
}

/// The sample.
#[derive(Default)]
pub struct Samples {
    followed: HashMap<u64, Sample>,
    /// A block is followed if its hash has none of these bits.
    mask: u64,
}

fn hash(key: u64) -> u64 {
    let mixed = u128::from(key ^ 0x5851_f42d_4c95_7f2d) * 0xd6e8_feb8_6659_fd93;
    (mixed as u64) ^ ((mixed >> 64) as u64)
}

impl Samples {
    /// Whether a block is followed, or would be.
    pub fn holds(&self, block: Block) -> bool {
        hash(block.key()) & self.mask == 0
    }

    /// A reference to a block that is followed from now on. What was known of it, if it was before.
    pub fn refer(&mut self, block: Block, now: u64, class: u8) -> Option<Sample> {
        self.followed.insert(block.key(), Sample { last: now, class })
    }

    /// Ends with those that were used before this reference last. Tells the class of each.
    pub fn expire(&mut self, before: u64, mut gone: impl FnMut(u8)) {
        self.followed.retain(|_, it| {
            let stays = it.last >= before;
            if !stays {
                gone(it.class);
            }
            stays
        });
    }

    /// Where too many are followed, every other one is no longer. Whether that was so.
    pub fn thin(&mut self) -> bool {
        let is_full = self.followed.len() > SAMPLES_MAX;
        if is_full {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.followed.retain(|&key, _| hash(key) & mask == 0);
        }
        is_full
    }

    /// How many there are of each class, by the bucket of their age.
    pub fn open(&self, now: u64, classes: usize) -> Vec<[u32; BUCKETS]> {
        let mut open = vec![[0; BUCKETS]; classes];
        for it in self.followed.values() {
            open[usize::from(it.class)][ages::bucket(now - it.last)] += 1;
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    #[test]
    fn a_bounded_part_of_all_blocks_is_followed_at_each_of_their_uses() {
        let mut samples = Samples::default();
        let mut followed = 0;
        for pass in 0..2 {
            for index in 0..200_000 {
                let block = Block { file: FileId(1), index };
                if samples.holds(block) {
                    let before = samples.refer(block, pass * 200_000 + index, pass as u8);
                    followed += u64::from(before == Some(Sample { last: index, class: 0 }));
                }
                samples.thin();
                assert!(samples.followed.len() <= SAMPLES_MAX);
            }
        }
        assert!(followed as usize == samples.followed.len() && followed > SAMPLES_MAX as u64 / 3, "{followed}");
        let open = samples.open(400_000, 2);
        assert_eq!(open[1].iter().map(|&it| u64::from(it)).sum::<u64>(), followed);
        let mut gone = 0;
        samples.expire(300_000, |class| gone += u64::from(class == 1));
        assert!(gone > 0 && gone + samples.followed.len() as u64 == followed);
    }
}
