//! Requests to an arm read over gaps between what is told, in memories as small as those gaps: whatever
//! goes for what comes along, each block is brought once (I3), and all come to an end.

use foresee_manager::Config;
use foresee_sim::host;
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Options, Think};
use proptest::prelude::*;

const POLICIES: [&str; 5] = ["readahead", "readahead:keep=pcc", "aggressive", "forestall", "informed"];

/// Some blocks by chance, and some of them in a row.
fn reads() -> impl Strategy<Value = Vec<u64>> {
    let run = (0..100_u64, 1..40_u64).prop_map(|(first, count)| (first..first + count).collect());
    let single = (0..100_u64).prop_map(|block| vec![block]);
    prop::collection::vec(prop_oneof![3 => single, 1 => run], 50..300).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_comes_along_is_brought_once(
        reads in reads(), pages in 20..100_u64, disk in prop_oneof![Just("disk10k"), Just("hp2247")], told in any::<bool>()
    ) {
        let trace = Trace::of_blocks(reads.iter().copied(), 4096);
        let knows = if told { Disclosure::TOLD } else { Disclosure::recorded(0, 64) };
        for policy in POLICIES {
            let device = disk.parse().unwrap();
            let how = Options { think: Think::None, disclose: Some(knows), device, disks: 1, lookup_ns: 0 };
            let setup = timed::setup(&trace, &how, Config::new(pages, policy.parse().unwrap()));
            let report = host::run(&setup).unwrap();
            prop_assert_eq!(report.readers[0].reads, reads.len() as u64, "{}", policy);
        }
    }
}
