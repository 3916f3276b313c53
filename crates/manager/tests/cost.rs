//! What cost and benefit lead to without anybody asking for it (000 sections 4.8, 4.9 and 6).

use crate::support::{Driver, block};
use foresee_manager::*;

const TOLD: Source = Source::Library;

/// The paper's times: the horizon is 61 references.
const TESTBED: &str = "tip2:t_hit_us=243,t_driver_us=580,t_disk_us=15000";

/// A driver with the paper's devices: five requests at once, eight blocks each.
fn driver(policy: &str, capacity: u64) -> Driver {
    let device = DeviceLimits { outstanding_max: 5, cluster_blocks_max: 8, ..DeviceLimits::default() };
    let mut driver = Driver::new(&Config { device, ..Config::new(capacity, policy.parse().expect("a policy")) });
    driver.small = false;
    driver.known(0, 1 << 20);
    driver
}

/// A pass over `blocks` blocks that were disclosed; the misses it made.
fn pass(driver: &mut Driver, blocks: u64) -> u64 {
    let before = driver.manager.statistics().misses;
    for index in 0..blocks {
        driver.read(1, 0, index, 1);
        driver.arrive();
    }
    driver.manager.statistics().misses - before
}

fn disclose_passes(driver: &mut Driver, blocks: u64) {
    driver.hint(1, 0, Want::Range { first: 0, count: blocks });
    driver.handle(Event::Repeat { reader: ReaderId(1), source: TOLD, entries: 1, passes: u64::MAX });
    driver.arrive();
}

/// A loop over more than there is memory: part of it stays, and what does not is fetched ahead
/// (section 4.8).
#[test]
fn a_loop_is_kept_in_part() {
    let (capacity, blocks) = (400, 500);
    let mut driver = driver(TESTBED, capacity);
    disclose_passes(&mut driver, blocks);
    pass(&mut driver, blocks);
    for _ in 0..5 {
        let fetched = driver.manager.statistics().ahead_of(true).fetched;
        assert_eq!(pass(&mut driver, blocks), 0, "all that is read was fetched ahead or kept");
        let brought = driver.manager.statistics().ahead_of(true).fetched - fetched;
        // What does not fit, and the wave of blocks on their way, whose room is at most the horizon's.
        assert!((blocks - capacity..blocks - capacity + 80).contains(&brought), "{brought}");
    }
    driver.manager.check();
}

/// The same under a ceiling on unread blocks, LRU otherwise: nothing of it stays.
#[test]
fn a_ceiling_keeps_nothing_of_a_loop() {
    let mut driver = driver("tip1", 400);
    disclose_passes(&mut driver, 500);
    pass(&mut driver, 500);
    let fetched = driver.manager.statistics().ahead_of(true).fetched;
    pass(&mut driver, 500);
    assert!(driver.manager.statistics().ahead_of(true).fetched - fetched > 480);
}

/// A reader that discloses nothing and uses what it reads again keeps its memory beside a loop that
/// does not fit; one that never does gives it up (section 6.2).
#[test]
fn memory_goes_where_it_saves_time() {
    let resident_of_other = |working_set: u64| {
        let mut driver = driver(TESTBED, 400);
        disclose_passes(&mut driver, 500);
        for step in 0..20_000_u64 {
            driver.read(1, 0, step % 500, 1);
            driver.arrive();
            driver.read(2, 0, 100_000 + step % working_set, 1);
        }
        (0..working_set).filter(|&index| driver.manager.is_present(block(0, 100_000 + index))).count()
    };
    assert_eq!(resident_of_other(150), 150, "it fits, and every read would miss without it");
    assert!(resident_of_other(5000) < 40, "nothing of it is read again in time");
}

/// Of one sequence, what lies on a far device is fetched earlier than what lies on a near one
/// (section 4.9).
#[test]
fn far_before_near() {
    let mut driver = driver("tip2:t_hit_us=1000", 1000);
    driver.handle(Event::FileKnown { file: FileId(1), device: DeviceId(1), blocks: 1000, place: 0 });
    // One request each, alone: the near device takes 4 ms, the far one 200 ms.
    for (file, took_ns) in [(0, 4_000_000), (1, 200_000_000)] {
        driver.hint(1, file, Want::Range { first: 900, count: 1 });
        driver.now += took_ns;
        driver.arrive();
        driver.read(1, file, 900, 1);
    }
    driver.hint(1, 0, Want::Range { first: 0, count: 100 });
    driver.hint(1, 1, Want::Range { first: 0, count: 50 });
    let wanted = |file: u32| (0..100).filter(|&index| driver.manager.state_of(block(file, index)).is_some()).count();
    assert_eq!(wanted(1), 50, "it is read in 101 to 150 references, which the far device needs");
    assert!((3..=12).contains(&wanted(0)), "{}: four references of the near device, and what joins them", wanted(0));
}

/// I10: who discloses what it never reads makes no references, so its hints weigh next to nothing
/// against a reader's working set, however much it discloses.
#[test]
fn hints_that_are_never_read_take_nothing_from_others() {
    let trusts = [Trust::Full, Trust::Earned { initial_blocks: 64 }];
    for (policy, trust) in [TESTBED, "informed:keep=lru"].into_iter().flat_map(|it| trusts.map(|trust| (it, trust))) {
        let mut driver = Driver::simple(policy, 138, trust);
        driver.known(0, 1 << 20);
        let misses = |driver: &mut Driver| {
            let before = driver.manager.statistics().misses;
            for step in 0..1000_u64 {
                driver.hint(1, 0, Want::Range { first: 10_000 + step * 7, count: 5 });
                // In no order that would be read ahead.
                driver.read(2, 0, step * (step + 1) / 2 % 128, 1);
                driver.arrive();
            }
            driver.manager.statistics().misses - before
        };
        misses(&mut driver);
        // The working set, but for what the disclosed blocks next in line are worth: no more than a page or
        // two a pass.
        let again = misses(&mut driver);
        assert!(again <= 20, "{again} of 1000, {policy}, {trust:?}");
    }
}

/// What one event gives up goes in as few drops as there are runs of it, in whatever order the
/// policy gave it up, and before what the event fetches.
#[test]
fn what_is_given_up_goes_together() {
    let mut driver = driver(TESTBED, 100);
    driver.hint(1, 0, Want::Range { first: 1000, count: 100 });
    driver.arrive();
    (1000..1100).for_each(|index| drop(driver.read(1, 0, index, 1)));
    driver.hint(1, 0, Want::Range { first: 0, count: 90 });
    driver.arrive();
    // The farthest go first: 89, 88, and so on.
    let actions = driver.handle(Event::Capacity { pages: 50 });
    let drops = actions.iter().filter(|action| matches!(action, Action::Order(Order::Drop { .. }))).count();
    assert!(drops <= 3, "{actions:?}");
}

/// Words of a command that may fetch nothing yet, for nobody has read what they name, hold nothing
/// either.
#[test]
fn what_may_fetch_nothing_holds_nothing() {
    let config =
        Config { trust: Trust::Earned { initial_blocks: 64 }, ..Config::new(100, TESTBED.parse().expect("a policy")) };
    let mut driver = Driver::new(&config);
    driver.small = false;
    driver.known(0, 1 << 20);
    let (reader, source) = (ReaderId(9), Source::Arguments);
    driver.handle(Event::Hint { reader, source, file: FileId(0), want: Want::All });
    (50..=150).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert!(!driver.manager.is_present(block(0, 50)), "the oldest, though it is the next that the words name");
    assert!((51..=150).all(|index| driver.manager.is_present(block(0, index))));
}
