//! `w-tinylfu`: a small window by recency, and a main part into which a page gets only if it is
//! used more often than the one that must go for it. How often is estimated, for blocks that are
//! not here as well.
//!
//! ```text
//! W: the window; M: the main part, probation and protected; c: the memory; often(b): how often b was referenced, by the sketch
//!
//! reference(b):  count b in the sketch
//!                if b in W:          move b to the MRU end
//!                if b in probation:  move b to the MRU end of protected
//!                                    while |protected| > 0.8 |M|: its LRU end goes to the MRU end of probation
//!                if b in protected:  move b to the MRU end
//!                if b is not here:   if memory is full: give up victim()
//!                                    fetch b; put it at the MRU end of W
//!                                    while |W| > window * c: its LRU end goes to the MRU end of probation
//!
//! victim():      other = the LRU end of probation, else of protected
//!                if |W| < window * c: other
//!                candidate = the LRU end of W
//!                if often(candidate) > often(other): candidate goes to the MRU end of probation; other
//!                else candidate
//! ```
//!
//! # Where this differs from the paper
//! - The sketch has no *doorkeeper* (a filter for blocks seen once), which saves memory; here a
//!   counter is a byte.
//! - For a page that is declined nobody is admitted, as it was until a choice was pure.

use super::parts::Parts;
use super::{Access, Candidate, Context, Domain, Need, Parameter, Partition, Policy, Reports, Spec};
use crate::estimate::sketch::Sketch;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "w-tinylfu",
    summary: "a window by recency; beyond it, who is used more often stays",
    source: "Einziger, Friedman, Manes: TinyLFU: A Highly Efficient Cache Admission Policy, ACM TOS 2017",
    unlike_a_part: None,
    parameters: &[Parameter {
        name: "window",
        help: "the share of the memory that is the window; a hundredth as in the paper, and one page at least",
        domain: Domain::Number { default: 0.01, min: 0.0, max: 1.0 },
    }],
    build: |values| {
        Box::new(WTinyLfu { pages: Parts::default(), sketch: Sketch::default(), window_share: values.get("window") })
    },
};

/// The share of the main part that is protected, as in the paper.
const PROTECTED_SHARE: f64 = 0.8;

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

struct WTinyLfu {
    pages: Parts<3>,
    sketch: Sketch,
    window_share: f64,
}

impl WTinyLfu {
    fn window_max(&self, context: &Context<'_>) -> u64 {
        ((context.capacity as f64 * self.window_share) as u64).max(1)
    }

    /// The page nearest to the LRU end of a part that can go.
    fn oldest(&self, part: usize, context: &Context<'_>) -> Option<Page> {
        self.pages.oldest_first(part).find(|&page| context.table.can_go(page))
    }

    /// The page of the window that is to go, or to be admitted to the main part; none while the
    /// window has room.
    fn applicant(&self, context: &Context<'_>) -> Option<Page> {
        let is_full = self.pages.len(WINDOW) >= self.window_max(context);
        self.oldest(WINDOW, context).filter(|_| is_full)
    }

    /// Lets the LRU end of a part go to another while there are more than so many pages in it.
    fn overflow(&mut self, from: usize, to: usize, pages_max: u64) {
        while self.pages.len(from) > pages_max
            && let Some(page) = self.pages.oldest(from)
        {
            self.pages.shift(page, to);
        }
    }
}

impl Policy for WTinyLfu {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        self.sketch.fit(context.capacity);
        self.sketch.count(context.table.block(page));
        self.pages.put(page, WINDOW);
        self.overflow(WINDOW, PROBATION, self.window_max(context));
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        self.sketch.count(context.table.block(page));
        let part = self.pages.part_of(page);
        self.pages.shift(page, if part == WINDOW { WINDOW } else { PROTECTED });
        let main_max = context.capacity - self.window_max(context).min(context.capacity);
        self.overflow(PROTECTED, PROBATION, (main_max as f64 * PROTECTED_SHARE) as u64);
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.take(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let other = self.oldest(PROBATION, context).or_else(|| self.oldest(PROTECTED, context));
        let page = match (self.applicant(context), other) {
            (Some(applicant), Some(other)) => {
                let often = |page| self.sketch.often(context.table.block(page));
                if often(applicant) > often(other) { other } else { applicant }
            }
            (None, Some(other)) => other,
            (_, None) => self.oldest(WINDOW, context)?,
        };
        Some(Candidate::unpriced(page))
    }

    /// A page of the main part goes for the one that is admitted, if the window is full.
    fn evicting(&mut self, page: Page, context: &Context<'_>, _: Need) {
        if self.pages.part_of(page) != WINDOW
            && let Some(admitted) = self.applicant(context)
        {
            self.pages.shift(admitted, PROBATION);
        }
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for WTinyLfu {
    fn partitions(&self) -> Vec<Partition> {
        let names = [(WINDOW, "window"), (PROBATION, "probation"), (PROTECTED, "protected")];
        names.map(|(part, name)| Partition::new(name, self.pages.len(part))).into()
    }
}
