//! Blocks that are followed from one use to the next, whether they are here or not: a sample of all,
//! by a hash of the block (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with
//! SHARDS, FAST 2015). So what is learned of a block does not depend on whether it is kept.

use super::learned::Class;
use crate::ids::Block;
use crate::table::FastMap;

/// Blocks followed at most; 32 bytes each. With all blocks followed, hits are within 0.1 points in
/// the mean of 98 cells (`bench/policies/untold.py`), with half of this within 0.1 as well.
const SAMPLES_MAX: usize = 1 << 14;

/// What is known of a block that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The reference that came last to it.
    pub last: u64,
    /// The class it has had since.
    pub class: Class,
}

/// The sample.
pub struct Samples {
    /// By the block's key. In what order they are gone through changes nothing (I8): they are counted.
    followed: FastMap<u64, Sample>,
    /// A block is followed if its hash has none of these bits.
    mask: u64,
    /// How many times as many blocks are followed as when it was asked last.
    times: f64,
}

impl Default for Samples {
    fn default() -> Self {
        Samples { followed: FastMap::default(), mask: 0, times: 1.0 }
    }
}

fn hash(key: u64) -> u64 {
    let mixed = u128::from(key ^ 0x5851_f42d_4c95_7f2d) * 0xd6e8_feb8_6659_fd93;
    (mixed as u64) ^ ((mixed >> 64) as u64)
}

impl Samples {
    /// Whether a block is followed from its next use on, if it is not already.
    pub fn follows(&self, block: Block) -> bool {
        hash(block.key()) & self.mask == 0
    }

    /// Which part of all blocks is followed.
    pub fn part(&self) -> f64 {
        1.0 / (self.mask + 1) as f64
    }

    /// A reference to a block that is followed from now on. What was known of it, if it was before.
    pub fn refer(&mut self, block: Block, now: u64, class: Class) -> Option<Sample> {
        let before = self.followed.insert(block.key(), Sample { last: now, class });
        if self.followed.len() > SAMPLES_MAX {
            // Every other one is followed no longer.
            self.mask = self.mask << 1 | 1;
            self.times /= 2.0;
            let mask = self.mask;
            self.followed.retain(|&key, _| hash(key) & mask == 0);
        }
        before
    }

    /// Ends with those that were used before this reference last.
    pub fn expire(&mut self, before: u64) {
        self.followed.retain(|_, it| it.last >= before);
    }

    /// Where few are followed of those that could be, twice as many will be. How many times more
    /// blocks are followed than before: 1 at least, but for those thinned out meanwhile.
    pub fn adapt(&mut self) -> f64 {
        let mut times = std::mem::replace(&mut self.times, 1.0);
        if self.followed.len() < SAMPLES_MAX / 4 && self.mask > 0 {
            self.mask >>= 1;
            times *= 2.0;
        }
        times
    }

    /// How many are followed.
    pub fn len(&self) -> u64 {
        self.followed.len() as u64
    }

    /// What is known of each.
    pub fn all(&self) -> impl Iterator<Item = Sample> + '_ {
        self.followed.values().copied()
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
                if samples.follows(block) {
                    let class = Class { source: 0, interval: pass as u8 };
                    let before = samples.refer(block, pass * 200_000 + index, class);
                    followed += u64::from(before == Some(Sample { last: index, class: Class::default() }));
                }
                assert!(samples.followed.len() <= SAMPLES_MAX);
            }
        }
        assert!(followed as usize == samples.followed.len() && followed > SAMPLES_MAX as u64 / 3, "{followed}");
        assert_eq!(samples.all().filter(|it| it.class.interval == 1).count() as u64, followed);
        samples.expire(300_000);
        assert!(samples.len() < followed && samples.followed.values().all(|it| it.last >= 300_000));
    }

    /// After blocks without number come a few: these are followed more and more closely.
    #[test]
    fn where_few_are_left_more_of_them_are_followed() {
        let mut samples = Samples::default();
        let refer = |samples: &mut Samples, index, now| {
            let block = Block { file: FileId(1), index };
            if samples.follows(block) {
                samples.refer(block, now, Class::default());
            }
        };
        (0..1_000_000).for_each(|index| refer(&mut samples, index, index));
        assert!(samples.adapt() < 0.1);
        for pass in 0..20 {
            let now = 1_000_000 + pass * 1_000;
            samples.expire(now - 2_000);
            (0..1_000).for_each(|index| refer(&mut samples, index, now + index));
            assert!([1.0, 2.0].contains(&samples.adapt()));
        }
        assert_eq!((samples.len(), samples.mask), (1_000, 0));
    }
}
