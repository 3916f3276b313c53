//! Which fetch goes when: order, merging, batches, limits, and what becomes of a waiting fetch
//! ahead.

use crate::support::{self, Driver, block, fetches};
use foresee_manager::Class::{Demand as Demanded, Guessed, Hinted};
use foresee_manager::*;

fn driver(device: DeviceLimits) -> Driver {
    let policy = "tip1:unread_share=1".parse().expect("a policy");
    let mut driver = Driver::new(&Config { device, ..Config::new(1000, policy) });
    driver.known(0, 16);
    driver.known(1, 16);
    driver
}

/// One request at a time, `sort_blocks` sorted together, at most four blocks a fetch.
fn one_by_one(sort_blocks: u64) -> Driver {
    driver(DeviceLimits {
        outstanding_max: 1,
        cluster_blocks_max: 4,
        sort_blocks,
        queued_blocks_max: 100,
        ..DeviceLimits::default()
    })
}

/// Hints block 15 of file 1, which occupies the device, so that what comes after must wait.
fn occupied(sort_blocks: u64) -> Driver {
    let mut driver = one_by_one(sort_blocks);
    assert_eq!(fetches(&driver.hint(9, 1, Want::Range { first: 15, count: 1 })), [(Hinted, 1, 15, 1)]);
    driver
}

fn hint_blocks(driver: &mut Driver, source: Source, blocks: &[u64]) {
    for &first in blocks {
        driver.hint_from(1, source, 0, Want::Range { first, count: 1 });
    }
}

fn order(driver: &mut Driver) -> Vec<(Class, u32, u64, u64)> {
    fetches(&driver.arrive())
}

#[test]
fn first_come_first_served() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Library, &[9, 3, 7]);
    assert_eq!(order(&mut driver), [(Hinted, 0, 9, 1), (Hinted, 0, 3, 1), (Hinted, 0, 7, 1)]);
}

#[test]
fn neighbours_go_together() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Library, &[4, 5, 6, 7, 8, 2]);
    assert_eq!(order(&mut driver), [(Hinted, 0, 4, 4), (Hinted, 0, 8, 1), (Hinted, 0, 2, 1)]);
}

#[test]
fn one_sweep_over_each_batch() {
    // The block that occupies the device was the first of the first batch of four.
    let mut driver = occupied(4);
    hint_blocks(&mut driver, Source::Library, &[9, 1, 5, 8, 0, 6, 3]);
    let places: Vec<u64> = order(&mut driver).iter().map(|fetch| fetch.2).collect();
    assert_eq!(places, [1, 5, 9, 0, 3, 6, 8]);
}

#[test]
fn a_file_ends_a_run() {
    let mut driver = occupied(100);
    driver.hint(1, 0, Want::Range { first: 14, count: 2 });
    driver.hint(1, 1, Want::Range { first: 0, count: 2 });
    assert_eq!(order(&mut driver), [(Hinted, 0, 14, 2), (Hinted, 1, 0, 2)]);
    // The last block there may be, and the first of the next file: neighbours as numbers only.
    let last = Block::INDEX_LIMIT - 1;
    let mut driver = occupied(100);
    driver.known(0, Block::INDEX_LIMIT);
    driver.hint(1, 0, Want::Range { first: last, count: 1 });
    driver.hint(1, 1, Want::Range { first: 0, count: 1 });
    assert_eq!(order(&mut driver), [(Hinted, 0, last, 1), (Hinted, 1, 0, 1)]);
}

/// Of a read of more blocks than there are pages, and of another that waits behind it: neighbours,
/// but no more than a sixteenth of the memory.
#[test]
fn what_found_no_page_goes_together_when_pages_come_free() {
    let mut driver = Driver::simple("lru", 32, Trust::Full);
    driver.known(0, 64);
    assert_eq!(fetches(&driver.serve(1, 0, 0, 37)), [(Demanded, 0, 0, 32)]);
    assert_eq!(fetches(&driver.serve(2, 0, 37, 1)), []);
    assert_eq!(fetches(&driver.serve(2, 0, 50, 1)), []);
    let sent = order(&mut driver);
    assert_eq!(sent, [(32, 2), (34, 2), (36, 2), (50, 1)].map(|(first, count)| (Demanded, 0, first, count)));
    assert_eq!(driver.manager.statistics().starved, 7);
}

/// A device with an arm: it is known by its requests, which wait for one another. Then blocks wait
/// for names.
#[test]
fn names_go_first_where_requests_are_served_one_by_one() {
    let hold = |one_by_one: bool| {
        let mut driver = Driver::simple("tip1:unread_share=1", 10_000, Trust::Full);
        (0..40).for_each(|file| drop(driver.known(file, 1)));
        let mut fetches: Vec<FetchId> = Vec::new();
        for file in 0..40 {
            let actions = driver.hint_from(1, Source::Profile, file, Want::All);
            fetches.extend(actions.iter().filter_map(|action| match action {
                Action::Order(Order::Fetch { fetch, .. }) => Some(*fetch),
                _ => None,
            }));
        }
        for (number, fetch) in fetches.into_iter().enumerate() {
            driver.now += if one_by_one || number == 0 { 5_000_000 } else { 0 };
            driver.handle(Event::FetchDone { fetch });
        }
        (100..200).for_each(|file| drop(driver.hint_from(1, Source::Profile, file, Want::All)));
        let asked = driver.lookups.len();
        for file in 100..180 {
            driver.known(file, 1);
        }
        let before = driver.flights.len();
        (180..200).for_each(|file| drop(driver.known(file, 1)));
        driver.manager.check();
        let out = driver.flights.len();
        driver.arrive();
        assert!((100..200).all(|file| driver.manager.is_present(block(file, 0))));
        (asked, before, out)
    };
    assert_eq!(hold(true), (100, 0, 5), "in one sweep, as many as keep it busy, when nearly all names are known");
    assert_eq!(hold(false), (100, 80, 100));
}

/// `informed`, told of blocks of their own by a source that proved nothing yet: how many are asked
/// for at first, and by how much more after they came, one by one or together.
fn asked_for(one_by_one: bool) -> (usize, usize) {
    let mut driver = Driver::simple("informed", 10_000, Trust::Earned { initial_blocks: 400 });
    driver.known(0, 1 << 20);
    let blocks = |driver: &mut Driver, from: u64| {
        (from..from + 100)
            .for_each(|at| drop(driver.hint_from(1, Source::Profile, 0, Want::Range { first: 10 * at, count: 1 })));
    };
    blocks(&mut driver, 0);
    let first = driver.flights.len();
    // What follows is asked for while they come, and does not come.
    for (number, fetch) in driver.flights.keys().copied().collect::<Vec<_>>().into_iter().enumerate() {
        driver.now += if one_by_one || number == 0 { 5_000_000 } else { 10_000 };
        driver.handle(Event::FetchDone { fetch });
    }
    blocks(&mut driver, 100);
    (first, driver.flights.len())
}

#[test]
fn what_may_be_wrong_is_fetched_where_requests_overlap() {
    let (first, more) = asked_for(false);
    assert_eq!(first, 16, "a few show how the device serves them");
    assert!(more >= 100, "{more}");
    assert_eq!(
        asked_for(true),
        (16, 9),
        "on an arm a request costs as much as it saves; the eighth that was out beside two others shows it"
    );
}

#[test]
fn told_before_guessed() {
    let mut driver = occupied(100);
    hint_blocks(&mut driver, Source::Profile, &[1, 2]);
    hint_blocks(&mut driver, Source::Advice, &[9]);
    hint_blocks(&mut driver, Source::Command, &[3]);
    assert_eq!(order(&mut driver), [(Hinted, 0, 3, 1), (Hinted, 0, 9, 1), (Guessed, 0, 1, 2)]);
}

#[test]
fn the_limit_counts_demand_but_does_not_hold_it() {
    let device = DeviceLimits {
        outstanding_max: 2,
        cluster_blocks_max: 1,
        sort_blocks: 1,
        queued_blocks_max: 100,
        ..DeviceLimits::default()
    };
    let mut driver = driver(device);
    assert_eq!(fetches(&driver.hint(1, 0, Want::Range { first: 0, count: 9 })).len(), 2);
    assert_eq!(fetches(&driver.serve(2, 1, 0, 3)), [(Demanded, 1, 0, 3)], "I4");
    // Three are outstanding: one must end before there are fewer than two, and then another.
    let ended: Vec<FetchId> = driver.flights.keys().copied().collect();
    let sent: Vec<usize> =
        ended.iter().map(|&fetch| fetches(&driver.handle(Event::FetchDone { fetch })).len()).collect();
    assert_eq!(sent, [0, 1, 1]);
}

#[test]
fn a_full_queue_leaves_hints_where_they_are() {
    let device = DeviceLimits {
        outstanding_max: 1,
        cluster_blocks_max: 8,
        sort_blocks: 1,
        queued_blocks_max: 3,
        ..DeviceLimits::default()
    };
    let mut driver = driver(device);
    driver.hint(1, 0, Want::All);
    assert_eq!(driver.manager.ledger().used, 3, "what waits in the queue takes frames; what waits as a hint does not");
    driver.arrive();
    assert_eq!(driver.manager.ledger().used, 16);
}

#[test]
fn devices_do_not_wait_for_each_other() {
    let mut driver = one_by_one(1);
    driver.handle(Event::FileKnown { file: FileId(2), device: DeviceId(u16::MAX), blocks: 4, place: 0 });
    driver.hint(1, 0, Want::Range { first: 0, count: 2 });
    let actions = driver.hint(1, 2, Want::All);
    assert!(
        matches!(actions[..], [Action::Order(Order::Fetch { device: DeviceId(u16::MAX), count: 4, .. })]),
        "{actions:?}"
    );
}

#[test]
fn a_waiting_fetch_becomes_demand() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Library, &[3, 4, 5, 6, 9]);
    // Blocks 2 to 5 are demanded: 2 is new, 3 to 5 wait. One request.
    assert_eq!(fetches(&driver.serve(2, 0, 2, 4)), [(Demanded, 0, 2, 4)]);
    assert_eq!(order(&mut driver), [(Hinted, 0, 6, 1), (Hinted, 0, 9, 1)]);
    let ahead = driver.manager.statistics().ahead_of(true);
    assert_eq!((ahead.cancelled, ahead.late), (3, 0), "no device was asked ahead of the reader");
    assert_eq!(driver.manager.statistics().misses, 4);
}

#[test]
fn a_watched_reader_takes_a_waiting_fetch_out() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Library, &[3, 9]);
    driver.read(2, 0, 3, 1);
    assert_eq!(driver.manager.state_of(block(0, 3)), Some(State::Cached));
    assert_eq!(order(&mut driver), [(Hinted, 0, 9, 1)]);
}

#[test]
fn withdrawn_fetches_are_not_sent() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Library, &[3, 4]);
    hint_blocks(&mut driver, Source::Profile, &[8]);
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Library });
    assert_eq!(order(&mut driver), [(Guessed, 0, 8, 1)]);
    assert_eq!(driver.manager.statistics().ahead_of(true).cancelled, 2);
}

/// With every frame taken, demand takes that of the fetch ahead that would go last: a guess before
/// what was told.
#[test]
fn demand_takes_the_frame_of_what_would_go_last() {
    let mut driver = occupied(1);
    hint_blocks(&mut driver, Source::Profile, &[1]);
    hint_blocks(&mut driver, Source::Library, &[3, 4]);
    driver.handle(Event::Capacity { pages: 4 });
    assert_eq!(fetches(&driver.serve(2, 1, 0, 1)), [(Demanded, 1, 0, 1)]);
    assert_eq!(driver.manager.state_of(block(0, 1)), None, "the guess goes");
    assert_eq!(fetches(&driver.serve(2, 1, 2, 1)), [(Demanded, 1, 2, 1)]);
    assert_eq!(driver.manager.state_of(block(0, 4)), None, "then the last of what was told");
    assert_eq!(driver.manager.state_of(block(0, 3)), Some(State::Hinted));
}

#[test]
fn a_late_reader_waits_for_the_fetch_ahead() {
    let mut driver = one_by_one(1);
    hint_blocks(&mut driver, Source::Library, &[3]);
    assert_eq!(fetches(&driver.serve(1, 0, 3, 1)), [], "I3");
    assert_eq!(fetches(&driver.serve(2, 0, 3, 1)), [], "I3");
    driver.arrive();
    assert_eq!(driver.woken.len(), 2);
    let statistics = driver.manager.statistics();
    assert_eq!((statistics.late_hits, statistics.ahead_of(true).late), (2, 1));
}

/// Lone requests that took this long each, then a run of 16 blocks: how many of them are fetched
/// ahead?
fn fetched_of_run(took_ns: &[u64]) -> usize {
    let mut driver = driver(DeviceLimits { quick_run_blocks_max: 4, ..DeviceLimits::default() });
    for (&took_ns, first) in took_ns.iter().zip(0..) {
        driver.hint(1, 1, Want::Range { first, count: 1 });
        driver.now += took_ns;
        driver.arrive();
    }
    let actions = driver.hint(1, 0, Want::All);
    support::fetched(&actions).len()
}

#[test]
fn a_run_on_a_quick_device_is_left_to_the_readers_system() {
    assert_eq!(fetched_of_run(&[300_000; 4]), 4);
    assert_eq!(fetched_of_run(&[5_000_000; 4]), 16, "a slow device");
    assert_eq!(fetched_of_run(&[1_000; 4]), 16, "what came from a cache says nothing of the device");
    // Of a network of 5 ms, whose answers were in memory in part now and then.
    assert_eq!(fetched_of_run(&[300_000, 300_000, 5_000_000, 300_000, 300_000]), 16, "not one after the other");
}

#[test]
fn a_run_waits_until_it_is_known_whether_its_device_is_quick() {
    let limits = DeviceLimits { quick_run_blocks_max: 4, cluster_blocks_max: 4, ..DeviceLimits::default() };
    let fetched = |took_ns: u64| {
        let mut driver = driver(limits);
        driver.known(2, 600);
        assert_eq!(fetches(&driver.hint(1, 2, Want::All)), [(Hinted, 2, 0, 4), (Hinted, 2, 4, 4)]);
        while let Some((&fetch, _)) = driver.flights.first_key_value() {
            driver.now += took_ns;
            driver.handle(Event::FetchDone { fetch });
        }
        driver.manager.statistics().ahead_fetches
    };
    assert_eq!(fetched(300_000), 5, "four requests say that it is quick; one is out by then");
    assert_eq!(fetched(5_000_000), 150);
}

#[test]
fn what_is_quick_goes_by_how_far_the_readers_system_reads_ahead() {
    let mut driver = driver(DeviceLimits { quick_run_blocks_max: 4, ..DeviceLimits::default() });
    driver.handle(Event::ReadaheadWindow { device: DeviceId(0), blocks: 2048 });
    for first in 0..4 {
        driver.hint(1, 1, Want::Range { first, count: 1 });
        driver.now += 5_000_000;
        driver.arrive();
    }
    assert_eq!(support::fetched(&driver.hint(1, 0, Want::All)).len(), 4);
}

#[test]
fn what_is_suspended_is_neither_looked_up_nor_fetched_until_it_is_taken_up_again() {
    let orders = |actions: &[Action]| actions.iter().filter(|it| matches!(it, Action::Order(_))).count();
    let mut driver = driver(DeviceLimits::default());
    driver.handle(Event::Suspend { suspended: true });
    assert_eq!(orders(&driver.hint_from(1, Source::Library, 0, Want::All)), 0);
    assert_eq!(orders(&driver.hint_from(1, Source::Library, 70, Want::All)), 0, "a name that is to be looked up");
    let again = driver.handle(Event::Suspend { suspended: false });
    assert!(!fetches(&again).is_empty());
    assert!(again.contains(&Action::Order(Order::Lookup { file: FileId(70) })));
    driver.manager.check();
}

/// A device under caution, with files of at most four blocks brought whole.
fn cautious() -> Driver {
    let mut driver = driver(DeviceLimits { cluster_blocks_max: 1, ..DeviceLimits::default() });
    driver.handle(Event::Caution { device: DeviceId(0), blocks: 4 });
    driver.known(2, 4);
    driver.known(3, 4);
    driver
}

#[test]
fn under_caution_only_small_files_and_what_a_reader_says_itself_are_brought() {
    let mut driver = cautious();
    assert_eq!(fetches(&driver.hint_from(1, Source::Command, 0, Want::All)), []);
    assert_eq!(fetches(&driver.hint_from(1, Source::Profile, 0, Want::Range { first: 1, count: 1 })), []);
    assert_eq!(fetches(&driver.hint_from(1, Source::Advice, 1, Want::All)), []);
    assert_eq!(fetches(&driver.hint_from(1, Source::Command, 2, Want::All)), [(Hinted, 2, 0, 1)]);
    assert_eq!(
        fetches(&driver.hint_from(1, Source::Library, 0, Want::Range { first: 5, count: 1 })),
        [(Hinted, 0, 5, 1)]
    );
    assert_eq!(fetches(&driver.handle(Event::ReadAhead { file: FileId(3), first: 0, count: 4 })), [], "no runs");
}

#[test]
fn under_caution_a_file_has_one_request_and_files_do_not_wait_for_each_other() {
    let mut driver = cautious();
    assert_eq!(fetches(&driver.hint_from(1, Source::Command, 2, Want::All)), [(Hinted, 2, 0, 1)]);
    let first = *driver.flights.keys().next().unwrap();
    assert_eq!(fetches(&driver.hint_from(2, Source::Profile, 3, Want::All)), [(Guessed, 3, 0, 1)]);
    assert_eq!(fetches(&driver.handle(Event::FetchDone { fetch: first })), [(Hinted, 2, 1, 1)]);
}

#[test]
fn under_caution_requests_to_a_file_grow_as_long_as_more_bring_more() {
    let out_after = |side_by_side: bool| {
        let mut driver = driver(DeviceLimits { cluster_blocks_max: 1, ..DeviceLimits::default() });
        driver.handle(Event::Caution { device: DeviceId(0), blocks: 0 });
        driver.known(2, 600);
        driver.hint_from(1, Source::Library, 2, Want::All);
        for _ in 0..60 {
            let out: Vec<FetchId> = driver.flights.keys().copied().collect();
            for &fetch in &out {
                driver.now += if side_by_side { 20_000_000 / out.len() as u64 } else { 20_000_000 };
                driver.handle(Event::FetchDone { fetch });
            }
        }
        driver.manager.statistics().ahead_fetches
    };
    assert!(out_after(true) > 500, "{}", out_after(true));
    assert!(out_after(false) < 100, "{}", out_after(false));
}
