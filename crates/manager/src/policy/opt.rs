//! `opt`: the page that is referenced again last goes. No policy that fetches what it misses, and
//! only then, misses less; none can do it without knowing the future, so that it stands beside the
//! others as what could be had.
//!
//! ```text
//! reference(b):  if b is not here: if memory is full: give up the page whose next reference is the last, or never comes
//!                                  fetch b
//!                next(b) = its next reference
//! ```
//!
//! # Where this differs from the paper
//! - A block is kept when it comes, even if all that are here are read again before it: a page
//!   cache has no way past it.
//! - The next references stand in a heap to which each reference adds. What it replaces is left
//!   there: its time is past, so it lies at the bottom until the heap is cleared of such.

use std::collections::BinaryHeap;

use super::{Access, Candidate, Context, Nature, Need, Policy, Spec, by_page};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "opt",
    summary: "the page referenced again last goes: the least misses there can be; offline, for traces only",
    source: "Belady: A Study of Replacement Algorithms for a Virtual-Storage Computer, IBM Systems Journal 1966",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Opt::default()),
};

/// A page that is not here.
const GONE: u64 = 0;

#[derive(Default)]
struct Opt {
    /// The next reference of each page. One that is not referenced again has a number of its own
    /// beyond all references.
    next: Vec<u64>,
    /// How many such numbers were given.
    nevers: u64,
    /// How many pages are here.
    here: usize,
    /// What is to come, the last on top, and what is past.
    coming: BinaryHeap<(u64, Page)>,
}

impl Opt {
    fn expect(&mut self, page: Page, next: Option<u64>) {
        let next = next.unwrap_or_else(|| {
            self.nevers += 1;
            u64::MAX - self.nevers
        });
        self.next[page as usize] = next;
        self.coming.push((next, page));
        self.clear_top();
        // Half of it is past: each reference pays for clearing one other away.
        if self.coming.len() > 2 * self.here + 64 {
            self.coming.retain(|&(when, page)| self.next[page as usize] == when);
        }
    }

    /// What is on top is to come.
    fn clear_top(&mut self) {
        while self.coming.peek().is_some_and(|&(when, page)| self.next[page as usize] != when) {
            self.coming.pop();
        }
    }
}

impl Policy for Opt {
    fn nature(&self) -> Nature {
        Nature { is_offline: true, ..Nature::ORDINARY }
    }

    fn arrived(&mut self, page: Page, _: &Context<'_>, access: Option<&Access>) {
        by_page::reach(&mut self.next, page, GONE);
        self.here += 1;
        self.expect(page, access.and_then(|access| access.next));
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        self.expect(page, access.next);
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.next[page as usize] = GONE;
        self.here -= 1;
        self.clear_top();
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let can_go = |&&(when, page): &&(u64, Page)| self.next[page as usize] == when && context.table.can_go(page);
        let last = self.coming.peek().filter(can_go).or_else(|| self.coming.iter().filter(can_go).max());
        last.map(|&(_, page)| Candidate::unpriced(page))
    }
}
