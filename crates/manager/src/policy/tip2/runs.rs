//! The estimator of runs: what is read ahead of them, and what a page more of their list is worth (003).
//!
//! ```text
//! value of a page of SEQ = 2 s / L (T_driver + T_disk)       s: sequential misses a reference, of all runs;  L: pages of SEQ
//! ```
//!
//! A page more saves 2 s / L misses, whichever run's it is (003 equation 5): so the list quotes a value as the LRU queue does, and the
//! least valuable page goes. Where 003's SARC moves a border between two lists until both are worth the same, here it is
//! where it should be, but for what the estimates know.
//!
//! ```text
//! a page is in SEQ:          from when it is taken for a block that is read ahead, or missed in a run
//! it is disclosed:           it is the hint estimator's as soon as either picks it; read, it is the LRU queue's
//! a read that is disclosed:  is counted as part of its run, and leads to nothing: hints see to what comes after
//! a list shorter than delta L, or than four pages:  the older LRU end goes, lest nothing stay from which runs could be found
//! ```

use super::{NO_TAG, Tip2};
use crate::ids::{Block, Page};
use crate::policy::sequential::BOTTOM_SHARE;
use crate::policy::sequential::detect::{Detector, Rules};
use crate::policy::sequential::lists::Class;
use crate::policy::{Access, Context, Stretch, Values};

/// References after which what was before weighs half as much, in parts of the memory: as in the LRU queue (estimate/recency).
const HALVED_AFTER: u64 = 4;

/// Pages a list has at least before its value counts: with fewer of RANDOM, the blocks of a run would not last until they are known
/// as one. A memory of few pages more is one LRU list.
pub const PAGES_MIN: f64 = 4.0;

/// What finds runs, and how often they are missed.
pub struct Runs {
    pub(super) detector: Detector,
    pub(super) bottom_share: f64,
    /// Sequential misses and references, decayed.
    misses: f64,
    references: f64,
    /// References since they were halved.
    age: u64,
}

impl Runs {
    /// Read ahead by these rules.
    pub fn new(rules: Rules, values: &Values) -> Self {
        let bottom_share = values.get(BOTTOM_SHARE.name);
        Runs { detector: Detector::new(rules), bottom_share, misses: 0.0, references: 0.0, age: 0 }
    }

    /// A reference, whoever's.
    pub(super) fn refer(&mut self, capacity: u64) {
        self.references += 1.0;
        self.age += 1;
        if self.age >= HALVED_AFTER * capacity {
            self.age = 0;
            self.misses /= 2.0;
            self.references /= 2.0;
        }
    }

    /// Misses that a page more would save, a reference (equation 5).
    pub(super) fn saved_by_a_page(&self, pages: u64) -> f64 {
        2.0 * self.misses / self.references.max(1.0) / pages as f64
    }
}

impl Tip2 {
    /// Whether the page is in SEQ.
    pub(super) fn is_in_run(&self, page: Page) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.detector.class(page) == Class::Sequential)
    }

    /// The page at SEQ's LRU end, and its value.
    pub(super) fn run_value(&self, context: &Context<'_>) -> Option<(Page, f64)> {
        let page = self.lists.oldest_to_go(Class::Sequential, context.table)?;
        let saved = self.runs.as_ref()?.saved_by_a_page(self.lists.len(Class::Sequential));
        Some((page, saved * self.times(context, context.device_of(page)).miss()))
    }

    /// Whether a page would be given up for a block of the same stretch that is read after it.
    pub(super) fn is_nearer(&self, page: Page, missing: Option<Block>, context: &Context<'_>) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.detector.is_nearer(context.table.block(page), missing))
    }

    /// The page is in SEQ no longer.
    pub(super) fn leave_run(&mut self, page: Page) {
        if let Some(runs) = self.runs.as_mut().filter(|runs| runs.detector.class(page) == Class::Sequential) {
            runs.detector.leave(page);
            self.lists.remove(page, Class::Sequential);
        }
    }

    /// A page of SEQ to the MRU end.
    pub(super) fn renew_in_run(&mut self, page: Page) {
        self.lists.renew(page, Class::Sequential, Class::Sequential);
    }

    /// A page is taken for a block.
    pub(super) fn taken_in_run(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let Some(runs) = &mut self.runs else { return };
        let block = context.table.block(page);
        let mut wanted = None;
        match access {
            None if context.uses(page).next().is_none() => runs.detector.taken_ahead(page, block),
            None => runs.detector.taken_disclosed(page),
            Some(Access { hinted: Some(_), .. }) => {
                runs.detector.taken_disclosed(page);
                runs.detector.read(page, context);
            }
            Some(_) => wanted = runs.detector.missed(page, block, context),
        }
        runs.misses += wanted.map_or(0.0, |stretch| stretch.misses as f64);
        let class = runs.detector.class(page);
        self.renew_wanted(wanted, context);
        if class == Class::Sequential {
            self.lists.push(page, Class::Sequential);
        }
    }

    /// A read found the page here, or on its way.
    pub(super) fn found_in_run(&mut self, page: Page, context: &Context<'_>, access: &Access, on_its_way: bool) {
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
        } else if self.tracked[page as usize].is_in_queue()
            && self.lists.is_in_bottom(page, Class::Random, context.capacity)
        {
            self.lists.bottom_hit(Class::Random);
        }
    }

    /// What is wanted ahead and has a page already becomes as recent as what is brought, but for what is disclosed.
    fn renew_wanted(&mut self, wanted: Option<Stretch>, context: &Context<'_>) {
        for block in wanted.iter().flat_map(Stretch::blocks) {
            let Some(page) = context.table.find(block).filter(|&page| context.uses(page).next().is_none()) else { continue };
            let was_in_run = self.is_in_run(page);
            if !self.runs.as_mut().is_some_and(|runs| runs.detector.join(page, block)) {
                continue;
            }
            // A stream may track it still, for a read that was passed over.
            self.untrack(page);
            let tag = std::mem::replace(&mut self.tracked[page as usize].tag, NO_TAG);
            if tag != NO_TAG {
                self.recency.leave(tag);
                self.lists.renew(page, Class::Random, Class::Sequential);
            } else if was_in_run {
                self.renew_in_run(page);
            } else {
                self.lists.push(page, Class::Sequential);
            }
        }
    }
}
