//! `experts`: near the best of its experts where one of them is right.

use crate::support::{self, Cache, misses, passes_over};
use foresee_manager::*;

/// Of a loop that does not fit a part is kept; passes there and back again are LRU's; a memory of
/// thousands of pages looks at a sample, and does as well.
#[test]
fn who_is_right_is_followed() {
    for scale in [1, 20] {
        let pages = 300 * scale;
        let references = 100 * pages as usize;
        let looping = passes_over(1000 * scale, false, references);
        let [own, lirs, lru] = ["experts", "lirs", "lru"].map(|policy| misses(policy, pages, &looping));
        assert_eq!((own, lru), (lirs, references as u64), "a loop");
        let returning = passes_over(500 * scale, true, references);
        let [own, lirs, lru] = ["experts", "lirs", "lru"].map(|policy| misses(policy, pages, &returning));
        assert!(lirs > lru + 20 * pages, "LIRS is wrong here: {lirs}, {lru}");
        assert!(own < lru + 3 * pages, "passes there and back: {own}, LRU {lru}");
    }
}

/// A loop that is followed by passes there and back, and so on: each phase is its expert's.
#[test]
fn what_is_followed_changes_with_the_program() {
    let pages = 300;
    let (looping, returning) = (passes_over(1000, false, 60_000), passes_over(500, true, 60_000));
    let blocks = [looping.clone(), returning.clone(), looping, returning].concat();
    let [own, lirs, lru] = ["experts", "lirs", "lru"].map(|policy| misses(policy, pages, &blocks));
    assert!(own < lirs.min(lru) * 9 / 10, "{own}, LIRS {lirs}, LRU {lru}");
}

/// Where runs are read ahead, half of a loop twice as large as the memory is kept, and the other
/// half comes in runs: PCC keeps as much, and each block that it misses comes alone.
#[test]
fn what_is_missing_of_a_loop_is_read_ahead() {
    let references = 20_000;
    let mut driver = support::Driver::simple("readahead:keep=experts", 500, Trust::Full);
    driver.known(0, 1000);
    for index in passes_over(1000, false, references as usize) {
        driver.read(1, 0, index, 1);
        driver.arrive();
    }
    let statistics = driver.manager.statistics();
    let brought = statistics.misses + statistics.ahead[Source::Readahead as usize].fetched;
    assert!(statistics.misses < references / 20, "{} misses", statistics.misses);
    assert!(brought < references * 2 / 3, "{brought} blocks brought");
    driver.manager.check();
}

/// What call sites taught is kept, whoever is followed.
#[test]
fn lessons_are_kept_and_taught() {
    let mut cache = Cache::new("experts", 100);
    let learned = Event::SiteLearned { site: Site(7), sequential: 5, looping: 900, period: 400, spread: 3 };
    cache.0.handle(Time(0), learned, &mut Vec::new());
    assert_eq!(cache.0.learned(), [learned]);
}
