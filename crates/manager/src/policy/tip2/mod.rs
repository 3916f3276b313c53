//! `tip2`: every page where it saves most time: informed prefetching and caching by cost and benefit (000 sections 4 and 5).
//!
//! ```text
//! value of a page         = the largest of its estimators' values, each times that estimator's share of the references:
//!     LRU queue:            H'(n) (T_driver + T_disk)              H' at the queue's resident length n (estimate/recency)
//!     disclosed in y reads: T_driver / (y - P)                     y beyond the horizon P = T_disk / T_hit
//!                           T_driver + T_disk - y T_hit            within it                       (equation 9)
//!     read ahead of a run:  2 s / L (T_driver + T_disk)            in the policies that look for runs (`runs`; 003)
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
//! ```text
//! here       estimators, arbitration
//! orphans    pages that nobody tracks
//! runs       the estimator of runs: of `tip2-sarc` and `tip2-amp`
//! ```
//!
//! # Where this differs from the paper
//! - Each stream of hints has an estimator for each device, because only blocks of one T_disk are in one order (4.9).
//! - A stream's values are scaled by its confidence: the paper's hints are accurate (section 7).
//! - A page is tracked by one stream of hints at most; the others are asked when it is picked, as all are in section 5.1.
//! - Places in the LRU queue come from buckets instead of borders (estimate/recency).
//! - The horizon may follow the reader's measured pace instead of T_hit (`burst_margin`, estimate/pace).
//! - Where T_disk is not given, it is measured, device by device.

mod orphans;
pub(super) mod runs;

use std::collections::BTreeSet;

use super::sequential::lists::{Class, Lists};
use super::{
    Access, Ahead, Candidate, Classes, Context, Domain, Hinted, Nature, Need, Parameter, Partition, Policy, Reports, Spec, Stretch,
    Values, Worth,
};
use crate::estimate::agenda::Agenda;
use crate::estimate::cost::Times;
use crate::estimate::ghosts::Ghosts;
use crate::estimate::pace::Pace;
use crate::estimate::rates::Rates;
use crate::estimate::recency::{NO_TAG, Reading, Recency, Tag};
use crate::event::Demand;
use crate::hint::Use;
use crate::ids::{DeviceId, Page};
use crate::policy;
use orphans::Orphans;
use runs::Runs;

/// The parameters of cost and benefit, and those of a policy that adds to it.
macro_rules! parameters {
    ($($own:expr),* $(,)?) => {{
        use $crate::policy::tip2::*;
        &[T_HIT, T_DRIVER, T_DISK, BURST_MARGIN, MAJORANT, SEGMENT, $($own),*]
    }};
}
pub(super) use parameters;

pub(super) static SPEC: Spec = Spec {
    name: "tip2",
    summary: "cost and benefit: each page where it saves most time, hints and recency in one currency",
    source: "Patterson et al., TIP-2 (000 sections 4 and 5)",
    unlike_a_part: None,
    parameters: parameters![],
    build: |values| Box::new(Tip2::new(values, None)),
};

pub(super) const T_HIT: Parameter = Parameter {
    name: "t_hit_us",
    help: "what it takes to read a block that is here; the horizon is T_disk / T_hit. 0.4 us is 4 KiB on a machine of \
           today, 243 us are 8 KB on the paper's",
    domain: Domain::Number { default: 0.4, min: 0.001, max: 1e6 },
};
pub(super) const T_DRIVER: Parameter = Parameter {
    name: "t_driver_us",
    help: "the processor's part of a request: 580 us on the paper's machine; 15 us are assumed here",
    domain: Domain::Number { default: 15.0, min: 0.0, max: 1e6 },
};
pub(super) const T_DISK: Parameter = Parameter {
    name: "t_disk_us",
    help: "the device's part of a request; 0: as measured, device by device (5 ms until there is a measurement)",
    domain: Domain::Number { default: 0.0, min: 0.0, max: 1e9 },
};
pub(super) const BURST_MARGIN: Parameter = Parameter {
    name: "burst_margin",
    help: "0: the horizon is T_disk / T_hit, as printed; else it is what the reader consumes in T_disk at its measured pace, \
           times this margin for bursts",
    domain: Domain::Number { default: 0.0, min: 0.0, max: 1e6 },
};
pub(super) const MAJORANT: Parameter = Parameter {
    name: "majorant",
    help: "1: the marginal hit rate looks past inflections (4.3); 0: the segment's own rate (5.2)",
    domain: Domain::Number { default: 1.0, min: 0.0, max: 1.0 },
};
pub(super) const SEGMENT: Parameter = Parameter {
    name: "segment",
    help: "pages of one segment of the LRU queue; 0: a 32nd of the memory",
    domain: Domain::Number { default: 0.0, min: 0.0, max: 1e9 },
};

/// What a device's request takes where nothing was measured yet: a disk of today, or a network.
const DISK_NS_UNKNOWN: f64 = 5e6;
/// The estimators' numbers: the LRU queue's, that of runs, and from there on the sequences' of hints.
const LRU: usize = 0;
const RUNS: usize = 1;
const HINTED: usize = 2;

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

/// Who declares the least value.
#[derive(Clone, Copy, PartialEq)]
enum Estimator {
    Queue,
    Runs,
    Stream,
}

pub(super) struct Tip2 {
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
    orphans: Orphans,
    /// The LRU queue (RANDOM), and the list of runs (SEQ).
    lists: Lists,
    ghosts: Ghosts,
    recency: Recency,
    rates: Rates,
    /// What finds runs, if they are looked for.
    runs: Option<Runs>,
}

impl Tip2 {
    /// With runs found and read ahead, or without.
    pub(super) fn new(values: &Values, runs: Option<Runs>) -> Self {
        Tip2 {
            hit_ns: values.get(T_HIT.name) * 1e3,
            driver_ns: values.get(T_DRIVER.name) * 1e3,
            disk_ns: values.get(T_DISK.name) * 1e3,
            burst_margin: values.get(BURST_MARGIN.name),
            paces: Vec::new(),
            reading: if values.get(MAJORANT.name) >= 0.5 { Reading::Majorant } else { Reading::Point },
            segment: values.get(SEGMENT.name) as u64,
            capacity: 0,
            tracked: Vec::new(),
            counted: BTreeSet::new(),
            streams: Vec::new(),
            orphans: Orphans::default(),
            lists: Lists::new(runs.as_ref().map_or(0.0, |runs| runs.bottom_share)),
            ghosts: Ghosts::default(),
            recency: Recency::new(Reading::Majorant, 1, 1),
            rates: Rates::over(1),
            runs,
        }
    }

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
        self.rates.share(HINTED + usize::from(sequence)) * context.confidence(sequence)
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
        let page = self.lists.oldest(Class::Random)?;
        let miss = self.times(context, context.device_of(page)).miss();
        self.recency.refresh();
        let rate = self.recency.marginal_hit_rate(self.lists.len(Class::Random));
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

    /// The same for what was not disclosed. A list shorter than its bottom says too little of itself: the older LRU end is asked.
    fn undisclosed(&mut self, context: &Context<'_>) -> Option<(Page, f64, Estimator)> {
        let queue = self.queue_value(context).map(|(page, value)| (page, value, Estimator::Queue));
        let Some(of_runs) = self.run_value(context).map(|(page, value)| (page, value, Estimator::Runs)) else { return queue };
        let Some(of_queue) = queue else { return Some(of_runs) };
        let runs_go = match self.lists.is_one_below(self.lists.bottom_pages(context.capacity).max(runs::PAGES_MIN)) {
            true => self.lists.age(of_runs.0) > self.lists.age(of_queue.0),
            false => of_runs.1 < of_queue.1,
        };
        Some(if runs_go { of_runs } else { of_queue })
    }

    /// The estimator that declares the least value: its page, its value, and which it is. Ties: the LRU end first.
    fn least(&mut self, context: &Context<'_>) -> Option<(Page, f64, Estimator)> {
        let mut least = self.undisclosed(context);
        for at in 0..self.streams.len() {
            if self.streams[at].pages.is_empty() {
                continue;
            }
            if let Some((page, value)) = self.stream_value(at, context)
                && least.is_none_or(|(_, least, _)| value < least)
            {
                least = Some((page, value, Estimator::Stream));
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
        self.leave_run(page);
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

    fn make_known(&mut self, page: Page) {
        if page as usize >= self.tracked.len() {
            self.tracked.resize(page as usize + 1, Tracked::NOT);
        }
    }

    fn is_wanted(&self, page: Page) -> bool {
        let tracked = self.tracked[page as usize];
        tracked.is_in_queue() || tracked.stream != NO_STREAM || self.is_in_run(page)
    }

    /// The first page that nobody tracks and that can go.
    fn orphan(&self, context: &Context<'_>) -> Option<Page> {
        self.orphans.first(|page| self.is_wanted(page), |page| context.table.can_go(page))
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
            true => self.lists.renew(page, Class::Random, Class::Random),
            false => self.lists.push(page, Class::Random),
        }
        self.trim_ghosts();
    }

    /// The page leaves the LRU queue's resident part and becomes a ghost.
    fn become_ghost(&mut self, page: Page, context: &Context<'_>) {
        let tag = std::mem::replace(&mut self.tracked[page as usize].tag, NO_TAG);
        if tag != NO_TAG {
            self.lists.remove(page, Class::Random);
            self.ghosts.push(context.table.block(page), tag);
            self.trim_ghosts();
        }
    }

    fn trim_ghosts(&mut self) {
        while self.ghosts.len() + self.lists.len(Class::Random) > self.capacity
            && let Some(tag) = self.ghosts.expire()
        {
            self.recency.leave(tag);
        }
    }

    fn refer(&mut self, estimator: usize) {
        self.rates.refer(estimator);
        if let Some(runs) = &mut self.runs {
            self.lists.count_reference();
            runs.refer(self.capacity);
        }
    }

    /// A disclosed read of the page has come.
    fn consumed(&mut self, page: Page, context: &Context<'_>) {
        self.untrack(page);
        match self.main_use(page, context) {
            Some(next) => self.track(page, next, context),
            None if self.is_in_run(page) => self.renew_in_run(page),
            None => self.renew(page, false, context),
        }
    }

    fn referenced_as(&mut self, page: Page, hinted: Option<u16>, context: &Context<'_>) {
        match hinted {
            Some(sequence) => {
                self.refer(HINTED + usize::from(sequence));
                self.consumed(page, context);
            }
            None if self.is_in_run(page) => self.refer(RUNS),
            None => {
                self.refer(LRU);
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
        for page in self.lists.oldest_first(Class::Random).collect::<Vec<_>>() {
            self.tracked[page as usize].tag = self.recency.enter();
        }
    }
}

impl Policy for Tip2 {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.fit(context);
        self.make_known(page);
        match access {
            Some(access) => {
                access.hinted.into_iter().for_each(|sequence| self.pace(sequence).stalled());
                self.referenced_as(page, access.hinted, context);
            }
            None => match self.main_use(page, context) {
                Some(next) => self.track(page, next, context),
                None if self.is_in_run(page) => {}
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
        self.found_in_run(page, context, access, false);
        self.referenced_as(page, access.hinted, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.untrack(page);
        self.counted.remove(&page);
        if let Some(runs) = &mut self.runs {
            runs.detector.left(page, context.table.block(page), context);
        }
        self.leave_run(page);
        self.become_ghost(page, context);
        self.orphans.remove(page);
    }

    /// The page that is to go becomes an orphan, if it is worth less than what it is to go for.
    fn weigh(&mut self, context: &Context<'_>, Need { value, missing, .. }: Need) {
        self.fit(context);
        let mut orphans = std::mem::take(&mut self.orphans);
        orphans.clear(|page| self.is_wanted(page), |page| context.table.can_go(page));
        self.orphans = orphans;
        if self.orphan(context).is_some() {
            return;
        }
        while let Some((page, least, estimator)) = self.least(context) {
            if least >= value {
                return;
            }
            match estimator {
                Estimator::Queue => self.become_ghost(page, context),
                Estimator::Runs if self.is_nearer(page, missing, context) => return,
                Estimator::Runs => self.leave_run(page),
                Estimator::Stream => self.untrack(page),
            }
            // Who else values it: whoever disclosed it, and the LRU queue while it is in it.
            if let Some((next, saved)) = self.best_use(page, context)
                && (saved >= value || saved > self.declared(least, context))
            {
                self.track(page, next, context);
            } else if self.tracked[page as usize].is_in_queue() {
                // Its turn comes there.
            } else if context.table.can_go(page) {
                self.untrack(page);
                self.orphans.push(page);
                return;
            } else {
                self.orphans.push(page);
            }
        }
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.orphan(context).map(Candidate::unpriced)
    }

    fn nature(&self) -> Nature {
        Nature { refetches: true, ..Nature::ORDINARY }
    }

    fn runs(&mut self) -> Option<&mut dyn policy::Runs> {
        if self.runs.is_some() { Some(self) } else { None }
    }

    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        Some(self)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl policy::Runs for Tip2 {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.make_known(page);
        self.taken_in_run(page, context, access);
    }

    fn awaited(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.found_in_run(page, context, access, true);
    }

    fn lost(&mut self, page: Page, _: &Context<'_>) {
        if let Some(runs) = &mut self.runs {
            runs.detector.lost(page);
        }
        self.leave_run(page);
    }

    fn next_stretch(&mut self) -> Option<Stretch> {
        self.runs.as_mut()?.detector.next_stretch()
    }
}

impl Hinted for Tip2 {
    fn may_fetch_ahead(&self, _: &Context<'_>) -> bool {
        true
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

    fn sequence_ended(&mut self, sequence: u16) {
        self.rates.forget(HINTED + usize::from(sequence));
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

impl Reports for Tip2 {
    /// By the estimator that holds them; a page of the LRU queue that is disclosed is a hinted one.
    fn partitions(&self) -> Vec<Partition> {
        let hinted = self.tracked.iter().filter(|tracked| tracked.stream != NO_STREAM);
        let queued_too = hinted.clone().filter(|tracked| tracked.is_in_queue()).count() as u64;
        let queue = self.lists.len(Class::Random) - queued_too;
        let mut parts = vec![Partition::new("LRU queue", queue), Partition::new("hinted", hinted.count() as u64)];
        parts.extend(self.runs.as_ref().map(|_| Partition::new("runs", self.lists.len(Class::Sequential))));
        parts
    }

    fn classes(&self, context: &Context<'_>) -> Option<Classes> {
        self.runs.as_ref().map(|_| self.lists.classes(context.capacity))
    }
}

#[cfg(test)]
mod tests;
