//! The estimator of what nobody disclosed a use of: another policy says which of these pages goes,
//! and what it gave up lately says what one page more would have been worth.
//!
//! ```text
//! worth of a page = h / n * (T_driver + L)         h: of all references, the share that missed what is among the ghosts
//!                                                   n: ghosts, as many as pages that others hold, and 16 at least
//! ```
//!
//! With n pages more, all there is, h of the references had found what they missed, whatever the
//! policy is: the mean of what each would save. A policy that gives up nothing that is missed again
//! has pages to spare; one that does is asked for fewer, until what it gives up is worth as much as
//! what that makes room for.
//!
//! Worked example: in 1,000 references 50 blocks were missed that were among the 100 pages given up
//! last. One page more would save 0.0005 misses a reference, as much as holding what is read once
//! in 2,000 references.

use super::Estimator;
use super::prices::Prices;
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;
use crate::policy::held::Held;
use crate::policy::{Candidate, Context, Need, Policy};

/// Ghosts there are at least: of a few, chance says what one is worth.
const GHOSTS_MIN: u64 = 16;
/// References after which what was before weighs half as much, in parts of the memory: as in the
/// LRU queue (estimate/recency).
const HALVED_AFTER: u64 = 4;

/// The policy, its pages, and their price.
pub struct Kept {
    /// Which of them goes.
    pub held: Held,
    ghosts: Ghosts<()>,
    /// References, and those that missed a ghost, decayed.
    references: f64,
    missed: f64,
    /// References since they were halved.
    age: u64,
}

impl Kept {
    /// What this policy keeps.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Kept { held: Held::new(policy), ghosts: Ghosts::default(), references: 0.0, missed: 0.0, age: 0 }
    }

    /// A reference, whoever's.
    pub fn refer(&mut self, capacity: u64) {
        self.references += 1.0;
        self.age += 1;
        if self.age >= HALVED_AFTER.saturating_mul(capacity) {
            self.age = 0;
            self.references /= 2.0;
            self.missed /= 2.0;
        }
    }

    /// A page is missed by its reader.
    pub fn missed(&mut self, page: Page, context: &Context<'_>) {
        if self.ghosts.take(context.table.block(page)).is_some() {
            self.missed += 1.0;
        }
    }

    /// A page goes of which nobody disclosed a use.
    pub fn gave_up(&mut self, page: Page, context: &Context<'_>) {
        let block = context.table.block(page);
        self.ghosts.take(block);
        self.ghosts.push(block, ());
        let ghosts_max = context.capacity.saturating_sub(self.held.len()).max(GHOSTS_MIN);
        while self.ghosts.len() > ghosts_max {
            self.ghosts.expire();
        }
    }

    /// What a page more would save, in misses a reference.
    fn saved_by_a_page(&self) -> f64 {
        self.missed / self.references.max(1.0) / self.ghosts.len().max(GHOSTS_MIN) as f64
    }
}

impl Estimator<Prices> for Kept {
    fn least(&self, prices: &Prices, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let Candidate { page, .. } = self.held.policy.candidate(context, need)?;
        Some(Candidate::priced(page, self.saved_by_a_page() * prices.miss_ns(page, context)))
    }

    fn takes_defended(&self) -> bool {
        true
    }

    /// As if it was brought just now.
    fn own(&mut self, page: Page, _: &mut Prices, context: &Context<'_>) {
        self.held.arrived(page, context, None);
    }

    fn owns(&self, page: Page) -> bool {
        self.held.owns(page)
    }

    fn disown(&mut self, page: Page, _: &mut Prices, context: &Context<'_>) {
        self.held.left(page, context);
    }
}
