//! What a disclosed sequence may cost: the window of blocks that may be out, unread, as properties
//! of what is fetched.

use crate::support::{BLOCKS, Driver, block, config};
use foresee_manager::*;
use proptest::prelude::*;

/// Reads some of the disclosed blocks, in order, with others' reads between that age the unread
/// ones out.
fn run_window(initial_blocks: u64, disclosed: u64, truth: &[bool], noise: u64) -> (Driver, u64) {
    let mut driver = Driver::simple("tip1:unread_share=1", 10_000, Trust::Earned { initial_blocks });
    driver.known(0, BLOCKS);
    (0..disclosed).for_each(|file| drop(driver.known(file as u32 + 10, 1)));
    (0..disclosed).for_each(|file| drop(driver.hint(1, file as u32 + 10, Want::All)));
    driver.arrive();
    let capacity = 40;
    driver.handle(Event::Capacity { pages: capacity });
    for (file, _) in truth.iter().enumerate().filter(|it| *it.1) {
        driver.read(1, file as u32 + 10, 0, 1);
        driver.arrive();
        for index in 0..noise {
            driver.read(2, 5, index, 1);
        }
        driver.arrive();
    }
    (0..200).for_each(|index| drop(driver.read(2, 6, index, 1)));
    driver.arrive();
    let fetched = driver.manager.statistics().ahead_of(true).fetched;
    (driver, fetched)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..config(60) })]

    /// However often its blocks age out, a sequence costs its first window, and some blocks more for each that comes true.
    #[test]
    fn a_sequence_costs_its_window(
        initial_blocks in 0..20u64,
        disclosed in 1..120u64,
        truth in proptest::collection::vec(proptest::bool::weighted(0.1), 0..100),
        noise in 0..60u64,
    ) {
        let truth = &truth[..truth.len().min(disclosed as usize)];
        let (driver, fetched) = run_window(initial_blocks, disclosed, truth, noise);
        let consumed = driver.consumed(Source::Library);
        prop_assert!(fetched <= initial_blocks + (1 + WINDOW_GROWTH_FLAWLESS) * consumed, "{fetched} fetched, {consumed} read");
        if consumed == 0 {
            prop_assert!(fetched <= initial_blocks, "a false sequence costs more than its first window");
        }
    }

    /// A true sequence ends with everything fetched, whatever the first window.
    #[test]
    fn a_true_sequence_is_followed_to_its_end(initial_blocks in 1..300u64, blocks in 1..400u64, batch in 1..9u64) {
        let mut driver = Driver::simple("tip1:unread_share=1", 10_000, Trust::Earned { initial_blocks });
        driver.known(0, blocks);
        driver.hint(1, 0, Want::All);
        let mut window = initial_blocks;
        for first in (0..blocks).step_by(batch as usize) {
            prop_assert!(driver.manager.ledger().unread <= window, "more is out than the window allows");
            driver.arrive();
            let count = batch.min(blocks - first);
            driver.read(1, 0, first, count);
            window += WINDOW_GROWTH_FLAWLESS * count;
        }
        driver.arrive();
        let ahead = driver.manager.statistics().ahead_of(true);
        prop_assert_eq!(ahead.timely + driver.manager.statistics().misses, blocks);
        prop_assert!(ahead.timely + batch >= blocks.min(initial_blocks.max(batch)), "{:?}", ahead);
        prop_assert_eq!(ahead.wasted + ahead.cancelled + ahead.late, 0);
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// What is in no order costs its first window, and some blocks more for each that comes true.
    #[test]
    fn a_set_costs_its_window(initial in 0..20u64, reads in proptest::collection::vec(0..3000u64, 0..200)) {
        let mut driver = Driver::simple("tip1:unread_share=1", 10_000, Trust::Earned { initial_blocks: initial });
        driver.known(0, 3000);
        let want = |index| Want::Range { first: index, count: 1 };
        (0..2000).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, want(index))));
        driver.arrive();
        for &index in &reads {
            driver.read(1, 0, index, 1);
            driver.arrive();
        }
        driver.manager.check();
        let (fetched, consumed) = (driver.manager.statistics().ahead_of(false).fetched, driver.consumed(Source::Related));
        prop_assert!(fetched <= initial + (1 + WINDOW_GROWTH_BEYOND) * consumed, "{fetched} fetched, {consumed} read");
    }
}

/// Taking everything back and saying it again does not buy a wrong reader a new window.
#[test]
fn cancelling_does_not_restore_confidence() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100, Trust::Earned { initial_blocks: 8 });
    driver.known(0, 1000);
    for _ in 0..50 {
        driver.hint(1, 0, Want::All);
        driver.arrive();
        driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Library });
        driver.read(2, 1, 0, 200);
    }
    assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 8);
    assert_eq!(driver.manager.statistics().ahead_of(true).wasted, 8);
    assert!(!driver.manager.is_present(block(0, 0)));
}
