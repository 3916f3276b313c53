//! `lirs`: pages are kept by how many others were referenced between their last two references
//! (their *inter-reference recency*), so that a loop larger than the memory keeps the part that
//! fits.
//!
//! ```text
//! LIR pages: of low such recency, nearly all of the memory; HIR pages: the rest, in queue Q
//! stack S: all blocks by their last reference, down to the LIR page referenced the longest ago; blocks given up among them
//! c: the memory
//!
//! reference(b):  if b is LIR:              move b to the top of S
//!                if b is HIR and here:     if b in S: b becomes LIR; demote()      (others referenced since: fewer than of that LIR)
//!                                          else:      put b on top of S, and at the new end of Q
//!                if b is not here:         if memory is full: give up the old end of Q; in S it stays, as a ghost
//!                                          fetch b
//!                                          if there are fewer LIR pages than c - queue * c: b becomes LIR
//!                                          if b in S: b becomes LIR; demote()
//!                                          else:      b is HIR: put b on top of S, and at the new end of Q
//!
//! demote():      while there are too many LIR pages: the one at the bottom of S becomes HIR, at the new end of Q
//! ```
//!
//! # Where this differs from the paper
//! - S is not built. A block is in it if its last reference is later than that of the LIR page
//!   referenced the longest ago, which two numbers tell; so there is nothing to *prune*, and each
//!   reference takes constant time.
//! - The paper lets S grow as long as it will; here `stack` bounds it, and the block given up the
//!   longest ago leaves it.

use super::parts::Parts;
use super::{Access, Candidate, Context, Domain, Need, Parameter, Partition, Policy, Reports, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lirs",
    summary: "pages referenced again soonest after their last reference stay; loops keep what fits",
    source: "Jiang, Zhang: LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy, SIGMETRICS 2002",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "queue",
            help: "the share of the memory for the others; a hundredth as in the paper, and one page at least",
            domain: Domain::Number { default: 0.01, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "stack",
            help: "blocks in the stack, LIR pages and ghosts, as a multiple of the memory; without limit in the paper",
            domain: Domain::Number { default: 2.0, min: 1.0, max: 64.0 },
        },
    ],
    build: |values| {
        Box::new(Lirs {
            pages: Parts::default(),
            ghosts: Ghosts::default(),
            queue_share: values.get("queue"),
            stack_share: values.get("stack"),
            now: 0,
        })
    },
};

/// The LIR pages, by their last reference.
const LOW: usize = 0;
/// The HIR pages.
const QUEUE: usize = 1;

struct Lirs {
    /// Both, and the number of each page's last reference.
    pages: Parts<2, u64>,
    /// The last reference of each.
    ghosts: Ghosts<u64>,
    queue_share: f64,
    stack_share: f64,
    /// References counted.
    now: u64,
}

impl Lirs {
    /// Whether a block with this last reference is in the stack.
    fn is_stacked(&self, last: u64) -> bool {
        self.pages.oldest(LOW).is_some_and(|bottom| last > self.pages[bottom])
    }

    fn low_max(&self, context: &Context<'_>) -> u64 {
        let queue = ((context.capacity as f64 * self.queue_share) as u64).max(1);
        context.capacity.saturating_sub(queue)
    }

    fn demote(&mut self, context: &Context<'_>) {
        while self.pages.len(LOW) > self.low_max(context)
            && let Some(bottom) = self.pages.oldest(LOW)
        {
            self.pages.shift(bottom, QUEUE);
        }
    }
}

impl Policy for Lirs {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        self.now += 1;
        let ghost = self.ghosts.take(context.table.block(page));
        let is_low = self.pages.len(LOW) < self.low_max(context) || ghost.is_some_and(|last| self.is_stacked(last));
        self.pages.put(page, if is_low { LOW } else { QUEUE });
        self.pages[page] = self.now;
        self.demote(context);
        let ghosts_max = ((context.capacity as f64 * self.stack_share) as u64).saturating_sub(self.pages.len(LOW));
        while self.ghosts.oldest().is_some_and(|last| self.ghosts.len() > ghosts_max || !self.is_stacked(last)) {
            self.ghosts.expire();
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        self.now += 1;
        let is_low = self.pages.take(page) == LOW || self.is_stacked(self.pages[page]);
        self.pages.put(page, if is_low { LOW } else { QUEUE });
        self.pages[page] = self.now;
        self.demote(context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        let last = self.pages[page];
        if self.pages.take(page) == QUEUE && self.is_stacked(last) {
            self.ghosts.push(context.table.block(page), last);
        }
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let mut pages = self.pages.oldest_first(QUEUE).chain(self.pages.oldest_first(LOW));
        pages.find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for Lirs {
    fn partitions(&self) -> Vec<Partition> {
        vec![Partition::new("LIR", self.pages.len(LOW)), Partition::new("HIR", self.pages.len(QUEUE))]
    }
}
