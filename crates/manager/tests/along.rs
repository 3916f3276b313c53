//! What comes along with a request for an arm, as it is told to be read later.

use crate::support::{Driver, block, fetches};
use foresee_manager::*;

const PAGES: u64 = 16;
const REQUEST_NS: u64 = 5_000_000;

/// A device that has served 16 requests one after the other, each in 5 ms, and of which little is left
/// in memory; a reader tells that it will read two runs of 100 blocks in turn, and has read of both.
fn told_in_turn() -> Driver {
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
    for at in in_turn() {
        driver.hint(1, 0, Want::Range { first: at, count: 1 });
    }
    driver
}

fn in_turn() -> impl Iterator<Item = u64> {
    (0..200).map(|at| at % 2 * 200 + at / 2)
}

/// Reads them all, and has one request come whenever a block is not here. Returns the requests.
fn read_all(driver: &mut Driver) -> u64 {
    let mut requests = driver.flights.len() as u64;
    for index in in_turn() {
        let is_here = driver.manager.is_present(block(0, index));
        let actions = driver.serve(1, 0, index, 1);
        requests += fetches(&actions).len() as u64;
        while !is_here && driver.flights.values().any(|it| it.blocks().any(|it| it == block(0, index))) {
            let (&fetch, _) = driver.flights.first_key_value().expect("it is on its way");
            driver.now += REQUEST_NS;
            let actions = driver.handle(Event::FetchDone { fetch });
            requests += fetches(&actions).len() as u64;
        }
    }
    driver.manager.check();
    requests
}

/// As each page that was read makes room for one block, of the one run or the other, each would have a
/// request of its own.
#[test]
fn what_lies_behind_comes_along_if_it_is_read_before_what_goes() {
    let requests = read_all(&mut told_in_turn());
    assert!(requests < 100, "{requests} requests for 200 blocks");
}
