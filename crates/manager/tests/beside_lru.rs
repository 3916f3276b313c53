//! Policies that go by what they learned: never worse than LRU beyond a bound, whatever is read.

use crate::support::{self, Cache, misses, passes_over};
use proptest::prelude::*;

/// Those that are held to it.
const BOUND: [&str; 2] = ["experts", "reuse"];

/// As estimate/debt.rs proves it.
fn bound(misses_of_lru: u64, pages: u64, references: u64) -> f64 {
    let memories = references as f64 / pages as f64;
    misses_of_lru as f64 + (2.0 * pages as f64 + 1.0) * (2.0 + (1.0 + memories / 4.0).log2())
}

/// A phase of a program.
fn phase() -> impl Strategy<Value = Vec<u64>> {
    let blocks = 1..60u64;
    let looping = (blocks.clone(), any::<bool>(), 1..400usize)
        .prop_map(|(blocks, returns, references)| passes_over(blocks, returns, references));
    let random = blocks.prop_flat_map(|blocks| proptest::collection::vec(0..blocks, 1..400));
    let scan = (0..1000u64, 1..100u64).prop_map(|(first, count)| (first..first + count).collect());
    prop_oneof![looping, random, scan]
}

proptest! {
    #![proptest_config(support::config(300))]

    #[test]
    fn phases_cost_no_more_than_the_bound(phases in proptest::collection::vec(phase(), 1..30), pages in 1..40u64) {
        let blocks = phases.concat();
        let lru = misses("lru", pages, &blocks);
        for policy in BOUND {
            let own = misses(policy, pages, &blocks);
            prop_assert!(own as f64 <= bound(lru, pages, blocks.len() as u64), "{policy}: {own} misses, LRU {lru}");
        }
    }

    /// Whoever reads knows what is here, and what LRU would hold: most often it asks for what only LRU has.
    #[test]
    fn an_adversary_gains_no_more_than_the_bound(
        steps in proptest::collection::vec((0..8u32, 0..100u64), 1..4000),
        pages in 1..40u64,
    ) {
        for policy in BOUND {
            let (mut own, mut lru) = (Cache::new(policy, pages), Cache::new("lru", pages));
            for (&(kind, pick), references) in steps.iter().zip(1..) {
                let spiteful = (0..100).map(|at| (pick + at) % 100).find(|&it| lru.holds(it) && !own.holds(it));
                let index = if kind > 0 { spiteful.unwrap_or(pick) } else { pick };
                own.read(index);
                lru.read(index);
                let (own, lru) = (own.misses(), lru.misses());
                prop_assert!(
                    own as f64 <= bound(lru, pages, references),
                    "{policy} after {references}: {own} misses, LRU {lru}"
                );
            }
        }
    }
}
