//! `lfu`: the page referenced least often since it came goes; of several, the one that has been so
//! for the longest time.
//!
//! ```text
//! reference(b):  if b is here: uses(b) += 1; put b at the new end of the pages of so many uses
//!                else: if memory is full: give up the page at the old end of the pages of the fewest uses
//!                      fetch b; uses(b) = 1; put it at the new end of the pages of one use
//! ```
//!
//! # Where this differs from the paper
//! - Uses of a block that was given up are forgotten (*in-cache* LFU): the paper's perfect LFU
//!   remembers all blocks there ever were.
//! - Ties: the paper leaves them open.
//! - Shah, Mitra, Matani (2010): the numbers of uses that occur stand in a list, so that each
//!   reference takes constant time.

use super::list::{Chain, Links};
use super::{Access, Candidate, Context, Need, Policy, Spec};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lfu",
    summary: "the page referenced least often since it came goes",
    source: "Aho, Denning, Ullman: Principles of Optimal Page Replacement, JACM 1971",
    unlike_a_part: Some("newcomers have one page to themselves, however large the memory"),
    parameters: &[],
    build: |_| Box::new(Lfu::default()),
};

/// The pages of so many uses; a place in a list, by its number, as pages are.
#[derive(Clone, Copy, Default)]
struct Level {
    uses: u64,
    pages: Chain,
}

#[derive(Default)]
struct Lfu {
    /// Beside its links, the level of a page.
    pages: Links<u32>,
    levels: Links<Level>,
    /// The levels, the fewest uses at the old end.
    ascending: Chain,
    /// Numbers of levels that are no more.
    free: Vec<u32>,
    /// Levels there ever were at once.
    numbers: u32,
}

impl Lfu {
    /// The level of so many uses, which follows this one, or is the first.
    fn level_after(&mut self, before: Option<u32>, uses: u64) -> u32 {
        let next = before.map_or(self.ascending.oldest(), |before| self.levels.newer(before));
        if let Some(next) = next.filter(|&next| self.levels[next].uses == uses) {
            return next;
        }
        let level = self.free.pop().unwrap_or_else(|| {
            self.numbers += 1;
            self.numbers - 1
        });
        match before {
            Some(before) => self.levels.push_after(&mut self.ascending, level, before),
            None => self.levels.push_oldest(&mut self.ascending, level),
        }
        self.levels[level] = Level { uses, pages: Chain::default() };
        level
    }

    fn join(&mut self, page: Page, level: u32) {
        self.pages.push_newest(&mut self.levels[level].pages, page);
        self.pages[page] = level;
    }

    fn part(&mut self, page: Page, level: u32) {
        self.pages.remove(&mut self.levels[level].pages, page);
        if self.levels[level].pages.is_empty() {
            self.levels.remove(&mut self.ascending, level);
            self.free.push(level);
        }
    }
}

impl Policy for Lfu {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        let level = self.level_after(None, 1);
        self.join(page, level);
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        let level = self.pages[page];
        let above = self.level_after(Some(level), self.levels[level].uses + 1);
        self.part(page, level);
        self.join(page, above);
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.part(page, self.pages[page]);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let levels = self.levels.oldest_first(&self.ascending);
        let mut pages = levels.flat_map(|level| self.pages.oldest_first(&self.levels[level].pages));
        pages.find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }
}
