//! `tip2`: every page where it saves most time: informed prefetching and caching by cost and
//! benefit (000 sections 4 and 5).
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
//!     loop: e = the estimator that declares the least value; p = its least valuable page; e owns p no more
//!           if another estimator values p above all that is declared now: it owns p
//!           else: p goes
//!
//! read(b):  disclosed:    if b is disclosed again: its estimator owns it
//!                         else: to the MRU end of the LRU queue, uncounted
//!           otherwise:    counted at its place in the LRU queue, ghost or page; to the MRU end
//! ```
//!
//! The LRU queue ends in ghosts: its length, ghosts and all, is limited by the pages there are. A
//! page its estimator picked becomes a ghost, whether it goes or another estimator keeps it. Pages
//! that nobody owns and that cannot go yet are orphans: they are looked at first.
//!
//! The estimators, and who arbitrates between them, are in `policy/estimators`; here is who owns a
//! page when it comes, or is read.
//!
//! # Where this differs from the paper
//! - What the estimators' files say: streams of one device each, values scaled by confidence, a
//!   page owned for one stream at most.
//! - Places in the LRU queue come from buckets instead of borders (estimate/recency).
//! - Where T_disk is not given, it is measured, device by device.

use super::estimators::desk::{Desk, HINTED, QUEUE, RUNS};
use super::estimators::hints::Hints;
use super::estimators::queue::Queue;
use super::estimators::runs::Runs;
use super::estimators::{self, Arbitration, Estimator, Orphans};
use super::sequential::lists::Class;
use super::{
    Access, Ahead, Candidate, Classes, Context, Hinted, Nature, Need, Partition, Policy, Reports, Spec, Stretch,
    Values, Worth,
};
use crate::hint::Use;
use crate::ids::Page;
use crate::policy;

/// The parameters of cost and benefit, and those of a policy that adds to it.
macro_rules! parameters {
    ($($own:expr),* $(,)?) => {{
        use $crate::policy::estimators::{desk::*, hints::*, queue::*};
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
    build: |values| Box::new(Tip2::new(values, None, 0.0)),
};

/// The composition.
pub(super) struct Tip2 {
    desk: Desk,
    queue: Queue,
    /// Where runs are looked for.
    runs: Option<Runs>,
    hints: Hints,
    orphans: Orphans,
}

impl Tip2 {
    /// With runs found and read ahead, or without; `bottom_share` is that of the lists.
    pub(super) fn new(values: &Values, runs: Option<Runs>, bottom_share: f64) -> Self {
        Tip2 {
            desk: Desk::new(values, bottom_share),
            queue: Queue::new(values),
            runs,
            hints: Hints::new(values),
            orphans: Orphans::default(),
        }
    }

    /// Follows the memory.
    fn fit(&mut self, context: &Context<'_>) {
        if self.desk.fit(context.capacity) {
            self.queue.fit(&self.desk);
        }
    }

    fn estimators(&self) -> [&dyn Estimator<Desk>; 3] {
        [&self.queue, &self.runs, &self.hints]
    }

    fn is_owned(&self, page: Page) -> bool {
        self.estimators().iter().any(|it| it.owns(page))
    }

    fn is_in_run(&self, page: Page) -> bool {
        self.runs.owns(page)
    }

    fn leave_run(&mut self, page: Page) {
        if let Some(runs) = &mut self.runs {
            runs.leave(page, &mut self.desk);
        }
    }

    fn renew_in_run(&mut self, page: Page) {
        if let Some(runs) = &self.runs {
            runs.renew(page, &mut self.desk);
        }
    }

    /// What discloses the page owns it, for this read.
    fn disclosed_for(&mut self, page: Page, next: Use, context: &Context<'_>) {
        self.leave_run(page);
        self.hints.own_for(page, next, context);
    }

    /// A reference, by whose page it found.
    fn refer(&mut self, whose: usize) {
        self.desk.rates.refer(whose);
        if let Some(runs) = &mut self.runs {
            self.desk.lists.count_reference();
            runs.refer(self.desk.capacity);
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
                self.refer(QUEUE);
                self.queue.refer(page, &mut self.desk, context);
            }
        }
    }

    /// A disclosed read of the page has come.
    fn consumed(&mut self, page: Page, context: &Context<'_>) {
        self.hints.forget(page);
        match self.hints.main_use(page, &self.desk, context) {
            Some(next) => self.disclosed_for(page, next, context),
            None if self.is_in_run(page) => self.renew_in_run(page),
            None => self.queue.renew(page, false, &mut self.desk, context),
        }
    }

    /// A read found the page here, or on its way.
    fn found_in_run(&mut self, page: Page, context: &Context<'_>, access: &Access, on_its_way: bool) {
        let Some(runs) = &mut self.runs else { return };
        if access.hinted.is_some() {
            return runs.detector.read(page, context);
        }
        if on_its_way {
            runs.detector.late(page, context.table.block(page), context);
        }
        let wanted = runs.detector.found(page, context);
        self.renew_wanted(wanted, context);
        if self.is_in_run(page) {
            self.renew_in_run(page);
        } else if self.queue.owns(page) && self.desk.lists.is_in_bottom(page, Class::Random, context.capacity) {
            self.desk.lists.bottom_hit(Class::Random);
        }
    }

    /// What is wanted ahead and has a page already becomes as recent as what is brought, but for
    /// what is disclosed.
    fn renew_wanted(&mut self, wanted: Option<Stretch>, context: &Context<'_>) {
        let Some(runs) = &mut self.runs else { return };
        for block in wanted.iter().flat_map(Stretch::blocks) {
            let Some(page) = context.table.find(block).filter(|&page| context.uses(page).next().is_none()) else {
                continue;
            };
            let was_in_run = runs.owns(page);
            if !runs.detector.join(page, block) {
                continue;
            }
            // A stream may own it still, for a read that was passed over.
            self.hints.forget(page);
            if self.queue.move_to_runs(page, &mut self.desk) {
                continue;
            }
            match was_in_run {
                true => runs.renew(page, &mut self.desk),
                false => self.desk.lists.push(page, Class::Sequential),
            }
        }
    }
}

impl Policy for Tip2 {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.fit(context);
        match access {
            Some(access) => {
                access.hinted.into_iter().for_each(|sequence| self.hints.stalled(sequence, access));
                self.referenced_as(page, access.hinted, context);
            }
            None => match self.hints.main_use(page, &self.desk, context) {
                Some(next) => self.disclosed_for(page, next, context),
                None if self.is_in_run(page) => {}
                None if context.table.state(page).is_unread() => self.queue.expect(page, &mut self.desk, context),
                // Nobody wants it any more.
                None => self.orphans.push(page, 0.0),
            },
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.fit(context);
        if let Some(sequence) = access.hinted {
            self.hints.hit(sequence, access);
        }
        self.found_in_run(page, context, access, false);
        self.referenced_as(page, access.hinted, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.hints.forget(page);
        if let Some(runs) = &mut self.runs {
            runs.detector.left(page, context.table.block(page), context);
        }
        self.leave_run(page);
        self.queue.left(page, &mut self.desk, context);
        self.orphans.remove(page);
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.fit(context);
        let Tip2 { desk, queue, runs, hints, orphans } = self;
        Arbitration { estimators: [queue, runs, hints], orphans, desk, context }.weigh(need);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let orphan = self.orphans.first(|page| self.is_owned(page), |page| context.table.can_go(page));
        let declared = || estimators::candidate(&self.estimators(), &self.desk, context, need);
        orphan.or_else(declared).filter(|it| context.table.can_go(it.page))
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
        let Some(runs) = &mut self.runs else { return };
        let block = context.table.block(page);
        let mut wanted = None;
        match access {
            None if context.uses(page).next().is_none() => runs.detector.taken_ahead(page, block, context),
            None => runs.detector.taken_disclosed(page, context),
            Some(Access { hinted: Some(_), .. }) => {
                runs.detector.taken_disclosed(page, context);
                runs.detector.read(page, context);
            }
            Some(_) => wanted = runs.detector.missed(page, block, context),
        }
        runs.missed(wanted);
        let is_in_run = runs.owns(page);
        self.renew_wanted(wanted, context);
        if is_in_run {
            self.desk.lists.push(page, Class::Sequential);
        }
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

    fn next_stretch(&mut self, _: &Context<'_>) -> Option<Stretch> {
        self.runs.as_mut()?.detector.next_stretch()
    }

    fn is_sequential(&self, page: Page) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.detector.class(page) == Class::Sequential)
    }
}

impl Hinted for Tip2 {
    fn may_fetch_ahead(&self, _: &Context<'_>) -> bool {
        true
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        estimators::ahead(&self.estimators(), ahead, &self.desk, context)
    }

    fn sequence_ended(&mut self, sequence: u16) {
        self.desk.rates.forget(HINTED + usize::from(sequence));
        for page in self.hints.sequence_ended(sequence) {
            if !self.queue.owns(page) {
                self.orphans.push(page, 0.0);
            }
        }
    }
}

impl Reports for Tip2 {
    /// By the estimator that holds them; a page of the LRU queue that is disclosed is a hinted one.
    fn partitions(&self) -> Vec<Partition> {
        let queued_too = self.hints.owned().filter(|&page| self.queue.owns(page)).count() as u64;
        let queue = self.desk.lists.len(Class::Random) - queued_too;
        let hinted = Partition::new("hinted", self.hints.owned().count() as u64);
        let mut parts = vec![Partition::new("LRU queue", queue), hinted];
        parts.extend(self.runs.as_ref().map(|_| Partition::new("runs", self.desk.lists.len(Class::Sequential))));
        parts
    }

    fn classes(&self, context: &Context<'_>) -> Option<Classes> {
        self.runs.as_ref().map(|_| self.desk.lists.classes(context.capacity))
    }
}

#[cfg(test)]
mod tests;
