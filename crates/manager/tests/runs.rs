//! Runs under cost and benefit: an estimator of their own beside those of hints and of the LRU queue.

mod support;

use foresee_manager::*;
use support::{Driver, block, fetched};

const POLICIES: [&str; 2] = ["tip2-sarc", "tip2-amp"];
const LONG: u64 = 1 << 30;

fn driver(policy: &str, capacity: u64, trust: Trust) -> Driver {
    let mut driver = Driver::simple(policy, capacity, trust);
    driver.known(0, LONG);
    driver
}

fn read(driver: &mut Driver, index: u64) {
    driver.read(1, 0, index, 1);
    driver.arrive();
}

/// Blocks of a stream that were missed, in so much memory, where others read ten blocks once for each of its own.
fn misses_of_stream(policy: &str, capacity: u64) -> u64 {
    let mut driver = driver(policy, capacity, Trust::Full);
    let mut misses = 0;
    for index in 0..3000 {
        let before = driver.manager.statistics().misses;
        read(&mut driver, index);
        misses += driver.manager.statistics().misses - before;
        (0..10).for_each(|other| read(&mut driver, 1_000_000 + 2 * (index * 10 + other)));
    }
    misses
}

/// What is read once is worth nothing beside a run: the four misses until that is known are all, in a memory of 30 pages.
#[test]
fn a_stream_has_what_it_needs() {
    assert_eq!(misses_of_stream("tip2-sarc", 30), 4);
    assert!(misses_of_stream("tip2-amp", 30) < 100);
}

/// What is disclosed is fetched once, for the hint, and counts there only: a program that discloses what it reads in order has
/// nothing read ahead besides.
#[test]
fn what_is_disclosed_is_not_read_ahead() {
    for policy in POLICIES {
        for trust in [Trust::Full, Trust::Earned { initial_blocks: 4 }] {
            let mut driver = driver(policy, 500, trust);
            driver.hint(1, 0, Want::Range { first: 0, count: 2000 });
            driver.arrive();
            (0..2000).for_each(|index| read(&mut driver, index));
            let statistics = driver.manager.statistics();
            assert_eq!((statistics.ahead_of(false).fetched, statistics.sequential_misses), (0, 0), "{policy}");
            assert_eq!(driver.consumed(Source::Library), 2000, "{policy}");
        }
    }
}

/// A run into what is disclosed already: its blocks are the hint's, wherever the stretch ends.
#[test]
fn a_stretch_brings_nothing_twice() {
    for policy in POLICIES {
        let mut driver = driver(policy, 500, Trust::Full);
        driver.hint(2, 0, Want::Range { first: 10, count: 100 });
        let mut brought: Vec<Block> = fetched(&driver.arrive());
        brought
            .extend((10..110).filter(|&index| driver.manager.is_present(block(0, index))).map(|index| block(0, index)));
        for index in 0..10 {
            brought.extend(fetched(&driver.read(1, 0, index, 1)));
            brought.extend(fetched(&driver.arrive()));
        }
        let all = brought.len();
        brought.sort_unstable_by_key(|block| block.index);
        brought.dedup();
        assert_eq!(brought.len(), all, "{policy}");
        let classes = driver.manager.classes().expect("two classes");
        let guessed = driver.manager.statistics().ahead_of(false).fetched;
        assert!(classes.sequential_pages <= guessed + 10, "{policy}: {classes:?}, {guessed} read ahead");
        // Reader 2 reads what it disclosed: all of it was told, and came in time.
        (10..110).for_each(|index| drop(driver.read(2, 0, index, 1)));
        assert_eq!(driver.manager.statistics().ahead_of(true).timely, 100, "{policy}");
    }
}

/// Where a run goes on beyond what was disclosed, it is known as a run.
#[test]
fn a_run_outlives_its_hints() {
    for policy in POLICIES {
        let mut driver = driver(policy, 500, Trust::Full);
        driver.hint(1, 0, Want::Range { first: 0, count: 50 });
        driver.arrive();
        let before = driver.manager.statistics().misses;
        (0..200).for_each(|index| read(&mut driver, index));
        let statistics = driver.manager.statistics();
        assert_eq!((statistics.misses - before, statistics.sequential_misses), (1, 1), "{policy}");
    }
}
