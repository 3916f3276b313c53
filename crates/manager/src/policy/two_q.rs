//! `2q`: a block must be missed twice, not too long apart, to be kept as a page of long standing.
//!
//! ```text
//! A1in: pages that came lately, in order; A1out: ghosts of A1in; Am: pages missed again, by recency; c: the memory
//!
//! reference(b):  if b in Am:     move b to the MRU end
//!                if b in A1in:   nothing: references close together are one use
//!                else:           if memory is full: give up victim(); if of A1in, it becomes its newest ghost
//!                                fetch b; put it at the MRU end of Am if it was a ghost, else at the new end of A1in
//!                                while |A1out| > ghosts * c: the oldest ghost goes
//!
//! victim():      if |A1in| > recent * c: the old end of A1in, else the LRU end of Am
//! ```
//!
//! It is the paper's full version, with the sizes it recommends.

use super::parts::Parts;
use super::{Access, Candidate, Context, Domain, Need, Parameter, Partition, Policy, Reports, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "2q",
    summary: "new pages in a queue; only what is missed again soon after it left is kept by recency",
    source: "Johnson, Shasha: 2Q: A Low Overhead High Performance Buffer Management Replacement Algorithm, VLDB 1994",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "recent",
            help: "the share of the memory for pages that came lately (Kin); the paper recommends a quarter",
            domain: Domain::Number { default: 0.25, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "ghosts",
            help: "ghosts of such pages, as a share of the memory (Kout); the paper recommends a half",
            domain: Domain::Number { default: 0.5, min: 0.0, max: 8.0 },
        },
    ],
    build: |values| {
        Box::new(TwoQ {
            pages: Parts::default(),
            ghosts: Ghosts::default(),
            recent_share: values.get("recent"),
            ghosts_share: values.get("ghosts"),
        })
    },
};

const RECENT: usize = 0;
const LASTING: usize = 1;

struct TwoQ {
    /// A1in and Am.
    pages: Parts<2>,
    ghosts: Ghosts<()>,
    recent_share: f64,
    ghosts_share: f64,
}

impl Policy for TwoQ {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        let lasts = self.ghosts.take(context.table.block(page)).is_some();
        self.pages.put(page, if lasts { LASTING } else { RECENT });
        let ghosts_max = (context.capacity as f64 * self.ghosts_share) as u64;
        while self.ghosts.len() > ghosts_max {
            self.ghosts.expire();
        }
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, _: &Access) {
        if self.pages.part_of(page) == LASTING {
            self.pages.renew(page);
        }
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.pages.take(page) == RECENT {
            self.ghosts.push(context.table.block(page), ());
        }
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let recent_max = (context.capacity as f64 * self.recent_share) as u64;
        let order = if self.pages.len(RECENT) > recent_max { [RECENT, LASTING] } else { [LASTING, RECENT] };
        let mut pages = order.into_iter().flat_map(|part| self.pages.oldest_first(part));
        pages.find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for TwoQ {
    fn partitions(&self) -> Vec<Partition> {
        vec![Partition::new("A1in", self.pages.len(RECENT)), Partition::new("Am", self.pages.len(LASTING))]
    }
}
