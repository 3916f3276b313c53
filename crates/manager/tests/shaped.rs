//! Requests that go by what was measured of their device: gaps that are read over, runs that are
//! split, limits of each device's own.

use std::cell::Cell;

use crate::support::{BLOCKS_MAX, Driver, FILES, block, fetches};
use foresee_manager::Class::Hinted;
use foresee_manager::*;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use proptest::{collection, sample};

fn hint_blocks(driver: &mut Driver, blocks: &[u64]) {
    for &first in blocks {
        driver.hint(1, 0, Want::Range { first, count: 1 });
    }
}

/// A device of which the host says that it may shape requests, after lone requests that took 20 ms
/// and a burst that shows 64 side by side: by the block, of which 3.2 arrive in a millisecond then.
fn shaped(requests: u32, capacity: u64) -> Driver {
    let policy = "tip1:unread_share=1".parse().expect("a policy");
    let device = DeviceLimits { sort_blocks: 1, ..DeviceLimits::default() };
    let mut driver = Driver::new(&Config { device, ..Config::new(capacity, policy) });
    driver.small = false;
    driver.handle(Event::DeviceLimits { device: DeviceId(0), requests: 64, blocks: 64, shaped: true });
    driver.known(9, 4096);
    for first in [4000, 4010] {
        driver.hint(9, 9, Want::Range { first, count: 1 });
        driver.now += 20_000_000;
        driver.arrive();
        driver.serve(9, 9, first, 1);
    }
    (0..64).for_each(|at| drop(driver.hint(9, 9, Want::Range { first: 7 * at, count: 1 })));
    driver.now += 20_000_000;
    let out: Vec<FetchId> = driver.flights.keys().copied().collect();
    out.into_iter().for_each(|fetch| drop(driver.handle(Event::FetchDone { fetch })));
    (0..64).for_each(|at| drop(driver.serve(9, 9, 7 * at, 1)));
    driver.handle(Event::DeviceLimits { device: DeviceId(0), requests, blocks: 64, shaped: true });
    driver.known(0, 400);
    driver
}

/// What is sent of these blocks of file 0 once the device, which takes one request at a time, is
/// free.
fn sent_of(driver: &mut Driver, blocks: &[u64]) -> Vec<(u64, u64)> {
    driver.hint(8, 9, Want::Range { first: 4050, count: 1 });
    hint_blocks(driver, blocks);
    let (&fetch, _) = driver.flights.first_key_value().expect("one is out");
    let mut sent = fetches(&driver.handle(Event::FetchDone { fetch }));
    sent.extend(fetches(&driver.arrive()));
    driver.manager.check();
    sent.into_iter().map(|(_, _, first, count)| (first, count)).collect()
}

/// A device that serves one request after the other, each in 5 ms, and four blocks a millisecond;
/// nobody says that requests may be shaped.
fn arm(capacity: u64) -> Driver {
    let policy = "tip1:unread_share=1".parse().expect("a policy");
    let device = DeviceLimits { sort_blocks: 1, ..DeviceLimits::default() };
    let mut driver = Driver::new(&Config { device, ..Config::new(capacity, policy) });
    driver.small = false;
    driver.known(9, 8192);
    // One alone, 16 at once, and a long one.
    let mut first = 0;
    for (requests, count) in [(1, 1), (16, 1), (1, 40)] {
        let asked: Vec<u64> = (0..requests).map(|at| first + 60 * at).collect();
        asked.iter().for_each(|&first| drop(driver.hint(9, 9, Want::Range { first, count })));
        let out: Vec<FetchId> = driver.flights.keys().copied().collect();
        for fetch in out {
            driver.now += if count == 1 { 5_000_000 } else { 15_000_000 };
            driver.handle(Event::FetchDone { fetch });
        }
        asked.iter().for_each(|&first| drop(driver.serve(9, 9, first, count)));
        first += 60 * requests;
    }
    driver.handle(Event::DeviceLimits { device: DeviceId(0), requests: 1, blocks: 64, shaped: false });
    driver.known(0, 400);
    driver
}

/// Four blocks a millisecond pass under it in any case: 20 of them while it would turn to the next
/// request.
#[test]
fn an_arm_reads_over_what_it_passes() {
    let mut driver = arm(4000);
    assert_eq!(sent_of(&mut driver, &[10, 25, 12, 11, 60]), [(10, 16), (60, 1)]);
    assert_eq!(driver.manager.statistics().read_over, 12);
    assert_eq!(driver.manager.statistics().ahead[Source::Readahead as usize].fetched, 12);
}

/// What is here, and what is on its way, is passed over: it stays as it is, and another that is not
/// here is brought.
#[test]
fn an_arm_passes_over_what_is_here() {
    let mut driver = arm(4000);
    driver.serve(2, 0, 11, 4);
    driver.arrive();
    hint_blocks(&mut driver, &[17]);
    hint_blocks(&mut driver, &[10, 19, 60]);
    let (&alone, _) = driver.flights.first_key_value().expect("17 is out");
    assert_eq!(fetches(&driver.handle(Event::FetchDone { fetch: alone })), [(Hinted, 0, 10, 10)]);
    let (_, flight) = driver.flights.first_key_value().expect("it is out");
    assert_eq!(flight.passed_over, [11, 12, 13, 14, 17].map(|index| block(0, index)).into());
    let hits = driver.manager.statistics().hits;
    assert_eq!(fetches(&driver.serve(2, 0, 11, 4)), []);
    assert_eq!(driver.manager.statistics().hits, hits + 4, "it is here meanwhile");
    driver.arrive();
    driver.manager.check();
    assert_eq!(driver.manager.statistics().read_over, 3);
    assert!([10, 15, 16, 17, 18, 19].into_iter().all(|index| driver.manager.is_present(block(0, index))));
}

/// One block is more than a sixteenth of this memory.
#[test]
fn an_arm_passes_over_what_there_is_no_room_for() {
    let mut driver = arm(4000);
    driver.handle(Event::Capacity { pages: 15 });
    assert_eq!(sent_of(&mut driver, &[10, 13, 60]), [(10, 4), (60, 1)]);
    assert_eq!(driver.manager.statistics().read_over, 0);
    let here = [10, 11, 12, 13].map(|index| driver.manager.is_present(block(0, index)));
    assert_eq!(here, [true, false, false, true]);
    driver.manager.check();
}

/// A page that goes while a request passes over its block comes back by a request of its own, and
/// not by that one.
#[test]
fn what_is_passed_over_may_go_meanwhile() {
    let mut driver = arm(4000);
    driver.serve(2, 0, 11, 1);
    driver.arrive();
    driver.hint(8, 9, Want::Range { first: 4050, count: 1 });
    hint_blocks(&mut driver, &[10, 12]);
    let (&fetch, _) = driver.flights.first_key_value().expect("one is out");
    assert_eq!(fetches(&driver.handle(Event::FetchDone { fetch })), [(Hinted, 0, 10, 3)]);
    let (&over, _) = driver.flights.first_key_value().expect("it is out");
    driver.handle(Event::Gone { file: FileId(0), first: 11, count: 1 });
    assert_eq!(fetches(&driver.serve(2, 0, 11, 1)).len(), 1);
    driver.handle(Event::FetchDone { fetch: over });
    let here = [10, 11, 12].map(|index| driver.manager.is_present(block(0, index)));
    assert_eq!(here, [true, false, true]);
    driver.arrive();
    assert!(driver.manager.is_present(block(0, 11)) && driver.waiting.is_empty());
    driver.manager.check();
}

#[test]
fn gaps_that_cost_less_than_a_request_are_read_over() {
    // 64 blocks arrive in the time of a request, and one request at a time is taken.
    let mut driver = shaped(1, 4000);
    assert_eq!(sent_of(&mut driver, &[10, 80, 12, 11, 30]), [(10, 21), (80, 1)]);
    assert_eq!(driver.manager.statistics().read_over, 17);
    assert!(driver.manager.is_present(block(0, 20)), "there is room for it");
    assert_eq!(sent_of(&mut shaped(1, 4000), &[100, 164, 163]), [(100, 64), (164, 1)], "no longer than it may be");
    assert_eq!(sent_of(&mut shaped(32, 4000), &[]), []);
}

#[test]
fn what_was_read_over_stays_only_where_it_is_wanted_or_there_is_room() {
    let mut driver = shaped(1, 96);
    for first in 200..300 {
        driver.serve(2, 9, first + 2000, 1);
        driver.arrive();
    }
    driver.hint(8, 9, Want::Range { first: 4050, count: 1 });
    hint_blocks(&mut driver, &[10, 14]);
    let (&fetch, _) = driver.flights.first_key_value().expect("one is out");
    assert_eq!(fetches(&driver.handle(Event::FetchDone { fetch })), [(Hinted, 0, 10, 5)]);
    assert_eq!(fetches(&driver.serve(2, 0, 12, 1)), [], "it is on its way");
    driver.hint(3, 0, Want::Range { first: 13, count: 1 });
    driver.arrive();
    driver.manager.check();
    let here: Vec<u64> = (9..16).filter(|&index| driver.manager.is_present(block(0, index))).collect();
    assert_eq!(here, [10, 12, 13, 14]);
    assert_eq!(driver.manager.statistics().ahead[Source::Readahead as usize].wasted, 1, "block 11");
    let mut little = shaped(1, 15);
    hint_blocks(&mut little, &[10, 12]);
    assert_eq!(little.manager.statistics().read_over, 0, "not even one block is a sixteenth");
}

#[test]
fn each_device_has_limits_of_its_own() {
    let device = DeviceLimits { outstanding_max: 1, cluster_blocks_max: 4, ..DeviceLimits::default() };
    let mut driver = Driver::new(&Config { device, ..Config::new(1000, "tip1:unread_share=1".parse().unwrap()) });
    driver.small = false;
    driver.known(1, 16);
    driver.handle(Event::DeviceLimits { device: DeviceId(1), requests: 2, blocks: 2, shaped: false });
    driver.handle(Event::FileKnown { file: FileId(2), device: DeviceId(1), blocks: 16, place: 0 });
    assert_eq!(fetches(&driver.hint(1, 2, Want::All)), [(Hinted, 2, 0, 2), (Hinted, 2, 2, 2)]);
    assert_eq!(fetches(&driver.hint(1, 1, Want::All)), [(Hinted, 1, 0, 4)]);
}

#[test]
fn a_long_request_is_split_where_its_bytes_take_longer_than_its_wait() {
    let mut driver = shaped(8, 4000);
    // Alone, 20 ms and a third of one for each block: what waits as long as it brings bytes has 60
    // blocks.
    let mut at = 1000;
    for count in [1, 120, 1, 120] {
        driver.now += 1_000_000_000;
        assert_eq!(fetches(&driver.serve(2, 9, at, count)).len(), 1, "nothing is known of how long blocks take");
        driver.now += 20_000_000 + count * 333_333;
        driver.arrive();
        at += count;
        if count == 120 {
            break;
        }
    }
    driver.now += 1_000_000_000;
    let parts: Vec<u64> = fetches(&driver.serve(2, 9, 2000, 240)).iter().map(|it| it.3).collect();
    assert!((2..=5).contains(&parts.len()) && parts.iter().sum::<u64>() == 240, "{parts:?}");
    driver.arrive();
    assert_eq!(fetches(&driver.serve(2, 9, 3000, 20)).len(), 1, "what is short goes in one");
    driver.arrive();
    driver.manager.check();
}

#[derive(Debug, Clone)]
enum Op {
    Hint(u32, u64, u64),
    Serve(u32, u64, u64),
    /// The oldest fetch comes, or fails, so many milliseconds later.
    Ended(bool, u64),
    Cancel,
}

fn op() -> impl Strategy<Value = Op> {
    let range = || (0..FILES - 1, 0..BLOCKS_MAX, 1..4u64);
    prop_oneof![
        6 => range().prop_map(|(file, first, count)| Op::Hint(file, first, count)),
        2 => range().prop_map(|(file, first, count)| Op::Serve(file, first, count)),
        6 => (proptest::bool::weighted(0.9), 1..30u64).prop_map(|(well, ms)| Op::Ended(well, ms)),
        1 => Just(Op::Cancel),
    ]
}

/// The device serves one request after the other, as those for single blocks show that are sent at
/// once behind one alone, and brings eight blocks in one as soon.
fn has_arm(driver: &mut Driver) {
    driver.handle(Event::Capacity { pages: 64 });
    driver.known(0, BLOCKS_MAX);
    driver.known(1, BLOCKS_MAX);
    for (file, count, blocks) in [(0, 1, 1), (0, BLOCKS_MAX, 1), (1, 8, 8)] {
        driver.handle(Event::DeviceLimits { device: DeviceId(0), requests: 64, blocks, shaped: false });
        driver.hint(1, file, Want::Range { first: 0, count });
        while let Some((&fetch, _)) = driver.flights.first_key_value() {
            driver.now += 5_000_000;
            driver.handle(Event::FetchDone { fetch });
        }
    }
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Library });
}

/// Whatever is disclosed, read and lost: the invariants hold, all who wait are woken, and what is
/// read over is bounded.
#[test]
fn requests_of_any_shape_keep_the_invariants() {
    let (read_over, passed_over) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() };
    let policies = sample::select(vec!["tip1:unread_share=0.5", "readahead:keep=arc", "tip2", "informed"]);
    let all = (collection::vec(op(), 1..120), 8..40u64, 1..3u32, policies, any::<bool>());
    let any = TestRunner::new(config).run(&all, |(ops, capacity, requests, policy, shaped)| {
        let device = DeviceLimits { sort_blocks: 1, ..DeviceLimits::default() };
        let mut driver = Driver::new(&Config { device, ..Config::new(capacity, policy.parse().unwrap()) });
        if !shaped {
            has_arm(&mut driver);
        }
        driver.handle(Event::Capacity { pages: capacity });
        driver.handle(Event::DeviceLimits { device: DeviceId(0), requests, blocks: 8, shaped });
        (0..FILES - 1).for_each(|file| drop(driver.known(file, BLOCKS_MAX)));
        for op in ops {
            match op {
                Op::Hint(file, first, count) => drop(driver.hint(1, file, Want::Range { first, count })),
                Op::Serve(file, first, count) => drop(driver.serve(2, file, first, count)),
                Op::Ended(well, ms) => {
                    let Some((&fetch, _)) = driver.flights.first_key_value() else { continue };
                    driver.now += ms * 1_000_000;
                    driver.handle(if well { Event::FetchDone { fetch } } else { Event::FetchFailed { fetch } });
                }
                Op::Cancel => drop(driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Library })),
            }
        }
        driver.arrive();
        prop_assert!(driver.waiting.is_empty(), "{:?}", driver.waiting);
        let some = driver.manager.statistics().read_over;
        prop_assert!(capacity >= 16 || some == 0, "{some} in a memory of {capacity}");
        read_over.set(read_over.get() + some);
        passed_over.set(passed_over.get() + driver.passed_over);
        Ok(())
    });
    any.unwrap();
    assert!(read_over.get() > 0, "nothing was read over in any of them");
    assert!(passed_over.get() > 0, "nothing was passed over in any of them");
}
