//! `lirs`: pages are kept by how many others were referenced between their last two references (their *inter-reference recency*), so
//! that a loop larger than the memory keeps the part that fits.
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
//! - S is not built. A block is in it if its last reference is later than that of the LIR page referenced the longest ago, which two
//!   numbers tell; so there is nothing to *prune*, and each reference takes constant time.
//! - The paper lets S grow as long as it will; here `stack` bounds it, and the block given up the longest ago leaves it.

use super::list::{Chain, Links};
use super::{Access, Context, Need, Domain, Parameter, Partition, Policy, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lirs",
    summary: "pages referenced again soonest after their last reference stay; loops keep what fits",
    source: "Jiang, Zhang: LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy, SIGMETRICS 2002",
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
            links: Links::default(),
            low: Chain::default(),
            queue: Chain::default(),
            ghosts: Ghosts::default(),
            queue_share: values.get("queue"),
            stack_share: values.get("stack"),
            now: 0,
        })
    },
};

#[derive(Clone, Copy, Default)]
struct Note {
    /// The number of its last reference.
    last: u64,
    is_low: bool,
}

struct Lirs {
    links: Links<Note>,
    /// The LIR pages, by their last reference.
    low: Chain,
    /// The HIR pages.
    queue: Chain,
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
        self.low.oldest().is_some_and(|bottom| last > self.links[bottom].last)
    }

    fn put(&mut self, page: Page, note: Note) {
        self.links.push_newest(if note.is_low { &mut self.low } else { &mut self.queue }, page);
        self.links[page] = note;
    }

    fn take(&mut self, page: Page) -> Note {
        let note = self.links[page];
        self.links.remove(if note.is_low { &mut self.low } else { &mut self.queue }, page);
        note
    }

    fn low_max(&self, context: &Context<'_>) -> u64 {
        let queue = ((context.capacity as f64 * self.queue_share) as u64).max(1);
        context.capacity.saturating_sub(queue)
    }

    fn demote(&mut self, context: &Context<'_>) {
        while self.low.len() > self.low_max(context)
            && let Some(bottom) = self.low.oldest()
        {
            let note = self.take(bottom);
            self.put(bottom, Note { is_low: false, ..note });
        }
    }
}

impl Policy for Lirs {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        self.now += 1;
        let ghost = self.ghosts.take(context.table.block(page));
        let is_low = self.low.len() < self.low_max(context) || ghost.is_some_and(|last| self.is_stacked(last));
        self.put(page, Note { last: self.now, is_low });
        self.demote(context);
        let ghosts_max = ((context.capacity as f64 * self.stack_share) as u64).saturating_sub(self.low.len());
        while self.ghosts.oldest().is_some_and(|last| self.ghosts.len() > ghosts_max || !self.is_stacked(last)) {
            self.ghosts.expire();
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        self.now += 1;
        let Note { last, is_low } = self.take(page);
        let is_low = is_low || self.is_stacked(last);
        self.put(page, Note { last: self.now, is_low });
        self.demote(context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        let Note { last, is_low } = self.take(page);
        if !is_low && self.is_stacked(last) {
            self.ghosts.push(context.table.block(page), last);
        }
    }

    fn victim(&mut self, context: &Context<'_>, _: Need) -> Option<Page> {
        let mut pages = self.links.oldest_first(&self.queue).chain(self.links.oldest_first(&self.low));
        pages.find(|&page| context.table.can_go(page))
    }

    fn partitions(&self) -> Vec<Partition> {
        vec![Partition::new("LIR", self.low.len()), Partition::new("HIR", self.queue.len())]
    }
}
