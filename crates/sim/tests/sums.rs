//! Numbers that are told apart add up to what they are parts of, in random traces.

use std::collections::BTreeSet;

use foresee_manager::{Block, FileId};
use foresee_sim::explain::{Question, Witness};
use foresee_sim::load::Trace;
use foresee_sim::untimed::{Cell, run_watched};
use proptest::prelude::*;

/// Requests for one to five blocks, in a few places, so that they meet one another.
fn runs() -> impl Strategy<Value = Vec<(u64, u32)>> {
    proptest::collection::vec((0..24_u64, 1..=5_u32), 1..60)
}

proptest! {
    /// What is explained of each block, over all blocks, is what the simulator counts.
    #[test]
    fn explanations_add_up_to_the_misses(runs in runs(), cache_blocks in 1..12_u64, policy in 0..4_usize) {
        let name = ["lru", "arc", "null", "informed"][policy];
        let trace = Trace::of_runs(runs.iter().copied(), 4096);
        let cell = Cell { policy: name.parse().unwrap(), cache_blocks };
        let counted = run_watched(&trace, &cell, &|_| {}, |_, _, _| {});
        let blocks: BTreeSet<u64> = runs.iter().flat_map(|&(first, count)| first..first + u64::from(count)).collect();
        let (mut missed, mut met) = (0, 0);
        for index in blocks {
            let question = Question::Block(Block { file: FileId(0), index });
            let mut witness = Witness::new(question, name, Vec::new(), &[]);
            run_watched(&trace, &cell, &|_| {}, |at, actions, manager| {
                let (now, event) = trace.observed(at);
                witness.see(now, event, actions, manager);
            });
            missed += witness.sum.missed;
            met += witness.sum.found + witness.sum.late;
            prop_assert!(witness.sum.regretted <= witness.sum.given_up, "{:?}", witness.sum);
        }
        prop_assert_eq!((missed, met), (counted.misses, counted.hits), "{} {}", name, cache_blocks);
    }
}
