//! Policies that are told all that will be read, against every schedule there is (`schedules.rs`).

use std::collections::BTreeMap;

use foresee_manager::{DeviceId, FileId, ReaderId, Site, Source, Want};
use foresee_sim::host::{self, HostFile, Reader, Step, least_elapsed_ns};
use proptest::prelude::*;

use super::schedules::{Case, Storage, UNIT_NS};

fn case() -> impl Strategy<Value = Case> {
    (proptest::collection::vec(0..6_u64, 1..=12), 2..5_u64, 1..5_u64).prop_map(|(reads, pages, fetch)| Case {
        reads,
        pages,
        fetch,
        storage: Storage::DISK,
    })
}

proptest! {
    /// Aggressive is the paper's, to the unit, and takes at most min(1 + F / K, 2) times as long as the best schedule.
    #[test]
    fn aggressive_is_as_proven(case in case()) {
        let (ours, papers, least) = (case.units("aggressive"), case.aggressive(), case.least());
        prop_assert_eq!(ours, papers);
        prop_assert!(least <= ours && ours <= 2 * least, "{} of {}", ours, least);
        prop_assert!(ours * case.pages <= least * (case.pages + case.fetch), "{} of {}", ours, least);
    }

    /// The bound is at most what the best of all schedules takes.
    #[test]
    fn no_schedule_beats_the_bound(case in case()) {
        let (bound, least) = (least_elapsed_ns(&case.setup("aggressive")), case.least() * UNIT_NS);
        prop_assert!(bound <= least, "{} of {}", bound, least);
    }

    /// Informed waits with as little harm, and to know more costs nothing: told all, it takes no longer than told nothing.
    #[test]
    fn informed_is_no_worse_than_twice_the_best_nor_than_told_nothing(case in case()) {
        let (ours, least) = (case.units("informed"), case.least());
        prop_assert!(least <= ours && ours <= 2 * least, "{} of {}", ours, least);
        let nothing = case.units_untold("informed");
        prop_assert!(ours <= nothing, "{} of {}", ours, nothing);
    }

    /// What forestall waits with does no more harm than a factor of two either, and it beats no schedule.
    #[test]
    fn forestall_is_no_worse_than_twice_the_best(case in case()) {
        let (ours, least) = (case.units("forestall"), case.least());
        prop_assert!(least <= ours && ours <= 2 * least, "{} of {}", ours, least);
    }
}

/// Ten blocks in a cycle in eight pages, and much to think about: each block must come in time, and
/// no page go before it must.
#[test]
fn forestall_waits_and_aggressive_does_not() {
    let case = Case { reads: (0..400).map(|at| at % 10).collect(), pages: 8, fetch: 2, storage: Storage::DISK };
    let fetches: BTreeMap<&str, u64> =
        ["aggressive", "forestall"].into_iter().map(|policy| (policy, case.run(policy).devices[0].requests)).collect();
    // Two pages are too few: two of nine reads need a fetch. Aggressive fetches whenever the disk is
    // free, each two reads.
    assert!(fetches["forestall"] < 120 && fetches["aggressive"] > 190, "{fetches:?}");
    let [aggressive, forestall] = ["aggressive", "forestall"].map(|policy| case.run(policy).stall_ns());
    assert!(forestall <= aggressive + 2 * UNIT_NS, "{forestall} of {aggressive}");
}

/// Six fetches' time for a block, and a device that serves four at once: who knows that asks later,
/// and waits no more for it.
#[test]
fn forestall_goes_by_how_many_are_served_at_once() {
    let case = Case { reads: (0..400).map(|at| at % 40).collect(), pages: 32, fetch: 6, storage: Storage::DISK };
    let [one, four] = ["forestall", "forestall:servers=4"].map(|policy| {
        let mut setup = case.setup(policy);
        setup.devices = vec![format!("servers=4,latency_us={}", case.fetch * UNIT_NS / 1000).parse().unwrap()];
        setup.config.device.outstanding_max = 4;
        host::run(&setup).unwrap()
    });
    assert!(four.devices[0].requests < one.devices[0].requests * 3 / 4, "{four:?} {one:?}");
    assert!(four.stall_ns() <= one.stall_ns(), "{four:?} {one:?}");
}

/// Blocks missing in 15, 25 and 30 references, where a fetch takes 10: no fetch is late by itself,
/// but the third would be if the first began when only that is asked. What is far off waits, and
/// comes in time as well.
#[test]
fn forestall_looks_at_all_that_is_missing() {
    for far in [0, 100] {
        let case = Case { reads: Vec::new(), pages: 64, fetch: 10, storage: Storage::DISK };
        let mut setup = case.setup("forestall");
        let read = |first| Step::Read { file: FileId(0), first, count: 1, site: Site(0) };
        let hint =
            |first| Step::Hint { source: Source::Library, file: FileId(0), want: Want::Range { first, count: 1 } };
        // The first reference comes at once.
        let missing = [16, 26, 31].map(|at| at + far);
        let later = |at| missing.iter().position(|it| *it == at).map_or(0, |nth| 10 + 10 * nth as u64);
        let (known, then) = (vec![0; 20], (1..=31 + far).map(later).collect::<Vec<u64>>());
        setup.files = vec![HostFile { device: DeviceId(0), blocks: 1000, place: 0 }];
        setup.readers[0].steps = [known, then]
            .into_iter()
            .flat_map(|blocks| {
                let hints = blocks.clone().into_iter().map(hint);
                let reads = blocks.into_iter().flat_map(|block| [read(block), Step::Think { ns: UNIT_NS }]);
                hints.chain(reads).collect::<Vec<_>>()
            })
            .collect();
        // The very first fetch is waited for.
        assert_eq!(host::run(&setup).unwrap().stall_ns(), 10 * UNIT_NS, "{far}");
    }
}

/// Two readers, each of a disk of its own: neither waits for the other's, and together they take
/// what the longer one takes alone.
#[test]
fn readers_and_disks_go_side_by_side() {
    for policy in ["aggressive", "forestall", "informed"] {
        let elapsed = |lengths: &[u64]| {
            let case = Case { reads: Vec::new(), pages: 64, fetch: 3, storage: Storage::DISK };
            let mut setup = case.setup(policy);
            setup.devices = vec![setup.devices[0]; lengths.len()];
            let home = |device| HostFile { device: DeviceId(device), blocks: 1000, place: 0 };
            setup.files = (0..lengths.len() as u16).map(home).collect();
            let reader = |(&length, number): (&u64, u32)| {
                let (file, blocks) = (FileId(number), (0..length).map(|at| at * 10));
                let hint = |first| Step::Hint { source: Source::Library, file, want: Want::Range { first, count: 1 } };
                let read = |first| [Step::Read { file, first, count: 1, site: Site(0) }, Step::Think { ns: UNIT_NS }];
                let steps = blocks.clone().map(hint).chain(blocks.flat_map(read)).collect();
                Reader { id: ReaderId(number), steps }
            };
            setup.readers = lengths.iter().zip(0..).map(reader).collect();
            host::run(&setup).unwrap().elapsed_ns
        };
        assert_eq!(elapsed(&[20, 15]), elapsed(&[20]), "{policy}");
    }
}
