//! The protocol against an exact search.

use super::*;
use crate::dispatch::{DeviceLimits, Dispatch};
use crate::event::{Source, Want};
use crate::files::{Files, Known};
use crate::hint::{Hints, Trust};
use crate::ids::{Block, FileId, ReaderId, Site, Time};
use crate::layout::{Home, Stripe};
use crate::policy::Choice;
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

    /// The victim, by looking at every page: the LRU end again and again, and of all others the least valuable.
    fn least_valuable(&self, policy: &mut Tip2) -> Page {
        let context = context!(self);
        let mut queue: Vec<Page> = policy.lists.oldest_first(Class::Random).collect();
        let value = |policy: &Tip2, page| policy.best_use(page, &context).map_or(0.0, |(_, value)| value);
        let mut others: Vec<(f64, Page)> = (self.table.pages())
            .filter(|page| !queue.contains(page))
            .map(|page| (value(policy, page), page))
            .collect();
        let end = |policy: &mut Tip2, queue: &[Page]| {
            let miss = policy.times(&context, context.device_of(*queue.first()?)).miss();
            Some(policy.rates.share(LRU) * policy.recency.marginal_hit_rate(queue.len() as u64) * miss)
        };
        loop {
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let least = others.first().map_or(f64::INFINITY, |other| other.0);
            let Some(declared) = end(policy, &queue).filter(|&declared| declared <= least) else {
                return others[0].1;
            };
            let page = queue.remove(0);
            let next = end(policy, &queue).unwrap_or(f64::INFINITY).min(least).max(declared);
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
            let victim = policy.victim(&context!(self), Need::LESS);
            let value = |page| policy.best_use(page, &context!(self)).map(|(_, value)| value);
            let tie = victim.is_some_and(|victim| value(victim) == value(expected));
            prop_assert!(victim == Some(expected) || tie, "{victim:?} goes in place of {expected}");
            let victim = victim.unwrap_or(expected);
            policy.left(victim, &context!(self));
            let block = self.table.remove(victim);
            self.hints.forgo(block, self.files.of(block.file));
        }
        Ok(())
    }

    fn read(&mut self, policy: &mut Tip2, reader: ReaderId, block: Block) -> Result<(), TestCaseError> {
        let moved = self.hints.read(reader, block, 1, &self.files);
        let hinted = moved.hinted(block.index);
        let (site, demand) = (Site(0), Demand::Observed);
        let access = Access { now: Time(0), reader, site, demand, hinted, first: false, next: None };
        if let Some(page) = self.table.find(block) {
            policy.referenced(page, &context!(self), &access);
            return Ok(());
        }
        self.make_room(policy)?;
        let page = self.table.insert(block, State::Cached, Phase::Present);
        policy.arrived(page, &context!(self), Some(&access));
        Ok(())
    }

    fn prefetch(&mut self, policy: &mut Tip2, block: Block) -> Result<(), TestCaseError> {
        if self.table.find(block).is_none() && context!(self).hints.uses(block, self.files.of(FileId(0))).next().is_some() {
            self.make_room(policy)?;
            let page = self.table.insert(block, State::Hinted, Phase::Present);
            policy.arrived(page, &context!(self), None);
        }
        Ok(())
    }
}

/// A policy of the paper's times, with short segments.
fn policy(majorant: u8) -> Tip2 {
    let text = format!("tip2:t_hit_us=243,t_driver_us=580,t_disk_us=1500,segment=2,majorant={majorant}");
    Tip2::new(&text.parse::<Choice>().expect("a policy").values, None)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The protocol of 000 section 5.1 finds what an exact search over all pages finds (policies, 000.9).
    #[test]
    fn the_least_valuable_page_goes(
        ops in proptest::collection::vec((0..10u8, 0..2u32, 0..2u32, 0..BLOCKS, 1..6u64), 1..300),
        capacity in 2..12u64,
        majorant in 0..2u8,
    ) {
        let (mut memory, mut policy) = (Memory::new(capacity), policy(majorant));
        for (what, reader, file, index, count) in ops {
            let (reader, block) = (ReaderId(reader), Block { file: FileId(file), index });
            match what {
                0..2 => {
                    let want = Want::Range { first: index, count };
                    let known = memory.files.of(FileId(0));
                    memory.hints.disclose(reader, Source::Library, block.file, want, Trust::Full, known);
                }
                2..7 => memory.read(&mut policy, reader, block)?,
                _ => memory.prefetch(&mut policy, block)?,
            }
        }
    }
}
