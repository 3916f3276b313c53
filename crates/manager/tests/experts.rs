//! `experts`: never worse than LRU beyond its bound, whatever is read; near the best of its experts
//! where one of them is right.

mod support;

use foresee_manager::*;
use proptest::prelude::*;

/// Reads one block after the other, and counts misses.
struct Cache(Manager);

impl Cache {
    fn new(policy: &str, pages: u64) -> Self {
        Cache(Manager::new(&Config::new(pages, policy.parse().expect("a policy"))))
    }

    fn read(&mut self, index: u64) {
        let (reader, site, file, demand) = (ReaderId(1), Site(0), FileId(0), Demand::Observed);
        let read = Event::Reference { reader, site, file, first: index, count: 1, demand };
        self.0.handle(Time(0), read, &mut Vec::new());
    }

    fn holds(&self, index: u64) -> bool {
        self.0.is_present(support::block(0, index))
    }

    fn misses(&self) -> u64 {
        self.0.statistics().misses
    }
}

fn misses(policy: &str, pages: u64, blocks: &[u64]) -> u64 {
    let mut cache = Cache::new(policy, pages);
    blocks.iter().for_each(|&index| cache.read(index));
    cache.0.check();
    cache.misses()
}

/// As contest.rs proves it.
fn bound(misses_of_lru: u64, pages: u64) -> f64 {
    1.01 * misses_of_lru as f64 + 2.0 * pages as f64 + 1.0
}

/// Passes over so many blocks, forward or there and back again.
fn passes(blocks: u64, returns: bool, references: usize) -> Vec<u64> {
    let there = 0..blocks;
    let back = (0..blocks).rev().filter(|_| returns);
    there.chain(back).cycle().take(references).collect()
}

/// A phase of a program.
fn phase() -> impl Strategy<Value = Vec<u64>> {
    let blocks = 1..60u64;
    let looping = (blocks.clone(), any::<bool>(), 1..400usize)
        .prop_map(|(blocks, returns, references)| passes(blocks, returns, references));
    let random = blocks.prop_flat_map(|blocks| proptest::collection::vec(0..blocks, 1..400));
    let scan = (0..1000u64, 1..100u64).prop_map(|(first, count)| (first..first + count).collect());
    prop_oneof![looping, random, scan]
}

proptest! {
    #![proptest_config(support::config(300))]

    #[test]
    fn phases_cost_no_more_than_the_bound(phases in proptest::collection::vec(phase(), 1..30), pages in 1..40u64) {
        let blocks = phases.concat();
        let (own, lru) = (misses("experts", pages, &blocks), misses("lru", pages, &blocks));
        prop_assert!(own as f64 <= bound(lru, pages), "{own} misses, LRU {lru}");
    }

    /// Whoever reads knows what is here, and what LRU would hold: most often it asks for what only LRU has.
    #[test]
    fn an_adversary_gains_no_more_than_the_bound(
        steps in proptest::collection::vec((0..8u32, 0..100u64), 1..4000),
        pages in 1..40u64,
    ) {
        let (mut experts, mut lru) = (Cache::new("experts", pages), Cache::new("lru", pages));
        for (kind, pick) in steps {
            let spiteful = (0..100).map(|at| (pick + at) % 100).find(|&it| lru.holds(it) && !experts.holds(it));
            let index = if kind > 0 { spiteful.unwrap_or(pick) } else { pick };
            experts.read(index);
            lru.read(index);
            prop_assert!(
                experts.misses() as f64 <= bound(lru.misses(), pages),
                "{} misses, LRU {}", experts.misses(), lru.misses()
            );
        }
    }
}

/// Of a loop that does not fit a part is kept; passes there and back again are LRU's; a memory of
/// thousands of pages looks at a sample, and does as well.
#[test]
fn who_is_right_is_followed() {
    for scale in [1, 20] {
        let pages = 300 * scale;
        let references = 100 * pages as usize;
        let looping = passes(1000 * scale, false, references);
        let [own, lirs, lru] = ["experts", "lirs", "lru"].map(|policy| misses(policy, pages, &looping));
        assert_eq!((own, lru), (lirs, references as u64), "a loop");
        let returning = passes(500 * scale, true, references);
        let [own, lirs, lru] = ["experts", "lirs", "lru"].map(|policy| misses(policy, pages, &returning));
        assert!(lirs > lru + 20 * pages, "LIRS is wrong here: {lirs}, {lru}");
        assert!(own < lru + 3 * pages, "passes there and back: {own}, LRU {lru}");
    }
}

/// A loop that is followed by passes there and back, and so on: each phase is its expert's.
#[test]
fn what_is_followed_changes_with_the_program() {
    let pages = 300;
    let (looping, returning) = (passes(1000, false, 60_000), passes(500, true, 60_000));
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
    for index in passes(1000, false, references as usize) {
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
