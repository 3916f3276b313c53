//! The protocol against an exact search.

use super::*;
use crate::dispatch::{DeviceLimits, Dispatch};
use crate::event::{Demand, Source, Want};
use crate::files::{Files, Known};
use crate::hint::{Hints, Holdings, Trust};
use crate::ids::{Block, DeviceId, FileId, ReaderId, Site, Time};
use crate::layout::{Home, Stripe};
use crate::policy::Choice;
use crate::policy::estimators::runs::PAGES_MIN;
use crate::policy::sequential::detect::Rules;
use crate::table::{Phase, State, Table};
use proptest::prelude::*;

const BLOCKS: u64 = 24;

/// The parts of a manager that a policy looks at, in the test's own hands.
struct Memory {
    table: Table,
    hints: Hints,
    files: Files,
    dispatch: Dispatch,
    capacity: u64,
}

macro_rules! context {
    ($memory:expr) => {
        Context {
            table: &$memory.table,
            capacity: $memory.capacity,
            hints: &$memory.hints,
            files: &$memory.files,
            dispatch: &$memory.dispatch,
        }
    };
}

impl Memory {
    fn new(capacity: u64) -> Self {
        let here = |device| Known::Here { home: Home { device: DeviceId(device), place: 0 }, blocks: BLOCKS };
        let mut files = Files::default();
        files.set(FileId(0), here(0));
        files.set(FileId(1), here(1));
        Memory {
            table: Table::default(),
            hints: Hints::default(),
            files,
            dispatch: Dispatch::new(DeviceLimits::default(), Stripe::default()),
            capacity,
        }
    }

    /// Of what was not disclosed, the page to go and its value.
    fn end(&self, policy: &mut Tip2, queue: &[Page], runs: &[Page]) -> Option<(f64, Page)> {
        let context = context!(self);
        policy.queue.refresh(&mut policy.desk, &context);
        let rate = policy.desk.rates.share(QUEUE) * policy.queue.recency.marginal_hit_rate(queue.len() as u64);
        let saved = policy.runs.as_ref().map_or(0.0, |it| it.saved_by_a_page(runs.len() as u64));
        let end = |rate: f64, pages: &[Page]| {
            let page = *pages.first()?;
            Some((rate * policy.desk.miss(page, &context), page))
        };
        match (end(rate, queue), end(saved, runs)) {
            (Some(of_queue), Some(of_runs)) => {
                let is_short = (queue.len().min(runs.len()) as f64) < PAGES_MIN;
                let is_older = policy.desk.lists.age(of_runs.1) > policy.desk.lists.age(of_queue.1);
                let runs_go = if is_short { is_older } else { of_runs.0 < of_queue.0 };
                Some(if runs_go { of_runs } else { of_queue })
            }
            (of_queue, of_runs) => of_queue.or(of_runs),
        }
    }

    /// The victim, by looking at every page: the LRU ends again and again, and of all others the
    /// least valuable.
    fn least_valuable(&self, policy: &mut Tip2) -> Page {
        let context = context!(self);
        let [mut queue, mut runs] = [Class::Random, Class::Sequential]
            .map(|class| policy.desk.lists.oldest_first(class).collect::<Vec<Page>>());
        let value =
            |policy: &Tip2, page| policy.hints.best_use(page, &policy.desk, &context).map_or(0.0, |(_, value)| value);
        let mut others: Vec<(f64, Page)> = (self.table.pages())
            .filter(|page| !queue.contains(page) && !runs.contains(page))
            .map(|page| (value(policy, page), page))
            .collect();
        loop {
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let least = others.first().map_or(f64::INFINITY, |other| other.0);
            let Some((declared, page)) = self.end(policy, &queue, &runs).filter(|&(declared, _)| declared <= least)
            else {
                return others[0].1;
            };
            queue.retain(|&it| it != page);
            runs.retain(|&it| it != page);
            let next = self.end(policy, &queue, &runs).map_or(f64::INFINITY, |it| it.0).min(least).max(declared);
            let saved = value(policy, page);
            if saved <= next {
                return page;
            }
            others.push((saved, page));
        }
    }

    fn make_room(&mut self, policy: &mut Tip2) -> Result<(), TestCaseError> {
        while self.table.used() >= self.capacity {
            let expected = self.least_valuable(policy);
            policy.weigh(&context!(self), Need::LESS);
            let victim = policy.candidate(&context!(self), Need::LESS).map(|it| it.page);
            let value = |page| policy.hints.best_use(page, &policy.desk, &context!(self)).map(|(_, value)| value);
            let is_listed = |page: Page| policy.queue.owns(page) || policy.is_in_run(page);
            let tie = victim.is_some_and(|victim| value(victim) == value(expected) && !is_listed(victim));
            prop_assert!(victim == Some(expected) || tie, "{victim:?} goes in place of {expected}");
            let victim = victim.unwrap_or(expected);
            policy.left(victim, &context!(self));
            let block = self.table.remove(victim);
            self.hints.forgo(block, self.files.of(block.file), None);
        }
        Ok(())
    }

    fn read(&mut self, policy: &mut Tip2, reader: ReaderId, block: Block) -> Result<(), TestCaseError> {
        let moved = self.hints.read(reader, block, 1, Holdings { files: &self.files, table: &self.table });
        let hinted = moved.hinted(block.index);
        let (site, demand) = (Site(0), Demand::Observed);
        let access = Access { now: Time(0), reader, site, demand, hinted, first: false, next: None };
        match self.table.find(block) {
            Some(page) => policy.referenced(page, &context!(self), &access),
            None => self.bring(policy, block, State::Cached, Some(&access))?,
        }
        while let Some(Stretch { first, count, .. }) = Policy::runs(policy).and_then(|runs| runs.next_stretch(&context!(self))) {
            for index in first.index..first.index + count {
                self.bring(policy, Block { index, ..first }, State::Guessed, None)?;
            }
        }
        Ok(())
    }

    fn bring(
        &mut self,
        policy: &mut Tip2,
        block: Block,
        state: State,
        access: Option<&Access>,
    ) -> Result<(), TestCaseError> {
        if self.table.find(block).is_none() {
            self.make_room(policy)?;
            let page = self.table.insert(block, state, Phase::Present);
            if let Some(runs) = Policy::runs(policy) {
                runs.taken(page, &context!(self), access);
            }
            policy.arrived(page, &context!(self), access);
        }
        Ok(())
    }

    fn prefetch(&mut self, policy: &mut Tip2, block: Block) -> Result<(), TestCaseError> {
        let is_disclosed = self.hints.uses(block, &self.files).next().is_some();
        if is_disclosed { self.bring(policy, block, State::Hinted, None) } else { Ok(()) }
    }
}

/// A policy of the paper's times, with short segments; with runs, they are found at once.
fn policy(majorant: u8, finds_runs: bool) -> Tip2 {
    let times = format!("t_hit_us=243,t_driver_us=580,t_disk_us=1500,segment=2,majorant={majorant}");
    let text = match finds_runs {
        true => format!("tip2-sarc:{times},threshold=1,degree=4,group=1,trigger_offset=1,bottom_share=0"),
        false => format!("tip2:{times}"),
    };
    let values = text.parse::<Choice>().expect("a policy").values;
    Tip2::new(&values, finds_runs.then(|| Runs::new(Rules::fixed(&values))), 0.0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The protocol of 000 section 5.1 finds what an exact search over all pages finds.
    #[test]
    fn the_least_valuable_page_goes(
        ops in proptest::collection::vec((0..10u8, 0..2u32, 0..2u32, 0..BLOCKS, 1..6u64), 1..300),
        capacity in 2..20u64,
        majorant in 0..2u8,
        finds_runs: bool,
    ) {
        let (mut memory, mut policy) = (Memory::new(capacity), policy(majorant, finds_runs));
        for (what, reader, file, index, count) in ops {
            let (reader, block) = (ReaderId(reader), Block { file: FileId(file), index });
            match what {
                0..2 => {
                    let want = Want::Range { first: index, count };
                    let known = memory.files.of(FileId(0));
                    memory.hints.disclose(reader, Source::Library, block.file, want, Trust::Full, known);
                }
                // Of several who read together, what is further on in a sequence may be nearer.
                2..7 if memory.hints.would_go_back(reader, block, memory.files.of(block.file)) => {}
                2..7 => memory.read(&mut policy, reader, block)?,
                _ => memory.prefetch(&mut policy, block)?,
            }
        }
    }
}
