//! What acting on a recording costs, if some of it is wrong: by every policy there is, in small cases.
//!
//! A policy that gains all that a right recording has to give cannot lose nothing by a wrong one. The smallest
//! case: 0 and then 1 were recorded, a fetch takes two units, and the device serves one at a time. Who begins to
//! fetch 1 while the reader thinks about 0 takes 5 units, who waits for the reader 6. But if that reads 2, it
//! waits for the fetch of 1 to end: 7 units, where nothing was told 6.

use std::collections::HashMap;

use foresee_sim::timed::Disclosure;
use proptest::prelude::*;

use super::schedules::{Case, State, Storage};

/// One decides what is fetched, and knows what was recorded; the other what is read, and may part from that so
/// often. The first wins who keeps both bounds whatever the other does.
struct Game {
    recorded: Case,
    blocks: u64,
    wrong_max: usize,
    /// What is taken at most if all comes as recorded, in units.
    right: u64,
    /// What is taken at most in any case, in percent of what LRU takes that is told nothing.
    percent: u64,
    /// See [`Game::latest`].
    known: HashMap<(Vec<u64>, State), i64>,
}

impl Game {
    fn new(recorded: &Case, wrong_max: usize, right: u64, percent: u64) -> Self {
        let blocks = recorded.reads.iter().max().map_or(1, |last| last + 2);
        Game { recorded: recorded.clone(), blocks, wrong_max, right, percent, known: HashMap::new() }
    }

    fn is_won(&mut self) -> bool {
        self.next(&[]).iter().all(|reads| self.latest(reads, &State::first()) >= 0)
    }

    fn wrong(&self, reads: &[u64]) -> usize {
        reads.iter().zip(&self.recorded.reads).filter(|(read, recorded)| read != recorded).count()
    }

    /// What may have been read when the next read begins.
    fn next(&self, reads: &[u64]) -> Vec<Vec<u64>> {
        let recorded = self.recorded.reads[reads.len()];
        let may_be_wrong = self.wrong(reads) < self.wrong_max;
        let blocks = (0..self.blocks).filter(|&block| block == recorded || may_be_wrong);
        blocks.map(|block| [reads, &[block]].concat()).collect()
    }

    /// The latest moment at which that state is not too late, where these reads have begun; below 0 if it is in
    /// any case.
    fn latest(&mut self, reads: &[u64], state: &State) -> i64 {
        let place = (reads.to_vec(), state.clone());
        if let Some(&known) = self.known.get(&place) {
            return known;
        }
        let case = Case { reads: reads.to_vec(), ..self.recorded };
        let mut now = state.clone();
        now.goes_on(&case);
        let latest = match now.read == self.recorded.reads.len() {
            true => self.allowed(&case) as i64,
            false => self.latest_next(&case, &now),
        } - 1;
        self.known.insert(place, latest);
        latest
    }

    fn allowed(&self, case: &Case) -> u64 {
        let in_any_case = case.lru() * self.percent / 100;
        if self.wrong(&case.reads) == 0 { self.right.min(in_any_case) } else { in_any_case }
    }

    /// The same of the moment after this one.
    fn latest_next(&mut self, case: &Case, now: &State) -> i64 {
        // A reader that waits is served first: what is fetched in between gains nothing by coming sooner.
        let waited_for = case.reads.get(now.read);
        let is_first = |block| !now.fetching.is_empty() || waited_for.is_none_or(|it| *it == block);
        let mut ways = now.clone().ways(|state| state.begins_any(0..self.blocks, case));
        ways.retain(|way| way.fetching.first().map_or(waited_for.is_none(), |&(block, _)| is_first(block)));
        // The next read shows when it begins, and not before.
        let next = if waited_for.is_none() { self.next(&case.reads) } else { vec![case.reads.clone()] };
        let worst = |way: State, game: &mut Self| next.iter().map(|reads| game.latest(reads, &way)).min().unwrap();
        ways.into_iter().map(|way| worst(way, self)).max().unwrap()
    }
}

impl Case {
    /// What LRU takes that is told nothing.
    fn lru(&self) -> u64 {
        let mut here = Vec::new();
        let misses = self.reads.iter().filter(|block| {
            let found = here.iter().position(|it| it == *block);
            found.map(|at| here.remove(at));
            here.push(**block);
            here.drain(..here.len().saturating_sub(self.pages as usize));
            found.is_none()
        });
        self.fetch * misses.count() as u64 + self.reads.len() as u64
    }

    /// The best of the policies that are told all.
    fn told(&self) -> u64 {
        self.aggressive().min(self.units("forestall"))
    }
}

fn case() -> impl Strategy<Value = Case> {
    (proptest::collection::vec(0..3_u64, 1..=6), 2..4_u64, 1..5_u64).prop_map(|(reads, pages, fetch)| Case {
        reads,
        pages,
        fetch,
        storage: Storage::DISK,
    })
}

proptest! {
    /// What is right is read in the time of the best schedule, and in no less.
    #[test]
    fn what_is_right_is_read_in_the_least_time(case in case()) {
        let (least, no_bound) = (case.least(), 1000);
        prop_assert!(Game::new(&case, 0, least, no_bound).is_won());
        prop_assert!(!Game::new(&case, 0, least - 1, no_bound).is_won());
    }

    /// Who ignores what was recorded loses nothing by it, however wrong it is.
    #[test]
    fn who_ignores_it_loses_nothing(case in case()) {
        prop_assert!(Game::new(&case, 2, u64::MAX, 100).is_won());
    }
}

/// What is right within 1.05 of the best of those who are told all, and what is wrong within 1.02 of nothing: the
/// fetch of what is wrong is under way when the reader wants another.
#[test]
fn no_policy_gains_all_and_loses_nothing() {
    let case = Case { reads: vec![0, 1], pages: 2, fetch: 2, storage: Storage::DISK };
    let gains_all = case.told() * 105 / 100;
    assert_eq!((gains_all, case.lru()), (5, 6));
    assert!(!Game::new(&case, 1, gains_all, 116).is_won());
    assert!(Game::new(&case, 1, gains_all, 117).is_won());
    assert!(Game::new(&case, 1, 6, 100).is_won());
}

/// A read that was not recorded, and the recording is no longer believed to be right in all: what is read again and
/// again does not go for what is read once, and last, each time that it was read.
#[test]
fn no_page_goes_for_what_is_used_later() {
    let read = Case { reads: vec![1, 1, 1, 1, 1, 2], pages: 2, fetch: 4, storage: Storage::DISK };
    let units = read.units_told("informed", Disclosure::recorded(0, 64), &[0, 1, 1, 1, 1, 2]);
    assert!(units <= read.lru() + 2 * read.fetch, "{units} of {}", read.lru());
}

/// All recordings of so many reads of up to so many blocks. Which is which does not matter: the first block is 0,
/// the next that is another 1, and so on.
fn recordings(length: usize, blocks: u64) -> Vec<Vec<u64>> {
    let longer = |reads: &Vec<u64>| {
        let others = reads.iter().max().map_or(0, |last| last + 1);
        (0..=others.min(blocks - 1)).map(|block| [&reads[..], &[block]].concat()).collect::<Vec<_>>()
    };
    (0..length).fold(vec![Vec::new()], |all, _| all.iter().flat_map(longer).collect())
}

/// All that may be read where this was recorded.
fn read_of(recorded: &Case, wrong_max: usize) -> Vec<Case> {
    let game = Game::new(recorded, wrong_max, 0, 0);
    let longer = |reads: Vec<u64>| game.next(&reads);
    let all = (0..recorded.reads.len()).fold(vec![Vec::new()], |all, _| all.into_iter().flat_map(longer).collect());
    all.into_iter().map(|reads| Case { reads, ..*recorded }).collect()
}

/// Prints docs/informed.md's table of it: `cargo test --release -p foresee-sim --test all -- --ignored trust
/// --nocapture`.
#[test]
#[ignore = "looks at all policies, which takes a minute of an optimised build"]
fn what_any_policy_can_promise() {
    let of_nothing = |units: u64, case: &Case| units as f64 / case.lru() as f64;
    let mean = |of: &[f64]| (of.iter().map(|it| it.ln()).sum::<f64>() / of.len() as f64).exp();
    let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    for (wrong_max, in_the_table) in [(1, 648), (2, 347)] {
        let settings = [2, 3].into_iter().flat_map(|pages| (1..5).map(move |fetch| (pages, fetch)));
        let of_reads = |reads: Vec<u64>| {
            settings.clone().map(move |(pages, fetch)| Case {
                reads: reads.clone(),
                pages,
                fetch,
                storage: Storage::DISK,
            })
        };
        // Of the others there is nothing to gain.
        let cases: Vec<Case> =
            recordings(6, 3).into_iter().flat_map(of_reads).filter(|it| it.told() < it.lru()).collect();
        println!("{wrong_max} of 6 wrong, {} cases", cases.len());
        let promise = |right: &dyn Fn(&Case) -> u64, percent: u64| {
            let keeps = |case: &&Case| Game::new(case, wrong_max, right(case), percent).is_won();
            cases.iter().filter(keeps).count()
        };
        let kept = promise(&|case| case.told() * 105 / 100, 102);
        println!("keep 1.05 of told and 1.02 of nothing: {kept}");
        assert_eq!(kept, in_the_table);
        let (mut gains, mut harms) = (Vec::new(), Vec::new());
        for case in &cases {
            let gain = (case.told()..).find(|&right| Game::new(case, wrong_max, right, 102).is_won()).unwrap();
            gains.push(of_nothing(gain, case));
            let right = case.told() * 105 / 100;
            let harm = (100..).find(|&percent| Game::new(case, wrong_max, right, percent).is_won()).unwrap();
            harms.push(harm as f64 / 100.0);
        }
        println!("right, and never beyond 1.02 of nothing: {:.3}", mean(&gains));
        println!("wrong, and right within 1.05 of told: {:.3}, at most {:.2}", mean(&harms), most(&harms));
        for (policy, told) in [("aggressive", Disclosure::TOLD), ("informed", Disclosure::recorded(0, 64))] {
            let (mut rights, mut harms, mut all) = (Vec::new(), Vec::new(), Vec::new());
            for case in &cases {
                let told = |read: &Case| of_nothing(read.units_told(policy, told, &case.reads), read);
                rights.push(told(case));
                let wrong: Vec<f64> = read_of(case, wrong_max).iter().map(told).collect();
                harms.push(most(&wrong));
                all.extend(wrong);
            }
            let (right, harm, mean_of_all) = (mean(&rights), mean(&harms), mean(&all));
            println!(
                "{policy}: right {right:.3}, wrong {harm:.3} at worst, at most {:.2}, in the mean {mean_of_all:.3}",
                most(&harms)
            );
        }
    }
}
