//! `reuse`: near the best policy where that is known, whatever kind of references there are.

use crate::support::{self, Cache, misses};
use foresee_manager::*;
use proptest::prelude::*;

/// Numbers by chance, the same ones at each call.
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 88_172_645_463_325_252_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    }
}

/// How much of the hits there can be it has.
fn part_of_optimum(pages: u64, blocks: &[u64]) -> f64 {
    let hits = |policy| (blocks.len() as u64 - misses(policy, pages, blocks)) as f64;
    let future: Vec<_> = blocks.iter().map(|&index| support::block(0, index)).collect();
    let mut seen = std::collections::HashMap::new();
    let mut next = vec![u64::MAX; future.len()];
    for (at, block) in future.iter().enumerate() {
        if let Some(before) = seen.insert(*block, at) {
            next[before] = at as u64;
        }
    }
    // Belady: of what is here, and what is missing, that goes which is used last.
    let (mut here, mut order, mut best) = (std::collections::HashMap::new(), std::collections::BTreeSet::new(), 0);
    for (at, block) in future.iter().enumerate() {
        if let Some(used) = here.remove(block) {
            order.remove(&(used, *block));
            best += 1;
        }
        here.insert(*block, next[at]);
        order.insert((next[at], *block));
        if order.len() as u64 > pages
            && let Some((_, gone)) = order.pop_last()
        {
            here.remove(&gone);
        }
    }
    hits("reuse") / f64::from(best)
}

/// Each pass over a loop finds what fits, also where the loop is many times the memory.
#[test]
fn a_loop_keeps_what_fits() {
    // What was seen eight memories ago counts half, so that little is known of a loop of forty.
    for (blocks, least) in [(120, 0.9), (200, 0.9), (1_000, 0.85), (4_000, 0.75)] {
        let passes: Vec<u64> = (0..blocks).cycle().take(40 * blocks as usize).collect();
        let part = part_of_optimum(100, &passes);
        assert!(part > least, "{part:.2} of a loop of {blocks}");
    }
}

/// Forward or backward: what goes next is what was used after the page that went, and not what will be
/// used before it.
#[test]
fn a_loop_that_is_read_backward_keeps_as_much() {
    for pages in [200, 500] {
        let forward: Vec<u64> = (0..1_000).cycle().take(8_000).collect();
        let backward: Vec<u64> = (0..1_000).rev().cycle().take(8_000).collect();
        let [forward, backward] = [forward, backward].map(|blocks| misses("reuse", pages, &blocks));
        assert!(backward <= forward + 100, "{backward} backward, {forward} forward in {pages} pages");
    }
}

/// What is loaded in order and then looked up by chance is as dear as it is looked up.
#[test]
fn what_is_read_in_order_and_then_by_chance_stays() {
    let mut driver = support::Driver::simple("informed", 500, Trust::Full);
    driver.known(0, 1 << 30);
    let mut random = random();
    for table in 0..40 {
        let first = table * 1_000;
        let mut probes: Vec<u64> = (first..first + 400).collect();
        (1..400).for_each(|at| probes.swap(at, random(at as u64 + 1) as usize));
        for index in (first..first + 400).chain(probes) {
            driver.read(1, 0, index, 1);
            driver.arrive();
        }
    }
    let misses = driver.manager.statistics().misses;
    assert!(misses < 250, "{misses} misses of 32,000 reads");
}

/// Two loops that fit only by themselves: the shorter one stays.
#[test]
fn of_two_loops_the_shorter_one_stays() {
    let blocks: Vec<u64> = (0..60_000).map(|at| if at % 2 == 0 { at / 2 % 80 } else { 1_000 + at / 2 % 500 }).collect();
    let part = part_of_optimum(100, &blocks);
    assert!(part > 0.9, "{part:.2}");
}

/// What is used often stays, whatever is read once beside it.
#[test]
fn a_scan_takes_nothing_from_what_is_used_again() {
    let mut random = random();
    let blocks: Vec<u64> =
        (0..80_000).map(|at| if at % 2 == 0 { 1_000_000 + at } else { random(90).min(random(90)) }).collect();
    let part = part_of_optimum(100, &blocks);
    assert!(part > 0.97, "{part:.2}");
}

/// Blocks of one file are read twice, those of another, of which twice as many are read, once. Together
/// they fit for two thirds of the time until then; the first file's alone do.
#[test]
fn files_of_which_nothing_is_read_again_give_way_to_those_of_which_it_is() {
    const GAP: u64 = 100;
    let mut random = random();
    let scattered = |at: u64| at * 7_919 % 1_000_003;
    let mut cache = Cache::new("reuse", 2 * GAP);
    let (mut again, mut missed) = (0, 0);
    for at in 0..60_000 {
        if random(3) > 0 {
            cache.read_of(FileId(1), scattered(at));
            continue;
        }
        cache.read_of(FileId(2), scattered(again));
        if again > GAP {
            let before = cache.misses();
            cache.read_of(FileId(2), scattered(again - GAP));
            missed += cache.misses() - before;
        }
        again += 1;
    }
    cache.0.check();
    assert!(missed < again / 10, "{missed} of {again}");
}

/// More files than are told apart, one after the other and once more: those that nobody reads any more give
/// their places to others, which are not taken for them.
#[test]
fn files_come_to_be_told_apart_when_others_are_read_no_more() {
    let mut cache = Cache::new("reuse", 10);
    for pass in 0..2 {
        for file in 0..80 {
            (0..250).for_each(|index| cache.read_of(FileId(file), index));
        }
        let read_again = (0..4_000).filter(|at| {
            let before = cache.misses();
            cache.read_of(FileId(pass), at % 5);
            cache.misses() == before
        });
        let hits = read_again.count();
        assert!(hits > 3_900, "{hits} of 4,000");
    }
    cache.0.check();
}

/// Where what was used last is used next, it is LRU's equal: a place that wanders through a file.
#[test]
fn where_recency_is_right_it_is_hardly_behind_lru() {
    let mut random = random();
    let blocks: Vec<u64> = (0..60_000).map(|at| at / 40 + random(60)).collect();
    let (lru, reuse) = (misses("lru", 100, &blocks), misses("reuse", 100, &blocks));
    assert!(reuse as f64 <= 1.1 * lru as f64, "{reuse} misses for {lru}");
}

/// What was learned of one phase does not outlive it for long.
#[test]
fn a_loop_is_forgotten_when_another_comes() {
    let blocks: Vec<u64> = (0..30).flat_map(|phase| (0..1_500).map(move |at| phase * 1_000 + at % 150)).collect();
    let part = part_of_optimum(100, &blocks);
    assert!(part > 0.8, "{part:.2}");
}

/// What is read once beside what is used again and again goes at once where an earlier run showed what
/// becomes of it. Where nothing had to go, nothing is taught.
#[test]
fn a_second_run_knows_what_the_first_learned() {
    let run = |pages, learned: &[Event], references: u64| {
        let mut cache = Cache::new("reuse", pages);
        for &event in learned {
            cache.0.handle(Time(0), event, &mut Vec::new());
        }
        let mut random = random();
        for at in 0..references {
            cache.read(if at % 2 == 0 { random(300) } else { 1_000 + at });
        }
        (cache.misses(), cache.0.learned())
    };
    let (_, learned) = run(400, &[], 20_000);
    assert!(learned.iter().all(|event| matches!(event, Event::ReuseLearned { .. })) && !learned.is_empty());
    let [taught, untaught] = [&learned[..], &[]].map(|learned| run(400, learned, 4_000).0);
    // 2,300 blocks are read for the first time.
    assert!(taught < 2_500 && untaught > 2_550, "{taught} missed, {untaught} untaught");
    assert_eq!(run(4_000, &[], 4_000).1, []);
    // Nonsense costs what LRU's account allows.
    let nonsense = [0, 1, u64::MAX].map(|interval| {
        let [age, used, open] = [u64::MAX; 3];
        Event::ReuseLearned { interval, age, used, open }
    });
    assert!(run(400, &nonsense, 20_000).0 < run(400, &[], 20_000).0 + 1_000);
}

/// A block read in pieces is as good as one that is read at once.
#[test]
fn pieces_of_a_block_are_one_use() {
    let whole: Vec<u64> =
        (0..20_000).map(|at| if at % 2 == 0 { at / 2 % 300 } else { 1_000 + at * at % 701 }).collect();
    let pieces: Vec<u64> = whole.iter().flat_map(|&index| [index; 3]).collect();
    let (whole, pieces) = (misses("reuse", 100, &whole) as f64, misses("reuse", 100, &pieces) as f64);
    assert!((0.98..1.02).contains(&(pieces / whole)), "{pieces} misses for {whole}");
}

/// What follows the last block that a file can have is no block.
#[test]
fn behind_the_last_block_there_is_none() {
    assert_eq!(misses("reuse", 1, &[Block::INDEX_LIMIT - 1, 3, 5, 7]), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is read, in whatever memory: its lists are in order (`check`), and a memory that holds
    /// all misses each block once.
    #[test]
    fn what_fits_is_missed_once(pages in 1..300_u64, blocks in proptest::collection::vec(0..400_u64, 1..3_000)) {
        misses("reuse", pages, &blocks);
        let different: std::collections::BTreeSet<_> = blocks.iter().collect();
        prop_assert_eq!(misses("reuse", 400, &blocks), different.len() as u64);
    }

    /// The same references, the same misses (I8).
    #[test]
    fn the_same_twice(pages in 1..100_u64, blocks in proptest::collection::vec(0..300_u64, 1..3_000)) {
        prop_assert_eq!(misses("reuse", pages, &blocks), misses("reuse", pages, &blocks));
    }
}
