//! Which blocks are read: drawn beforehand, so that it costs nothing then.

use crate::draws::{self, Random};

/// Numbers of blocks.
pub struct References(pub Vec<u32>);

impl References {
    /// So many references to so many blocks: each as likely as any, or by Zipf's law (the n-th as
    /// likely as 1/n), the likely ones anywhere.
    pub fn new(seed: u64, blocks: usize, count: usize, zipf: bool) -> Self {
        let mut random = Random(seed + 1);
        if !zipf {
            return References((0..count).map(|_| (random.next() % blocks as u64) as u32).collect());
        }
        let mut places: Vec<u32> = (0..blocks as u32).collect();
        // The same places for each thread: they want the same blocks.
        let mut shuffle = 7u64;
        for at in (1..blocks).rev() {
            shuffle = shuffle.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places.swap(at, ((shuffle >> 33) % (at as u64 + 1)) as usize);
        }
        References(draws::zipf(&places, count, &mut random))
    }
}
