//! What comes along with a request for an arm, as it is told to be read later.

use crate::support::{Driver, block, fetches};
use foresee_manager::*;

const PAGES: u64 = 16;
const REQUEST_NS: u64 = 5_000_000;

/// A device that has served 16 requests one after the other, each in 5 ms, and of which little is left
/// in memory; a reader will read two runs of 100 blocks in turn.
fn arm() -> Driver {
    let policy = "informed".parse().expect("a policy");
    let mut driver = Driver::new(&Config { trust: Trust::Full, ..Config::new(400, policy) });
    driver.small = false;
    driver.known(9, 4096);
    for requests in [1, 16] {
        let asked: Vec<u64> = (0..requests).map(|at| 1000 * requests + 60 * at).collect();
        asked.iter().for_each(|&first| drop(driver.hint(9, 9, Want::Range { first, count: 1 })));
        let out: Vec<FetchId> = driver.flights.keys().copied().collect();
        for fetch in out {
            driver.now += REQUEST_NS;
            driver.handle(Event::FetchDone { fetch });
        }
        asked.iter().for_each(|&first| drop(driver.serve(9, 9, first, 1)));
    }
    driver.handle(Event::Cancel { reader: ReaderId(9), source: Source::Library });
    driver.handle(Event::Capacity { pages: PAGES });
    driver.known(0, 400);
    driver
}

/// Tells what will be read in turn.
fn tell(driver: &mut Driver) {
    for at in in_turn() {
        driver.hint(1, 0, Want::Range { first: at, count: 1 });
    }
}

fn in_turn() -> impl Iterator<Item = u64> {
    (0..200).map(|at| at % 2 * 200 + at / 2)
}

/// Reads them all, and has one request come whenever a block is not here. Returns the requests.
fn read_all(driver: &mut Driver, mut see: impl FnMut(&Driver)) -> u64 {
    let mut requests = driver.flights.len() as u64;
    let mut seen = |driver: &Driver, actions: &[Action]| {
        see(driver);
        fetches(actions).len() as u64
    };
    for index in in_turn() {
        let is_here = driver.manager.is_present(block(0, index));
        let actions = driver.serve(1, 0, index, 1);
        requests += seen(driver, &actions);
        while !is_here && driver.flights.values().any(|it| it.blocks().any(|it| it == block(0, index))) {
            let (&fetch, _) = driver.flights.first_key_value().expect("it is on its way");
            driver.now += REQUEST_NS;
            let actions = driver.handle(Event::FetchDone { fetch });
            requests += seen(driver, &actions);
        }
    }
    driver.manager.check();
    requests
}

/// As each page that was read makes room for one block, of the one run or the other, each would have a
/// request of its own.
#[test]
fn what_lies_behind_comes_along_if_it_is_read_before_what_goes() {
    let mut driver = arm();
    tell(&mut driver);
    let requests = read_all(&mut driver, |_| ());
    assert!(requests < 100, "{requests} requests for 200 blocks");
}

#[test]
fn what_comes_along_leaves_a_page_for_demand() {
    let mut driver = arm();
    // Little is brought beside what is read, so that what is read late comes along as well.
    (0..10_000).for_each(|_| drop(driver.serve(9, 9, 16_900, 1)));
    // All pages are taken before the first request goes.
    driver.handle(Event::Suspend { suspended: true });
    tell(&mut driver);
    driver.handle(Event::Suspend { suspended: false });
    let see = |driver: &Driver| {
        let ahead = driver.flights.values().filter(|it| it.class != Class::Demand);
        let pages: u64 = ahead.map(|it| it.brings()).sum();
        assert!(pages < PAGES, "I4: {pages} pages of {PAGES}");
    };
    see(&driver);
    read_all(&mut driver, see);
}
