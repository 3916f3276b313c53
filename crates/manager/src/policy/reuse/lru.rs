//! What LRU would have missed of the sample beside what the memory missed.

use crate::estimate::debt::Debt;
use crate::estimate::ghosts::Ghosts;
use crate::ids::Block;

/// LRU looking on.
#[derive(Default)]
pub struct Lru {
    /// What it would hold of the sample, the one used longest ago first.
    held: Ghosts<()>,
    debt: Debt,
}

impl Lru {
    /// A block of the sample is read, of which the memory holds `pages`. What a miss costs, and
    /// whether it was one.
    pub fn refer(&mut self, block: Block, is_missing: bool, cost: f64, pages: f64) {
        let paid_if = |is_missing| if is_missing { cost } else { 0.0 };
        let by_lru = paid_if(self.held.take(block).is_none());
        self.held.push(block, ());
        while self.held.len() as f64 > pages.max(1.0) {
            self.held.expire();
        }
        self.debt.refer(paid_if(is_missing), by_lru, pages);
    }

    /// Whether it says what goes.
    pub fn decides(&self) -> bool {
        self.debt.is_due()
    }
}
