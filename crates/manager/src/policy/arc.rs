//! `arc`: pages referenced once and pages referenced again share the memory, and what was given up of each says whose share grows.
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
//! - Ghosts are shortened after a page came, not before one goes, which leads to the same lists, and to shorter ones where the
//!   memory shrinks.

use super::list::{Chain, Links};
use super::{Access, Context, Need, Policy, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::{Block, Page};

pub(super) static SPEC: Spec = Spec {
    name: "arc",
    summary: "recent pages and frequent pages share the memory as their ghosts tell",
    source: "Megiddo, Modha: ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST 2003",
    parameters: &[],
    build: |_| Box::new(Arc::default()),
};

/// Pages referenced once, or again, and what was given up of them.
#[derive(Default)]
struct Side {
    pages: Chain,
    /// Whether a ghost has moved the target already: it does so when a page is given up for it, or else when it comes.
    ghosts: Ghosts<bool>,
}

impl Side {
    fn len(&self) -> u64 {
        self.pages.len() + self.ghosts.len()
    }
}

const ONCE: usize = 0;
const AGAIN: usize = 1;

#[derive(Default)]
struct Arc {
    /// Beside its links, which side a page is on.
    links: Links<u8>,
    sides: [Side; 2],
    /// The target for the pages referenced once.
    target: f64,
}

impl Arc {
    /// The side that lacks this block, if one does: it gains by it.
    fn lacking(&mut self, block: Block, capacity: u64) -> Option<usize> {
        let ghosts = self.sides.each_ref().map(|side| side.ghosts.len() as f64);
        let lacking = [ONCE, AGAIN].into_iter().find(|&side| self.sides[side].ghosts.tag_mut(block).is_some())?;
        let moved = self.sides[lacking].ghosts.tag_mut(block).is_some_and(|moved| std::mem::replace(moved, true));
        if !moved {
            let step = (ghosts[1 - lacking] / ghosts[lacking]).max(1.0);
            self.target = if lacking == ONCE { self.target + step } else { self.target - step };
            self.target = self.target.clamp(0.0, capacity as f64);
        }
        Some(lacking)
    }
}

impl Policy for Arc {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        let block = context.table.block(page);
        let side = match self.lacking(block, context.capacity) {
            Some(lacking) => {
                self.sides[lacking].ghosts.take(block);
                AGAIN
            }
            None => ONCE,
        };
        self.links.push_newest(&mut self.sides[side].pages, page);
        self.links[page] = side as u8;
        while self.sides[ONCE].len() > context.capacity && self.sides[ONCE].ghosts.expire().is_some() {}
        while self.sides.iter().map(Side::len).sum::<u64>() > 2 * context.capacity
            && self.sides[AGAIN].ghosts.expire().is_some()
        {}
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        let side = std::mem::replace(&mut self.links[page], AGAIN as u8);
        self.links.remove(&mut self.sides[side as usize].pages, page);
        self.links.push_newest(&mut self.sides[AGAIN].pages, page);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        let side = &mut self.sides[self.links[page] as usize];
        self.links.remove(&mut side.pages, page);
        side.ghosts.push(context.table.block(page), false);
    }

    fn victim(&mut self, context: &Context<'_>, need: Need) -> Option<Page> {
        let lacking = need.missing.and_then(|block| self.lacking(block, context.capacity));
        let once = self.sides[ONCE].pages.len() as f64;
        let from_once = once > self.target || (once == self.target && lacking == Some(AGAIN));
        let order = if from_once { [ONCE, AGAIN] } else { [AGAIN, ONCE] };
        let pages = order.into_iter().flat_map(|side| self.links.oldest_first(&self.sides[side].pages));
        pages.into_iter().find(|&page| context.table.can_go(page))
    }
}
