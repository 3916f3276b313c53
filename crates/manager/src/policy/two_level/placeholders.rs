//! Placeholders: of a page that LRU would have kept, and a manager did not, where it would be.
//!
//! A placeholder names a block that went and a page that is here, whose place in the list would be
//! the block's under LRU. As there is one such block at a place at most, there are never more
//! placeholders than pages, and no limit is needed.
//!
//! # Where this differs from the paper
//! Its text has a placeholder point to a page, and does not say what becomes of it. Here it belongs
//! to that page's *place*:
//! - It ends when it is used, when its block comes, when the page is referenced, and when the page
//!   goes as the candidate: LRU would have given up the block then.
//! - When the page goes because its manager preferred another, the other one takes the place, and
//!   the placeholder with it. If it ended there, a program could be wrong twice and pay once: the
//!   second time, somebody else's page would go.
//! - A block that LRU would not have either leaves none. So the list with each placeholder's block
//!   in its page's stead is LRU's own list, and no program that does not advise loses a page which
//!   LRU would let it keep (tests/advice.rs).

use crate::ids::{Block, Page};
use crate::policy::by_page;
use crate::table::{FastMap, Table};

const NONE: u64 = u64::MAX;

#[derive(Default)]
pub(super) struct Placeholders {
    pages: FastMap<u64, Page>,
    /// By page, the key of the block whose placeholder names it.
    blocks: Vec<u64>,
}

impl Placeholders {
    fn block_at(&self, page: Page) -> u64 {
        self.blocks.get(page as usize).copied().unwrap_or(NONE)
    }

    fn put(&mut self, key: u64, page: Page) {
        by_page::reach(&mut self.blocks, page, NONE);
        self.blocks[page as usize] = key;
        self.pages.insert(key, page);
    }

    /// The page a block's placeholder names.
    pub fn of(&self, block: Block) -> Option<Page> {
        if self.pages.is_empty() { None } else { self.pages.get(&block.key()).copied() }
    }

    /// Whatever names this page ends.
    pub fn leave(&mut self, page: Page) {
        let key = self.block_at(page);
        if key != NONE {
            self.blocks[page as usize] = NONE;
            self.pages.remove(&key);
        }
    }

    /// The block came: its placeholder ends.
    pub fn here(&mut self, block: Block) {
        if let Some(page) = self.of(block) {
            self.leave(page);
        }
    }

    /// Instead of the candidate the chosen page goes, and the candidate takes its place.
    pub fn overruled(&mut self, candidate: Page, chosen: Page, block: Block) {
        self.leave(candidate);
        let before = self.block_at(chosen);
        self.leave(chosen);
        self.put(if before == NONE { block.key() } else { before }, candidate);
    }

    /// Checks that each names a page that is here, and is of a block that is not.
    pub fn check(&self, pages: &[Page], table: &Table) {
        let named = self.blocks.iter().zip(0..).filter(|(key, _)| **key != NONE);
        assert_eq!(named.clone().count(), self.pages.len(), "I11: placeholders and what they name disagree");
        for (&key, page) in named {
            assert_eq!(self.pages.get(&key), Some(&page), "I11: a placeholder names another page");
            assert!(pages.contains(&page), "I11: a placeholder names a page that went");
            let arrived = table.find(Block::from_key(key)).is_some_and(|page| pages.contains(&page));
            assert!(!arrived, "I11: a placeholder of a block that is here");
        }
    }
}
