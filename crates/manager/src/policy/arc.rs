//! `arc`: pages referenced once and pages referenced again share the memory, and what was given up
//! of each says whose share grows.
//!
//! ```text
//! T1, T2: pages referenced once, and again, lately; B1, B2: ghosts of T1 and T2; p: the target for |T1|; c: the memory
//!
//! reference(b):  if b is here:   move b to the MRU end of T2
//!                else:           if b in B1: p = min(p + max(1, |B2| / |B1|), c)
//!                                if b in B2: p = max(p - max(1, |B1| / |B2|), 0)
//!                                if memory is full: give up victim(b); it becomes the newest ghost of its list
//!                                fetch b; put it at the MRU end of T2 if it was a ghost, else of T1
//!                                while |T1| + |B1| > c: the oldest ghost of B1 goes
//!                                while |T1| + |T2| + |B1| + |B2| > 2c: the oldest ghost of B2 goes
//!
//! victim(b):     if T1 is not empty, and |T1| > p, or b in B2 and |T1| = p: the LRU end of T1, else that of T2
//! ```
//!
//! # Where this differs from the paper
//! - p is a real number and the division is real: only so the paper's hit ratios of OLTP come out.
//! - Ghosts are shortened after a page came, not before one goes, which leads to the same lists,
//!   and to shorter ones where the memory shrinks.
//! - p moves when a page goes. Until a choice was pure it moved when it was asked which one would:
//!   after a page that was declined, or could not be had, misses may be others than then.

use super::parts::Parts;
use super::{Access, Candidate, Context, Need, Partition, Policy, Reports, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::{Block, Page};

pub(super) static SPEC: Spec = Spec {
    name: "arc",
    summary: "recent pages and frequent pages share the memory as their ghosts tell",
    source: "Megiddo, Modha: ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST 2003",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Arc::default()),
};

const ONCE: usize = 0;
const AGAIN: usize = 1;

#[derive(Default)]
struct Arc {
    /// T1 and T2.
    pages: Parts<2>,
    /// B1 and B2, and whether a ghost has moved the target already: it does so when a page is given
    /// up for it, or else when it comes.
    ghosts: Ghosts<bool, 2>,
    /// The target for the pages referenced once.
    target: f64,
    /// The block that a page was given up for last, and the side that lacks it: it is not looked
    /// for again when it comes.
    coming: Option<(Block, Option<usize>)>,
}

impl Arc {
    /// The side that lacks this block, if one does, and the target then: the side gains by it.
    fn lacking(&self, block: Block, capacity: u64) -> (Option<usize>, f64) {
        let Some((lacking, moved)) = self.ghosts.find(block) else { return (None, self.target) };
        if moved {
            return (Some(lacking), self.target);
        }
        let [of_it, of_other] = [lacking, 1 - lacking].map(|side| self.ghosts.len_of(side) as f64);
        let step = (of_other / of_it).max(1.0);
        let target = if lacking == ONCE { self.target + step } else { self.target - step };
        (Some(lacking), target.clamp(0.0, capacity as f64))
    }

    /// Pages and ghosts of this side.
    fn len(&self, side: usize) -> u64 {
        self.pages.len(side) + self.ghosts.len_of(side)
    }
}

impl Policy for Arc {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        let block = context.table.block(page);
        let lacking = match self.coming.take() {
            Some((coming, lacking)) if coming == block => lacking,
            _ => {
                let (lacking, target) = self.lacking(block, context.capacity);
                self.target = target;
                lacking
            }
        };
        if lacking.is_some() {
            self.ghosts.take(block);
        }
        self.pages.put(page, if lacking.is_some() { AGAIN } else { ONCE });
        while self.len(ONCE) > context.capacity && self.ghosts.expire_from(ONCE).is_some() {}
        while self.len(ONCE) + self.len(AGAIN) > 2 * context.capacity && self.ghosts.expire_from(AGAIN).is_some() {}
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        if !access.first {
            self.pages.shift(page, AGAIN);
        }
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        let side = self.pages.take(page);
        self.ghosts.push_to(side, context.table.block(page), false);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let lacking = need.missing.map(|block| self.lacking(block, context.capacity));
        let (lacking, target) = lacking.unwrap_or((None, self.target));
        let once = self.pages.len(ONCE) as f64;
        let from_once = once > target || (once == target && lacking == Some(AGAIN));
        let oldest = |side: usize| self.pages.oldest_first(side).find(|&page| context.table.can_go(page));
        let side = if from_once { ONCE } else { AGAIN };
        oldest(side).or_else(|| oldest(1 - side)).map(Candidate::unpriced)
    }

    fn evicting(&mut self, _: Page, context: &Context<'_>, need: Need) {
        self.coming = need.missing.map(|block| {
            let (lacking, target) = self.lacking(block, context.capacity);
            self.target = target;
            if lacking.is_some() {
                self.ghosts.note(block, true);
            }
            (block, lacking)
        });
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for Arc {
    fn partitions(&self) -> Vec<Partition> {
        vec![Partition::new("T1", self.pages.len(ONCE)), Partition::new("T2", self.pages.len(AGAIN))]
    }
}
