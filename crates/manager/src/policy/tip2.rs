//! `tip2`: every page where it saves most time: informed prefetching and caching by cost and benefit (000 sections 4 and 5).
//!
//! ```text
//! value of a page         = the largest of its estimators' values, each times that estimator's share of the references:
//!     LRU queue:            H'(n) (T_driver + T_disk)              H' at the queue's resident length n (estimate/recency)
//!     disclosed in y reads: T_driver / (y - P)                     y beyond the horizon P = T_disk / T_hit
//!                           T_driver + T_disk - y T_hit            within it                       (equation 9)
//! value of fetching ahead = (T_disk - x T_hit) / x                 read in x reads                 (equations 6, 8)
//!     with a neighbour      as a disclosed page that is here                                       (section 5.4)
//!
//! fetch ahead(b):  while it has a value:  if no page is free: the least valuable page goes, if it is worth less
//!
//! least valuable():                                                                                (section 5.1)
//!     loop: e = the estimator that declares the least value; p = its least valuable page; e tracks p no more
//!           if another estimator values p above all that is declared now: it tracks p
//!           else: p goes
//!
//! read(b):  disclosed:    if b is disclosed again: its estimator tracks it
//!                         else: to the MRU end of the LRU queue, uncounted
//!           otherwise:    counted at its place in the LRU queue, ghost or page; to the MRU end
//! ```
//!
//! The LRU queue ends in ghosts: its length, ghosts and all, is limited by the pages there are. A page its estimator picked
//! becomes a ghost, whether it goes or another estimator keeps it. Pages that nobody tracks and that cannot go yet are
//! orphans: they are looked at first.
//!
//! # Where this differs from the paper
//! - Each stream of hints has an estimator for each device, because only blocks of one T_disk are in one order (4.9).
//! - A stream's values are scaled by its confidence: the paper's hints are accurate (section 7).
//! - A page is tracked by one stream of hints at most; the others are asked when it is picked, as all are in section 5.1.
//! - Places in the LRU queue come from buckets instead of borders (estimate/recency).
//! - The horizon may follow the reader's measured pace instead of T_hit (`burst_margin`, estimate/pace).
//! - Where T_disk is not given, it is measured, device by device.

use std::collections::BTreeSet;

use super::{Access, Ahead, Context, Domain, Need, Parameter, Policy, Spec, Values, Worth, list::List};
use crate::estimate::agenda::Agenda;
use crate::estimate::cost::Times;
use crate::estimate::ghosts::Ghosts;
use crate::estimate::pace::Pace;
use crate::estimate::rates::Rates;
use crate::estimate::recency::{NO_TAG, Reading, Recency, Tag};
use crate::event::Demand;
use crate::hint::Use;
use crate::ids::{DeviceId, Page};

pub(super) static SPEC: Spec = Spec {
    name: "tip2",
    summary: "cost and benefit: each page where it saves most time, hints and recency in one currency",
    source: "Patterson et al., TIP-2 (000 sections 4 and 5)",
    parameters: &[
        Parameter {
            name: "t_hit_us",
            help: "what it takes to read a block that is here; the horizon is T_disk / T_hit. 0.4 us is 4 KiB on a machine of \
                   today, 243 us are 8 KB on the paper's",
            domain: Domain::Number { default: 0.4, min: 0.001, max: 1e6 },
        },
        Parameter {
            name: "t_driver_us",
            help: "the processor's part of a request: 580 us on the paper's machine; 15 us are assumed here",
            domain: Domain::Number { default: 15.0, min: 0.0, max: 1e6 },
        },
        Parameter {
            name: "t_disk_us",
            help: "the device's part of a request; 0: as measured, device by device (5 ms until there is a measurement)",
            domain: Domain::Number { default: 0.0, min: 0.0, max: 1e9 },
        },
        Parameter {
            name: "burst_margin",
            help: "0: the horizon is T_disk / T_hit, as printed; else it is what the reader consumes in T_disk at its measured pace, \
                   times this margin for bursts",
            domain: Domain::Number { default: 0.0, min: 0.0, max: 1e6 },
        },
        Parameter {
            name: "majorant",
            help: "1: the marginal hit rate looks past inflections (4.3); 0: the segment's own rate (5.2)",
            domain: Domain::Number { default: 1.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "segment",
            help: "pages of one segment of the LRU queue; 0: a 32nd of the memory",
            domain: Domain::Number { default: 0.0, min: 0.0, max: 1e9 },
        },
    ],
    build: |values| Box::new(tip2(values)),
};

fn tip2(values: &Values) -> Tip2 {
    Tip2 {
        hit_ns: values.get("t_hit_us") * 1e3,
        driver_ns: values.get("t_driver_us") * 1e3,
        disk_ns: values.get("t_disk_us") * 1e3,
        burst_margin: values.get("burst_margin"),
        paces: Vec::new(),
        reading: if values.get("majorant") >= 0.5 { Reading::Majorant } else { Reading::Point },
        segment: values.get("segment") as u64,
        capacity: 0,
        tracked: Vec::new(),
        counted: BTreeSet::new(),
        streams: Vec::new(),
        orphans: Vec::new(),
        queue: List::default(),
        ghosts: Ghosts::default(),
        recency: Recency::new(Reading::Majorant, 1, 1),
        rates: Rates::over(1),
    }
}

/// What a device's request takes where nothing was measured yet: a disk of today, or a network.
const DISK_NS_UNKNOWN: f64 = 5e6;
/// The LRU queue's number among the estimators; streams of hints follow.
const LRU: usize = 0;

const NO_STREAM: u32 = u32::MAX;

/// What is kept of a page: 16 bytes, for each hit looks at them.
#[derive(Clone, Copy)]
struct Tracked {
    /// When it is read next, where a stream tracks it.
    when: u64,
    /// The stream that tracks it, by its number in `streams`.
    stream: u32,
    /// Its place in the LRU queue, if it has one.
    tag: Tag,
}

impl Tracked {
    const NOT: Tracked = Tracked { when: 0, stream: NO_STREAM, tag: NO_TAG };

    fn is_in_queue(self) -> bool {
        self.tag != NO_TAG
    }

    /// Whether this stream's entry for the page is true.
    fn is_at(self, stream: usize, when: u64) -> bool {
        self.stream == stream as u32 && self.when == when
    }
}

/// The estimator of what one sequence disclosed on one device.
struct Stream {
    sequence: u16,
    device: DeviceId,
    pages: Agenda,
}

struct Tip2 {
    hit_ns: f64,
    driver_ns: f64,
    disk_ns: f64,
    burst_margin: f64,
    /// How fast what each sequence disclosed is read.
    paces: Vec<Pace>,
    reading: Reading,
    segment: u64,
    /// The memory the estimates are made for.
    capacity: u64,
    tracked: Vec<Tracked>,
    /// Pages whose next read is counted already.
    counted: BTreeSet<Page>,
    streams: Vec<Stream>,
    orphans: Vec<Page>,
    queue: List,
    ghosts: Ghosts,
    recency: Recency,
    rates: Rates,
}

impl Tip2 {
    fn times(&self, context: &Context<'_>, device: DeviceId) -> Times {
        let disk = match self.disk_ns {
            0.0 => context.access_ns(device).unwrap_or(DISK_NS_UNKNOWN),
            given => given,
        };
        Times { hit: self.hit_ns, driver: self.driver_ns, disk }
    }

    /// The times of a reader that consumes what this sequence disclosed.
    fn times_of(&self, context: &Context<'_>, device: DeviceId, sequence: u16) -> Times {
        let times = self.times(context, device);
        if self.burst_margin == 0.0 {
            return times;
        }
        let pace = self.paces.get(usize::from(sequence)).and_then(Pace::between_ns);
        Times { hit: times.hit.max(pace.map_or(0.0, |ns| ns / self.burst_margin)), ..times }
    }

    fn pace(&mut self, sequence: u16) -> &mut Pace {
        let at = usize::from(sequence);
        if at >= self.paces.len() {
            self.paces.resize(at + 1, Pace::default());
        }
        &mut self.paces[at]
    }

    /// The share of references that a stream's values speak for, times how far it is to be believed.
    fn weight(&self, sequence: u16, context: &Context<'_>) -> f64 {
        self.rates.share(1 + usize::from(sequence)) * context.confidence(sequence)
    }

    /// The value of a page for the reader that disclosed it.
    fn disclosed_value(&self, next: Use, device: DeviceId, context: &Context<'_>) -> f64 {
        match context.references_until(next) {
            Some(references) => {
                self.weight(next.sequence, context)
                    * self.times_of(context, device, next.sequence).flush_a_reference(references)
            }
            None => 0.0,
        }
    }

    /// The page at the LRU end, and its value.
    fn queue_value(&mut self, context: &Context<'_>) -> Option<(Page, f64)> {
        let page = self.queue.oldest_first().next()?;
        let miss = self.times(context, context.device_of(page)).miss();
        let rate = self.recency.marginal_hit_rate(self.queue.len());
        Some((page, self.rates.share(LRU) * rate * miss))
    }

    /// The least valuable page of a stream, and its value.
    fn stream_value(&mut self, at: usize, context: &Context<'_>) -> Option<(Page, f64)> {
        let holds = |when: u64, page: Page| self.tracked[page as usize].is_at(at, when);
        let Stream { sequence, device, ref mut pages } = self.streams[at];
        let (soonest, passed_over) = pages.soonest(holds)?;
        if context.references_until(Use { sequence, when: soonest }).is_none() {
            return Some((passed_over, 0.0));
        }
        let (when, page) = pages.latest(holds)?;
        Some((page, self.disclosed_value(Use { sequence, when }, device, context)))
    }

    /// The estimator that declares the least value: its page, its value, and whether it is the LRU queue. Ties: the LRU end
    /// first (policies, 000.9).
    fn least(&mut self, context: &Context<'_>) -> Option<(Page, f64, bool)> {
        let mut least = self.queue_value(context).map(|(page, value)| (page, value, true));
        for at in 0..self.streams.len() {
            if self.streams[at].pages.is_empty() {
                continue;
            }
            if let Some((page, value)) = self.stream_value(at, context)
                && least.is_none_or(|(_, least, _)| value < least)
            {
                least = Some((page, value, false));
            }
        }
        least
    }

    /// What is declared least now; never less than what was least before, for what proves worth nothing is found in its turn.
    fn declared(&mut self, before: f64, context: &Context<'_>) -> f64 {
        self.least(context).map_or(f64::INFINITY, |(_, value, _)| value.max(before))
    }

    /// The disclosed read that makes the page most valuable.
    fn best_use(&self, page: Page, context: &Context<'_>) -> Option<(Use, f64)> {
        let device = context.device_of(page);
        let valued = context.uses(page).map(|next| (next, self.disclosed_value(next, device, context)));
        valued.fold(None, |best, (next, value)| match best {
            Some((_, most)) if most >= value => best,
            _ => Some((next, value)),
        })
    }

    /// The same without its value, which needs not be known where there is but one.
    fn main_use(&self, page: Page, context: &Context<'_>) -> Option<Use> {
        let mut uses = context.uses(page);
        let only = uses.next()?;
        match uses.next() {
            None => Some(only),
            Some(_) => self.best_use(page, context).map(|(next, _)| next),
        }
    }

    fn track(&mut self, page: Page, next: Use, context: &Context<'_>) {
        self.untrack(page);
        let device = context.device_of(page);
        let found = self.streams.iter().position(|it| it.sequence == next.sequence && it.device == device);
        let at = found.unwrap_or_else(|| {
            self.streams.push(Stream { sequence: next.sequence, device, pages: Agenda::default() });
            self.streams.len() - 1
        });
        let tracked = &mut self.tracked[page as usize];
        (tracked.stream, tracked.when) = (at as u32, next.when);
        let holds = |when: u64, page: Page| self.tracked[page as usize].is_at(at, when);
        self.streams[at].pages.push(next.when, page, holds);
    }

    fn untrack(&mut self, page: Page) {
        let stream = std::mem::replace(&mut self.tracked[page as usize].stream, NO_STREAM);
        if stream != NO_STREAM {
            self.streams[stream as usize].pages.forget();
        }
    }

    /// Puts a page to the MRU end of the LRU queue; from where, `counted` tells the estimate.
    fn renew(&mut self, page: Page, counted: bool, context: &Context<'_>) {
        let queued = self.tracked[page as usize].is_in_queue();
        let was = queued.then_some(self.tracked[page as usize].tag).or_else(|| self.ghosts.take(context.table.block(page)));
        match was {
            Some(tag) if counted => self.recency.hit(tag),
            Some(tag) => self.recency.leave(tag),
            None if counted => self.recency.miss(),
            None => {}
        }
        self.tracked[page as usize].tag = self.recency.enter();
        match queued {
            true => self.queue.renew(page),
            false => self.queue.push_newest(page),
        }
        self.trim_ghosts();
    }

    /// The page leaves the LRU queue's resident part and becomes a ghost.
    fn become_ghost(&mut self, page: Page, context: &Context<'_>) {
        let tag = std::mem::replace(&mut self.tracked[page as usize].tag, NO_TAG);
        if tag != NO_TAG {
            self.queue.remove(page);
            self.ghosts.push(context.table.block(page), tag);
            self.trim_ghosts();
        }
    }

    fn trim_ghosts(&mut self) {
        while self.ghosts.len() + self.queue.len() > self.capacity
            && let Some(tag) = self.ghosts.expire()
        {
            self.recency.leave(tag);
        }
    }

    /// A disclosed read of the page has come.
    fn consumed(&mut self, page: Page, context: &Context<'_>) {
        self.untrack(page);
        match self.main_use(page, context) {
            Some(next) => self.track(page, next, context),
            None => self.renew(page, false, context),
        }
    }

    fn referenced_as(&mut self, page: Page, hinted: Option<u16>, context: &Context<'_>) {
        match hinted {
            Some(sequence) => {
                self.rates.refer(1 + usize::from(sequence));
                self.consumed(page, context);
            }
            None => {
                self.rates.refer(LRU);
                let counted = !self.counted.is_empty() && self.counted.remove(&page);
                self.renew(page, !counted, context);
            }
        }
    }

    /// Follows the memory: the estimates are made for its size, or thereabouts.
    fn fit(&mut self, context: &Context<'_>) {
        if self.capacity * 3 / 4 <= context.capacity && context.capacity <= self.capacity * 5 / 4 && self.capacity > 0 {
            return;
        }
        self.capacity = context.capacity;
        let segment = if self.segment > 0 { self.segment } else { self.capacity / 32 };
        self.recency = Recency::new(self.reading, self.capacity, segment);
        self.rates = Rates::over(self.capacity);
        while self.ghosts.expire().is_some() {}
        for page in self.queue.oldest_first().collect::<Vec<_>>() {
            self.tracked[page as usize].tag = self.recency.enter();
        }
    }
}

impl Policy for Tip2 {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.fit(context);
        if page as usize >= self.tracked.len() {
            self.tracked.resize(page as usize + 1, Tracked::NOT);
        }
        match access {
            Some(access) => {
                access.hinted.into_iter().for_each(|sequence| self.pace(sequence).stalled());
                self.referenced_as(page, access.hinted, context);
            }
            None => match self.main_use(page, context) {
                Some(next) => self.track(page, next, context),
                // The file system's own readahead. It stands for the read that it expects, lest that find what is here by
                // this very guess and count as a hit at the queue's top.
                None if context.table.state(page).is_unread() => {
                    self.renew(page, true, context);
                    self.counted.insert(page);
                }
                // Nobody wants it any more.
                None => self.orphans.push(page),
            },
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.fit(context);
        if let Some(sequence) = access.hinted {
            match access.demand {
                Demand::Timed { over, waited } => self.pace(sequence).hit(over, waited),
                _ => self.pace(sequence).hit(access.now, false),
            }
        }
        self.referenced_as(page, access.hinted, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.untrack(page);
        self.counted.remove(&page);
        self.become_ghost(page, context);
        self.orphans.retain(|&orphan| orphan != page);
    }

    fn victim(&mut self, context: &Context<'_>, Need { value, .. }: Need) -> Option<Page> {
        self.fit(context);
        let tracked = &self.tracked;
        self.orphans.retain(|&page| !tracked[page as usize].is_in_queue() && tracked[page as usize].stream == NO_STREAM);
        if let Some(page) = self.orphans.iter().copied().find(|&page| context.table.can_go(page)) {
            return Some(page);
        }
        while let Some((page, least, in_queue)) = self.least(context) {
            if least >= value {
                return None;
            }
            if in_queue { self.become_ghost(page, context) } else { self.untrack(page) }
            // Who else values it: whoever disclosed it, and the LRU queue while it is in it.
            if let Some((next, saved)) = self.best_use(page, context)
                && (saved >= value || saved > self.declared(least, context))
            {
                self.track(page, next, context);
            } else if self.tracked[page as usize].is_in_queue() {
                // Its turn comes there.
            } else if context.table.can_go(page) {
                return Some(page);
            } else {
                self.orphans.push(page);
            }
        }
        None
    }

    fn may_fetch_ahead(&self, _: &Context<'_>) -> bool {
        true
    }

    /// It needs to hear of hints.
    fn holds_a_part(&self) -> bool {
        false
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        let times = self.times_of(context, ahead.device, ahead.sequence);
        let weight = self.weight(ahead.sequence, context);
        if ahead.joins {
            return Some(Worth { rank: f64::INFINITY, value: weight * times.flush_a_reference(ahead.references) });
        }
        let value = weight * times.benefit_a_reference(ahead.references);
        (times.benefit(ahead.references) > 0.0).then_some(Worth { rank: value, value })
    }

    fn refetches(&self) -> bool {
        true
    }

    fn sequence_ended(&mut self, sequence: u16) {
        self.rates.forget(1 + usize::from(sequence));
        *self.pace(sequence) = Pace::default();
        for at in 0..self.streams.len() {
            if self.streams[at].sequence != sequence {
                continue;
            }
            let holds = |when: u64, page: Page| self.tracked[page as usize].is_at(at, when);
            for page in self.streams[at].pages.drain(holds) {
                self.tracked[page as usize].stream = NO_STREAM;
                if !self.tracked[page as usize].is_in_queue() {
                    self.orphans.push(page);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
            let mut queue: Vec<Page> = policy.queue.oldest_first().collect();
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
        tip2(&text.parse::<Choice>().expect("a policy").values)
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
}
