//! A trace too large, sampled by its blocks (SHARDS: Waldspurger, Park, Garthwaite, Ahmad, FAST
//! '15).
//!
//! A block is in the sample if the hash of its name says so: all of its references are, or none. A
//! cache of C blocks is then as a cache of R C blocks under the sample of a share R, and each miss
//! there stands for 1 / R. What the sample has too many or too few references of is taken for hits
//! (the paper's SHARDS_adj): it is the most popular blocks that make the difference.
//!
//! ```text
//! misses = sum of m_b / R                   over the sampled blocks b, each of which missed m_b times
//! error  = 2 sqrt(sum of m_b^2 (1 - R)) / R     twice the standard error (Horvitz and Thompson, 1952)
//! ```
//!
//! What the error leaves out is what does not scale. A small scaled cache is coarse: some hundred
//! blocks of it are enough. Where newcomers have one page to themselves, however large the cache,
//! as under `lfu`, they have a larger part of the scaled one; so it is with `sieve`, as long as the
//! scaled cache is small. Policies that look at neighbours (sequences of blocks) see none in a
//! sample. A policy says so itself (`Choice::unlike_a_part`).

use std::collections::HashMap;

use foresee_manager::Block;

/// What was taken of a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    share: f64,
    /// Hashes below are in.
    limit: u64,
    /// Requests of the whole trace.
    pub(crate) requests: u64,
    /// References of the whole trace.
    pub(crate) references: u64,
}

impl Sample {
    pub(crate) fn new(share: f64) -> Self {
        Sample { share, limit: (share * u64::MAX as f64) as u64, requests: 0, references: 0 }
    }

    pub(crate) fn takes(&self, block: Block) -> bool {
        let name = u64::from(block.file.0) * Block::INDEX_LIMIT + block.index;
        hash(name) < self.limit
    }

    /// A cache's size under the sample.
    pub(crate) fn scaled(&self, blocks: u64) -> u64 {
        ((blocks as f64 * self.share).round() as u64).max(1)
    }

    /// What so many in the sample stand for.
    pub(crate) fn of_all(&self, sampled: u64) -> u64 {
        (sampled as f64 / self.share).round() as u64
    }
}

/// splitmix64's finaliser: every bit of the name reaches every bit of the hash.
pub(crate) fn hash(name: u64) -> u64 {
    let mut it = name.wrapping_add(0x9e37_79b9_7f4a_7c15);
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}

/// How often each sampled block missed.
#[derive(Default)]
pub(crate) struct Missed {
    of_block: HashMap<Block, u64>,
    so_far: u64,
}

impl Missed {
    /// After a reference to this block there were so many misses in all.
    pub(crate) fn count(&mut self, block: Block, misses: u64) {
        if misses > self.so_far {
            *self.of_block.entry(block).or_default() += misses - self.so_far;
            self.so_far = misses;
        }
    }

    /// The misses of the whole trace, and twice their standard error.
    pub(crate) fn estimate(&self, sample: &Sample) -> (u64, u64) {
        let squares: f64 = self.of_block.values().map(|&misses| (misses as f64).powi(2)).sum();
        let error = 2.0 * (squares * (1.0 - sample.share)).sqrt() / sample.share;
        (sample.of_all(self.so_far), error.round() as u64)
    }
}
