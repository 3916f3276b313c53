//! Numbers that are told apart add up to what they are parts of, in random traces.

use std::collections::BTreeSet;

use foresee_manager::{Block, Config, FileId, REFERENCE_BLOCKS_MAX};
use foresee_sim::explain::{Question, Witness};
use foresee_sim::host;
use foresee_sim::load::Trace;
use foresee_sim::timed::{Disclosure, Options, Think, setup};
use foresee_sim::untimed::{Cell, run_watched};
use proptest::prelude::*;

/// Requests for one to five blocks, in a few places, so that they meet one another.
fn runs() -> impl Strategy<Value = Vec<(u64, u32)>> {
    proptest::collection::vec((0..24_u64, 1..=5_u32), 1..60)
}

/// Runs of blocks of which not all are read: what is read ahead of them is partly for nothing.
fn sequences() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let sequence = (0..40_u64, 3..12_u64).prop_map(|(at, long)| (0..long).map(move |nth| (at * 100 + nth, 1)));
    let sequences = proptest::collection::vec(sequence, 1..12);
    sequences.prop_map(|sequences| sequences.into_iter().flatten().collect())
}

proptest! {
    /// What is explained of each block, over all blocks, is what the simulator counts.
    #[test]
    fn explanations_add_up_to_the_misses(runs in runs(), cache_blocks in 1..12_u64, policy in 0..4_usize) {
        let name = ["lru", "arc", "null", "informed"][policy];
        let trace = Trace::of_runs(runs.iter().copied(), 4096);
        let cell = Cell::new(name.parse().unwrap(), cache_blocks);
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

    /// When a trace is over, what was fetched ahead has had one of four ends.
    #[test]
    fn outcomes_add_up_to_what_was_fetched(
        runs in sequences(), cache_blocks in 4..400_u64, policy in 0..4_usize, wrong in 0..80_u64, latency in 0..900_u32
    ) {
        let name = ["informed", "readahead:keep=lru", "tip1", "sarc"][policy];
        let trace = Trace::of_runs(runs, 4096);
        let how = Options {
            think: Think::None,
            disclose: (wrong < 40).then(|| Disclosure::recorded(wrong, 32)),
            device: format!("servers=4,latency_us={latency},mb_per_s=100").parse().unwrap(),
            disks: 1,
            lookup_ns: 0,
        };
        let config = foresee_manager::Config::new(cache_blocks, name.parse().unwrap());
        let report = host::run(&setup(&trace, &how, config)).unwrap();
        for outcomes in report.statistics.ahead {
            prop_assert_eq!(outcomes.settled(), outcomes.fetched, "{}: {:?}", name, outcomes);
        }
    }
}

/// All that is read ahead of the last run comes for nothing.
#[test]
fn what_is_unread_at_the_end_is_wasted() {
    let trace = Trace::of_blocks((0..20).flat_map(|run| (0..8).map(move |block| run * 1000 + block)), 4096);
    let device = "servers=4,latency_us=500,mb_per_s=100".parse().unwrap();
    let how = Options { think: Think::None, disclose: None, device, disks: 1, lookup_ns: 0 };
    let config = foresee_manager::Config::new(100_000, "readahead:keep=lru".parse().unwrap());
    let report = host::run(&setup(&trace, &how, config)).unwrap();
    let wasted: u64 = report.statistics.ahead.iter().map(|outcomes| outcomes.wasted).sum();
    let bytes: u64 = report.devices.iter().map(|device| device.bytes).sum();
    assert_eq!(bytes / 4096 - trace.distinct_blocks(), wasted);
    assert!(wasted > 0);
}

/// However long a request is, each of its blocks is a reference, and takes its time.
#[test]
fn a_request_that_is_longer_than_the_manager_takes_counts_as_a_whole() {
    let blocks = 2 * REFERENCE_BLOCKS_MAX + 5;
    let trace = Trace::of_runs([(0, blocks as u32)], 4096);
    let counted = run_watched(&trace, &Cell::new("lru".parse().unwrap(), 100), &|_| {}, |_, _, _| {});
    assert_eq!((trace.references, counted.statistics.misses), (blocks, blocks));
    let device = "servers=1,latency_us=0,mb_per_s=4096".parse().unwrap();
    let how = Options { think: Think::None, disclose: None, device, disks: 1, lookup_ns: 0 };
    let report = host::run(&setup(&trace, &how, Config::new(100, "lru".parse().unwrap()))).unwrap();
    assert!(report.elapsed_ns >= blocks * 1000, "4 KiB in a microsecond each, and not {} ns", report.elapsed_ns);
}
