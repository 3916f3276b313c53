//! The estimator of runs: what is read ahead of them, and what a page more of their list is worth
//! (003).
//!
//! ```text
//! value of a page of SEQ = 2 s / L (T_driver + T_disk)       s: sequential misses a reference, of all runs;  L: pages of SEQ
//! ```
//!
//! A page more saves 2 s / L misses, whichever run's it is (003 equation 5): so the list quotes a
//! value as the LRU queue does, and the least valuable page goes. Where 003's SARC moves a border
//! between two lists until both are worth the same, here it is where it should be, but for what the
//! estimates know.
//!
//! ```text
//! a page is in SEQ:          from when it is taken for a block that is read ahead, or missed in a run
//! it is disclosed:           it is the hint estimator's as soon as either picks it; read, it is the LRU queue's
//! a read that is disclosed:  is counted as part of its run, and leads to nothing: hints see to what comes after
//! a list shorter than delta L, or than four pages:  the older LRU end goes, lest nothing stay from which runs could be found
//! ```

use super::Estimator;
use super::desk::Desk;
use crate::ids::Page;
use crate::policy::sequential::detect::{Detector, Rules};
use crate::policy::sequential::lists::Class;
use crate::policy::{Candidate, Context, Need, Stretch};

/// References after which what was before weighs half as much, in parts of the memory: as in the
/// LRU queue (estimate/recency).
const HALVED_AFTER: u64 = 4;

/// Pages a list has at least before its value counts: with fewer of RANDOM, the blocks of a run
/// would not last until they are known as one. A memory of few pages more is one LRU list.
pub const PAGES_MIN: f64 = 4.0;

/// What finds runs, and how often they are missed. Its pages are those of the list SEQ.
pub struct Runs {
    /// What finds them.
    pub detector: Detector,
    /// Sequential misses and references, decayed.
    misses: f64,
    references: f64,
    /// References since they were halved.
    age: u64,
}

impl Runs {
    /// Read ahead by these rules.
    pub fn new(rules: Rules) -> Self {
        Runs { detector: Detector::new(rules), misses: 0.0, references: 0.0, age: 0 }
    }

    /// A reference, whoever's.
    pub fn refer(&mut self, capacity: u64) {
        self.references += 1.0;
        self.age += 1;
        if self.age >= HALVED_AFTER * capacity {
            self.age = 0;
            self.misses /= 2.0;
            self.references /= 2.0;
        }
    }

    /// A read went on a run that was known, and had to wait.
    pub fn missed(&mut self, wanted: Option<Stretch>) {
        self.misses += wanted.map_or(0.0, |stretch| stretch.misses as f64);
    }

    /// Misses that a page more would save, a reference (equation 5).
    pub fn saved_by_a_page(&self, pages: u64) -> f64 {
        2.0 * self.misses / self.references.max(1.0) / pages as f64
    }

    /// A page of SEQ to the MRU end.
    pub fn renew(&self, page: Page, desk: &mut Desk) {
        desk.lists.renew(page, Class::Sequential, Class::Sequential);
    }

    /// The page is in SEQ no longer, if it was.
    pub fn leave(&mut self, page: Page, desk: &mut Desk) {
        if self.detector.class(page) == Class::Sequential {
            self.detector.leave(page);
            desk.lists.remove(page, Class::Sequential);
        }
    }
}

impl Estimator<Desk> for Runs {
    fn least(&self, desk: &Desk, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let page = desk.lists.oldest_to_go(Class::Sequential, context.table)?;
        if desk.older(context) == Some(Class::Random) {
            return None;
        }
        let saved = self.saved_by_a_page(desk.lists.len(Class::Sequential));
        Some(Candidate::priced(page, saved * desk.miss(page, context)))
    }

    /// A page does not go for a block of the same stretch that is read after it.
    fn defends(&self, page: Page, _: &Desk, context: &Context<'_>, need: Need) -> bool {
        self.owns(page) && self.detector.is_nearer(context.table.block(page), need.missing)
    }

    fn owns(&self, page: Page) -> bool {
        self.detector.class(page) == Class::Sequential
    }

    fn disown(&mut self, page: Page, desk: &mut Desk, _: &Context<'_>) {
        self.leave(page, desk);
    }
}
