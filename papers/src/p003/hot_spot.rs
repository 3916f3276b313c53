//! Hot spots of SPC-1: *hierarchical reuse* (McNutt). The spot is a binary tree whose leaves are
//! tracks; a stream walks about in it, mostly within the subtree it is in, now and then farther.
//!
//! ```text
//! step    the subtree of 128 leaves around the last request; with 44 % the one twice as large, with 44 % again ...; any leaf of it
//! read    a leaf's eight pages in turn, whichever stream reads them
//! write   of the leaves only each eighth; half the time any of its pages, half the time the one whose turn it is to be read;
//!         15 % of what is written is written once more, as the stream's next write
//! ```
//!
//! As in the first version of the benchmark's generator: the tree is the largest power of two
//! within the spot, each stream's lies somewhere in it, and turns are kept by the place in the
//! tree.

use crate::Random;

/// Pages of a leaf.
const LEAF_PAGES: u64 = 8;
/// Leaves of the smallest subtree, as a power of two.
const HEIGHT_MIN: u32 = 7;
/// How often, in percent, a step leaves a subtree for the one above.
const CLIMBS: u64 = 44;
/// Writes go to one leaf in so many.
const WRITE_LEAVES: u64 = 8;
/// Of writes, in percent, those made twice.
const REWRITES: u64 = 15;

/// A hot spot, which all its streams share.
pub struct HotSpot {
    first: u64,
    slack_leaves: u64,
    height: u32,
    /// Of each leaf: the page to be read next.
    turns: Vec<u8>,
}

/// Where a stream is in its hot spot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk {
    origin: u64,
    leaf: u64,
    again: Option<(u64, u64)>,
}

impl HotSpot {
    /// From this page of its unit on, so many pages, at least a leaf.
    pub fn new(first: u64, pages: u64) -> Self {
        let leaves = (pages / LEAF_PAGES).max(1);
        let height = leaves.ilog2();
        HotSpot { first, slack_leaves: leaves - (1 << height), height, turns: vec![0; 1 << height] }
    }

    /// A stream begins anywhere.
    pub fn enter(&self, random: &mut Random) -> Walk {
        let origin = self.first + random.below(self.slack_leaves + 1) * LEAF_PAGES;
        Walk { origin, leaf: random.below(1 << self.height), again: None }
    }

    /// The page of its next request.
    pub fn step(&mut self, walk: &mut Walk, write: bool, random: &mut Random) -> u64 {
        if write && let Some((leaf, page)) = walk.again.take() {
            walk.leaf = leaf;
            return walk.origin + leaf * LEAF_PAGES + page;
        }
        let mut height = HEIGHT_MIN.min(self.height);
        while height < self.height && random.below(100) < CLIMBS {
            height += 1;
        }
        walk.leaf = (walk.leaf >> height << height) + random.below(1 << height);
        if write {
            walk.leaf -= walk.leaf % WRITE_LEAVES;
        }
        let turn = &mut self.turns[walk.leaf as usize];
        let mut page = u64::from(*turn);
        if !write {
            *turn = (*turn + 1) % LEAF_PAGES as u8;
        } else {
            if random.below(100) < 50 {
                page = random.below(LEAF_PAGES);
            }
            walk.again = (random.below(100) < REWRITES).then_some((walk.leaf, page));
        }
        walk.origin + walk.leaf * LEAF_PAGES + page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_stays_near_and_within_and_reads_pages_in_turn() {
        let mut random = Random::new(1);
        let mut spot = HotSpot::new(1000, 100_000);
        let mut walk = spot.enter(&mut random);
        assert_eq!((spot.height, spot.slack_leaves), (13, 12_500 - 8192));
        let mut near = 0;
        let mut seen = std::collections::HashMap::new();
        for _ in 0..100_000 {
            let before = walk.leaf;
            let page = spot.step(&mut walk, false, &mut random);
            assert!((1000..101_000).contains(&page));
            near += u32::from(before >> HEIGHT_MIN == walk.leaf >> HEIGHT_MIN);
            // Each leaf's pages come one after the other.
            if let Some(last) = seen.insert(walk.leaf, page) {
                assert_eq!(page, last - last % LEAF_PAGES + (last + 1) % LEAF_PAGES);
            }
        }
        // 56 % did not climb, and of the others some came back by chance.
        assert!((56_000..80_000).contains(&near), "{near}");
        let leaves: Vec<u64> = (0..1000).map(|_| (spot.step(&mut walk, true, &mut random), walk.leaf).1).collect();
        assert!(leaves.iter().all(|leaf| leaf % WRITE_LEAVES == 0));
    }
}
