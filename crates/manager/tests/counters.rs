//! Each counter counts something: one scenario, at whose end none is left at nought.

use crate::support::Driver;
use foresee_manager::*;

#[test]
fn every_counter_moves() {
    let mut driver = Driver::simple("tip1:unread_share=0.5", 8, Trust::Full);
    driver.hint(1, 3, Want::All);
    driver.known(3, 2);
    driver.hint_from(1, Source::Profile, 3, Want::Range { first: 1, count: 1 });
    driver.serve(1, 3, 0, 1);
    driver.arrive();
    driver.read(1, 3, 0, 2);
    driver.read(1, 4, 0, 20);
    driver.serve(2, 5, 0, 10);
    let (&fetch, _) = driver.flights.first_key_value().expect("a demand fetch");
    driver.handle(Event::FetchFailed { fetch });
    driver.arrive();
    driver.handle(Event::FileChanged { file: FileId(5), blocks: 4 });
    driver.read(1, 6, 0, 1);
    driver.handle(Event::Gone { file: FileId(6), first: 0, count: 3 });
    driver.read(1, FileId::LIMIT, 0, 1);
    let mut sequential = Driver::simple("sarc", 8, Trust::Full);
    sequential.read(1, 0, 0, 4);
    sequential.known(9, 2);
    sequential.handle(Event::ReadAhead { file: FileId(9), first: 0, count: 2 });
    sequential.arrive();
    sequential.handle(Event::Gone { file: FileId(9), first: 0, count: 2 });
    let found = sequential.manager.statistics().counters();
    let given_up = runs_as_fast_without().manager.statistics().counters();
    let read_over = a_gap_is_read_over().manager.statistics().counters();
    for (at, (name, count)) in driver.manager.statistics().counters().into_iter().enumerate() {
        let others = [&found, &given_up, &read_over].map(|it| it[at].1);
        assert!(count + others.iter().sum::<u64>() > 0, "nothing moves the counter '{name}'");
    }
}

/// Requests of 20 ms, of one and of many blocks, at a device that takes one; then two of which the
/// second is not far behind.
fn a_gap_is_read_over() -> Driver {
    let mut driver = Driver::simple("tip1:unread_share=1", 1000, Trust::Full);
    driver.handle(Event::DeviceLimits { device: DeviceId(0), requests: 1, blocks: 64, shaped: true });
    driver.known(0, 1 << 20);
    for (first, count) in [(0, 1), (100, 64), (200, 1), (300, 1), (303, 1)] {
        driver.hint(1, 0, Want::Range { first, count });
        if first < 200 {
            driver.now += 20_000_000;
            driver.arrive();
        }
    }
    driver.arrive();
    driver
}

/// One run, a read each millisecond whether it is read ahead or not; of what was brought the system
/// gives up some once.
fn runs_as_fast_without() -> Driver {
    let mut driver = Driver::simple("sarc", 1000, Trust::Full);
    driver.known(0, 1 << 20);
    for read in 0..5000 {
        driver.now += 1_000_000;
        let demand = Demand::Timed { over: Time(driver.now), waited: false };
        let (reader, site, file) = (ReaderId(1), Site(0), FileId(0));
        driver.handle(Event::Reference { reader, site, file, first: read * 4, count: 4, demand });
        driver.arrive();
        if read == 100 {
            driver.handle(Event::Gone { file: FileId(0), first: read * 4 + 4, count: 20 });
        }
    }
    driver
}

/// All outcomes, for what was told and for what was guessed.
#[test]
fn every_outcome_is_met() {
    for source in [Source::Library, Source::Profile] {
        let mut driver = Driver::simple("tip1:unread_share=0.5", 16, Trust::Full);
        driver.known(0, 100);
        driver.hint_from(1, source, 0, Want::Range { first: 0, count: 5 });
        let (&fetch, _) = driver.flights.first_key_value().expect("a fetch ahead");
        driver.read(1, 0, 0, 1);
        driver.handle(Event::FetchDone { fetch });
        driver.read(1, 0, 1, 1);
        driver.read(2, 1, 0, 16);
        driver.hint_from(1, source, 0, Want::Range { first: 50, count: 2 });
        let (&fetch, _) = driver.flights.first_key_value().expect("a fetch ahead");
        driver.handle(Event::FetchFailed { fetch });
        let outcomes = driver.manager.statistics().ahead_of(source.class() == Class::Hinted);
        let expected = Outcomes { fetched: 7, timely: 1, late: 1, wasted: 3, cancelled: 2 };
        assert_eq!(outcomes, expected);
        assert_eq!(driver.manager.statistics().ahead_of(source.class() != Class::Hinted), Outcomes::default());
    }
}

#[test]
fn readers_see_their_waits_end_once() {
    let mut driver = Driver::simple("lru", 4, Trust::Full);
    driver.serve(1, 0, 0, 9);
    driver.serve(2, 0, 3, 2);
    driver.arrive();
    let mut waiters: Vec<_> = driver.woken.iter().map(|woken| woken.0.0).collect();
    waiters.sort_unstable();
    assert_eq!(waiters, [1, 2]);
}
