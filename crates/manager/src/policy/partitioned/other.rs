//! Pages of no pattern, which another policy holds; and what one page more or less of them is
//! worth.

use crate::estimate::ghosts::Ghosts;
use crate::estimate::recency::{Reading, Recency};
use crate::ids::{Block, Page};
use crate::policy::{Access, Context, Need, Policy};
use crate::table::hash;

/// Parts the memory is cut into when hits are counted by depth.
const SEGMENTS: u64 = 16;

/// Of a larger queue one block in some is followed, chosen by a hash: what hits lie how deep is the
/// same in a queue as much smaller (Waldspurger et al., USENIX ATC 2017). Twice a memory of 16,384
/// pages is followed as a whole.
const FOLLOWED_MAX: u64 = 1 << 15;

/// The partition of other pages.
pub(super) struct Other {
    policy: Box<dyn Policy>,
    len: u64,
    /// Blocks read lately without a pattern, whether they are here or not.
    read: Ghosts,
    /// Where in their LRU queue reads find them; all references count, so that gains compare.
    recency: Recency,
    /// The memory the queue is made for: it covers twice that.
    capacity: u64,
    /// One block in so many is followed: a power of two.
    one_in: u64,
}

impl Other {
    pub fn new(policy: Box<dyn Policy>) -> Self {
        let recency = Recency::new(Reading::Majorant, 1, 1);
        Other { policy, len: 0, read: Ghosts::default(), recency, capacity: 0, one_in: 1 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Follows the memory: the estimate is made for its size, or thereabouts.
    fn fit(&mut self, capacity: u64) {
        if self.capacity * 3 / 4 <= capacity && capacity <= self.capacity * 5 / 4 && self.capacity > 0 {
            return;
        }
        self.capacity = capacity;
        self.one_in = (2 * capacity).div_ceil(FOLLOWED_MAX).next_power_of_two();
        let followed = capacity / self.one_in;
        self.recency = Recency::new(Reading::Majorant, 2 * followed, followed / SEGMENTS);
        while self.read.expire().is_some() {}
    }

    /// One reference to the cache; `here` if it is one without a pattern.
    pub fn count(&mut self, block: Block, here: bool, capacity: u64) {
        self.fit(capacity);
        // Not by the bits that choose what is sampled of call sites.
        if (hash(block.key()) >> 32) & (self.one_in - 1) != 0 {
            return;
        }
        match self.read.take(block) {
            Some(tag) if here => self.recency.hit(tag),
            Some(tag) => {
                self.recency.leave(tag);
                self.recency.miss();
            }
            None => self.recency.miss(),
        }
        if here {
            self.read.push(block, self.recency.enter());
            while self.read.len() > 2 * (self.capacity / self.one_in)
                && let Some(tag) = self.read.expire()
            {
                self.recency.leave(tag);
            }
        }
    }

    /// Hits a reference that one page less would lose.
    pub fn marginal_gain(&self) -> f64 {
        self.recency.marginal_hit_rate(self.len / self.one_in) / self.one_in as f64
    }

    pub fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.len += 1;
        self.policy.arrived(page, context, access);
    }

    pub fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.policy.referenced(page, context, access);
    }

    pub fn left(&mut self, page: Page, context: &Context<'_>) {
        self.len -= 1;
        self.policy.left(page, context);
    }

    /// A page is needed.
    pub fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.recency.refresh();
        self.policy.weigh(context, need);
    }

    pub fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Page> {
        if self.len == 0 { None } else { self.policy.candidate(context, need).map(|it| it.page) }
    }

    pub fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        self.policy.evicting(page, context, need);
    }

    pub fn check(&self, context: &Context<'_>) {
        self.policy.check(context);
    }
}
